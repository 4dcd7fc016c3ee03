"""Check the spelling of the prose: British, with -ize, and the words of book/words.txt.

    python book/_ext/spelling.py            # every chapter, page, and README
    python book/_ext/spelling.py FILE ...   # some of them
    python book/_ext/spelling.py --unused   # words of the list that no prose needs

The checker is cspell with its British dictionary, from .ci/spelling/package-lock.json; it works
offline. Code, formulas, links and names in backticks are no prose and stay out; comments in code are
left to codespell.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / ".ci" / "spelling"
WORDS = ROOT / "book" / "words.txt"
# What is no prose, in this order.
NOT_PROSE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)\s*$"  # a block of code
    r"|\$\$.*?\$\$|\$[^$\n]+\$"  # formulas
    r"|(?P<ticks>`+)[^`].*?(?P=ticks)"  # code in a line
    r"|<!--.*?-->|<[^>\n]+>"  # HTML
    r"|(?<=\])\([^)\s]+\)|https?://[^\s)>]+"  # where links lead
    r"|&\w+;|\{[^}\n]*\}",
    re.M | re.S,
)


def blank(text: str) -> str:
    """Keep only the line feeds of a text."""
    return "".join(char if char == "\n" else " " for char in text)


def prose(text: str) -> str:
    """Return Markdown with all that is no prose blanked; lines stay where they are.

    Examples
    --------
    >>> prose("Call `fit(x)` for $x^2$, see [chapter 7](07_pointer.ipynb).").split()
    ['Call', 'for', ',', 'see', '[chapter', '7]', '.']
    """
    cited = re.compile(r"\[[^\]\n]*\]\(https://(?:doi\.org|arxiv\.org)[^)]*\)")
    text = cited.sub(lambda match: blank(match[0]), text)
    return NOT_PROSE.sub(lambda match: blank(match[0]), text)


def markdown_of(script: str) -> str:
    """Return the Markdown cells of a percent-format script; lines stay where they are."""
    lines, inside = [], False
    for line in script.split("\n"):
        if line.startswith("# %%"):
            inside = line.startswith("# %% [markdown]")
            lines.append("")
        else:
            lines.append(re.sub(r"^# ?", "", line) if inside and line.startswith("#") else "")
    return "\n".join(lines)


def sources(root: Path = ROOT) -> list[Path]:
    """All files with prose."""
    files = [*root.glob("*.md"), *root.glob("data/*.md"), *root.glob("book/*.md")]
    return sorted([*files, *root.glob("book/[0-9][0-9]_*.py")])


def check(files: list[Path]) -> list[str]:
    """Return one line for each unknown word: ``file:line: word``.

    Raises
    ------
    FileNotFoundError
        When the checker is not installed.
    """
    if not (TOOL / "node_modules" / ".bin" / "cspell").exists():
        raise FileNotFoundError("The spelling checker is not installed: run `make spelling`.")
    node = shutil.which("node") or shutil.which("node", path=str(ROOT / ".venv" / "bin"))
    if node is None:
        raise FileNotFoundError("There is no node on this machine: run `make spelling`.")
    with tempfile.TemporaryDirectory() as name:
        places = {}
        for path in files:
            text = path.read_text(encoding="utf-8")
            copy = Path(name) / path.relative_to(ROOT).as_posix().replace("/", "__")
            copy = copy.with_name(copy.name + ".txt")
            copy.write_text(prose(markdown_of(text) if path.suffix == ".py" else text), "utf-8")
            places[copy.name] = path.relative_to(ROOT).as_posix()
        command = [node, str(TOOL / "node_modules" / "cspell" / "bin.mjs"), "lint"]
        command += ["--config", str(TOOL / "cspell.json"), "--no-progress", "--no-summary"]
        command += ["--no-color", "--root", name, "--dot", str(Path(name) / "*.txt")]
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=name)
    found = []
    for line in result.stdout.splitlines():
        match = re.match(r"(?:.*/)?([^/:]+\.txt):(\d+):\d+ - Unknown word \((.+?)\)", line)
        if match:
            found.append(f"{places[match[1]]}:{match[2]}: {match[3]}")
    if result.returncode and not found:
        raise RuntimeError(result.stdout[-2000:] + result.stderr[-2000:])
    return found


def unused() -> list[str]:
    """Words of the list that occur nowhere in the prose."""
    text = "\n".join(
        prose(
            markdown_of(path.read_text("utf-8"))
            if path.suffix == ".py"
            else path.read_text("utf-8")
        )
        for path in sources()
    ).lower()
    listed = [line.strip() for line in WORDS.read_text("utf-8").splitlines()]
    return [word for word in listed if word and word[0] != "#" and word.lower() not in text]


def main() -> int:
    """Check, and return the exit status."""
    parser = argparse.ArgumentParser(description="Check the spelling of the prose.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--unused", action="store_true", help="only list words that nobody needs")
    arguments = parser.parse_args()
    if arguments.unused:
        print("\n".join(unused()))
        return 0
    wanted = {path.resolve().with_suffix(".py" if path.suffix == ".ipynb" else path.suffix)
              for path in arguments.files}  # fmt: skip
    files = [path for path in sources() if not wanted or path in wanted]
    found = check(files) if files else []
    for line in found:
        print(line)
    if found:
        print("Correct these words, or add them to book/words.txt.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
