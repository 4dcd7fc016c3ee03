"""The contextual pointer: a pointer that is handed the relations between visits, and a memory."""

import copyreg

from pgt.contextual import features
from pgt.contextual.config import ContextualConfig
from pgt.contextual.model import ContextualPointer

__all__ = ["ContextualConfig", "ContextualPointer"]

_TABLES = ("HISTORY_FEATURES", "TARGET_FEATURES", "NOW", "THEN")


def _entry(table: str, name: str) -> features.Feature | features.Fact:
    """A feature or a fact by its name."""
    found: features.Feature | features.Fact = getattr(features, table)[name]
    return found


def _by_name(one: features.Feature | features.Fact) -> tuple[object, tuple[str, str]]:
    """How another process finds it: what it computes is a function without a name."""
    for table in _TABLES:
        for name, entry in getattr(features, table).items():
            if entry is one:
                return _entry, (table, name)
    raise TypeError("Only the features of pgt.contextual.features can be pickled or copied.")


for _kind in (features.Feature, features.Fact):
    copyreg.pickle(_kind, _by_name)  # type: ignore[arg-type]
