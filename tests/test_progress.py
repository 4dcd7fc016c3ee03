"""A bar where somebody looks, and nothing half written when they have seen enough."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest

from pgt import progress
from pgt.readers import tables


class Stream(io.StringIO):
    """What stderr may be: a terminal, or a file."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_for_terminals_and_changes_nothing(
    *, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Stream(terminal=terminal)
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(progress, "AFTER", 0.0)
    assert [*progress.bar(iter("abc"), "asking", 3)] == ["a", "b", "c"]
    assert ("asking" in seen.getvalue()) == terminal


def test_what_is_quick_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Stream(terminal=True)
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(progress, "AFTER", 1e9)
    assert [*progress.bar(range(3), "asking", 3)] == [0, 1, 2]
    assert "asking" not in seen.getvalue()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_stop_while_writing_leaves_what_was_there(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / f"answer{suffix}"
    out.write_bytes(b"before")

    def stopped(_: object, path: object = None, **__: object) -> None:
        if path is not None:
            Path(str(path)).write_bytes(b"half")
        raise KeyboardInterrupt

    for name in ("to_csv", "to_parquet"):
        monkeypatch.setattr(pd.DataFrame, name, stopped)
    with pytest.raises(KeyboardInterrupt):
        tables.write(pd.DataFrame({"a": [1]}), out)
    assert out.read_bytes() == b"before" and [*tmp_path.iterdir()] == [out]
