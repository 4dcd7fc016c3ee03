"""Skeletons: modules of which only the shapes are there, without memory and without numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


@contextmanager
def shapes_only() -> Iterator[None]:
    """Make modules without memory: whatever size is claimed, nothing is asked for.

    Normal numbers are not drawn either. Without memory there is nothing to fill, and drawing them
    there makes PyTorch load its compiler, which takes a second.

    Examples
    --------
    >>> with shapes_only():
    ...     table = torch.nn.Embedding(10**9, 10**6)
    >>> table.weight.shape, table.weight.device.type
    (torch.Size([1000000000, 1000000]), 'meta')
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Normal numbers are left as they are."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in (nn.init.normal_, torch.Tensor.normal_):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))
