"""Storage: a folder here or in an object store, in which files appear whole or not at all."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgt import files as files
from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason

# What the chapters install; on the package index the name `pgt` is a stranger's project.
ARCHIVE = "https://github.com/where-next-book/where-next/archive/main.zip"


def require(name: str) -> Any:
    """Import a package of the extra ``scale``, or say in one sentence how to get it.

    Raises
    ------
    DataError
        It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise DataError(
            f"This needs {name}, which is not here: pip install 'pgt[scale] @ {ARCHIVE}'."
        ) from None


@dataclass(frozen=True)
class Folder:
    """A folder on any file system that fsspec knows.

    Parameters
    ----------
    url : str
        A path, or an address such as ``s3://bucket/folder`` or ``memory://folder``.

    Examples
    --------
    >>> folder = Folder("memory://example")
    >>> folder.write_json("a.json", {"b": 1})
    >>> folder.has("a.json"), folder.read_json("a.json")
    (True, {'b': 1})
    """

    url: str

    @cached_property
    def _place(self) -> tuple[Any, str]:
        return file_system(self.url)

    @property
    def is_local(self) -> bool:
        """Whether its files are those of this machine, so that they can be mapped."""
        return is_local(self._place[0])

    def path(self, name: str = "") -> str:
        """The name of a file as its file system has it."""
        root = self._place[1].rstrip("/")
        return f"{root}/{name}" if name else root

    def address(self, name: str) -> str:
        """The name of a file for those that do not know its file system."""
        path = self.path(name)
        return path if self.is_local else str(self._place[0].unstrip_protocol(path))

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return bool(self._place[0].exists(self.path(name)))

    @contextmanager
    def open(self, name: str) -> Iterator[Any]:
        """Open a file to read its bytes; what goes wrong with them is one sentence."""
        try:
            with self._place[0].open(self.path(name), "rb") as handle:
                yield handle
        except DataError:
            raise
        except UNREADABLE as error:
            missing = isinstance(error, FileNotFoundError)
            if isinstance(error, OSError) and error.errno and not missing:
                raise  # not the file is wrong, but what it lies on
            raise DataError(
                f"{self.path(name)} cannot be read ("
                f"{'there is no such file' if missing else reason(error)}); remove the folder, and "
                "prepare the visits anew."
            ) from error

    @contextmanager
    def whole(self, name: str) -> Iterator[Any]:
        """Open a file to write bytes, which appears when the block ends well."""
        system, path = self._place[0], self.path(name)
        if self.is_local:
            with files.whole(path) as half, open(half, "wb") as handle:
                yield handle
            return
        # An object store shows an object when all of it has arrived.
        buffer = io.BytesIO()
        yield buffer
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.pipe_file(path, buffer.getvalue())

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it is there."""
        if self.has(name):
            self._place[0].rm(self.path(name), recursive=True)

    def remove_empty(self) -> None:
        """Remove the folder itself, if nothing is in it."""
        system, path = self._place
        if system.isdir(path) and not system.ls(path):
            system.rmdir(path)

    def read_json(self, name: str) -> Any:
        """Read what `write_json` wrote."""
        with self.open(name) as handle:
            return json.loads(handle.read())

    def write_json(self, name: str, value: Any) -> None:
        """Write JSON."""
        with self.whole(name) as handle:
            handle.write(json.dumps(value, indent=1).encode())

    def read_table(self, name: str, columns: list[str] | None = None) -> pd.DataFrame:
        """Read a Parquet file."""
        with self.open(name) as handle:
            return pd.read_parquet(handle, columns=columns)

    def write_table(self, name: str, table: pa.Table | pd.DataFrame) -> None:
        """Write a Parquet file."""
        if isinstance(table, pd.DataFrame):
            table = pa.Table.from_pandas(table, preserve_index=False)
        with self.whole(name) as handle:
            pq.write_table(table, handle)

    def read_array(self, name: str) -> np.ndarray:
        """Read an array into memory."""
        with self.open(name) as handle:
            return np.load(io.BytesIO(handle.read()), allow_pickle=False)

    def write_array(self, name: str, array: np.ndarray) -> None:
        """Write an array as .npy, which can be mapped into memory."""
        with self.whole(name) as handle:
            np.save(handle, array, allow_pickle=False)


def file_system(url: str) -> tuple[Any, str]:
    """The file system of an address, and the path on it."""
    try:
        system, path = require("fsspec").core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise DataError(f"{url} cannot be opened: {error}") from error
    return system, str(path)


def is_local(system: Any) -> bool:
    """Whether a file system is that of this machine."""
    protocols = system.protocol
    return "file" in ((protocols,) if isinstance(protocols, str) else protocols)
