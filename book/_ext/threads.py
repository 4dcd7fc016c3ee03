"""How many threads a process takes of a machine that it shares with others like it.

Torch and the libraries below NumPy take every core by default. When several processes do so at
once, each waits for the others' threads without sleeping, and a chapter takes many times its time.
So whatever starts chapters side by side (execute.py, colab.py, ``pytest --nbmake book -n 2``) gives
each a share of the cores.
"""

from __future__ import annotations

import os

# The OpenMP of torch, MKL, OpenBLAS and Arrow all read this one, and kernels inherit it.
VARIABLE = "OMP_NUM_THREADS"


def fair_share(processes: int | None = None) -> dict[str, str]:
    """Return the environment variable that gives a process its share of the cores.

    Parameters
    ----------
    processes : int, optional
        How many run side by side, at least 1. By default the workers of the present run of
        pytest, as pytest-xdist counts them; 1 outside of such a run.

    Returns
    -------
    dict of str to str
        One entry. A value that has been set beforehand stays.

    Examples
    --------
    >>> fair_share(processes=1000)  # doctest: +SKIP
    {'OMP_NUM_THREADS': '1'}
    """
    if processes is None:
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = max(1, (os.cpu_count() or 1) // processes)
    return {VARIABLE: os.environ.get(VARIABLE, str(share))}
