"""The improvements by name, and how each is plugged into the one model.

`improved` builds the plain model first and then exchanges parts, which start with the plain
parts' weights where they have them: models of one seed begin alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from pgt.config import ModelConfig, TrainConfig
from pgt.encoder import EncoderLayer
from pgt.improvements import attention, embeddings, generators, layers, losses, pointers
from pgt.improvements.augmentation import cropped
from pgt.model import Pointer, PointerGeneratorTransformer
from pgt.sparse.losses import Loss, cross_entropy
from pgt.windows import Windows

Plug = Callable[[PointerGeneratorTransformer, Windows], None]


@dataclass(frozen=True)
class Improvement:
    """What one proposal changes; `pgt.improvements.claims` says what it is said to do.

    Attributes
    ----------
    change : dict
        Fields of `ModelConfig`.
    plug : tuple of callable
        Each exchanges a part of a model, given the training windows.
    loss : callable
        Training windows -> the loss.
    training : dict
        Fields of `TrainConfig`.
    windows : callable
        Training windows -> those that it is trained on.
    """

    change: dict[str, Any] = field(default_factory=dict)
    plug: tuple[Plug, ...] = ()
    loss: Callable[[Windows], Loss] = lambda train: cross_entropy
    training: dict[str, Any] = field(default_factory=dict)
    windows: Callable[[Windows], Windows] = lambda train: train


def _attention(kind: type[attention.BiasedSelfAttention]) -> Plug:
    def plug(model: PointerGeneratorTransformer, train: Windows) -> None:
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            layer.attention = _grown(kind(model.config), layer.attention)

    return plug


def _feedforward(kind: type[nn.Module]) -> Plug:
    def plug(model: PointerGeneratorTransformer, train: Windows) -> None:
        for layer in model.encoder.layers:
            layer.feedforward = kind(model.config)

    return plug


def _post_norm(model: PointerGeneratorTransformer, train: Windows) -> None:
    for number, old in enumerate(model.encoder.layers):
        layer = _grown(layers.PostNormLayer(model.config), old)
        # What was plugged into the layer before stays in it.
        layer.attention, layer.feedforward = old.attention, old.feedforward
        model.encoder.layers[number] = layer


def _recurrent(model: PointerGeneratorTransformer, train: Windows) -> None:
    model.encoder = layers.RecurrentEncoder(model.config)  # type: ignore[assignment]


def _cyclic(model: PointerGeneratorTransformer, train: Windows) -> None:
    narrow = model.config.d_model // 4
    model.embeddings.tables["time"] = embeddings.CyclicTime(narrow)
    model.embeddings.tables["weekday"] = embeddings.CyclicWeekday(narrow)


def _adaptive(widest: str) -> Plug:
    def plug(model: PointerGeneratorTransformer, train: Windows) -> None:
        counts = embeddings.occurrences(train)
        table = embeddings.AdaptiveEmbedding(counts, model.config.d_model, widest)
        model.embeddings.tables["location"] = table

    return plug


def _cross_modal(model: PointerGeneratorTransformer, train: Windows) -> None:
    new = embeddings.CrossModalEmbeddings(model.config)
    new.tables, new.norm = model.embeddings.tables, model.embeddings.norm
    model.embeddings = new


def _generator(kind: Callable[[ModelConfig], nn.Module]) -> Plug:
    def plug(model: PointerGeneratorTransformer, train: Windows) -> None:
        assert model.generator is not None
        model.generator = _grown(kind(model.config), model.generator)

    return plug


def _adaptive_softmax(model: PointerGeneratorTransformer, train: Windows) -> None:
    counts = torch.bincount(torch.from_numpy(train.targets), minlength=model.config.n_locations)
    model.generator = generators.AdaptiveSoftmax(counts, model.config)  # type: ignore[assignment]


def _pointer(kind: type[Pointer]) -> Plug:
    def plug(model: PointerGeneratorTransformer, train: Windows) -> None:
        assert model.pointer is not None
        model.pointer = _grown(kind(model.config), model.pointer)

    return plug


def _grown(new: Any, old: nn.Module) -> Any:
    """The new part with the old one's weights, wherever both have them."""
    mine = new.state_dict()
    shared = {k: v for k, v in old.state_dict().items() if k in mine and mine[k].shape == v.shape}
    new.load_state_dict(shared, strict=False)
    return new


_RELATIVE = _attention(attention.RelativeSelfAttention)
_NO_SINUSOID: dict[str, Any] = {"without": ("sinusoid",)}

IMPROVEMENTS: dict[str, Improvement] = {
    "plain": Improvement(),
    "relative_bias": Improvement(change=_NO_SINUSOID, plug=(_RELATIVE,)),
    "geglu": Improvement(plug=(_feedforward(layers.GeGLU),)),
    "post_norm": Improvement(plug=(_post_norm,)),
    "multi_scale_time": Improvement(plug=(_cyclic,)),
    "adaptive_embeddings": Improvement(plug=(_adaptive("frequent"),)),
    "adaptive_reversed": Improvement(plug=(_adaptive("rare"),)),
    "cross_attention": Improvement(plug=(_cross_modal,)),
    "experts": Improvement(plug=(_feedforward(layers.Experts),)),
    "recent_and_first": Improvement(plug=(_attention(attention.RecentFirstSelfAttention),)),
    "focal": Improvement(loss=lambda train: losses.focal(2.0)),
    "balanced": Improvement(loss=losses.balanced),
    "no_smoothing": Improvement(training={"label_smoothing": 0.0}),
    "more_smoothing": Improvement(training={"label_smoothing": 0.1}),
    "many_heads": Improvement(plug=(_generator(generators.ManyHeads),)),
    "mixture_of_softmaxes": Improvement(plug=(_generator(generators.MixtureOfSoftmaxes),)),
    "adaptive_softmax": Improvement(plug=(_adaptive_softmax,)),
    "temperature": Improvement(plug=(_generator(generators.Tempered),)),
    "rope": Improvement(change=_NO_SINUSOID, plug=(_attention(attention.RotarySelfAttention),)),
    "four_layers": Improvement(change={"n_layers": 4}),
    "augmented": Improvement(windows=cropped),
    "all_five": Improvement(
        change=_NO_SINUSOID, plug=(_RELATIVE, _feedforward(layers.GeGLU), _cyclic),
        loss=lambda train: losses.focal(2.0),
    ),
    "bilstm": Improvement(plug=(_recurrent,)),
    "additive": Improvement(plug=(_pointer(pointers.AdditivePointer),)),
    "coverage": Improvement(plug=(_pointer(pointers.CoveragePointer),)),
    "causal": Improvement(plug=(_attention(attention.CausalSelfAttention),)),
}  # fmt: skip


def improved(config: ModelConfig, train: Windows, *names: str) -> PointerGeneratorTransformer:
    """The model with some improvements plugged in.

    Parameters
    ----------
    config : ModelConfig
    train : Windows
        The training windows; some parts look at how often each location occurs there.
    *names : str
        Of `IMPROVEMENTS`, in the order in which they are plugged in.

    Raises
    ------
    ValueError
        For a name that does not exist.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits, protocol="exact")
    >>> config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    >>> model = improved(config, data.train, "geglu", "relative_bias").eval()
    >>> float(model.scores(data.test.batch([0])).exp().sum().round(decimals=4))
    1.0
    """
    for name in names:
        if name not in IMPROVEMENTS:
            raise ValueError(f"There is no improvement {name!r}; choose of "
                             f"{', '.join(IMPROVEMENTS)}.")  # fmt: skip
        change = dict(IMPROVEMENTS[name].change)
        if "without" in change:
            change["without"] = tuple(dict.fromkeys((*config.without, *change["without"])))
        config = replace(config, **change)
    model = PointerGeneratorTransformer(config)
    for name in names:
        for plug in IMPROVEMENTS[name].plug:
            plug(model, train)
    return model


def training_of(name: str, training: TrainConfig) -> TrainConfig:
    """The settings of training with an improvement."""
    return replace(training, **IMPROVEMENTS[name].training)
