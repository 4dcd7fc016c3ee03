"""The engines: the same results, the same errors, and workers that die in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pgt.errors import DataError
from pgt.scale.engines import ENGINES, Engine, engine
from pgt.scale.storage import require


@pytest.fixture(scope="module", params=ENGINES)
def running(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(request.param, workers=2) as started:
        yield started


# Those that start processes, the same ones for all tests.
with_workers = pytest.mark.parametrize("running", ENGINES[1:], indirect=True, scope="module")


def squared(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def refuses_odd(number: int) -> int:
    if number % 2:
        raise DataError(f"{number} is odd; give even numbers.")
    return number


def dies_once(folder: Path, number: int) -> int:
    """The first worker that gets number 2 is killed; whoever gets it then is spared."""
    (folder / f"{number}.{os.getpid()}").touch()
    killed = folder / "killed"
    if number == 2 and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return -number


def dies(number: int) -> None:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def test_results_come_in_the_order_of_the_items(running: Engine) -> None:
    numbers = [5, 3, 9, 0, 7, 7]
    assert [square for square, _ in running.map(squared, numbers)] == [n * n for n in numbers]
    assert running.map(squared, []) == []


@with_workers
def test_workers_are_other_processes(running: Engine) -> None:
    assert os.getpid() not in {pid for _, pid in running.map(squared, range(4))}


def test_an_error_arrives_as_the_sentence_that_it_is(running: Engine) -> None:
    with pytest.raises(DataError) as error:
        running.map(refuses_odd, [2, 3, 4, 5])
    assert str(error.value) == "3 is odd; give even numbers."
    assert running.map(refuses_odd, [2, 4]) == [2, 4]  # and the engine goes on


@with_workers
def test_a_killed_worker_costs_time_only(running: Engine, tmp_path: Path) -> None:
    assert running.map(partial(dies_once, tmp_path), range(6)) == [0, -1, -2, -3, -4, -5]
    assert (tmp_path / "killed").exists() and len(list(tmp_path.glob("2.*"))) == 2


@pytest.mark.slow
@with_workers
def test_work_that_kills_every_worker_is_given_up(running: Engine) -> None:
    with pytest.raises(DataError, match=r"^A worker process died .* memory; use fewer .*\.$"):
        running.map(dies, range(3))
    assert [square for square, _ in running.map(squared, [3])] == [9]


def test_a_cluster_that_runs_is_used_and_left_running() -> None:
    distributed = require("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        for _ in range(2):
            with engine("dask", address=cluster.scheduler_address) as there:
                assert there.map(squared, [4])[0][0] == 16


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"kind": "spark"}, "must be one of process, pool, dask"),
        ({"kind": "pool", "workers": 0}, "at least one"),
        ({"kind": "pool", "address": "tcp://here:1"}, "no address"),
        ({"kind": "dask", "address": "nonsense://x"}, "no Dask scheduler at nonsense://x"),
    ],
)
def test_what_cannot_be_started_is_said(words: dict, says: str) -> None:
    with pytest.raises(DataError, match=says), engine(**words):
        pass
