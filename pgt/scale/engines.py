"""Engines: one function for every bucket, in this process, in several, or on a Dask cluster.

All engines give the same results in the same order, and raise the error of the first item that has
one. A worker that dies costs time only: what it had begun is done again by another.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from pgt.errors import DataError
from pgt.scale.storage import require

ENGINES = ("process", "pool", "dask")
DEATHS = 3  # of workers, before the work is given up

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Whatever applies a function to items."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function's results, in the order of the items."""
        ...


class InProcess:
    """Item after item, here.

    Examples
    --------
    >>> InProcess().map(len, ["a", "bc"])
    [1, 2]
    """

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function's results, in the order of the items."""
        return [function(item) for item in items]


class Pool:
    """A pool of processes on this machine, one thread each.

    Parameters
    ----------
    workers : int
        Processes.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self.executor = self._started()

    def _started(self) -> ProcessPoolExecutor:
        # A forked process would inherit the locks of threads that it does not have.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, mp_context=context, initializer=_one_thread)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function's results, in the order of the items."""
        todo = dict(enumerate(items))
        done: dict[int, Result] = {}
        for _ in range(DEATHS):
            futures: dict[int, Future[Result]] = {}
            try:
                for number in sorted(todo.keys() - done.keys()):
                    futures[number] = self.executor.submit(function, todo[number])
                for number in futures:
                    done[number] = futures[number].result()
                return [done[number] for number in todo]
            except BrokenProcessPool:
                whole = (n for n, one in futures.items() if one.done() and not one.exception())
                done |= {number: futures[number].result() for number in whole}
                self.executor.shutdown()
                self.executor = self._started()
            except BaseException:
                for future in futures.values():
                    future.cancel()
                raise
        raise DataError(_died(f"{DEATHS} times"))

    def close(self) -> None:
        """End the processes."""
        self.executor.shutdown(cancel_futures=True)


class Dask:
    """A Dask cluster: one that runs already, or one on this machine for as long as it is needed.

    Parameters
    ----------
    workers : int
        Processes on this machine, one thread each.
    address : str, optional
        Of the scheduler of a cluster that runs, as ``tcp://host:8786``. Its workers must have this
        package, and see the folders under the same names.
    """

    def __init__(self, workers: int = 1, address: str | None = None) -> None:
        distributed = require("distributed")
        self.cluster = None
        if address is None:
            self.cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
        try:
            self.client = distributed.Client(address or self.cluster)
        except (OSError, ValueError) as error:
            raise DataError(
                f"There is no Dask scheduler at {address} ({error}); start one with "
                "'dask scheduler', or leave the address out."
            ) from error
        self.dashboard: str = self.client.dashboard_link

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function's results, in the order of the items."""
        killed = require("distributed").KilledWorker
        # Not "pure": the same call may find other files.
        futures = self.client.map(function, list(items), pure=False)
        try:
            return [future.result() for future in futures]
        except killed as error:
            raise DataError(_died(f"{DEATHS + 1} times with the same item")) from error
        finally:
            self.client.cancel(futures)

    def close(self) -> None:
        """Leave the cluster, and end it if it is ours."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


@contextmanager
def engine(kind: str, workers: int = 1, address: str | None = None) -> Iterator[Engine]:
    """Start an engine, and end it.

    Parameters
    ----------
    kind : {"process", "pool", "dask"}
        This process, a pool of processes, or a Dask cluster.
    workers : int
        Processes of a pool, or of a cluster on this machine.
    address : str, optional
        Of a Dask scheduler that runs already.

    Yields
    ------
    Engine

    Raises
    ------
    DataError
        For another kind, or when what it needs is not there.

    Examples
    --------
    >>> with engine("process") as this:
    ...     this.map(abs, [-1, 2])
    [1, 2]
    """
    if kind not in ENGINES:
        raise DataError(f"engine is {kind!r}; it must be one of {', '.join(ENGINES)}.")
    if workers < 1:
        raise DataError(f"workers is {workers}; at least one has to work.")
    if address is not None and kind != "dask":
        raise DataError(f"The engine {kind!r} has no address; that is for dask.")
    started: Any = (
        InProcess() if kind == "process" else Pool(workers) if kind == "pool"
        else Dask(workers, address)
    )  # fmt: skip
    try:
        yield started
    finally:
        if kind != "process":
            started.close()


def _one_thread() -> None:
    """Processes that share the cores would only slow each other down with threads."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _died(how_often: str) -> str:
    return (
        f"A worker process died {how_often}, which is mostly for want of memory; use fewer "
        "workers, or more buckets."
    )
