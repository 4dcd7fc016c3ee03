"""What options can be set to, as literals: the help of a command loads no part of the package.

A test holds them against what they stand for: `pgt.training.presets.PRESETS`, `pgt.config.PARTS`,
`pgt.predictor.estimator.MODELS`, `pgt.visits.SPLITS` and `pgt.scale.engines.ENGINES`.
"""

from __future__ import annotations

ENGINES = ("process", "pool", "dask")
MODELS = ("contextual", "pgt", "last", "most_frequent", "markov", "kernel")
PARTS = (
    "user", "time", "weekday", "recency", "duration", "position_from_end",
    "sinusoid", "position_bias", "pointer", "generator", "gate",
)  # fmt: skip
PRESETS = ("default", "city", "diy", "geolife")
SPLITS = ("train", "valid", "test")
# What the commands of the predictor take.
VISITS = "a table of visits, or a recording of positions (GPX, GeoLife, a table; not for PGT)"
