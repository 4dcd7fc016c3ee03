"""Runs of pytest in processes of their own: watched, with some tests only, with a faulty module."""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import importlib.util
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FACTOR = 5  # how many times the processor time of a test without a fault a mutant gets for it
SLEEPY = 10  # how much longer than its processor time a run may take by the wall
LOG = "log"  # in the folder of `fork`


@dataclass
class Evidence:
    """What one file of tests did without a fault."""

    tests: dict[str, float] = field(default_factory=dict)  # name -> seconds, in order
    # name -> the lines that it ran; "" are those of imports and fixtures, which all tests share
    lines: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))
    libraries: list[str] = field(default_factory=list)


class Watcher:
    """A pytest plugin that writes down which lines of some files each test runs."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.names = {str(root / file): file for file in files}
        self.found = Evidence()
        self.seen = self.found.lines[""]

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        name = self.names.get(frame.f_code.co_filename)
        if name is None:
            return None
        self.seen.add((name, frame.f_lineno))
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        sys.settrace(self.trace)  # again: a test before may have ended it
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.seen, began = self.found.lines[item.nodeid], time.process_time()
        try:
            return (yield)
        finally:
            self.found.tests[item.nodeid] = time.process_time() - began
            self.seen = self.found.lines[""]


class Chosen:
    """A pytest plugin that runs some tests only, in their order.

    Each gets ``patience`` seconds of processor time, and `FACTOR` times what it needs otherwise.
    """

    def __init__(self, tests: dict[str, float], patience: float) -> None:
        self.tests, self.patience = tests, patience
        self.place = {name: i for i, name in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place),
                          key=lambda item: self.place[item.nodeid])  # fmt: skip

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        allowed = self.patience + FACTOR * self.tests[item.nodeid]
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        end = int(time.process_time() + allowed) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (min(end, most), most))
        return (yield)


class Faulty(importlib.machinery.SourceFileLoader):
    """Imports one module from a tree instead of its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)


def run_pytest(root: Path, files: list[str], plugin: object) -> int:
    """Run tests in this process, whose folder may be written to, and give pytest's status."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(root))
    if importlib.util.find_spec("hypothesis"):
        from hypothesis import Phase, settings

        # The first failure is enough: no smaller one is looked for, and none is kept.
        settings.register_profile(
            "mutants", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("mutants")
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--rootdir", str(root)]
    options += ["--basetemp", str(Path("tmp").resolve())]
    if (root / "pyproject.toml").is_file():
        options += ["-c", str(root / "pyproject.toml")]
    return int(pytest.main([*options, *(str(root / file) for file in files)], [plugin]))


def fork(work: Callable[[], int], seconds: float, scratch: Path) -> int:
    """What some work returns in a process of its own that gets so much processor time.

    It works in an empty folder below ``scratch``, and what it prints is in ``scratch / LOG``.
    """
    folder = scratch / "work"
    folder.mkdir(exist_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            os.chdir(folder)
            log = os.open(scratch / LOG, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            signal.alarm(SLEEPY * (int(seconds) + 1))
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    # What the child started and left behind ends with it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    return os.waitstatus_to_exitcode(status)
