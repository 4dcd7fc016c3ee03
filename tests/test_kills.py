"""Whenever a process is killed: each file is whole or as before, and a training goes on from it.

``python -m tests.test_kills NAME FOLDER`` runs one of `CASES` and prints what the test looks at. It
forks the processes that it kills, since starting Python so often would take minutes. A moment is a
training step, or just before a file is made, moved or removed, or when tensors are half written.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from pgt import checkpoint
from pgt import train as training_run
from pgt.checkpoint import read_tensors, write_tensors
from pgt.config import TrainConfig
from pgt.files import whole, write_csv
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import prepare

from .helpers import ROOT, random_visits, routine_visits, run_python, tiny_config

pytest.importorskip("resource")  # nor can Windows fork

KILLS = 20
EPOCHS = 12
EVENTS = {"open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree"}


def watch(count: torch.Tensor, fatal: int) -> None:
    """Count moments from now on, to the end of the process, which dies in the fatal one."""
    steps, save = training_run.TrainingRun.step, checkpoint.save_file

    def moment(last_act: Callable[[], object] = lambda: None) -> None:
        count.add_(1)
        if int(count) == fatal:
            last_act()
            os.kill(os.getpid(), signal.SIGKILL)

    def step(*arguments: Any) -> None:
        moment()
        steps(*arguments)

    def saved(tensors: Any, path: Path, **named: Any) -> None:
        save(tensors, path, **named)
        moment(lambda: os.truncate(path, path.stat().st_size // 2))

    vars(checkpoint)["save_file"] = saved
    setattr(training_run.TrainingRun, "step", step)  # noqa: B010
    sys.addaudithook(lambda event, _: moment() if event in EVENTS else None)


def lived(act: Callable[[], object], fatal: int = 0) -> tuple[bool, int]:
    """Whether a process of its own has come to the end of an act; and to how many moments."""
    count = torch.zeros(1, dtype=torch.long).share_memory_()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            watch(count, fatal)
            act()
            code = 0
        finally:  # nothing of this copy may ever come back to the caller's code
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return status == 0, int(count)


def halves(folder: Path) -> list[Path]:
    """The files that are not under their names yet; a folder around one is not counted."""
    return [file for file in folder.rglob("*") if file.is_file() and ".part" in str(file)]


def training(folder: Path) -> dict[str, Any]:
    """Trainings killed again and again until they come to their end."""
    # Nothing can be learned, so that the best epoch is not the last one.
    data = prepare(random_visits(users=2, visits=110))
    config = TrainConfig(
        learning_rate=1e-2, batch_size=32, max_epochs=EPOCHS, patience=EPOCHS, warmup_epochs=1
    )
    cpu = torch.device("cpu")

    def act(path: Path) -> None:
        torch.manual_seed(0)
        model = PointerGeneratorTransformer(tiny_config(data, n_layers=1))
        fit(model, data.train, data.valid, config, checkpoint=path, progress=False, device=cpu)
        write_tensors(path.with_name("handed over"), model.state_dict(), {})  # the best weights

    # What is imported at its first use is imported here, once; gradients start threads, which no
    # copy of a process has, so there are none.
    model = PointerGeneratorTransformer(tiny_config(data, n_layers=1))
    training_run.TrainingRun(model, data.train, data.valid, config, cpu, None).score()
    write_tensors(folder / "first", model.state_dict(), {})
    undisturbed = folder / "undisturbed" / "run.safetensors"
    _, moments = lived(partial(act, undisturbed))
    rng = random.Random(0)
    found: dict[str, Any] = {"kills": 0, "lives": [], "epochs": []}
    while found["kills"] < KILLS:
        path = folder / f"life {len(found['lives'])}" / "run.safetensors"
        while not lived(partial(act, path), rng.randint(1, int(1.9 * moments / EPOCHS)))[0]:
            found["kills"] += 1
            if path.exists():
                found["epochs"].append(read_tensors(path)[1]["epoch"])  # and its checksum fits
        found["lives"].append(same(path, undisturbed))
    return found | {"best epoch": read_tensors(path)[1]["best_epoch"]}


def same(path: Path, other: Path) -> list[str]:
    """What differs between two finished runs, but for their seconds."""
    differ = []
    for name in (path.name, "handed over"):
        (one, info), (two, expected) = (
            read_tensors(file.with_name(name)) for file in (path, other)
        )
        for row in [*info.get("history", []), *expected.get("history", [])]:
            row.pop("seconds")
        differ += [key for key in two if key not in one or not torch.equal(one[key], two[key])]
        differ += [key for key in expected if info.get(key) != expected[key]]
    return differ


def writers(folder: Path) -> dict[str, list[Any]]:
    """Every writer, killed at every one of its moments, before and after there is something."""
    visits = [routine_visits(users=n, days=5) for n in (1, 2)]

    def text(path: Path, version: int) -> None:
        with whole(path) as half:
            half.write_text(f"{version}\n" * 1000)

    def tensors(path: Path, version: int) -> None:
        write_tensors(path, {"a": torch.full((1000,), float(version))}, {"version": version})

    def table(path: Path, version: int) -> None:
        write_csv(visits[version], path)

    found = {}
    for writer in (text, tensors, table):
        name, wholes = writer.__name__, ["", ""]
        for version in (0, 1):
            path = folder / f"{name} {version}"
            writer(path, version)
            wholes[version] = content(path)
        for old in (False, True):
            fatal, left, wrong, done = 0, 0, [], False
            while not done:
                fatal += 1
                path = folder / f"{name} {old} {fatal}" / name
                path.parent.mkdir()
                if old:
                    writer(path, 0)
                done, _ = lived(partial(writer, path, 1), fatal)
                if content(path) not in (wholes[0] if old else "", wholes[1]):
                    wrong.append(fatal)
                left = max(left, len(halves(path.parent)))
            wrong += [str(file) for file in halves(path.parent)]
            found[f"{name}, {'old' if old else 'new'}"] = [fatal - 1, left, wrong]
    return found


def content(path: Path) -> str:
    """What is in a file; the order of the names in a header of tensors is nobody's choice."""
    if path.name.startswith("tensors") and path.exists():
        return str(read_tensors(path))
    return path.read_text() if path.exists() else ""


@pytest.mark.slow
def test_a_training_killed_twenty_times_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    done = run_python("-m", "tests.test_kills", "training", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]  # after every kill its checkpoint was read
    found = json.loads(done.stdout)
    assert found["kills"] >= 20 and len(found["epochs"]) >= 15
    assert len(set(found["epochs"])) > 7 and found["best epoch"] < 10
    # Weights, the optimizer's state, the best weights and the history of each life.
    assert found["lives"] and not any(found["lives"])


def test_every_writer_killed_at_any_moment_leaves_all_or_nothing(tmp_path: Path) -> None:
    done = run_python("-m", "tests.test_kills", "writers", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found) == 6
    for moments, halves, wrong in found.values():
        assert moments >= 4 and halves == 1
        assert wrong == []


CASES: dict[str, Callable[[Path], Any]] = {"training": training, "writers": writers}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]](Path(sys.argv[2]))))
