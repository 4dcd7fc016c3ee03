"""Says what to do where the library that counts ROUGE is missing; import this before it.

Only `wherenext.summary_scores` needs ``rouge-score``, so pgt does not bring it along.
"""

from importlib.util import find_spec

if find_spec("rouge_score") is None:
    raise ModuleNotFoundError(
        "ROUGE is counted by the library rouge-score, which is not here; install it with "
        "python -m pip install rouge-score.",
        name="rouge_score",
    )
