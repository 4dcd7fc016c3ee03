"""Files that are written whole or not at all: a name appears once its content is complete."""

from __future__ import annotations

import csv
import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pgt.errors import DataError

ABANDONED = 3600.0  # seconds without a byte, after which a half-written file is nobody's


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Give another name to write under, of the same folder, and move what is there to `path`.

    When the block raises, what it wrote goes away, and what was at `path` stays. Every call has a
    name of its own, so that two writers at once cannot mix. What a killed writer left behind goes
    away with the next write to the same path, an hour later or more.

    Parameters
    ----------
    path : path
        Its folder is made if there is none.

    Yields
    ------
    Path
        The name to write under.

    Raises
    ------
    OSError
        When the disk is full or the folder cannot be written to; the message says which file, and
        that the old one is as before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(f"{folder}/new/a.txt") as half:
    ...         _ = half.write_text("all of it")
    ...     Path(f"{folder}/new/a.txt").read_text()
    'all of it'
    """
    path = Path(path)
    if not path.name or path.is_dir():
        raise _refused(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    half = _other_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield half
        with open(half, "rb") as handle:
            os.fsync(handle.fileno())
        _sweep(path, half)
        os.replace(half, path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        with suppress(OSError):  # what cannot be there need not go away
            half.unlink()


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """As `whole`, for a folder of files; what else is in a folder that is there stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as above:
    ...     with whole_folder(f"{above}/new") as half:
    ...         _ = (half / "a.txt").write_text("all of it")
    ...     [file.name for file in Path(f"{above}/new").iterdir()]
    ['a.txt']
    """
    path = Path(path) if Path(path).name else Path(path).resolve()
    half = _other_name(path)
    try:
        half.mkdir(parents=True)
        yield half
        _sweep(path, half)
        if path.exists():
            for file in sorted(half.iterdir()):
                os.replace(file, path / file.name)
        else:
            os.replace(half, path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _other_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sweep(path: Path, half: Path) -> None:
    """Remove what writers of the same path left that were killed: by the clock of its disk."""
    now = half.stat().st_mtime
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        try:
            if left != half and now - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except OSError:  # another writer was quicker
            continue


def _refused(path: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    return OSError(
        error.errno or errno.EIO,
        f"{path} could not be written ({reason}); what was there before is as it was. Make room, "
        "or write to another folder.",
    )


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, whole or not at all; returns the path."""
    with whole(path) as half:
        half.write_text(text, encoding="utf-8")
    return Path(path)


PACKAGE = Path(__file__).resolve().parent
# What is shipped: its folder in the repository, and in the wheel.
FOLDERS = {
    "city": ("data/city", "_city"),
    "checkpoints": ("data/checkpoints", "_checkpoints"),
    "results": ("book/results", "_results"),
}


def folder(name: str) -> Path:
    """The folder of the simulated city, of the small trained models, or of measured results.

    Parameters
    ----------
    name : {"city", "checkpoints", "results"}

    Examples
    --------
    >>> (folder("city") / "visits.csv").is_file()
    True
    """
    in_repository, in_wheel = FOLDERS[name]
    inside = PACKAGE / in_wheel
    return inside if inside.is_dir() else PACKAGE.parent / in_repository


# Where a cell begins (of any program, whatever it takes for a separator), and how a formula does:
# behind a tab, a line end or an apostrophe of ours it is one as well, and some read wide signs.
_BEGIN, _FORMULA = r"(^|[,;|\t\r\n])", r"(?='*[=+\-@\t\r\n＝＋－＠])"
OPEN, MARKED = re.compile(_BEGIN + _FORMULA), re.compile(f"{_BEGIN}'{_FORMULA}")


def write_csv(table: pd.DataFrame, path: str | Path | None = None) -> str:
    """Write a table as CSV, `defused`; without a path, give its text.

    Parameters
    ----------
    table : DataFrame
        Written without its index.
    path : path, optional

    Examples
    --------
    >>> write_csv(pd.DataFrame({"user_id": ["=1+1", "ann"], "effect": [-3.2, 0.5]}))
    "user_id,effect\\n'=1+1,-3.2\\nann,0.5\\n"
    """
    safe = defused(table)
    # Older Pythons write a bare carriage return without quotes, where it would end the row.
    texts = chain(safe.columns, *(values for _, values in _texts(safe)))
    returns = any("\r" in text for text in texts if isinstance(text, str))
    quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return safe.to_csv(path, index=False, lineterminator="\n", quoting=quoting) or ""


def defused(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run.

    Texts are looked at, names of columns and categories too; numbers and times stay as they are.
    Columns without such a text are the same objects. `plain` takes the apostrophes away.

    Parameters
    ----------
    table : DataFrame
        About to be written as CSV.

    Examples
    --------
    >>> table = pd.DataFrame({"user_id": ["=1+1", "ann"], "effect": [-3.2, 0.5]})
    >>> defused(table).values.tolist()
    [["'=1+1", -3.2], ['ann', 0.5]]
    """
    return _changed(table, lambda text: OPEN.sub(r"\1'", text))


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the apostrophes that `defused` puts there.

    Examples
    --------
    >>> plain(pd.DataFrame({"user_id": ["'=1+1", "'s-Hertogenbosch"]})).user_id.tolist()
    ['=1+1', "'s-Hertogenbosch"]
    """
    return _changed(table, plain_text, only="'")


def plain_text(text: str) -> str:
    """One text of such a table.

    Examples
    --------
    >>> plain_text("home;'-3"), plain_text("''=1")
    ('home;-3', "'=1")
    """
    return MARKED.sub(r"\1", text) if "'" in text else text


def _texts(table: pd.DataFrame, only: str = "") -> Iterator[tuple[int, pd.Series]]:
    """The columns that may hold texts, with a sign if one is named, by their number, as objects."""
    for at, dtype in enumerate(table.dtypes):
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            continue
        values = table.iloc[:, at]
        # Texts that pandas holds as such are searched without making an object of each.
        held = only and isinstance(dtype, pd.StringDtype)
        if not held or _stands_in(values, only):
            yield at, values.astype(object)


def _stands_in(values: pd.Series, sign: str) -> bool:
    """Whether a sign may be in a column of texts: False is certain.

    The bytes of all texts are searched as they lie one behind the other, six times as fast as text
    by text; those of rows that a table was cut from may be among them.
    """
    texts = pa.array(values)
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    held = [chunk.buffers()[-1] for chunk in chunks]  # UTF-8
    return any(text is not None and re.search(re.escape(sign.encode()), text) for text in held)


def _changed(table: pd.DataFrame, change: Callable[[str], str], only: str = "") -> pd.DataFrame:
    def one(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    done = table.rename(columns=one)  # a new table that shares its columns with the old one
    for at, values in _texts(table, only):
        if any(isinstance(value, str) and change(value) != value for value in values):
            done.isetitem(at, values.map(one))
    return done


@contextmanager
def shapes_only() -> Iterator[None]:
    """Make modules without memory: whatever size is claimed, nothing is asked for.

    Normal numbers are not drawn either. Without memory there is nothing to fill, and drawing them
    there makes PyTorch load its compiler, which takes a second.

    Examples
    --------
    >>> with shapes_only():
    ...     table = torch.nn.Embedding(10**9, 10**6)
    >>> table.weight.shape, table.weight.device.type
    (torch.Size([1000000000, 1000000]), 'meta')
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Normal numbers are left as they are."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in (nn.init.normal_, torch.Tensor.normal_):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


FORMAT = "pgt-1"
NAMED = ("notes", "model", "models", "vocabulary", "windows")  # of a header, tables of names


def write(path: str | Path, tensors: dict[str, Tensor], info: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the name appears only once the file is complete."""
    body = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(info)
    header = {"format": FORMAT, "info": text, "sha256": checksum(body, text)}
    with whole(path) as half:
        # In a folder of its own: safetensors has a name for half a file, too, and may be killed.
        room = half.with_name(f"{half.name}.part")
        room.mkdir()
        try:
            save_file(body, room / half.name, metadata=header)
            os.replace(room / half.name, half)
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error)) from error
        finally:
            shutil.rmtree(room, ignore_errors=True)
        half.chmod(0o644)  # safetensors makes it the owner's alone


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write` wrote.

    Raises
    ------
    DataError
        When there is no such file, it is cut short, changed, or something else altogether.
    """
    with _opened(Path(path)) as (handle, info):
        tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
        header = handle.metadata()
    expected = header.get("sha256")  # files of earlier versions have none
    if expected is not None and expected != checksum(tensors, header["info"]):
        raise DataError(
            f"{Path(path).name} is damaged: its checksum does not fit what is in it; copy it again "
            "or train anew."
        )
    return tensors, info


def checksum(tensors: Mapping[str, Tensor], info: str) -> str:
    """SHA-256 over the text of a header, and the name, type, shape and bytes of each tensor.

    Examples
    --------
    >>> checksum({"bias": torch.zeros(2)}, "{}")[:8]
    'c7d8d5ab'
    """
    found = hashlib.sha256(info.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        found.update(f"\n{name} {value.dtype} {tuple(value.shape)} ".encode())
        if value.numel():  # an empty one cannot be seen as bytes
            found.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def read_info(path: str | Path) -> dict[str, Any]:
    """Read the header alone, which is quick however large the model is; raises as `read`."""
    with _opened(Path(path)) as (_, info):
        return info


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The open file and its header; what goes wrong while it is read is one sentence."""
    if not path.is_file():
        raise DataError(f"There is no checkpoint {path}; train one with python -m pgt train.")
    try:
        with safe_open(path, framework="pt") as handle:
            header = handle.metadata() or {}
            if header.get("format") != FORMAT:
                raise DataError(f"{path.name} is a safetensors file, but no checkpoint of pgt.")
            info = json.loads(header["info"])
            if not (isinstance(info, dict)
                    and all(isinstance(info.get(name, {}), dict) for name in NAMED)):  # fmt: skip
                raise ValueError("its header is no table of names")
            yield handle, info
    except DataError:
        raise
    except (SafetensorError, LookupError, ValueError, RecursionError, OSError) as error:
        reason = " ".join(str(error).splitlines()[:1]) or type(error).__name__
        raise DataError(
            f"{path.name} is cut short or damaged ({reason}); copy it again or train anew."
        ) from error


@contextmanager
def fitting(name: str) -> Iterator[None]:
    """One sentence for a header with other contents than this version writes."""
    try:
        yield
    except DataError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError,
            ValueError) as error:  # fmt: skip
        reason = " ".join(str(error).splitlines()[:1])
        raise DataError(
            f"The header of {name} does not fit this version of pgt ({reason})."
        ) from error


def built(make: Callable[[], Model], tensors: dict[str, Tensor], name: str) -> Model:
    """Make a model for these tensors, in evaluation mode, once it is known that they fit."""
    with fitting(name), shapes_only():  # a header can claim any size
        skeleton = make()
    require_shapes(skeleton.state_dict(), tensors, name)
    model = make()
    load_weights(model, tensors, name)
    return model.eval()


def load_weights(model: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Put tensors into a model of the very same shapes, or say which one does not fit."""
    require_shapes(model.state_dict(), tensors, name)
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise DataError(
                f"{name} holds weights that are no numbers ('{key}'); copy it again or train anew."
            )
    model.load_state_dict(tensors)


def require_shapes(own: dict[str, Any], tensors: dict[str, Tensor], name: str) -> None:
    """Refuse tensors of other names or shapes than a model's own."""
    for key in sorted(own.keys() | tensors.keys()):
        if key not in tensors:
            raise DataError(f"{name} lacks the weights '{key}'; it is of another configuration.")
        if key not in own:
            raise DataError(f"{name} has weights '{key}' that this model does not have.")
        if own[key].shape != tensors[key].shape:
            raise DataError(
                f"'{key}' is {tuple(tensors[key].shape)} in {name} but {tuple(own[key].shape)} in "
                "this model; it belongs to another vocabulary or configuration."
            )


Model = TypeVar("Model", bound=nn.Module)
