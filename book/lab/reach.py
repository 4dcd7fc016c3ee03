"""How far back PGT's encoder and a BiLSTM in its place reach, before and after training.

    python book/lab/run.py reach

writes ``book/results/reach.json``: for each encoder and seed, untrained and trained on the city,
the ``share`` of the last visit's encoding that depends on the visit ``back`` places from the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from wherenext.reach import reach

from lab.data_sets import dataset
from lab.models import preset
from lab.reports import Report, Row
from lab.side_by_side import SEEDS, with_recurrent_encoder
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit

ENCODERS = {"Transformer": PointerGeneratorTransformer, "BiLSTM": with_recurrent_encoder}


def _rows() -> Iterator[Row]:
    data = dataset("city")
    for seed in SEEDS:
        config, training = preset("city", data.vocabulary, seed)
        for name, make in ENCODERS.items():
            torch.manual_seed(seed)
            model = make(config)
            for trained in (False, True):
                if trained:
                    fit(model, data.train, data.valid, training, device="cpu", progress=False)
                for back, share in enumerate(reach(model, data.test).tolist(), start=1):
                    yield {"encoder": name, "seed": seed, "trained": trained, "back": back,
                           "share": 100 * share}  # fmt: skip


REPORT = Report(
    question="Does an LSTM forget old visits, and a Transformer not?", rows=_rows, data=("city",)
)
