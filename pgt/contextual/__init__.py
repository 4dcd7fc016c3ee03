"""The contextual pointer: a pointer that is handed the relations between visits, and a memory."""

from pgt.contextual.config import ContextualConfig
from pgt.contextual.model import ContextualPointer

__all__ = ["ContextualConfig", "ContextualPointer"]
