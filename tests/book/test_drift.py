"""A chapter that builds a part and the package's part cannot drift apart.

Each chapter of Part II asserts that what it built equals the package. Here its code runs beside a
package that was changed a little, and must then fail on such an assertion. What later chapters
build is compared here.
"""

from __future__ import annotations

import ast
import math
import subprocess
from pathlib import Path
from typing import Any

import jupytext
import numpy as np
import pytest
import torch
from torch import nn
from wherenext import city
from wherenext.relatives import improvements

from pgt.config import ModelConfig
from pgt.predictor.memory import with_history
from pgt.windows import prepare

from ..helpers import ROOT, run_python

MIX = """
from pgt import model
_mix = model.log_mixture
model.log_mixture = lambda logit, *parts: _mix(logit + 1e-3, *parts)
"""
# What is changed in the package, by chapter: a little, and only in the part the chapter is about.
PACKAGE = {
    "05_embeddings": """
from pgt import model
_forward = model.Embeddings.forward
model.Embeddings.forward = lambda self, batch: _forward(self, batch) * 1.0001
""",
    "06_position_and_encoder": """
from pgt import model
_forward = model.EncoderLayer.forward
def forward(self, x, padding):
    y, weights = _forward(self, x, padding)
    return y * 1.0001, weights
model.EncoderLayer.forward = forward
""",
    "07_pointer": """
from pgt import model
_forward = model.Pointer.forward
def forward(self, context, encoded, batch):
    return (_forward(self, context, encoded, batch) * 1.0001).log_softmax(-1)
model.Pointer.forward = forward
""",
    "08_generator_and_gate": MIX,
    "09_model": MIX,
}


def code_of(chapter: str) -> str:
    """The chapter's cells before its exercises, as one script that displays nothing."""
    notebook = jupytext.read(ROOT / "book" / f"{chapter}.py")
    end = next(i for i, cell in enumerate(notebook.cells) if "## Exercises" in cell.source)
    cells = [cell.source for cell in notebook.cells[:end] if cell.cell_type == "code"]
    return "\n\n".join(cell for cell in cells if "run_line_magic" not in cell)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "chapter.py"
    script.write_text("import matplotlib\nmatplotlib.use('Agg')\n" + code, encoding="utf-8")
    return run_python(str(script), cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("chapter", PACKAGE)
def test_a_change_of_the_package_is_noticed(chapter: str, tmp_path: Path) -> None:
    result = run(PACKAGE[chapter] + code_of(chapter), tmp_path)
    assert result.returncode != 0, f"{chapter} runs although the package was changed."
    assert "AssertionError" in result.stderr or "Tensor-likes" in result.stderr, result.stderr


def test_the_parts_of_19_are_those_that_were_measured() -> None:
    """With the same numbers, and without dropout, they give the same answers."""
    cells = jupytext.read(ROOT / "book/19_improvements.py").cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    kinds = ast.FunctionDef, ast.ClassDef
    defined: list[ast.stmt] = [node for node in ast.parse(code).body if isinstance(node, kinds)]
    own: dict[str, Any] = {"torch": torch, "nn": nn, "math": math}
    exec(compile(ast.Module(defined, []), "19", "exec"), own)
    torch.manual_seed(0)
    config = ModelConfig(50, 5, dropout=0.0)
    d, wide = config.d_model, config.d_feedforward
    x, quarters = torch.randn(3, 9, d), torch.arange(97)[None]
    adaptive = improvements.AdaptiveEmbedding(torch.tensor([0, 5, 1000, 1001, 100, 99, 5000]), 16)
    pairs = [
        (own["Experts"](d, wide), improvements.Experts(config), x),
        (own["MultiScaleTime"](16), improvements.Cyclic(96, 16, waves=4, per=4, shift=0.5),
         quarters),
        (own["AdaptiveEmbedding"](adaptive.group, (16, 8, 4), 16), adaptive,
         torch.arange(1, 7)[None]),
    ]  # fmt: skip
    for mine, package, given in pairs:
        package.load_state_dict(
            dict(zip(package.state_dict(), mine.state_dict().values(), strict=True))
        )
        torch.testing.assert_close(mine(given), package(given))
    mine, package = own["GeGLU"](d, round(wide * 2 / 3)), improvements.GeGLU(config)
    package.narrow.load_state_dict(mine.out.state_dict())
    both = mine.value, mine.gate
    joined = {key: torch.cat([getattr(one, key) for one in both]) for key in ("weight", "bias")}
    package.wide.load_state_dict(joined)
    torch.testing.assert_close(mine(x), package(x))
    mine, package = own["MixtureOfSoftmaxes"](d, 50), improvements.MixtureOfSoftmaxes(config)
    numbers = [*mine.scores.parameters(), *mine.contexts.parameters(), *mine.prior.parameters()]
    package.load_state_dict(dict(zip(package.state_dict(), numbers, strict=True)))
    torch.testing.assert_close(mine(x[0]), package(x[0]))
    for name, kind in (("relative_bias", "Relative"), ("recent_and_first", "RecentFirst")):
        attention = getattr(improvements, f"{kind}SelfAttention")(config)
        nn.init.normal_(attention.table)
        for n in (18, 3):
            alike = torch.zeros(1, config.n_heads, n, 1)  # visits that are, but for the bias
            bias = attention.scores(alike, alike, torch.zeros(1, n, dtype=torch.bool))[0]
            theirs = own[name](attention.table.detach(), n)
            torch.testing.assert_close(theirs, (bias if theirs.ndim == 3 else bias[:, 0]).detach())
    log_probs, target = torch.randn(7, 50).log_softmax(1), torch.arange(7)
    own_log = log_probs[target, target]
    torch.testing.assert_close(own["focal"](own_log), improvements.focal(log_probs, target, 0.0))


def test_the_memory_of_21_keeps_the_rows_that_the_package_keeps() -> None:
    cells = jupytext.read(ROOT / "book/21_memory.py").cells
    (code,) = (cell.source for cell in cells if "latest.pop" in cell.source)
    own: dict[str, Any] = {}
    exec(code.partition("\ncheck.same")[0], own)
    short = with_history(prepare(city.load().visits, protocol="exact"), memory=30, older=12).test
    w = int(short.older.argmax())  # the first with most summaries
    batch, last = short.batch([w]), short.target[w]
    mine = (short.visits.user_id[:last] == short.users[w]).to_numpy()
    places = short.features[0, np.flatnonzero(mine) + 1].tolist()
    kept, _ = own["remembered"](places, 30, 12)
    assert [places[k] for k in kept] == batch.location[0].tolist()
