"""A model and a vocabulary that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pgt.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

SIZES = ("n_locations", "n_users")
SPECIAL = 2  # ids that name no place: padding and unknown


def other_sizes(config: Any, vocabulary: Any) -> Iterator[tuple[str, int, int]]:
    """The sizes in which a configuration and a vocabulary differ: field, one's and the other's.

    A size that the configuration does not have is as good as equal.

    Examples
    --------
    >>> import pgt
    >>> words = pgt.prepare(wherenext.city.load().visits).vocabulary
    >>> list(other_sizes(pgt.ModelConfig(9, words.n_users), words))
    [('n_locations', 9, 1474)]
    """
    for field in SIZES:
        theirs = getattr(vocabulary, field)
        if (ours := getattr(config, field, theirs)) != theirs:
            yield field, ours, theirs


def require_shared(vocabulary: Any, location_id: pd.Series) -> None:
    """Refuse locations of which a vocabulary has none: they are of another data set.

    Parameters
    ----------
    vocabulary : Vocabulary
    location_id : Series

    Raises
    ------
    DataError
    """
    if len(location_id) and not (vocabulary.encode_locations(location_id) >= SPECIAL).any():
        ours = repr(vocabulary.locations[0]) if vocabulary.locations else "none"
        raise DataError(
            f"None of the table's {location_id.nunique()} locations (such as "
            f"{location_id.tolist()[0]!r}) is among the {len(vocabulary.locations)} that the model "
            f"was trained on (such as {ours}): it is of another vocabulary; use the table it was "
            "trained on, or train on this one."
        )


def require_same_places(predictor: Any, vocabulary: Any) -> None:
    """Refuse windows whose places, or people, are not those that a model was made for.

    Sizes are compared, and fingerprints where the model comes from a file: of a model that was
    just trained, as many places of another town are not noticed. What has no weights for places
    fits any windows: a rule that looks at the person's own past alone, a network without a place
    of its own.

    Parameters
    ----------
    predictor : Predictor
    vocabulary : Vocabulary
        That of the windows.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(wherenext.city.load().visits)
    >>> rule, other = pgt.Markov().fit(data.train), pgt.prepare(wherenext.city.load().visits[:999])
    >>> try:
    ...     pgt.evaluate(rule, other.test)
    ... except pgt.DataError as error:
    ...     print(error)
    The model was made for n_locations=1474, the windows have ...; make them with the model's ...
    """
    if hasattr(type(predictor), "rest") and not hasattr(predictor, "rest"):
        raise DataError(f"This {type(predictor).__name__} is not fitted; call fit(train) first.")
    config = getattr(predictor, "config", None)
    if config is None and getattr(predictor, "rest", None) is not None:
        config = predictor
    if not hasattr(config, "n_locations") or 0 < getattr(config, "n_trained_ids", 0) <= SPECIAL:
        return
    for field, ours, theirs in other_sizes(config, vocabulary):
        raise DataError(
            f"The model was made for {field}={ours}, the windows have {field}={theirs}; make them "
            "with the model's vocabulary: pgt.prepare(visits, vocabulary=...)."
        )
    own = getattr(predictor, "made_for", None)
    if isinstance(own, str) and own != vocabulary.fingerprint():
        raise DataError(
            "The model was made for other places or people, as many as these; make the windows "
            "with its own vocabulary: pgt.prepare(visits, vocabulary=...)."
        )


def require_room(config: Any, vocabulary: Any, tensors: Mapping[str, Tensor], name: str) -> None:
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
