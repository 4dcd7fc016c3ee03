"""Weights for a model: they fit its shapes, or one sentence says which does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch import Tensor, nn

from pgt.errors import DataError
from pgt.files.skeleton import shapes_only


@contextmanager
def fitting(name: str) -> Iterator[None]:
    """One sentence for a header with other contents than this version writes."""
    try:
        yield
    except DataError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError,
            ValueError) as error:  # fmt: skip
        reason = " ".join(str(error).splitlines()[:1])
        raise DataError(
            f"The header of {name} does not fit this version of pgt ({reason})."
        ) from error


def built(make: Callable[[], Model], tensors: dict[str, Tensor], name: str) -> Model:
    """Make a model for these tensors, in evaluation mode, once it is known that they fit."""
    with fitting(name), shapes_only():  # a header can claim any size
        skeleton = make()
    require_shapes(skeleton.state_dict(), tensors, name)
    model = make()
    load_weights(model, tensors, name)
    return model.eval()


def load_weights(model: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Put tensors into a model of the very same shapes, or say which one does not fit."""
    require_shapes(model.state_dict(), tensors, name)
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise DataError(
                f"{name} holds weights that are no numbers ('{key}'); copy it again or train anew."
            )
    model.load_state_dict(tensors)


def require_shapes(own: dict[str, Any], tensors: dict[str, Tensor], name: str) -> None:
    """Refuse tensors of other names or shapes than a model's own."""
    for key in sorted(own.keys() | tensors.keys()):
        if key not in tensors:
            raise DataError(f"{name} lacks the weights '{key}'; it is of another configuration.")
        if key not in own:
            raise DataError(f"{name} has weights '{key}' that this model does not have.")
        if own[key].shape != tensors[key].shape:
            raise DataError(
                f"'{key}' is {tuple(tensors[key].shape)} in {name} but {tuple(own[key].shape)} in "
                "this model; it belongs to another vocabulary or configuration."
            )


Model = TypeVar("Model", bound=nn.Module)
