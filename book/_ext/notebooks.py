"""Render each chapter's notebook from its script: fill in its numbers, and store its outputs.

``book/NN_name.py`` is what people edit; ``book/NN_name.ipynb`` is what Colab, GitHub, pytest and
Jupyter Book read. The cells are a pure function of the script (jupytext alone gives other ids each
time). Numbers (see placeholders.py) and outputs come from the cache that ``execute.py`` fills, and
stay as they are in the notebook while the chapter's code does. A notebook is replaced when all of
the new one is there, and until then stays as it was.

    python book/_ext/notebooks.py             # execute what changed, and write the notebooks
    python book/_ext/notebooks.py --refresh   # take all outputs and numbers from the last run
    python book/_ext/notebooks.py --check     # only say which ones are out of date
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import io
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import execute
import jupytext
import nbformat
from PIL import Image
from placeholders import filled, lacking, placeholders
from toc import ROOT

BOOK = ROOT / "book"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
GPU = {"10_training", "25_scale"}  # chapters for which Colab is asked for a GPU
# What a cell may carry: tags and prompts for the book, the form view for Colab.
CELL_METADATA = {"cellView", "mystnb", "tags"}
FOLDED = {"hide-input", "hide-cell"}  # folded in the book, and so everywhere else

CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>", re.DOTALL)
LIVE = re.compile(r'id="(pgt-live-\w+)"')
# Names that folium draws by lot, and addresses in memory.
HEXADECIMAL = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{32}|(?<=0x)[0-9a-f]{9,16})(?![0-9a-f])")
LARGEST_NOTEBOOK = 400_000  # bytes
PIXELS, COLOURS = 720, 64  # of a stored picture: its width at most, its palette
ELSEWHERE = "<p><em>This figure is interactive: run the cell to see it, or open the chapter in the book.</em></p>"
STILL = "A picture of a live page: run the cell to use it, or open the chapter in the book."


def cells(script: str) -> Any:
    """The notebook of a chapter's script, its placeholders as they are and without outputs."""
    notebook = jupytext.reads(script, fmt="py:percent")
    notebook.metadata = dict(KERNEL)
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {name: cell.metadata[name] for name in CELL_METADATA & set(cell.metadata)}
        if cell.cell_type == "code" and FOLDED & set(cell.metadata.get("tags", ())):
            cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
        cell.id = f"{number:03d}-{hashlib.sha256(cell.source.encode()).hexdigest()[:8]}"
    return notebook


def render(script: str, numbers: Mapping[str, str] | None = None, outputs: Any = None) -> str:
    """The notebook (JSON text) of a script, with its numbers by their keys, and its outputs."""
    notebook = cells(script)
    asked = sorted(placeholders(script)) if numbers is not None else []
    if numbers and asked:  # a run may know more: those of an earlier text
        notebook.metadata["numbers"] = {name: numbers[name] for name in asked}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and numbers and asked:
            cell.source = filled(cell.source, numbers)
            cell.source = re.sub(r"(?<=\d)\s%", "\u00a0%", cell.source)  # on one line
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, (cell, found) in enumerate(zip(code, outputs or [], strict=False), 1):
        cell.outputs, cell.execution_count = found, count
    return str(nbformat.writes(notebook)) + "\n"


def stored(outputs: list[Any]) -> list[Any]:
    """Outputs as a committed notebook keeps them: small, and the same after every run."""
    kept: list[Any] = []
    for output in outputs:
        output, captions = nbformat.from_dict(output), []
        if output.output_type == "stream" and output.name == "stderr":
            continue  # progress bars
        if output.output_type == "stream" and kept and kept[-1].get("name") == output.name:
            kept[-1].text += output.text  # what was printed at once may arrive in pieces
            continue
        if output.output_type in ("display_data", "execute_result"):
            output.metadata = {}
            data = dict(output.data)
            page, picture = data.get("text/html", ""), data.get("image/png")
            if taken := still(page):
                captions, picture = [STILL], taken
            elif picture:
                captions, picture = CAPTION.findall(page), smaller(picture)
            if picture:
                data = {"image/png": picture, "text/plain": data["text/plain"]}
            output.data = {kind: renamed(text) for kind, text in data.items()}
        if output.output_type == "execute_result":
            output.execution_count = None
        kept.append(output)
        # A notebook shows the picture alone; its caption stands below it.
        for caption in captions:
            said = {"text/html": f"<em>{caption}</em>", "text/plain": html.unescape(caption)}
            kept.append(nbformat.v4.new_output("display_data", said))
    return kept


def still(page: str) -> str | None:
    """The picture (PNG, base64) of a live page that is too large for a notebook."""
    if len(page) <= LARGEST_NOTEBOOK or not (found := LIVE.search(page)):
        return None
    picture = BOOK / "_static" / f"{found[1]}.png"
    if not picture.exists():
        raise ValueError(
            f"{found[1]} is too large for a notebook and has no picture: make pictures."
        )
    return base64.b64encode(picture.read_bytes()).decode()


def fitting(outputs: list[list[Any]], room: int) -> list[list[Any]]:
    """The outputs of all cells within so many letters: the largest pages say where to see them."""
    pages = [one.data for cell in outputs for one in cell if "text/html" in one.get("data", {})]
    for data in sorted(pages, key=lambda data: -len(data["text/html"])):
        if sum(len(str(one)) for cell in outputs for one in cell) <= room:
            break
        data["text/html"] = ELSEWHERE
    return outputs


def smaller(png: str, colours: int = COLOURS) -> str:
    """A PNG (base64) with fewer colours and at most `PIXELS` wide."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    if picture.width > PIXELS:
        height = round(picture.height * PIXELS / picture.width)
        picture = picture.resize((PIXELS, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    # Median cut, the default, gives thin lines the colour of their neighbours, and a legend lies.
    few = picture.quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def renamed(text: Any) -> Any:
    """Names that were drawn by lot become names by their order."""
    if not isinstance(text, str):
        return text
    seen: dict[str, str] = {}
    return HEXADECIMAL.sub(lambda match: seen.setdefault(match[0], f"{len(seen):032x}"), text)


def chapters(book: Path = BOOK) -> list[Path]:
    """Return the chapters' scripts in reading order, and those of the appendix."""
    return [*sorted(book.glob("[0-9][0-9]_*.py")), *sorted(book.glob("evidence_*.py"))]


def committed(script: Path) -> tuple[dict[str, str], list[Any]] | None:
    """Numbers and outputs of the notebook beside a script, if its code is the script's."""
    text = script.read_text(encoding="utf-8")
    try:
        there = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    except (FileNotFoundError, nbformat.reader.NotJSONError):
        return None
    code = [cell for cell in there.cells if cell.cell_type == "code"]
    numbers = dict(there.metadata.get("numbers", {}))
    sources = [cell.source for cell in cells(text).cells if cell.cell_type == "code"]
    same = sources == [cell.source for cell in code] and numbers.keys() == placeholders(text).keys()
    if not same or any(cell.execution_count is None for cell in code):
        return None
    return numbers, [cell.outputs for cell in code]


def whole(script: Path, numbers: Mapping[str, str], outputs: list[Any]) -> bytes:
    """The bytes of a chapter's notebook; raises ValueError when a number is not there."""
    text = script.read_text(encoding="utf-8")
    for asked in placeholders(text):
        if asked not in numbers:
            raise ValueError(lacking(script, asked, sorted(numbers)))
    notebook = nbformat.reads(render(text, numbers, outputs), as_version=4)
    if script.stem in GPU:
        notebook.metadata |= {"accelerator": "GPU", "colab": {"gpuType": "T4"}}
    data = (str(nbformat.writes(notebook)) + "\n").encode()
    if len(data) > LARGEST_NOTEBOOK:
        raise ValueError(
            f"{script.stem}.ipynb has {len(data):,} bytes with its outputs, and may have "
            f"{LARGEST_NOTEBOOK:,}: draw less, or smaller."
        )
    return data


def replace(path: Path, data: bytes) -> None:
    """Put a whole file into the place of another one."""
    half = path.with_suffix(".part")
    half.write_bytes(data)
    os.replace(half, path)


def outdated(book: Path = BOOK) -> list[str]:
    """Return one sentence for each notebook that is not what its script renders to."""
    found = []
    for script in chapters(book):
        notebook = script.with_suffix(".ipynb")
        if (kept := committed(script)) is None or notebook.read_bytes() != whole(script, *kept):
            found.append(f"{notebook.name} is missing, or not what {script.name} renders to.")
    return found


def bare(script: Path) -> Any:
    """The notebook of a chapter's script as it is executed."""
    return nbformat.reads(render(script.read_text(encoding="utf-8")), as_version=4)


def refresh(everything: bool, book: Path = BOOK) -> int:
    """Execute the chapters whose code or numbers have changed, or all, and write the notebooks."""
    kept = {script: committed(script) for script in chapters(book)}
    todo = {
        script.with_suffix(".ipynb"): bare(script)
        for script, there in kept.items() if everything or there is None
    }  # fmt: skip
    if todo and (status := execute.execute(todo)):
        return status
    reports = execute.reports(todo)
    for path, notebook in todo.items():
        done, script = execute.executed(notebook), path.with_suffix(".py")
        outputs = [stored(cell.outputs) for cell in done.cells if cell.cell_type == "code"]
        outputs = fitting(outputs, LARGEST_NOTEBOOK - 3 * len(script.read_bytes()))
        kept[script] = reports[path.stem].numbers, outputs
    for script, there in kept.items():  # of the others, words of the text may have changed
        assert there is not None
        path, data = script.with_suffix(".ipynb"), whole(script, *there)
        if not path.exists() or path.read_bytes() != data:
            replace(path, data)
            print(f"wrote {path.relative_to(book.parent)}")
    return 0


def main() -> int:
    """Write the notebooks, or check them; return the exit status."""
    parser = argparse.ArgumentParser(description="Render the notebooks from their scripts.")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument("--refresh", action="store_true", help="take everything from the last run")
    options = parser.parse_args()
    if not options.check:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            return refresh(options.refresh)
        except KeyboardInterrupt:
            print(execute.STOPPED)
            return 130
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
    if problems := outdated():
        print(*problems, "Edit the .py, and run `make notebooks`.", sep="\n", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())
