"""Files that people have, and tables of other libraries -> visits. No torch in this room."""

from importlib import import_module
from types import ModuleType

MODULES = (
    "tables", "columns", "clocks", "recordings", "people", "pieces", "plausibility", "gps",
)  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Load a module of this room when it is first asked for."""
    if name in MODULES:
        return import_module(f"pgt.readers.{name}")
    raise AttributeError(f"module 'pgt.readers' has no attribute {name!r}")
