"""Measurements in a process of their own, which know what memory the work itself needs.

A process that has done other work before keeps memory, and its high-water mark never falls. So a
function that is measured runs in a fresh process. It prepares what it needs, and watches the work
itself with `Watch`; what it returns comes back as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# It runs from a checkout without installing.
sys.path[:0] = [one for one in (str(ROOT), str(ROOT / "book")) if one not in sys.path]

STATUS = Path("/proc/self/status")
MIB = 2**20


def in_fresh_process(function: str, *args: Any, threads: int | None = None) -> Any:
    """Call ``module.function(*args)`` in a new Python, and return what it returns, of JSON's types.

    When the process fails, the last line that it wrote is the message of a RuntimeError.
    """
    more = {"OMP_NUM_THREADS": str(threads)} if threads else {}
    done = subprocess.run(
        [sys.executable, __file__, function, json.dumps(args)],
        env=os.environ | more, text=True, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise RuntimeError(f"{function}: {last}")
    return json.loads(done.stdout.splitlines()[-1])


class Watch:
    """Seconds of what happens inside a ``with``, and its peak: MiB beyond what was there before.

    Where the high-water mark cannot be set back (it can on Linux), it is that of the process.
    """

    seconds = peak = 0.0

    def __enter__(self) -> Watch:
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what is free goes back to the system
        self._held = memory("VmRSS")
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.began
        self.peak = max(0.0, memory("VmHWM") - self._held)


def needed(work: Callable[[], object]) -> float:
    """MiB that one call needs beyond what was there."""
    with Watch() as seen:
        work()
    return seen.peak


def memory(name: str) -> float:
    """MiB of this process: VmRSS now, VmHWM at most."""
    if STATUS.is_file():
        lines = STATUS.read_text().splitlines()
        found = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
        if found:
            return int(found[0]) * 1024 / MIB
    return largest(resource.RUSAGE_SELF)


def largest(who: int) -> float:
    """MiB of this process at most, or of the largest of its children that have ended."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit / MIB


if __name__ == "__main__":
    where, _, what = sys.argv[1].rpartition(".")
    answer = getattr(importlib.import_module(where), what)(*json.loads(sys.argv[2]))
    print("\n" + json.dumps(answer))
