"""A model and a vocabulary that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pgt.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from pgt.vocabulary import Vocabulary

SIZES = ("n_locations", "n_users")
SPECIAL = 2  # ids that name no place: padding and unknown


def other_sizes(config: Any, vocabulary: Vocabulary) -> Iterator[tuple[str, int, int]]:
    """The sizes in which a configuration and a vocabulary differ: field, one's and the other's.

    A size that the configuration does not have is as good as equal.

    Examples
    --------
    >>> import pgt
    >>> words = pgt.prepare(pgt.city.load().visits).vocabulary
    >>> list(other_sizes(pgt.ModelConfig(9, words.n_users), words))
    [('n_locations', 9, 1474)]
    """
    for field in SIZES:
        theirs = getattr(vocabulary, field)
        if (ours := getattr(config, field, theirs)) != theirs:
            yield field, ours, theirs


def require_same_places(predictor: Any, vocabulary: Vocabulary) -> None:
    """Refuse windows whose places, or people, are not those that a model or a rule was made for.

    Sizes are compared: places of another town are noticed unless there are just as many of them.

    Parameters
    ----------
    predictor : Predictor
        One without ``config`` or ``n_locations``, and a network in which no place has weights of
        its own, fit any windows.
    vocabulary : Vocabulary
        That of the windows.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> rule, other = pgt.Markov().fit(data.train), pgt.prepare(pgt.city.load().visits[:999])
    >>> try:
    ...     pgt.evaluate(rule, other.test)
    ... except pgt.DataError as error:
    ...     print(error)
    The model was made for n_locations=1474, the windows have ...; make them with the model's ...
    """
    config = getattr(predictor, "config", predictor)
    if not getattr(config, "n_locations", 0) or 0 < getattr(config, "n_trained_ids", 0) <= SPECIAL:
        return
    for field, ours, theirs in other_sizes(config, vocabulary):
        raise DataError(
            f"The model was made for {field}={ours}, the windows have {field}={theirs}; make them "
            "with the model's vocabulary: pgt.prepare(visits, vocabulary=...)."
        )


def require_room(
    config: Any, vocabulary: Vocabulary, tensors: Mapping[str, Tensor], name: str
) -> None:
    """Compare what a file's header claims with what it holds, before memory is asked for.

    Parameters
    ----------
    config : ModelConfig
        Of the header.
    vocabulary : Vocabulary
        Of the same file.
    tensors : mapping
        Its weights.
    name : str
        The file's.

    Raises
    ------
    DataError
    """
    for field, claimed, there in other_sizes(config, vocabulary):
        raise DataError(
            f"{name} is damaged: its configuration has {field} {claimed}, its vocabulary {there}; "
            "copy it again or train anew."
        )
    most = sum(tensor.numel() for tensor in tensors.values())
    limits = {"d_model": most, "d_feedforward": most, "n_layers": len(tensors), "max_len": 10**6}
    for field, limit in limits.items():
        if getattr(config, field) > limit:
            raise DataError(
                f"{name} is damaged: {field} is {getattr(config, field)} in its header, more than "
                "its weights have room for; copy it again or train anew."
            )
