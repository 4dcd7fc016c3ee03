"""What the public workflows name is there, and the tools that they install are all that is asked.

The workflows themselves run elsewhere; here their files are read.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .helpers import ROOT

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
             for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}  # fmt: skip
SOURCES = ("tests", "book", "book/_ext", "book/lab/bench")  # where tests find what they import
# Programs that a test starts, and that no import shows.
STARTED = {"tests/test_house.py": "importlinter"}


def steps(job: dict[str, Any]) -> str:
    """The commands of a job, one a line."""
    return "\n".join(step.get("run", "") for step in job["steps"])


def needed(names: list[str]) -> set[str]:
    """What must be installed for these requirements, as far as it is here."""
    found: set[str] = set()
    todo = [(Requirement(name), "") for name in names]
    while todo:
        asked, extra = todo.pop()
        name = canonicalize_name(asked.name)
        if name in found or (asked.marker and not asked.marker.evaluate({"extra": extra})):
            continue
        try:
            more = importlib.metadata.requires(asked.name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
        todo += [(Requirement(one), own) for one in more for own in ("", *asked.extras)]
    return found


@cache
def imported(path: Path) -> set[str]:
    """What a file imports at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


@cache
def own_file(name: str) -> Path | None:
    """The file of a module of the repository; the repository itself where it is a package of it."""
    inside, folders = name.replace(".", "/"), [ROOT / source for source in (*SOURCES, ".")]
    there = [file for folder in folders if (file := folder / f"{inside}.py").is_file()]
    if there:
        return there[0]
    return ROOT if any((folder / name.split(".")[0]).is_dir() for folder in folders) else None


def libraries(path: Path, seen: set[Path]) -> Iterator[str]:
    """The libraries that loading a file loads, by way of the repository's own modules."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for name in imported(path):
        if file := own_file(name):
            yield from libraries(file, seen)
        else:
            yield name.split(".")[0]


def test_the_package_is_tested_with_all_that_its_tests_import() -> None:
    commands = steps(WORKFLOWS["ci"]["jobs"]["package"])
    left_out = set(re.findall(r"--ignore (\S+)", commands))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'--editable "\.\[(.+?)\]"', commands)
    optional = project["optional-dependencies"]
    asked = project["dependencies"] + [one for name in extras.split(",") for one in optional[name]]
    (tools,) = re.findall(r"--constraint bounds\.txt (.+)", commands)
    there = needed(asked + tools.split())
    owners = importlib.metadata.packages_distributions()
    missing = set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        inside = path.relative_to(ROOT).as_posix()
        if any(inside.startswith(f"{folder}/") for folder in left_out):
            continue
        names = {*libraries(path, set())} | ({STARTED[inside]} if inside in STARTED else set())
        for name in names - set(sys.stdlib_module_names):
            if not there & {canonicalize_name(one) for one in owners.get(name, [])}:
                missing.add((inside, name))
    assert missing == set()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_names_is_there(name: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for job in WORKFLOWS[name]["jobs"].values():
        assert job["timeout-minutes"] <= 60 if "timeout-minutes" in job else name == "ci"
        for folder in job.get("strategy", {}).get("matrix", {}).get("folder", []):
            assert (ROOT / folder / "package-lock.json").is_file()
        commands = steps(job)
        assert set(re.findall(r"\bmake ([a-z]+)", commands)) <= targets
        paths = re.findall(r"(?:--ignore|--requirement) (\S+)|(?m:^(\.ci/\S+))", commands)
        for path in filter(None, (one for pair in paths for one in pair)):
            assert (ROOT / path).exists(), path
        for step in job["steps"]:
            if cached := step.get("with", {}).get("cache-dependency-path"):
                assert (ROOT / cached).is_file()


def test_what_comes_from_elsewhere_cannot_write_here() -> None:
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert "permissions" not in job or name == "publish"
        assert "${{ github.event" not in "".join(map(steps, workflow["jobs"].values()))
