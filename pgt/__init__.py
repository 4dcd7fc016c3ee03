"""The Pointer-Generator Transformer for next-location prediction, and all that goes with it.

The names that most readers need are here: ``pgt.prepare``, ``pgt.fit``, ``pgt.evaluate``. Each is
loaded when it is first used, and so is each room. What stands in a line knows only lines below it::

    lab           the book's experiments, which are no part of the package
    cli           the command line
    predictor     the model that wins, for anybody's visits
    viz | exercises | scale                      figures, maps; answers; data beyond memory
    analysis | io | relatives                    results; files; other networks
    city | gps | contextual | improvements       four rooms that need the core alone
    train         from windows to a trained model
    training      one run, its epochs; presets and baselines by name
    predict | look | metrics | baselines | checkpoint
    windows | model                              what a model sees, and the model
    vocabulary | encoder
    config        every setting, in frozen dataclasses
    mixture       the two distributions, without writing down a number for every place
    visits        the one table
    table         its columns, rows and people
    sparse | files                               exact sums without V; files
    refusals | doubts                            what is refused beforehand; what is noted
    errors | batch | units | reproducible
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

# Type checkers read these imports; Python reads the table below, and loads a name when it is used.
if TYPE_CHECKING:
    from wherenext.results import read_results as read_results

    from pgt.baselines import ContextKernel as ContextKernel
    from pgt.baselines import Markov as Markov
    from pgt.baselines import MostFrequent as MostFrequent
    from pgt.checkpoint import load_model as load_model
    from pgt.checkpoint import save_model as save_model
    from pgt.config import ModelConfig as ModelConfig
    from pgt.config import TrainConfig as TrainConfig
    from pgt.contextual import ContextualConfig as ContextualConfig
    from pgt.contextual import ContextualPointer as ContextualPointer
    from pgt.contextual import load_contextual as load_contextual
    from pgt.errors import DataError as DataError
    from pgt.history import with_history as with_history
    from pgt.datasets import read_fixes as read_fixes
    from pgt.datasets import read_visits as read_visits
    from pgt.metrics import evaluate as evaluate
    from pgt.metrics import interval as interval
    from pgt.metrics import summarize as summarize
    from pgt.model import PointerGeneratorTransformer as PointerGeneratorTransformer
    from pgt.predictor import NextLocation as NextLocation
    from pgt.train import fit as fit
    from pgt.windows import Dataset as Dataset
    from pgt.windows import Windows as Windows
    from pgt.windows import prepare as prepare

__version__ = "0.1.0"

# The public names, in the order of the work, and the modules that define them.
_HOMES = {
    "NextLocation": "predictor",
    "read_visits": "datasets",
    "read_fixes": "datasets",
    "DataError": "errors",
    "prepare": "windows",
    "Dataset": "windows",
    "Windows": "windows",
    "with_history": "history",
    "MostFrequent": "baselines",
    "Markov": "baselines",
    "ContextKernel": "baselines",
    "ModelConfig": "config",
    "PointerGeneratorTransformer": "model",
    "ContextualConfig": "contextual",
    "ContextualPointer": "contextual",
    "TrainConfig": "config",
    "fit": "train",
    "evaluate": "metrics",
    "summarize": "metrics",
    "interval": "metrics",
    "save_model": "checkpoint",
    "load_model": "checkpoint",
    "load_contextual": "contextual",
    "read_results": "analysis.results",
}
__all__ = list(_HOMES)


def _rooms() -> list[str]:
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def __getattr__(name: str) -> Any:
    """Load a public name, or a room of the package, when it is first asked for."""
    if name in _HOMES:
        value = getattr(import_module(f"pgt.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _rooms():
        return import_module(f"pgt.{name}")
    raise AttributeError(f"module 'pgt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_rooms()})
