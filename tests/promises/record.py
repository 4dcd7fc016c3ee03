"""Record the tapes: what the package promises, and what may not change by accident.

The tapes were recorded from commit fea60a9, before the package was taken apart. Record them anew::

    python book/_ext/execute.py        # for the chapters' tables
    python tests/promises/record.py    # all tapes, or those that are named: predictor score ...

Do that only for what changes on purpose, in a commit of its own that changes the tape and says why.
Where something merely moves, `adaptor.py` is changed, and no tape.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> None:
    """Record the tapes of these names, or all."""
    sys.path[:0] = [str(TESTS), str(TESTS.parent / "book" / "_ext"), str(TESTS.parent / "book")]
    acts = import_module("promises.acts")
    acts.TAPES.mkdir(exist_ok=True)
    plain = ("predictor", "score", "log_probabilities", "training", "gps", "chapters")
    for name in names or (*plain, "ranks", "commands"):
        if name == "ranks":
            np.savez_compressed(acts.TAPES / "ranks.npz", **acts.quietly(acts.ranks))
        elif name == "commands":
            with tempfile.TemporaryDirectory() as folder:
                acts.files_for_commands(Path(folder))
                both = acts.COMMANDS | acts.SLOW
                acts.write(name, {key: acts.run(Path(folder), both[key]) for key in both})
        else:
            acts.write(name, acts.quietly(getattr(acts, name)))
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
