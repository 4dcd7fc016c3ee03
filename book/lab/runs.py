"""One run of an experiment: a model, trained and scored once on one data set.

A run knows by itself what it depends on: the windows it sees and the code it executes. Finished
runs are kept under a name made of both, so that an interrupted experiment goes on where it
stopped, and two experiments that share a run make it once.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from lab.provenance import code_mark, fingerprint
from lab.search_space import DOCUMENTED, TUNED, Settings, build, build_pgt, tuned
from pgt import city, metrics
from pgt.baselines import ContextKernel
from pgt.config import Anchor, ModelConfig, Protocol, TargetTime, TrainConfig, WindowConfig
from pgt.contextual import presets
from pgt.contextual.history import with_history
from pgt.files.atomic import write_text
from pgt.files.shipped import folder
from pgt.improvements.registry import IMPROVEMENTS, improved, training_of
from pgt.io.sources import (
    GEOLIFE,
    GEOLIFE_WINDOWS,
    NEW_YORK,
    from_environment,
    has_data,
    read_visits,
    read_windows_folder,
)
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.bundle import Bundle
from pgt.predictor.estimator import PRETRAINED
from pgt.predictor.fitting import remembering
from pgt.sparse.losses import Loss, cross_entropy
from pgt.train import fit
from pgt.training.baselines import baselines, fit_baseline
from pgt.training.network import Network
from pgt.training.presets import PRESETS, ablate
from pgt.visits import split_by_days
from pgt.vocabulary import Vocabulary
from pgt.windows import Dataset, PreparedDataset, prepare

Trained = tuple[metrics.Predictor, dict[str, Any]]
SEEDS = (42, 1, 2, 3, 4)  # of reports with five runs; `lab.experiments` names more and fewer
RANKS = ["user", "row", "better", "tied", "known", "in_window"]

# What every run reaches through objects only, so that a mark cannot follow it there.
SCORING = ("pgt.metrics:evaluate", "pgt.metrics:summarize", "pgt.windows:Windows.batches",
           "pgt.batch:Batch")  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A data set that experiments run on.

    Attributes
    ----------
    name : str
        For the rows.
    load : callable
        Gives the visits.
    protocol : {"published", "exact"}
    needs : str
        Environment variable that points to the data, if they are not part of the package.
    preset : str
        Shape and training of every PGT on it, of `pgt.training.presets.PRESETS`; on
        GeoLife those that the design documents name.
    anchor : {"target_day", "last_visit"}, optional
        The day that a window's history goes back from, if it is not the protocol's own.
    """

    name: str
    load: Callable[[], pd.DataFrame]
    protocol: Protocol
    needs: str = ""
    preset: str = "default"
    anchor: Anchor | None = None

    @property
    def config(self) -> WindowConfig:
        """Of its windows."""
        return WindowConfig(protocol=self.protocol, anchor=self.anchor)

    @property
    def there(self) -> bool:
        """Whether the data can be loaded."""
        return not self.needs or has_data(self.needs)


@dataclass(frozen=True)
class Run:
    """One row's worth of work: which model, in which variant, which knows what, which seed."""

    model: str
    variant: str = "full"
    target_time: TargetTime = "unknown"
    seed: int | None = None

    @property
    def key(self) -> str:
        """As in ``pgt-no_pointer-day-42``."""
        return "-".join(str(part) for part in asdict(self).values())


def _long_test() -> pd.DataFrame:
    """The large town's visits, trained on the first fifth of everybody's days, tested on most."""
    visits = city.simulate(preset="large").visits.drop(columns="split")
    return split_by_days(visits, (0.2, 0.3))


def _checkins() -> pd.DataFrame:
    """Visits of 500 people of a large town, three in ten missing, none with an end."""
    from pgt.city.checkins import sampled  # it imports this module

    visits = sampled(city.simulate(preset="large").visits.drop(columns="split"), people=500)
    return visits.assign(finished_at=visits.started_at)


def _new_york() -> pd.DataFrame:
    return read_windows_folder(from_environment(NEW_YORK))


_DATA: dict[str, Data] = {
    "city": Data("city", lambda: city.load().visits, "exact", preset="city"),
    "geolife_published": Data(
        "geolife", lambda: read_windows_folder(from_environment(GEOLIFE_WINDOWS)), "published",
        GEOLIFE_WINDOWS, "geolife",
    ),
    "geolife_exact": Data(
        "geolife", lambda: read_visits(from_environment(GEOLIFE)), "exact", GEOLIFE,
        "geolife",
    ),
    "city_large": Data(
        "large city", lambda: city.simulate(preset="large").visits, "exact", preset="city"
    ),
    "city_large_long_test": Data("large city, long test", _long_test, "exact", preset="city"),
    "checkins": Data("check-ins", _checkins, "exact", preset="city"),
    "new_york": Data("new york", _new_york, "published", NEW_YORK),
}  # fmt: skip
# The same visits in the other kind of windows: those of the literature go back from the target's
# day, and so tell when the next visit is.
_OTHER: dict[str, Anchor] = {
    "city": "target_day", "geolife_exact": "target_day", "new_york": "last_visit"
}  # fmt: skip
DATA = _DATA | {f"{key}_{other}": replace(_DATA[key], anchor=other)
                for key, other in _OTHER.items()}  # fmt: skip


@cache
def dataset(key: str) -> PreparedDataset:
    """The windows of an entry of `DATA`, prepared once a process."""
    return prepare(DATA[key].load(), config=DATA[key].config)


@cache
def data_fingerprint(key: str) -> str:
    """Of an entry of `DATA`."""
    return fingerprint(dataset(key))


def code_of(model: str) -> str:
    """Mark of the code that trains and scores a model.

    Examples
    --------
    >>> code_of("pgt") != code_of("kernel")
    True
    """
    return code_mark(starts_of(model))


def starts_of(model: str) -> tuple[str, ...]:
    """Where the code of a model begins."""
    return (f"lab.runs:{MAKERS[model].__name__}", *SCORING)


def windows_of(key: str, run: Run) -> Dataset:
    """What a run is trained and scored on: the windows, with a memory if it has one."""
    return WINDOWS[run.model](key, run) if run.model in WINDOWS else dataset(key)


def untrained(key: str, run: Run) -> tuple[Network, TrainConfig]:
    """A run's network with its first weights, and the settings of its training.

    A variant "tuned" has the settings that were best on the validation windows
    (`lab.search_space`); an LSTM or MHSA that is "full" those that its authors published; PGT's
    variant "default" has the default values of the package, its others are ablations of the
    preset of the data.
    """
    return NETWORKS[run.model](key, run)


def trained(key: str, run: Run) -> tuple[metrics.Predictor, dict[str, Any]]:
    """Make and train a run's model.

    Returns
    -------
    predictor
    notes : dict
        What the results file keeps of the training.
    """
    return MAKERS[run.model](key, run)


def _pgt(key: str, run: Run) -> tuple[Network, TrainConfig]:
    assert run.seed is not None
    if run.variant == "tuned":
        return build_pgt(tuned(run.model), dataset(key).vocabulary, run.seed)
    torch.manual_seed(run.seed)
    if run.variant == "default":
        return build_pgt(Settings(), dataset(key).vocabulary, run.seed)
    config, training = _preset(key, run)
    return PointerGeneratorTransformer(ablate(config, run.variant)), training


def _rival(key: str, run: Run) -> tuple[Network, TrainConfig]:
    assert run.seed is not None
    settings = tuned(run.model) if run.variant == "tuned" else DOCUMENTED[run.model]
    return build(run.model, settings, dataset(key).vocabulary, run.seed)


def _contextual(key: str, run: Run) -> tuple[Network, TrainConfig]:
    assert run.seed is not None
    variant = presets.VARIANTS[run.variant]
    network: Any = presets.build(variant, dataset(key), run.seed, run.target_time)
    return network  # its batches are of another kind, and `fit` does not mind


def _improved(key: str, run: Run) -> tuple[Network, TrainConfig]:
    assert run.seed is not None
    torch.manual_seed(run.seed)
    config, training = _preset(key, run)
    return improved(config, dataset(key).train, run.variant), training_of(run.variant, training)


def _preset(key: str, run: Run) -> tuple[ModelConfig, TrainConfig]:
    assert run.seed is not None
    return preset(key, dataset(key).vocabulary, run.seed, run.target_time)


def preset(
    key: str, vocabulary: Vocabulary, seed: int, target_time: TargetTime = "unknown"
) -> tuple[ModelConfig, TrainConfig]:
    """PGT's configuration on an entry of `DATA`, and how it is trained there."""
    chosen = PRESETS[DATA[key].preset]
    shape = chosen.model | {"target_time": target_time}
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users, **shape)
    return config, replace(chosen.training, seed=seed)


def _trained_pgt(key: str, run: Run) -> Trained:
    return _learned(*_pgt(key, run), dataset(key))


def _trained_rival(key: str, run: Run) -> Trained:
    return _learned(*_rival(key, run), dataset(key))


def _trained_contextual(key: str, run: Run) -> Trained:
    return _learned(*_contextual(key, run), _with_history(key, run))


def _trained_improved(key: str, run: Run) -> Trained:
    data = _augmented(key, run)
    return _learned(*_improved(key, run), data, IMPROVEMENTS[run.variant].loss(data.train))


def _trained_on_accuracy(key: str, run: Run) -> Trained:
    """The network that the variant names, as when it is "full", but stopped on the accuracy."""
    full = replace(run, model=run.variant, variant="full")
    network, training = NETWORKS[full.model](key, full)
    return _learned(network, replace(training, monitor="acc@1"), dataset(key))


def _learned(network: Network, training: TrainConfig, data: Dataset, loss: Loss = cross_entropy
             ) -> Trained:  # fmt: skip
    history = fit(network, data.train, data.valid, training, progress=False, loss=loss)
    return network, {"parameters": network.n_parameters(), "epochs": history.best_epoch}


def _fitted(key: str, run: Run) -> Trained:
    return _noted(fit_baseline(run.model, dataset(key).train, dataset(key).valid))


def _fitted_with_memory(key: str, run: Run) -> Trained:
    data = _with_memory(key, run)
    return _noted(fit_baseline("kernel", data.train, data.valid))


def _with_memory(key: str, run: Run) -> Dataset:
    return with_history(dataset(key), int(run.variant.removeprefix("memory_")))


def _with_history(key: str, run: Run) -> Dataset:
    return presets.windows(dataset(key), presets.VARIANTS[run.variant])


def _shipped(key: str, run: Run) -> Trained:
    """The predictor as it comes, its experts weighed by what these people did in training."""
    data, path = _remembered(key, run), folder("checkpoints") / PRETRAINED
    # Windows with a history, as `remembering` made them.
    model = Bundle.load(path).next_place.weighed(data.train)  # type: ignore[arg-type]
    weights = [round(weight, 3) for weight in model.weights.tolist()]
    return model, {"file": sha256(path.read_bytes()).hexdigest()[:12], "weights": weights}


def _remembered(key: str, run: Run) -> Dataset:
    return remembering(dataset(key))


def _augmented(key: str, run: Run) -> Dataset:
    data = dataset(key)
    return replace(data, train=IMPROVEMENTS[run.variant].windows(data.train))


def _noted(baseline: metrics.Predictor) -> Trained:
    if isinstance(baseline, ContextKernel):
        return baseline, {name: getattr(baseline, name) for name in ContextKernel.GRID}
    return baseline, {}


# The windows of models that need others than the data set's; how each model is made, and how it is
# made and trained.
WINDOWS: dict[str, Callable[[str, Run], Dataset]] = {
    "kernel_memory": _with_memory, "contextual": _with_history, "improved": _augmented,
    "predictor": _remembered,
}  # fmt: skip
NETWORKS: dict[str, Callable[[str, Run], tuple[Network, TrainConfig]]] = {
    "pgt": _pgt, "lstm": _rival, "mhsa": _rival, "contextual": _contextual, "improved": _improved,
}  # fmt: skip
MAKERS: dict[str, Callable[[str, Run], Trained]] = {
    "pgt": _trained_pgt, "lstm": _trained_rival, "mhsa": _trained_rival,
    "contextual": _trained_contextual, "improved": _trained_improved,
    "kernel_memory": _fitted_with_memory, "predictor": _shipped,
    "on_accuracy": _trained_on_accuracy, **dict.fromkeys(baselines(), _fitted),
}  # fmt: skip


def one_run(key: str, run: Run) -> dict[str, Any]:
    """Train and score once; rows for the results file, and the test ranks."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    predictor, notes = trained(key, run)
    data = windows_of(key, run)
    rows = []
    for split in ("valid", "test"):
        ranks = metrics.evaluate(predictor, getattr(data, split))
        table = metrics.summarize(ranks)
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol} | asdict(run)
        rows += [about | {"split": split} | row for row in table.to_dict("records")]
    ranks["user"] = pd.factorize(ranks.user_id)[0]
    ranks["row"] = data.test.target  # of the split's visits: the same visit in other windows
    small = ranks[RANKS].astype(
        {"user": "int16", "row": "int32", "better": "int32", "tied": "int32"}
    )
    return {"rows": rows, "ranks": small, "notes": notes, "seconds": time.perf_counter() - began}


def kept(key: str, run: Run) -> Path:
    """Where a finished run is kept; other data or other code is another place."""
    folder = Path(tempfile.gettempdir()) / "pgt-runs" / f"{key}-{data_fingerprint(key)}"
    settings = f"-{TUNED[run.model]}" if run.variant == "tuned" else ""
    return folder / f"{run.key}{settings}-{code_of(run.model)}.json"


def make(job: tuple[str, Run]) -> str:
    """Do a run unless it is kept already; returns its name."""
    key, run = job
    path = kept(key, run)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        result = one_run(key, run)
        result.pop("ranks").to_parquet(path.with_suffix(".parquet"), index=False)
        write_text(path, json.dumps(result))
    return f"{key} {run.key}"


def read_kept(key: str, run: Run) -> tuple[dict[str, Any], pd.DataFrame]:
    """A finished run: its rows, notes and seconds, and its ranks."""
    path = kept(key, run)
    return json.loads(path.read_text()), pd.read_parquet(path.with_suffix(".parquet"))


def ranks_of(key: str, run: Run) -> pd.DataFrame:
    """The test ranks of a run, as of `pgt.metrics.evaluate`; it is made unless it is kept."""
    make((key, run))
    return read_kept(key, run)[1].rename(columns={"user": "user_id"})


def anchored(key: str, anchor: Anchor) -> str:
    """The entry of `DATA` with the visits of another one, and windows that go back from ``anchor``.

    Examples
    --------
    >>> anchored("city", "target_day"), anchored("new_york", "target_day")
    ('city_target_day', 'new_york')
    """
    return key if DATA[key].config.goes_back_from == anchor else f"{key}_{anchor}"
