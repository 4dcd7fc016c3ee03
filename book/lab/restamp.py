"""Marks taken over after a rename: proved by renaming the old code, not by running the new one."""

from __future__ import annotations

import ast
import json
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lab import models, reports, runs
from lab.bindings import module_name
from lab.marks import Tree
from lab.provenance import LAB, PACKAGE, REFUSALS, STOPS
from pgt.errors import DataError
from pgt.files import write_text

ROOT = PACKAGE.parent
FOLDERS = (PACKAGE.relative_to(ROOT), LAB.relative_to(ROOT))


def restamp(folder: Path, since: str, names: Path | None = None) -> Iterator[str]:
    """Bring up to date the marks of code that only has other names.

    A mark is blind to where a definition stands, to what it is called, and to local names. What it
    does see is renamed in the old code as ``names`` says:

    - ``[words]``: attributes, parameters and keywords. ``word = "new"`` everywhere, ``".word"``
      attributes and keywords alone, ``"pgt.model:word"`` in one module.
    - ``[texts]``: whole strings.
    - ``[definitions]``: ``"pgt.model:new" = "old"`` finds where a mark begins or stops.

    Parameters
    ----------
    folder : Path
        With the results files.
    since : str
        A commit whose code made the files.
    names : Path, optional
        A TOML file.

    Yields
    ------
    str
        What became of each mark.

    Raises
    ------
    DataError
        When the commit is not there, or its code did not make the files.
    """
    tables = tomllib.loads(names.read_text(encoding="utf-8")) if names else {}
    sources = _sources(since)
    before = Tree(sources, REFUSALS)
    words, texts = tables.get("words", {}), tables.get("texts", {})
    renamed = Tree({
        name: rename(text, _words_of(name, words), texts) for name, text in sources.items()
    }, REFUSALS)  # fmt: skip
    called = tables.get("definitions", {})
    where = {}
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        header = json.loads(text)
        header.pop("rows", None)
        changed = False
        for part, mark in header.get("code", {}).items():
            now = reports.code_now(part)
            if mark == now:
                continue
            if part not in where:
                starts = _starts(part)
                begin = _there(before, starts, called)
                stop = _there(before, STOPS, called, strict=False)
                where[part] = (before.mark(begin, stop), renamed.mark(begin, stop))
            then, same = where[part]
            if mark != then:
                raise DataError(
                    f"{path.name} was not made by the code of {part} in {since}; name the commit "
                    "that it belongs to, or confirm it."
                )
            if same != now:
                yield f"{path.stem} {part}: not only renamed; confirm it"
                continue
            header["code"][part] = now
            changed = True
            yield f"{path.stem} {part}: {mark} -> {now}"
        if changed:
            head = json.dumps(header, indent=1, allow_nan=False)[:-2]
            rows = text.index('\n "rows": [')
            write_text(path, f"{head},{text[rows:]}")


def rename(source: str, words: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Source with other identifiers and strings.

    Examples
    --------
    >>> rename("def f(told): return g(told=told.when, key='when')", {"when": "time"}, {})
    "def f(told):\\n    return g(told=told.time, key='when')"
    """
    return ast.unparse(_Renamer(words, texts).visit(ast.parse(source)))


class _Renamer(ast.NodeTransformer):
    def __init__(self, words: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.names = {word: new for word, new in words.items() if not word.startswith(".")}
        self.members = self.names | {
            word[1:]: new for word, new in words.items() if word.startswith(".")
        }

    def generic_visit(self, node: ast.AST) -> ast.AST:
        member = isinstance(node, ast.Attribute | ast.keyword | ast.FunctionDef)
        words = self.members if member else self.names
        for name, value in ast.iter_fields(node):
            if name in ("id", "attr", "arg", "name") and isinstance(value, str):
                setattr(node, name, words.get(value, value))
        return super().generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        return node  # a mark is blind to the names of what is imported

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            node.value = self.texts.get(node.value, node.value)
        return node


def _words_of(module: str, words: Mapping[str, str]) -> dict[str, str]:
    """The words that are renamed in a module."""
    found = {word: new for word, new in words.items() if ":" not in word}
    for word, new in words.items():
        where, colon, own = word.partition(":")
        if colon and where == module:
            found[own] = new
    return found


def _sources(since: str) -> dict[str, str]:
    """The package and the laboratory as they were in a commit."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", since, *map(str, FOLDERS)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        raise DataError(f"There is no commit {since} here: {listed.stderr.strip()}")
    found = {}
    for name in listed.stdout.splitlines():
        if name.endswith(".py"):
            shown = subprocess.run(
                ["git", "show", f"{since}:{name}"], cwd=ROOT, capture_output=True, text=True,
                check=True,
            )  # fmt: skip
            path = Path(name)
            inside = path.relative_to(FOLDERS[1].parent) if name.startswith("book/") else path
            found[module_name(inside)] = shown.stdout
    return found


def _starts(part: str) -> tuple[str, ...]:
    return runs.starts_of(part) if part in models.MAKERS else reports.starts_of(part)


def _there(
    old: Tree, starts: Iterable[str], called: Mapping[str, str], strict: bool = True
) -> list[str]:
    """Where definitions of today stood: in the same module, or in the only one with that name."""
    found = []
    for start in starts:
        module, colon, name = start.partition(":")
        if start in called:
            name = called[start]
        if not colon or (module in old.sources and old.offers(module, name)):
            found.append(f"{module}{colon}{name}")
            continue
        homes = [home for home in old.sources if old.defines(home, name)]
        if len(homes) == 1:
            found.append(f"{homes[0]}:{name}")
        elif strict:
            raise DataError(f"{start} has no counterpart in the old code; confirm instead.")
    return found
