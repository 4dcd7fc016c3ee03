"""Does it matter that a number of the context kernel is chosen on the edge of its grid?

    PGT_GETNEXT=… python book/lab/run.py kernel_grid

writes ``book/results/kernel_grid.json``. On each kind of question of `lab.leaderboard` the kernel's
numbers are chosen on validation twice: among its grid, and among one that grows wherever the choice
lies on its edge, until none does. Some ends are natural and do not grow: nothing is forgotten
(``decay`` 1), the clock or what is always given counts nothing (``clock``, ``base`` 0), half a day.

``acc@1`` has the 95 % interval over people; ``returns`` and ``first`` are Acc@1 on targets that the
past holds and on the others; ``gain`` is the grown grid's over the usual one's, paired.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from lab import data_sets
from lab.leaderboard import EVERY, FOLDER, about, holds, questions, view
from lab.reports import Report, Row
from pgt.baselines import ContextKernel
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.windows import Windows

Grid = dict[str, tuple[float, ...]]
# Where each axis goes on, outwards.
BELOW: Grid = {"decay": (0.8, 0.7, 0.5, 0.3), "base": (0.01, 0.003, 0.0), "clock": (),
               "width": (15.0, 8.0, 4.0)}  # fmt: skip
ABOVE: Grid = {"decay": (), "base": (3.0, 10.0, 30.0), "clock": (8.0, 12.0, 20.0, 40.0, 80.0),
               "width": (360.0, 540.0, 720.0)}  # fmt: skip


def counting(kernel: ContextKernel) -> list[str]:
    """The numbers that matter to a kernel: without its clock, the clock's width does not."""
    return [name for name in BELOW if kernel.clock or name != "width"]


def chosen(grid: Grid, train: Windows, valid: Windows) -> ContextKernel:
    """The kernel whose numbers are the best on validation, of a grid."""
    kind = type("Chosen", (ContextKernel,), {"GRID": grid})
    found: ContextKernel = kind().fit(train).choose(valid)
    return found


def grown(grid: Grid, kernel: ContextKernel) -> Grid:
    """The grid, one step wider on each edge on which the choice lies and that can grow."""
    wider = dict(grid)
    for name in counting(kernel):
        low = [value for value in BELOW[name] if value < grid[name][0]]
        high = [value for value in ABOVE[name] if value > grid[name][-1]]
        if getattr(kernel, name) == grid[name][0] and low:
            wider[name] = (low[0], *wider[name])
        if getattr(kernel, name) == grid[name][-1] and high:
            wider[name] = (*wider[name], high[0])
    return wider


def until_inside(train: Windows, valid: Windows) -> Iterator[tuple[Grid, ContextKernel]]:
    """Each grid and its choice, until no choice lies on an edge that can grow."""
    grid: Grid = dict(ContextKernel.GRID)
    while True:
        kernel = chosen(grid, train, valid)
        yield grid, kernel
        if (wider := grown(grid, kernel)) == grid:
            return
        grid = wider


def rows() -> Iterator[Row]:
    """The usual grid and the last one, on every kind of question."""
    asked = questions(data_sets.from_environment(FOLDER))
    for told, past in itertools.product((False, True), asked.test):
        train = view("kernel", told, asked.train)
        valid = view("kernel", told, asked.valid.get(past, asked.valid[EVERY]))
        test = view("kernel", told, asked.test[past])
        steps = [*until_inside(train, valid)]
        base = None
        for name, (grid, kernel) in {"usual": steps[0], "grown": steps[-1]}.items():
            ranks = evaluate(kernel, test).assign(held=holds(asked.test[past]))
            base = ranks if base is None else base
            hit, (low, high) = 100 * gains(ranks)["acc@1"], interval_of_mean([ranks])
            less, more = interval_of_mean([ranks], against=[base])
            numbers = {one: getattr(kernel, one) for one in BELOW}
            ends = {one: (grid[one][0], grid[one][-1]) for one in counting(kernel)}
            edge = [one for one, both in ends.items() if numbers[one] in both]
            yield {"past": past, "told": told, "grid": name, **numbers,
                   "edge": ", ".join(edge), "n": len(ranks), "people": ranks.user_id.nunique(),
                   "acc@1": float(hit.mean()), "low": low, "high": high,
                   "returns": float(hit[ranks.held].mean()),
                   "first": float(hit[~ranks.held].mean()),
                   "gain": float(hit.mean() - 100 * gains(base)["acc@1"].mean()),
                   "gain_low": less, "gain_high": more}  # fmt: skip


REPORT = Report(
    question="Does it matter that a number of the kernel is chosen on the edge of its grid?",
    rows=rows,
    data=about,
    decimals=4,
)
