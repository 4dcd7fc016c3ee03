"""What of a chapter is prose, so that its spelling is checked, and whether its words are needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ..helpers import ROOT, give_up

TOOL = ROOT / ".ci" / "spelling"
WORDS = ROOT / "book" / "words.txt"
PROSE = [*ROOT.glob("*.md"), *ROOT.glob("data/*.md"), *ROOT.glob("book/*.md"),
         *ROOT.glob("book/[0-9][0-9]_*.py")]  # fmt: skip

NO_PROSE = [
    "`zqx`", "``zqx``", "```python\nzqx\n```", "$zqx$", "$$\nzqx\n$$", "<b class='zqx'>",
    "[a](zqx.ipynb)", "https://zqx.org", "[Zqx (2020)](https://doi.org/10.1/a)", "<!-- zqx -->",
]  # fmt: skip


def unknown(folder: Path, **files: str) -> list[str]:
    """The lines of made-up files in which the checker finds an unknown word, as ``name:line``."""
    node = shutil.which("node") or shutil.which("node", path=str(ROOT / ".venv" / "bin"))
    checker = TOOL / "node_modules" / "cspell" / "bin.mjs"
    if node is None or not checker.exists():
        give_up("The spelling checker is not installed: run `make spelling`.")
    (folder / ".ci" / "spelling").mkdir(parents=True)
    (folder / "book").mkdir()
    shutil.copy(WORDS, folder / "book")
    (folder / ".ci" / "spelling" / "node_modules").symlink_to(TOOL / "node_modules")
    config = shutil.copy(TOOL / "cspell.json", folder / ".ci" / "spelling")
    for name, text in files.items():
        (folder / "book" / name.replace("_dot_", ".")).write_text(text, encoding="utf-8")
    command = [node, str(checker), "lint", "--config", str(config), "--no-progress"]
    command += ["--no-summary", "--no-color"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("book/") for line in done.stdout.splitlines()]
    return [":".join(line.split(":")[:2]) for line in lines if "Unknown word" in line]


def test_only_prose_is_checked(tmp_path: Path) -> None:
    page = "\n\n".join(f"before {text} after" if "\n" not in text else text for text in NO_PROSE)
    page += "\n\nAt the end zqx stands.\n"
    cell = "".join(f"# {line}\n" if line else "#\n" for line in page.splitlines())
    script = f"# %% [markdown]\n{cell}\n# %%\n# a comment zqx\nx = 'zqx'\n"
    end = len(page.splitlines())
    found = unknown(tmp_path, page_dot_md=page, **{"01_x_dot_py": script})
    assert sorted(found) == [f"01_x.py:{end + 1}", f"page.md:{end}"]


def test_the_list_of_words_is_sorted_and_needed() -> None:
    words = WORDS.read_text(encoding="utf-8").splitlines()[1:]
    assert words == sorted(set(words), key=lambda word: (word.lower(), word))
    text = "\n".join(path.read_text(encoding="utf-8") for path in PROSE).lower()
    assert [word for word in words if word.lower() not in text] == []
