"""How long `make test` takes from a finished environment, in two fresh clones: processor seconds.

PGT_BEFORE names a checkout of an earlier version of this package; without it nothing is measured.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from answer_times import BEFORE, ROOT, usage

READY = (".venv/.installed", "_build/stamps/speller", "vendor")  # what `make test` would install
STEPS = ("_build/stamps/lint", "_build/stamps/spelling", "_build/stamps/unit", "chapters",
         "_build/stamps/browser")  # fmt: skip


def bench_suite() -> Iterator[tuple[str, float, float]]:
    """The name of each row, and the seconds of ours and of before; both suites must pass."""
    if (before := os.environ.get(BEFORE)) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        clones = [Path(folder) / name for name in ("ours", "before")]
        for source, clone in zip((ROOT, before), clones, strict=True):
            subprocess.run(["git", "clone", "--quiet", str(source), str(clone)], check=True)
            subprocess.run(["make", "-C", str(clone), *READY], check=True, capture_output=True)
        steps = {step: [usage(["make", "-C", str(clone), step])[0] for clone in clones]
                 for step in STEPS}  # fmt: skip
    ours, theirs = (sum(both[k] for both in steps.values()) for k in (0, 1))
    yield "make test (reference: before)", ours, theirs
    for step, both in steps.items():
        yield f"make {Path(step).name} (reference: before)", *both
