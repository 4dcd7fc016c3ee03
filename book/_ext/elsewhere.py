"""Run the notebooks on what Colab has, and note what differs there from the book.

    python book/_ext/elsewhere.py PYTHON [NAME ...]    # all notebooks, or some

``PYTHON`` belongs to an environment with the versions of ``tests/colab/colab.txt`` and with this
package (``make colab`` makes one). Each notebook runs there in an empty folder of its own, one
after the other, with one thread. What came out is compared with the outputs and numbers of the
committed notebook and written to ``book/results/colab.json``: the table of ``book/colab.md``.
Notebooks that are not named keep their rows.
"""

from __future__ import annotations

import argparse
import copy
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
from colab import NUMBERS, TIMEOUT
from execute import wanted
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from notebooks import BOOK, bare, chapters, replace, stored

RESULTS = BOOK / "results" / "colab.json"
PACKAGES = ["torch", "numpy", "pandas", "pyarrow", "matplotlib", "duckdb", "dask", "ipython"]
VERSIONS = f"""
import importlib.metadata, json, platform
found = {{name: importlib.metadata.version(name) for name in {PACKAGES}}}
print(json.dumps({{"python": platform.python_version()}} | found))
"""


def run(script: Path, top: Path) -> tuple[Any, str]:
    """A chapter as it comes out there, and what stopped it ("" if nothing did)."""
    notebook = bare(script)
    asked = NUMBERS.replace("WANTED", repr(wanted(script)))
    notebook.cells.append(nbformat.v4.new_code_cell(asked))
    folder = top / script.stem
    folder.mkdir(parents=True)
    client = NotebookClient(
        notebook, timeout=TIMEOUT, startup_timeout=600, resources={"metadata": {"path": folder}}
    )
    try:
        client.execute(env=environment(top))
    except CellExecutionError as error:
        return notebook, str(error)[-2000:]
    return notebook, ""


def environment(top: Path) -> dict[str, str]:
    """The variables that a kernel sees: a home of its own, no module path of ours."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # of Python 3.12 and later
    return kept | quiet | {"OMP_NUM_THREADS": "1", "HOME": str(top)}


def serve(python: Path, top: Path) -> None:
    """Let the kernel of every notebook be that Python's."""
    spec = top / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": command, "display_name": "Colab's", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(about))
    os.environ["JUPYTER_PATH"] = str(top / "jupyter")


def text_of(outputs: list[Any]) -> str:
    """What the outputs say in plain text."""
    said = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in outputs]
    return re.sub(r"0x[0-9a-f]+", "0x", "\n".join(part.strip("\n") for part in said))


def kinds_of(outputs: list[Any]) -> list[list[str]]:
    """The kinds of data of each output: a picture, a page, a table, text."""
    return [sorted(one.get("data", {"text": ""})) for one in outputs]


def differences(now: list[Any], before: list[Any]) -> Iterator[str]:
    """The lines of a chapter's outputs that are others there than in the book."""
    for number, (new, old) in enumerate(zip(now, before, strict=False), 1):
        if kinds_of(new) != kinds_of(old):
            yield f"cell {number}: {kinds_of(old)} -> {kinds_of(new)}"
        lines = (text_of(old).split("\n"), text_of(new).split("\n"))
        for line in difflib.unified_diff(*lines, n=0, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                yield f"cell {number}: {line[:160]}"


def row(script: Path, top: Path) -> dict[str, Any]:
    """One chapter there: seconds, errors, warnings, numbers and texts that differ, files left."""
    began = time.monotonic()
    notebook, error = run(script, top)
    seconds = round(time.monotonic() - began)
    *cells, last = (cell for cell in notebook.cells if cell.cell_type == "code")
    warned = [
        output.text[:1000]
        for cell in cells for output in cell.outputs if output.get("name") == "stderr"
    ]  # fmt: skip
    numbers: dict[str, list[str]] = {}
    lines: list[str] = []
    if not error:
        there, missing, _ = json.loads(last.outputs[0].text)
        book = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
        numbers = {
            key: [value, (there | missing)[key]]
            for key, value in book.metadata.get("numbers", {}).items()
            if key in there | missing and (there | missing)[key] != value
        }
        found = [stored(copy.deepcopy(cell.outputs)) for cell in cells]
        before = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
        lines = list(differences(found, before))
    folder = top / script.stem
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {
        "notebook": script.stem, "seconds": seconds, "error": error, "warnings": warned,
        "numbers": numbers, "lines": lines, "left": left,
    }  # fmt: skip


def main() -> int:
    """Run what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description="Run the notebooks on what Colab has.")
    parser.add_argument("python", type=Path, help="the Python of that environment")
    parser.add_argument("names", nargs="*", help="notebooks, such as 25_scale; all, if none")
    options = parser.parse_args()
    python = options.python.absolute()
    known = {script.stem: script for script in chapters()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no notebook {unknown[0]}; there are {', '.join(known)}.")
    there = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    rows = {}
    if options.names and RESULTS.exists():
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
        rows = {one["notebook"]: one for one in kept if one["notebook"] in known}
    status = 0
    for name in options.names or known:
        with tempfile.TemporaryDirectory() as top:
            serve(python, Path(top))
            rows[name] = one = row(known[name], Path(top))
        bad = bool(one["error"] or one["warnings"])
        status |= bad
        print(f"{name}: {one['seconds']} s, {'BAD' if bad else 'ok'}, "
              f"{len(one['numbers'])} numbers and {len(one['lines'])} lines differ", flush=True)  # fmt: skip
        header = {
            "experiment": "colab",
            "command": "make colab",
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "versions": json.loads(there.stdout),
        }
        ordered = [rows[name] for name in known if name in rows]
        text = json.dumps(header | {"rows": ordered}, indent=1, ensure_ascii=False)
        replace(RESULTS, f"{text}\n".encode())
    return status


if __name__ == "__main__":
    sys.exit(main())
