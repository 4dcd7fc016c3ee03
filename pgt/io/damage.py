"""Damaged files: what the libraries that read them raise, and the reason in one line."""

from __future__ import annotations

import csv
import lzma
import struct
import tokenize
import zipfile
import zlib

import pyarrow as pa

# A flipped bit can break a reader anywhere: a size that no memory holds, an index into nothing, a
# name that is no text. Whatever it raises, the file is what is wrong, and that is to be said.
UNREADABLE: tuple[type[Exception], ...] = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    OSError, RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, csv.Error,
    lzma.LZMAError, pa.ArrowException, struct.error, tokenize.TokenError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


def reason(error: BaseException) -> str:
    """What an error says, in one line without a full stop.

    Examples
    --------
    >>> reason(EOFError("Compressed file ended.\\nAnd more."))
    'Compressed file ended'
    """
    text = " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
    return text.rstrip(". ")[:200]
