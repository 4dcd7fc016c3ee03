#!/usr/bin/env bash
# safetensors: the same weights with the same notes are another file each time they are saved.
#
# Version: safetensors 0.8.0 (numpy 2.4.6); 0.4.5 does the same.
# Expected: a format without pickle, whose header is JSON, writes equal bytes for equal input, so that
#   the hash of a file says whether two trainings ended in the same model.
# Seen: the tensors are always in the same order, the notes (`metadata`) are not: their order is drawn
#   anew for each save, also within one process. Of ten files of one model with four notes nearly
#   every one has its own SHA-256. With one note, or none, all ten are equal.
# Output seen: four notes 9 hashes, one note 1 hash, no note 1 hash (the 9 varies)
# Why it matters: who shows that a training is reproducible by the hash of its file, keeps models by
#   hash, or commits them, sees a change where there is none. Put all notes into one, as JSON, or
#   hash the tensors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 0.8.0 0.4.5; do
  packages=("safetensors==$version" numpy==2.4.6)
  if command -v uv >/dev/null; then
    uv venv --quiet --python "$(command -v python3)" "venv-$version"
    uv pip install --quiet --python "venv-$version/bin/python" "${packages[@]}"
  else
    python3 -m venv "venv-$version"
    "venv-$version/bin/python" -m pip install --quiet "${packages[@]}"
  fi

  echo "safetensors $version"
  "venv-$version/bin/python" - <<'PYTHON'
from hashlib import sha256

import numpy as np
from safetensors.numpy import load, save

MODEL = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "bias": np.zeros(2, np.float32)}
NOTES = {"seed": "42", "epochs": "7", "city": "Larkmere", "places": "2108"}
counts = {}
for name, notes in (("four notes", NOTES), ("one note", {"notes": str(NOTES)}), ("no note", None)):
    files = [save(MODEL, notes) for _ in range(10)]
    assert all(np.array_equal(load(one)["weight"], MODEL["weight"]) for one in files)
    counts[name] = len({sha256(one).hexdigest() for one in files})
print(*(f"{name}: {n} of 10 hashes" for name, n in counts.items()), sep=", ")
assert counts["four notes"] > 1
assert counts["one note"] == counts["no note"] == 1
PYTHON
done
