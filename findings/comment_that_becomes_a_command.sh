#!/usr/bin/env bash
# jupytext: a comment of a script that begins like a command is a command in the notebook.
#
# Version: jupytext 1.19.6, nbformat 5.11.1.
# Expected: a comment in a code cell of a percent script is a comment in the notebook.
# Seen: jupytext writes magics into scripts as comments, and takes such comments for magics on the
#   way back: "# ls the places" is the line "ls the places", "# cat and dog" is "cat and dog", "#
#   %share of days" is "%share of days", "# ! only here" loses its sign as well. "# %5" and "# man"
#   stay. Back in a script all is as before, so a round trip from the script finds nothing.
# Output seen: ls the places | cat and dog | %share of days
# Why it matters: the script passes linters and tests, its notebook does not run, or runs a command
#   of the shell or a magic that nobody wrote. Here nothing is run; the cells are only read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(jupytext==1.19.6 nbformat==5.11.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import jupytext

COMMENTS = ["# ls the places", "# cat and dog", "# %share of days", "# ! only here", "# cd is lost"]
SAFE = ["# list the places", "# %5 of the days", "# man and dog", "# the ls of places"]


def in_notebook(comment):
    """The line of the code cell that the comment becomes."""
    script = f"# %%\nvisits = 3\n{comment}\n"
    notebook = jupytext.reads(script, fmt="py:percent")
    assert len(notebook.cells) == 1 and notebook.cells[0].cell_type == "code"
    assert comment in jupytext.writes(notebook, fmt="py:percent")  # the way back hides it
    return notebook.cells[0].source.splitlines()[1]


print(" | ".join(in_notebook(comment) for comment in COMMENTS))
assert [in_notebook(comment) for comment in COMMENTS] == [c.removeprefix("# ") for c in COMMENTS]
assert [in_notebook(comment) for comment in SAFE] == SAFE
PYTHON
