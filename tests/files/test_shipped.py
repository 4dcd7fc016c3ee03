"""What comes with the package lies where it is looked for, in the repository and in a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgt.files import shipped


@pytest.mark.parametrize("name", shipped.FOLDERS)
def test_the_folder_is_the_repositorys_unless_the_package_holds_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(shipped.folder(name).iterdir())
    in_repository, in_wheel = shipped.FOLDERS[name]
    monkeypatch.setattr(shipped, "PACKAGE", tmp_path / "pgt")
    assert shipped.folder(name) == tmp_path / in_repository
    (tmp_path / "pgt" / in_wheel).mkdir(parents=True)
    assert shipped.folder(name) == tmp_path / "pgt" / in_wheel
