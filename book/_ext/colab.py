"""A place like Colab: libraries, but no package, no repository.

Chapters are executed here and nowhere else (see execute.py), so that the outputs in the book are
what a reader of Colab gets. The environment sees the libraries that are installed beside this
script. The package comes from a freshly built wheel, through the very cell with which each chapter
begins, without a network: whatever else that cell would install is an error.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from address import ARCHIVE
from toc import ROOT

# Seconds after which a cell hangs, surely; the same limit stands in _config.yml.
TIMEOUT = 1800
# A kernel computes with one thread, unless the variable is set: several chapters run side by side.
THREADS = "OMP_NUM_THREADS"

# The last two cells of each chapter as it runs here: the numbers of its text, and whence it came.
NUMBERS = """
import json as _json

def _text(name, spec):
    value = eval(name)  # a name of the chapter's own code, which stands in its own text
    return format(value, spec) if spec else str(value)

_numbers, _missing = {}, {}
for _key, _asked in WANTED.items():
    try:
        _numbers[_key] = _text(*_asked)
    except Exception as _error:
        _missing[_key] = f"{type(_error).__name__}: {_error}"
_names = [name for name, value in globals().items() if not name.startswith("_")
          and name not in ("In", "Out") and not callable(value) and type(value) is not type(_json)]
print(_json.dumps([_numbers, _missing, sorted(_names)]))
"""
WHENCE = """
import json, sys
import pgt, torch
print(json.dumps([pgt.__file__, torch.__file__, sys.path]))
"""


@dataclass
class Report:
    """How a chapter ran, as the cache keeps it beside the outputs."""

    execution_seconds: float  # all code cells together; under this name MyST-NB knows it, too
    left: list[str]  # files that the chapter left in its own folder
    loud: list[str]  # what its cells wrote to stderr, with their code
    package: str  # whence it came: "wheel", "libraries", or a path
    torch: str
    repository: bool  # whether the repository was on the module search path
    numbers: dict[str, str]  # what stands in the place of each placeholder of the text
    missing: dict[str, str]  # why a placeholder has no number
    names: list[str]  # those of the chapter's code that may stand in a placeholder


def build_wheel(folder: Path) -> Path:
    """Build the wheel in `folder`, from a copy: setuptools leaves its leavings where it works."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("pgt", "data", "book/results", "book/wherenext"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"No wheel: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def read(path: Path) -> Any:
    """A notebook from its file."""
    return nbformat.read(path, as_version=4)


def loud(notebook: Any) -> list[str]:
    """What the cells of an executed notebook wrote to stderr."""
    return [
        f"{cell.source}\n -> {output.text}"
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]


def seconds(notebook: Any) -> float:
    """What the code cells of an executed notebook took, by the kernel's own clock."""
    taken = 0.0
    for cell in notebook.cells:
        times = cell.metadata.get("execution", {})
        begin, end = (times.get(f"iopub.status.{state}") for state in ("busy", "idle"))
        if begin and end:
            span = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
            taken += span.total_seconds()
    return round(taken, 2)


class Colab:
    """An environment as Colab has it, after the first cell of a chapter, in an empty folder."""

    def __init__(self, top: Path, chapter: Any) -> None:
        self.children: set[subprocess.Popen[str]] = set()
        self.top = top.resolve()
        self.python = self.top / "venv" / "bin" / "python"
        for name in ("scratch/matplotlib", "work", "libraries"):
            (self.top / name).mkdir(parents=True)
        # All the libraries that are here, but neither the package nor the link to it.
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not entry.name.startswith(("pgt-", "__editable__", "__pycache__")):
                (self.top / "libraries" / entry.name).symlink_to(entry)
        venv.create(self.top / "venv", with_pip=False, symlinks=True)
        self.site = Path(sysconfig.get_path("purelib", "venv", {"base": str(self.top / "venv")}))
        (self.site / "google" / "colab").mkdir(parents=True)
        (self.site / "google" / "colab" / "__init__.py").write_text("")
        (self.site / "sitecustomize.py").write_text("import google.colab\n")  # loaded, as there
        (self.site / "libraries.pth").write_text(f"{self.top / 'libraries'}\n")
        self._install(chapter)

    def _install(self, chapter: Any) -> None:
        """Run a chapter's first cell. It asks for an archive on the net; here it gets the wheel."""
        ours = {path.name for path in self.site.iterdir()}
        notebook = copy.deepcopy(chapter)
        cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
        if ARCHIVE not in cell.source:
            raise RuntimeError(f"A chapter's first cell does not install {ARCHIVE}:\n{cell.source}")
        wheel = build_wheel(self.top / "wheel")
        cell.source = cell.source.replace(ARCHIVE, wheel.as_uri())
        notebook.cells = [cell]
        path = self.lay("install", notebook)
        self.execute(path, PIP_NO_INDEX="1", PIP_NO_CACHE_DIR="1")
        new = {path.name for path in self.site.iterdir()} - ours - {"__pycache__"}
        installed = sorted(name for name in new if not name.startswith(("pgt", "wherenext")))
        if installed or "pgt" not in new:
            raise RuntimeError(f"The first cell installs {installed}, not just the package.")

    def lay(self, name: str, notebook: Any) -> Path:
        """Put a notebook into an empty folder of its own, and return its path."""
        path = self.top / "work" / name / f"{name}.ipynb"
        path.parent.mkdir()
        nbformat.write(notebook, path)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        """All the variables that a process here sees."""
        kept = ("LANG", "LC_ALL", "MKL_NUM_THREADS", "CI")
        scratch = self.top / "scratch"
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PATH": f"{self.python.parent}{os.pathsep}{os.defpath}",
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            # The notebook's own machinery and the font cache of matplotlib.
            "IPYTHONDIR": str(scratch / "ipython"),
            "JUPYTER_CONFIG_DIR": str(scratch / "config"),
            "JUPYTER_DATA_DIR": str(scratch / "data"),
            "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
            "MPLCONFIGDIR": str(scratch / "matplotlib"),
            THREADS: os.environ.get(THREADS, "1"),
            **more,
        }

    def execute(self, path: Path, **more: str) -> Any:
        """Execute one notebook where it lies, and return it; `more` are environment variables."""
        command = [str(self.python), "-c", "from nbclient.cli import main; main()"]
        command += [f"--timeout={TIMEOUT}", "--inplace", str(path)]
        child = subprocess.Popen(
            command, cwd=path.parent, env=self.environment(**more),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.children.add(child)
        said = child.communicate()[1]
        self.children.discard(child)
        if child.returncode:
            raise RuntimeError(said[-4000:])
        return read(path)

    def stop(self) -> None:
        """End what runs here; the kernels end with the processes that started them."""
        for child in list(self.children):
            child.terminate()

    def report(self, path: Path, notebook: Any) -> Report:
        """Say how a notebook ran, whose last cells are `NUMBERS` and `WHENCE`."""
        given, whence = (json.loads(cell.outputs[0].text) for cell in notebook.cells[-2:])
        (numbers, missing, names), (package, torch, search) = given, whence
        notebook.cells = notebook.cells[:-2]
        return Report(
            execution_seconds=seconds(notebook),
            left=sorted(p.name for p in path.parent.rglob("*") if p != path),
            loud=loud(notebook),
            package=self._whence(package),
            torch=self._whence(torch),
            repository=any(Path(entry).is_relative_to(ROOT) for entry in search if entry),
            numbers=numbers,
            missing=missing,
            names=names,
        )

    def _whence(self, file: str) -> str:
        for name, folder in (("wheel", self.site), ("libraries", self.top / "libraries")):
            if Path(file).is_relative_to(folder):
                return name
        return file
