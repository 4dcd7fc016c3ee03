"""AdamW without the compiler that `torch.optim` loads for it."""

from __future__ import annotations

from inspect import unwrap

import torch


class AdamW(torch.optim.AdamW):
    """PyTorch's, to the bit. It wraps these methods so that its compiler leaves them alone, and to
    do so loads the compiler, at twice the cost of ``import torch``; nothing here is compiled.
    """

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))
