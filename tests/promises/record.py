"""Record the tapes: what the package promises, and what may not change by accident.

The tapes were recorded from commit fea60a9, before the package was taken apart. Record them anew::

    python tests/promises/record.py    # all tapes, or those that are named: predictor score ...

Do that only for what changes on purpose, in a commit of its own that changes the tape and says why.
Where something merely moves, `adaptor.py` is changed, and no tape.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
NAMES = "predictor score log_probabilities ranks training gps readme".split()

if __name__ == "__main__":
    sys.path[:0] = [str(TESTS), str(TESTS.parent / "book")]
    acts = import_module("promises.acts")
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or NAMES:
        acts.write(name, getattr(acts, name)())
