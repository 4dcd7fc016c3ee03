"""What comes with the package lies where it is looked for, in the repository and in a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgt import files


@pytest.mark.parametrize("name", files.FOLDERS)
def test_the_folder_is_the_repositorys_unless_the_package_holds_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(files.folder(name).iterdir())
    in_repository, in_wheel = files.FOLDERS[name]
    monkeypatch.setattr(files, "PACKAGE", tmp_path / "pgt")
    assert files.folder(name) == tmp_path / in_repository
    (tmp_path / "pgt" / in_wheel).mkdir(parents=True)
    assert files.folder(name) == tmp_path / "pgt" / in_wheel
