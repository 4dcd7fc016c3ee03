"""One chapter, executed alone in an empty folder, and the most memory that it had.

The process that starts it stays small, so that the memory of its largest child is the chapter's.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time

from bench_fresh import largest


def executed(path: str, search: str) -> dict[str, float]:
    """Seconds and MiB that a notebook takes which imports from the folders of ``search``."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as empty:
        client = NotebookClient(
            notebook, kernel_name="python3", resources={"metadata": {"path": empty}}
        )
        began = time.perf_counter()
        client.execute(env={**os.environ, "PYTHONPATH": search})
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak": largest(resource.RUSAGE_CHILDREN)}
