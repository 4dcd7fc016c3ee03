# %% [markdown]
# # Evidence: speed
#
# What stands behind three remarks: one of [Training](10_training.ipynb), that a small model on a GPU mostly waits; and two
# of [Scale](25_scale.ipynb), that a loss from sums is no slower, and that several processes can share a training and train
# the same model. And how long people wait for an answer about their own visits.

# %% tags=["hide-input"]
# @title Setup: install the package (Colab)
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% tags=["hide-input"]
# @title Imports and data
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib.ticker import LogLocator, NullLocator
from safetensors.torch import load_file
from wherenext import city
from wherenext.figures import EXTRA, show
from wherenext.results import read_results

from pgt.batch import length_buckets
from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.windows import prepare

town = city.load()
data = prepare(town.visits, protocol="exact")
size = data.vocabulary.n_locations, data.vocabulary.n_users
device = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown]
# ## What a step costs
#
# One line of Python in the training loop becomes hundreds of operations. Each of them costs time twice. It must be
# **launched**: Python and PyTorch find out what to do, and hand the work over. That takes a few millionths of a second,
# however small the tensors are. And there is the **arithmetic**, which grows with the batch. To see the two apart, let the
# batch grow.

# %% tags=["hide-input"]
# @title Figure: a step by the size of its batch
student = PointerGeneratorTransformer(ModelConfig(*size)).to(device).train()
alike = np.flatnonzero(data.train.lengths == 16)  # so nothing is padded
milliseconds = {}
for n in (1, 4, 16, 64, 256):
    b = data.train.batch(alike[:n]).to(device)
    times = []
    for _ in range(10):
        began = time.perf_counter()
        student.zero_grad()
        loss = cross_entropy(student(b).log_probs, b.target)
        loss.mean().backward()
        loss.sum().item()  # a number: waits until all is done
        times.append(1000 * (time.perf_counter() - began))
    milliseconds[n] = min(times)
axes = pd.Series(milliseconds).plot(loglog=True, marker="o", figsize=(6, 2.1))
axes.axhline(milliseconds[1], color=EXTRA, ls="--", label="one window")
axes.legend()
axes.set(xlabel="windows in the batch", ylabel="ms a step")
axes.set_xticks([*milliseconds], [*milliseconds], minor=False)
axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
for axis in (axes.xaxis, axes.yaxis):
    axis.set_minor_locator(NullLocator())
axes.yaxis.set_major_formatter("{x:g}")
show(
    axes.figure,
    alt="Milliseconds of a step rise with the size of its batch.",
    caption="Time of a step on the machine that ran this page. Dashed: the "
    "cost of one window.",
)

# %% [markdown]
# While the curve stays near the dashed line, launches decide, and more windows are nearly free. On a CPU it leaves the line
# after very few windows, and from there on arithmetic decides.
#
# Run the cell on a GPU, and the curve stays flat for long: thousands of small processors do the arithmetic of our batch
# almost at once, and then wait for the next launch, which comes from one core of the CPU. **A small model does not fill a
# GPU**, and a faster GPU would not help. What helps is to stop launching.
#
# That is what a **CUDA graph** does. The operations of one step are recorded once, with the memory that they read and write.
# From then on a single launch replays them all. The price: nothing may move, and no shape may change. So `fit` records one
# graph for each of a few padded lengths (`pgt/graphs.py`). It pays when steps are small, many, and of few shapes: here.

# %% tags=["hide-input"]
# @title Seconds as graphs, and with one launch after the other
bench = read_results("bench").rows
rows = {}
for data_set, heading in {"geolife": "GeoLife", "city": "town"}.items():
    for work_done in ("one epoch", "PGT to its stop"):
        name = bench.name.str.startswith(f"{data_set}: {work_done}")
        of_graphs = bench[name & bench.name.str.contains("as graphs")].iloc[0]
        rows[f"{heading}, {work_done}"] = of_graphs[["ours", "reference"]]
card = of_graphs.device
timed = pd.DataFrame(rows).T.astype(float)
timed["times as fast"] = timed.reference / timed.ours
columns = {"ours": "as graphs, s", "reference": "single launches, s"}
timed.rename(columns=columns).round(1)

# %% [markdown]
# The times are of one run on an {{ card }}. *To its stop* means until early stopping ends the training.
# [Evidence: the model](evidence_model.ipynb) asks whether a recorded training is the same training.
#
# ## A loss from sums
#
# The loss of [chapter 25](25_scale.ipynb) computes every score twice, and makes no array of windows by places. Here is a
# training step of PGT (forward and backward) with it and with the usual loss.

# %% tags=["hide-input"]
# @title Seconds of a step, in both ways
steps = bench[(bench.section == "vocabulary") & bench.name.str.endswith("128")]
steps = steps.dropna(subset="reference")
steps = steps.set_index(steps.name.str.split(":").str[0])
where = steps.device.iloc[0]
steps = steps[["ours", "reference", "ratio"]].astype(float)
steps.columns = ["only sums, s", "every place, s", "times as fast"]
steps.rename_axis(None).round(2)

# %% [markdown]
# The times are of one machine, {{ where }}.
#
# ## From a file to an answer
#
# How long do people wait who ask the package about their own visits? Each row is a program of its own, ours and what stands
# beside it in turn: processor seconds, the median of five runs (of one to three where a run is long). *Before* is the package
# as it was before it was made faster.

# %% tags=["hide-input"]
# @title Table: processor seconds, beside what people use
answers = read_results("answers").rows
what = answers.name.str.extract(r"^(.*?)(?: \(reference: (.*)\))?$")
timed = pd.DataFrame(
    {
        "ours, s": answers.ours.astype(float),
        "beside": what[1].fillna(""),
        "beside, s": answers.reference.astype(float),
    }
)
timed["times as long"] = timed["ours, s"] / timed["beside, s"]
timed["MiB at most"] = answers.peak.astype(float).round()
timed = timed.set_index(what[0].rename(None))
machine = answers.device.iloc[0]
of_epoch = bench[(bench.section == "training") & (bench.unit == "s")]
epoch = float(of_epoch.ratio.iloc[0])
timed.round(2).astype(object).where(timed.notna(), "")

# %% [markdown]
# (Of another machine: {{ machine }}.) Reading loads no PyTorch, so a table is read, and a bad file refused, in hardly more than an
# import of pandas. Who asks the same process again waits hardly at all. Memory stays bounded, since people are asked in groups.
#
# In four rows we hoped for more. **Predicting for a table of ten thousand people** takes more than half of what it took, not a
# third: nearly half of it is the networks, which are the same. **A fit** takes less than six tenths, not half: what is trained is
# the same, too, only less of it is thrown away, and PyTorch's compiler stays where it is. **A map** takes twice what a bare layer
# takes, since each disc has its own size and words, and the page a legend and a table. **Stays** are level with fastmob, which is
# compiled; we hoped to be a tenth ahead. (A Parquet file takes several times what pandas takes: a quarter of that loads a finder of
# zones, and pandas makes no checks.)
#
# And **an epoch of PGT** on a CPU is {{ epoch:.1f }} times as fast as the loop of the design documents; we hoped for four times.
# The largest part of what is left are products of matrices, which both need.
#
# ## The tests
#
# How long does `make test` take from a finished environment? Two fresh clones, ours and *before*, step by step in turn: processor
# seconds, once each in one run.

# %% tags=["hide-input"]
# @title Table: processor seconds of make test
suite = read_results("suite").rows.set_index("name")
suite.index = suite.index.str.removesuffix(" (reference: before)")
steps = suite[["ours", "reference"]].astype(float)
steps.columns = ["ours, s", "before, s"]
steps["times as long"] = steps["ours, s"] / steps["before, s"]
whole, chapters = steps.loc["make test"], steps.loc["make chapters"]
unit = steps.loc["make unit"]
share = 100 * chapters["ours, s"] / whole["ours, s"]
steps.round(2).rename_axis(None)

# %% [markdown]
# We hoped for two thirds of before, and missed it: {{ whole["times as long"]:.2f}}. {{ share:.0f }} % of ours is running the
# chapters, where networks now train before the reader's eyes ({{ chapters["times as long"]:.2f }} times as long). The unit tests
# take {{ unit["times as long"]:.2f }} times as long, as there are more of them. Fewer seconds would mean fewer trainings or fewer
# tests; we kept both.
#
# ## Several processes
#
# The steps of a training depend on each other, so they cannot be dealt out like the parts of a table. The usual way is **data
# parallel**: every process has the whole model and takes a share of each batch, and before each step all processes average
# their gradients. What could go wrong? Here are the losses of a batch of five windows, dealt out to two processes.

# %% tags=["hide-input"]
# @title The mean of five losses, and of two means
losses = torch.tensor([1.0, 2.0, 3.0, 4.0, 9.0])
shares = losses[0::2], losses[1::2]  # three windows and two
each = torch.stack([share.mean() for share in shares])
print(f"mean of all five: {losses.mean():.2f}")
print(f"mean of the two means: {each.mean():.2f}")

# %% [markdown]
# A window in the smaller share counts more. So each process must divide its *sum* by the number of windows in *all* shares,
# and the results are added. The last batch of an epoch is nearly always uneven. PyTorch's `DistributedDataParallel` takes the
# mean over the processes, so the sum is multiplied by their number first. In the script below, an epoch of PGT, these lines
# do it:
#
# ```python
# batch = data.train.batch(index[rank::world])  # this process's share
# losses = cross_entropy(model(batch).log_probs, batch.target, 0.03)
# (losses.sum() * world / len(index)).backward()
# ```

# %% tags=["hide-input"]
# @title `train.py`: an epoch of PGT, in as many processes as there are
folder = tempfile.TemporaryDirectory()
work = Path(folder.name)
script = work / "train.py"
_ = script.write_text("""
import sys
import numpy as np, pandas as pd, torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel
from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.batch import length_buckets
from pgt.windows import prepare

table, out = sys.argv[1:]
dist.init_process_group("gloo")  # "nccl" on GPUs
rank, world = dist.get_rank(), dist.get_world_size()
data = prepare(pd.read_parquet(table), protocol="exact")
size = data.vocabulary.n_locations, data.vocabulary.n_users
torch.manual_seed(0)
model = PointerGeneratorTransformer(ModelConfig(*size, dropout=0.0))
model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
order = np.random.default_rng(0)  # the same in every process
for index in length_buckets(data.train.lengths, 129, order):
    batch = data.train.batch(index[rank::world])
    losses = cross_entropy(model(batch).log_probs, batch.target, 0.03)
    optimizer.zero_grad()
    (losses.sum() * world / len(index)).backward()
    weights = dict(model.module.named_parameters())
    if not optimizer.state and rank == 0:
        gradients = {name: p.grad for name, p in weights.items()}
        save_file(gradients, f"{out}/gradients")
    optimizer.step()
weights = {name: p.detach() for name, p in weights.items()}
save_file(weights, f"{out}/weights-{rank}")
dist.destroy_process_group()
""")

# %% [markdown]
# `torchrun`, which is short for `python -m torch.distributed.run`, starts the processes, on this machine or on several, and
# tells each its rank. Here it starts two. The script keeps the gradients of the first step, and we take the same step in this
# one process, with all 129 windows (an odd number, so that the two shares differ).

# %% tags=["hide-input"]
# @title Two processes and one: the same gradients
columns = ["user_id", "location_id", "started_at", "finished_at"]
town.visits[columns].to_parquet(work / "town.parquet")
torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
torchrun += ["--nproc-per-node=2", str(script), str(work / "town.parquet")]
done = subprocess.run([*torchrun, folder.name], capture_output=True)
done.check_returncode()

torch.manual_seed(0)
alone = PointerGeneratorTransformer(ModelConfig(*size, dropout=0.0))
order = np.random.default_rng(0)
# As in the script: 129 windows a batch, of like length among 32 batches.
batch = data.train.batch(next(length_buckets(data.train.lengths, 129, order)))
cross_entropy(alone(batch).log_probs, batch.target, 0.03).mean().backward()
together = load_file(work / "gradients")
for name, p in alone.named_parameters():
    torch.testing.assert_close(together[name], p.grad, atol=1e-6, rtol=1e-4)
first, second = (load_file(work / f"weights-{k}") for k in (0, 1))
assert all(torch.equal(first[name], second[name]) for name in first)
print("the same gradients, and two processes with the same weights")

# %% [markdown]
# The gradients are equal but for rounding. At the end of the epoch both processes have the same weights to the last bit,
# though each has seen only half of the windows.
#
# Chance is the second trap. All processes need the same seed, so that they begin with the same weights. But with dropout they
# would then drop the same numbers. The script goes without dropout. With it, seed each process with a number of its own once
# the model is built (`torch.manual_seed(rank)`).
