"""Every chapter runs as on Colab: from the wheel, alone in an empty folder, the repository away.

One environment serves all chapters. It sees the libraries that are installed beside these tests, as
Colab has its own, but not the package: that comes from a freshly built wheel, through the very cell
with which each chapter begins. A hook in that environment notes whatever is written and where.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ..helpers import ROOT, build_wheel

pytestmark = pytest.mark.slow

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
ADDRESS = "https://github.com/where-next-book/where-next/archive/main.zip"
TIMEOUT = 300  # seconds for one cell, as in _config.yml

# Runs at the start of each Python of the environment. Colab has its module loaded, too.
AT_START = """
import os, sys
import google.colab

allowed = tuple(os.environ.get("COLAB_ALLOWED", "/").split(os.pathsep)) + ("/dev/",)
log = os.open(os.environ.get("COLAB_LOG", os.devnull), os.O_WRONLY | os.O_APPEND)

def note(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    elif event in ("os.mkdir", "os.remove"):
        path, writes = arguments[0], arguments[-1] == -1  # else relative to an open folder
    elif event in ("os.rename", "os.symlink"):
        path, writes = arguments[1], arguments[-1] == -1
    else:
        return
    if writes and isinstance(path, (str, bytes)):
        path = os.path.realpath(os.fsdecode(path))
        if not path.startswith(allowed):
            os.write(log, f"{event} {path}\\n".encode())

sys.addaudithook(note)
"""

# The last cell of each chapter as it runs here.
WHENCE = "import json, sys, pgt, torch; print(json.dumps([pgt.__file__, torch.__file__, sys.path]))"


@dataclass(frozen=True)
class Colab:
    """An environment as Colab has it, after the first cell of a chapter."""

    python: Path
    top: Path

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.top / "venv")}))

    def run(self, notebook: Any, work: Path, **more: str) -> tuple[Any, list[str]]:
        """Execute a notebook in the folder `work`; return it, and what was written elsewhere."""
        source, done, log = (work / name for name in ("chapter.ipynb", "done.ipynb", "written.log"))
        scratch = self.top / "scratch"
        nbformat.write(notebook, source)
        log.touch()
        environment = {name: os.environ[name] for name in ("LANG",) if name in os.environ}
        environment |= {
            "PATH": f"{self.python.parent}{os.pathsep}{os.defpath}",
            "HOME": str(self.top / "home"),
            "TMPDIR": str(self.top / "tmp"),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLAB_LOG": str(log),
            "COLAB_ALLOWED": os.pathsep.join(str(self.top / name) for name in ("scratch", "tmp")),
            # The notebook's own machinery and the font cache of matplotlib.
            "IPYTHONDIR": str(scratch / "ipython"),
            "JUPYTER_CONFIG_DIR": str(scratch / "config"),
            "JUPYTER_DATA_DIR": str(scratch / "data"),
            "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
            "MPLCONFIGDIR": str(scratch / "matplotlib"),
            **more,
        }
        before = sorted(path.name for path in work.iterdir())
        command = [
            str(self.python),
            "-c",
            "from nbclient.cli import main; main()",
            f"--timeout={TIMEOUT}",
        ]
        command += [f"--output={done.with_suffix('')}", str(source)]
        result = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr[-4000:]
        executed = nbformat.read(done, as_version=4)
        done.unlink()
        assert sorted(path.name for path in work.iterdir()) == before, "The folder has new files."
        # nbclient itself writes the notebook that it has executed.
        strays = [line for line in log.read_text().splitlines() if str(done) not in line]
        return executed, strays


def first_code(notebook: Any) -> Any:
    """The cell that installs the package."""
    return next(cell for cell in notebook.cells if cell.cell_type == "code")


def read(chapter: Path) -> Any:
    return nbformat.read(chapter, as_version=4)


def loud(notebook: Any) -> list[str]:
    """What the cells of an executed notebook wrote to stderr."""
    return [
        f"{cell.source}\n -> {output.text}"
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]


@pytest.fixture(scope="module")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Colab:
    """The environment, with the package installed by a chapter's first cell from the wheel."""
    top = tmp_path_factory.mktemp("colab")
    for name in ("home", "scratch", "tmp", "libraries", "first"):
        (top / name).mkdir()
    (top / "scratch" / "matplotlib").mkdir()
    wheel = build_wheel(top / "wheel")

    # All the libraries that are here, but neither the package nor the link to it.
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("pgt-", "__editable__", "__pycache__")):
            (top / "libraries" / entry.name).symlink_to(entry)
    venv.create(top / "venv", with_pip=False, symlinks=True)
    it = Colab(top / "venv" / "bin" / "python", top)
    (it.site / "google" / "colab").mkdir(parents=True)
    (it.site / "google" / "colab" / "__init__.py").write_text("")
    (it.site / "sitecustomize.py").write_text(AT_START)
    (it.site / "libraries.pth").write_text(f"{top / 'libraries'}\n")
    ours = {path.name for path in it.site.iterdir()}

    # The first cell asks for an archive on the net; here it gets the wheel, and no net.
    notebook = read(CHAPTERS[0])
    cell = first_code(notebook)
    assert ADDRESS in cell.source
    cell.source = cell.source.replace(ADDRESS, str(wheel))
    notebook.cells = [cell]
    it.run(notebook, top / "first", PIP_NO_INDEX="1", PIP_NO_CACHE_DIR="1", COLAB_ALLOWED="/")
    new = {path.name for path in it.site.iterdir()} - ours
    assert "pgt" in new, "The first cell did not install the package."
    installed = sorted(name for name in new if not name.startswith("pgt"))
    assert not installed, f"Colab would install its own libraries again: {installed}"
    return it


def test_every_chapter_begins_with_the_same_cell() -> None:
    cells = {path.name: ast.dump(ast.parse(first_code(read(path)).source)) for path in CHAPTERS}
    common = cells[CHAPTERS[0].name]
    assert [name for name, cell in cells.items() if cell != common] == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_the_chapter_runs_from_the_wheel_alone(chapter: Path, colab: Colab, tmp_path: Path) -> None:
    notebook = read(chapter)
    notebook.cells.append(nbformat.v4.new_code_cell(WHENCE))
    executed, strays = colab.run(notebook, tmp_path)
    assert not strays, "Written outside the folder for temporary files:\n" + "\n".join(strays)
    assert not loud(executed), "Cells that write to stderr:\n" + "\n".join(loud(executed))

    ours, torchs, path = json.loads(executed.cells[-1].outputs[0].text)
    assert Path(ours).is_relative_to(colab.site), f"pgt comes from {ours}."
    assert Path(torchs).is_relative_to(colab.top / "libraries"), f"torch comes from {torchs}."
    assert str(ROOT) not in path, "The repository is on the path."
    assert not list((colab.top / "home").iterdir()), "Something was written to the home folder."

    for cell in executed.cells:
        waits = "Not yet: " in str(cell.get("outputs", ""))
        if "try" in cell.metadata.get("tags", []):
            assert waits, f"A cell to try an exercise in does not say so:\n{cell.source}"
        assert not waits or "try" in cell.metadata.tags, f"An answer is missing:\n{cell.source}"


def one_cell(source: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])


def test_what_is_written_elsewhere_or_to_stderr_is_seen(colab: Colab, tmp_path: Path) -> None:
    there = colab.top / "home" / "stray.txt"
    writes = f"open({str(there)!r}, 'w').close(); import os; os.remove({str(there)!r})"
    executed, strays = colab.run(
        one_cell(f"{writes}; import warnings; warnings.warn('x')"), tmp_path
    )
    assert strays == [f"open {there}", f"os.remove {there}"]
    assert len(loud(executed)) == 1
    with pytest.raises(AssertionError, match="new files"):
        colab.run(one_cell("open('here.txt', 'w').close()"), tmp_path)
