"""What options can be set to, as literals where what they stand for is slow to load.

A test holds them against it: `pgt.config.PRESETS`, `pgt.predictor.estimator.MODELS`,
`pgt.visits.SPLITS` and `pgt.scale.engines.ENGINES`.
"""

from __future__ import annotations

ENGINES = ("process", "pool", "dask")
MODELS = ("contextual", "pgt", "last", "most_frequent", "markov", "kernel")
PRESETS = ("default", "city", "diy", "geolife")
SPLITS = ("train", "valid", "test")
# What the commands of the predictor take.
VISITS = "a table of visits, or a recording of positions (GPX, GeoLife, a table; not for PGT)"
