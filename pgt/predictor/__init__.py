"""A question about anybody's visits -> places, sets, reasons, a map. The door is `NextLocation`.

From below: features, memory, contextual, pool, calibration, questions, predictor.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Load the predictor when it is first asked for."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "trained":
        return import_module("pgt.predictor.trained")
    return getattr(import_module("pgt.predictor.predictor"), name)
