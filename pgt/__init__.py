"""The Pointer-Generator Transformer for next-location prediction, and all that goes with it.

The names that most readers need are here: ``pgt.prepare``, ``pgt.fit``, ``pgt.evaluate``. Each is
loaded when it is first used, and so is each module. Who may use whom is in pyproject.toml.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from pgt._moved import MOVED, listen

# Type checkers read these imports; Python reads the table below, and loads a name when it is used.
if TYPE_CHECKING:
    from pgt.baselines import ContextKernel as ContextKernel
    from pgt.baselines import Markov as Markov
    from pgt.baselines import MostFrequent as MostFrequent
    from pgt.checkpoint import load_model as load_model
    from pgt.checkpoint import save_model as save_model
    from pgt.config import ModelConfig as ModelConfig
    from pgt.config import TrainConfig as TrainConfig
    from pgt.errors import DataError as DataError
    from pgt.metrics import evaluate as evaluate
    from pgt.metrics import interval as interval
    from pgt.metrics import summarize as summarize
    from pgt.model import PointerGeneratorTransformer as PointerGeneratorTransformer
    from pgt.predictor.contextual import ContextualConfig as ContextualConfig
    from pgt.predictor.contextual import ContextualPointer as ContextualPointer
    from pgt.predictor.contextual import load_contextual as load_contextual
    from pgt.predictor.memory import with_history as with_history
    from pgt.predictor.predictor import NextLocation as NextLocation
    from pgt.readers.tables import load_city as load_city
    from pgt.readers.tables import read_fixes as read_fixes
    from pgt.readers.tables import read_visits as read_visits
    from pgt.train import fit as fit
    from pgt.windows import Dataset as Dataset
    from pgt.windows import Windows as Windows
    from pgt.windows import prepare as prepare

__version__ = "0.1.0"

# The public names by module, in the order of the work.
_HOMES = {
    "predictor.predictor": ["NextLocation"],
    "readers.tables": ["read_visits", "read_fixes", "load_city"],
    "errors": ["DataError"],
    "windows": ["prepare", "Dataset", "Windows"],
    "predictor.memory": ["with_history"],
    "baselines": ["MostFrequent", "Markov", "ContextKernel"],
    "model": ["PointerGeneratorTransformer"],
    "predictor.contextual": ["ContextualConfig", "ContextualPointer", "load_contextual"],
    "config": ["ModelConfig", "TrainConfig"],
    "train": ["fit"],
    "metrics": ["evaluate", "summarize", "interval"],
    "checkpoint": ["save_model", "load_model"],
}
__all__ = [name for names in _HOMES.values() for name in names]
listen()
_MODULES = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def __getattr__(name: str) -> Any:
    """Load a public name, or a module of the package, when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"pgt.{home}"), name)
    if name in _MODULES or name in MOVED:
        return import_module(f"pgt.{name}")
    raise AttributeError(f"module 'pgt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
