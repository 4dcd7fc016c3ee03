"""Old names of modules and keywords: they work for one version more, and say what is new."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# The old module, and those that have its names now.
MOVED = {
    "datasets": ("pgt.readers.tables", "pgt.readers.columns", "pgt.readers.clocks"),
    "recordings": ("pgt.readers.recordings",),
    "plausibility": ("pgt.readers.plausibility", "pgt.readers.clocks"),
    "gps": ("pgt.readers.gps",),
    "predict": ("pgt.predictor.trained",),
    "contextual": ("pgt.predictor.contextual", "pgt.predictor.features", "pgt.predictor.pool"),
    "history": ("pgt.predictor.memory",),
    "calibration": ("pgt.predictor.calibration", "pgt.predictor.pool"),
    "summarizer": ("wherenext.relatives.summarizer",),
    "temporal_sets": ("wherenext.relatives.temporal_sets",),
    "improvements": ("wherenext.relatives.improvements",),
}
# Old names within these modules.
RENAMED = {
    "pgt.calibration.threshold": "conformal_quantile",
    "pgt.calibration.interval": "people_interval",
    "pgt.predict.latest": "latest_windows",
}


def warn(old: str, new: str, stacklevel: int) -> None:
    """Say that a name is an old one."""
    text = f"{old} is now {new}; the old name goes away with the next version."
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def renamed_keywords(**names: str) -> Callable[[Function], Function]:
    """Let a function take its old keywords, each by its new name."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            for old in names.keys() & given.keys():
                warn(f"{function.__name__}({old}=)", f"{names[old]}=", stacklevel=3)
                given[names[old]] = given.pop(old)
            return function(*arguments, **given)

        return call  # type: ignore[return-value]

    return decorate


class MovedModule(ModuleType):
    """An old module: whatever is asked of it comes from where it is now."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for home in MOVED[self.__name__.removeprefix("pgt.")]:
            module = import_module(home)
            now = RENAMED.get(f"{self.__name__}.{name}", name)
            if hasattr(module, now):
                warn(f"{self.__name__}.{name}", f"{home}.{now}", stacklevel=3)
                return getattr(module, now)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class Finder:
    """Python asks it for modules that nothing else finds."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Of an old module, and of nothing else."""
        loader: Any = Finder
        package, _, module = name.rpartition(".")
        return ModuleSpec(name, loader) if package == "pgt" and module in MOVED else None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return MovedModule(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing to run."""


def listen() -> None:
    """Let ``import pgt.gps`` and its kin find what they mean, once."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
