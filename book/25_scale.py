# %% [markdown]
# # Scale
#
# If a city grows to a million places and nobody visits the new ones, how much slower does a step of training get?
#
# *You will be able to* find out which part of a program gives up first when its data grow, train with a
# million places on a laptop, and divide the work between processes and computers without changing its
# numbers. *You need* [the loss](09_model.ipynb), [Training](10_training.ipynb) and
# [Windows](03_windows.ipynb). *It takes* a quarter of an hour to read and about a minute to run; a GPU is not used.

# %% tags=["hide-input"]
try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
    import duckdb  # noqa: F401
    import fsspec  # noqa: F401

    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q 'pgt[scale] @ "
        "https://github.com/where-next-book/where-next/archive/main.zip'",
    )

# %%
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, GENERATED, show

from pgt.config import ModelConfig
from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.history import with_history
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import cross_entropy, rank
from pgt.windows import prepare

torch.manual_seed(0)
town = city.load()
data = prepare(town.visits, protocol="exact")
words = data.vocabulary
places, people = words.n_locations, town.visits.user_id.nunique()
print(f"{places:,} places in the vocabulary, {people:,} people")

# %% [markdown]
# Our town is small. A city of check-ins has a hundred thousand places, a country millions. The windows stay as they
# are: people visit a few dozen places each, wherever they live. Before you read on, guess the answer to the question
# at the top.
#
# ## Where do time and memory go?
#
# We give the model a larger vocabulary than the town's. Its windows, its encoder and its pointer do the same work as
# before. A step has two costs: the time it takes, and the memory that must be kept between the forward and the
# backward pass. PyTorch lets us watch the second: a *hook* sees every tensor that is saved for the gradient.


# %%
def cost(model, batch, way):
    """Seconds of a step; megabytes kept for its gradient."""
    weights, kept = {p.data_ptr() for p in model.parameters()}, {}

    def keep(x):
        if x.data_ptr() not in weights:
            kept[x.data_ptr()] = x.untyped_storage().nbytes()
        return x

    began = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        loss = way(model, batch).mean()
    loss.backward()
    model.zero_grad(set_to_none=True)
    return time.perf_counter() - began, sum(kept.values()) / 1e6


def every_place(model, batch):
    log_probs = model(batch).log_probs  # (B, V)
    return cross_entropy(log_probs, batch.target, 0.03)


def only_sums(model, batch):
    mixture = model.mixture(batch)
    return mixture.cross_entropy(batch.target, 0.03)  # (9.2)


# %% [markdown]
# Both functions compute the same loss. The first writes down a log-probability for every place and every window.
# The second is equation (9.2) of [chapter 9](09_model.ipynb).


# %%
def some(windows, n=64):
    """Windows from all over the split, as a batch."""
    return windows.batch(np.arange(0, len(windows), len(windows) // n)[:n])


batch = some(data.train)
ways = {"every place": every_place, "sums only": only_sums}
sizes, costs = (2_500, 20_000, 160_000), []
for n in sizes:
    model = PointerGeneratorTransformer(ModelConfig(n, words.n_users))
    for name, way in ways.items():
        tries = [cost(model, batch, way) for _ in range(4)]
        seconds, megabytes = np.min(tries, axis=0)
        costs.append((n, name, 1000 * seconds, megabytes))
columns = ["places", "way", "ms a step", "MB kept"]
costs = pd.DataFrame(costs, columns=columns).pivot(
    index="places", columns="way"
)
costs.round(0).astype(int)

# %% tags=["hide-input"]
from matplotlib.ticker import LogLocator

fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.2), layout="constrained")
labels = {
    "ms a step": "time of a step (ms)",
    "MB kept": "kept for the gradient (MB)",
}
styles = {"every place": (GENERATED, "o"), "sums only": (COPIED, "s")}
for ax, (what, unit) in zip(axes, labels.items(), strict=True):
    for way, (colour, mark) in styles.items():
        style = {"marker": mark, "color": colour, "label": way}
        ax.loglog(costs.index, costs[what][way], **style)
    ax.set(xlabel="places in the vocabulary, V", ylabel=unit)
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.minorticks_off()
axes[0].legend()
more = costs["MB kept"]["every place"] / costs["MB kept"]["sums only"]
show(
    fig,
    alt="Time and memory of one training step against the number of places, "
    "both axes logarithmic. With every place written down both grow "
    "with V; with sums only the memory stays nearly level. At "
    f"{sizes[-1]:,} places the first keeps {more.iloc[-1]:.0f} times as "
    "much.",
    caption="One step of training on the same 64 windows of the town, with "
    "more and more places that nobody visits. Writing down every place costs "
    "memory and time for each of them.",
)

# %% [markdown]
# The windows are the same at every size, and nobody goes to the new places. Still the first way pays for each of them,
# once a window: the log-softmax, the pointer's probabilities (nearly all zero), the mixture and more are arrays of $B \times V$. The second way
# needs the score of the target, the scores of the window's own places, and two sums over all places: that of the
# scores, and $\Lambda = \log\sum_\ell e^{s_\ell}$. It goes through the places a stretch at a time, adds up, and throws
# the stretch away. For the gradient it does so again: every score is computed twice, but this needs hardly any memory.
# (If there are few scores, it keeps them, which is faster: hence the bump in the middle row.) The next cell checks that
# both ways give the same loss, and lists what the second one works with.

# %%
whole, lean = every_place(model.eval(), batch), only_sums(model, batch)
assert torch.allclose(whole, lean, atol=1e-5)
assert costs["MB kept"]["sums only"].idxmax() == sizes[1]  # the bump
mixture = model.mixture(batch)
parts = {
    "places of the window": mixture.place,
    "the pointer's share of each": mixture.pointer,
    "gate": mixture.gate_logit,
    "context": mixture.logits.context,
    "the generator's rows (weights, not counted)": mixture.logits.weight,
}
shapes = {name: tuple(x.shape) for name, x in parts.items()}
pd.Series(shapes, name="shape").to_frame()

# %% [markdown]
# > **Pitfall.** It is tempting to *sample* the sum: take a thousand places at random and scale. The
# > logarithm spoils it. The average of the logarithm lies below the logarithm of the average (Jensen's
# > inequality), so the loss would be too small, most of all where a few places hold most of the mass.
# > Exercise 3 measures it. The exact sum costs less than you might think.
#
# ## A model that never counts the places
#
# The generator must still look at all its rows. What if there is no generator? The
# [contextual pointer](20_contextual_pointer.ipynb) sees a longer past than the whole model of Part II and beats it,
# although it only copies from that past. Does it notice how many places there are?

# %%
past = some(with_history(data, memory=100).train)
only_copying = {"encoder": False, "content": False, "interaction": 0}
only_copying["without"] = ("generator", "gate")
rows = {}
for n in (2_500, 1_000_000):
    config = ContextualConfig(n, words.n_users, **only_copying)
    pointer = ContextualPointer(config)
    seconds = min(cost(pointer, past, only_sums)[0] for _ in range(8))
    rows[f"{n:,} places"] = pointer.n_parameters(), round(1000 * seconds)
pd.DataFrame(rows, ["parameters", "ms a step"]).T

# %% [markdown]
# It does not: there are as many parameters as before, and nothing is computed for each place. (If the two times differ, we
# take it for noise of the machine.) A million places cost it nothing, because it never writes them down: the
# places of a person's past are numbered within the window, 0, 1, 2, …, and only the answer at the end gets its name. So
# the question at the top of this chapter has more than one right answer.

# %% tags=["hide-input"]
largest = costs["ms a step"].iloc[-1] / 1000
million = largest * 1_000_000 / sizes[-1]
Markdown(
    f"For the loss as it is usually written, {sizes[-1]:,} places took "
    f"{largest['every place']:.1f} seconds a step, so a million would take "
    f"about {million['every place']:.0f}; with sums only, about "
    f"{million['sums only']:.0f}. For a pointer, a step gets no slower."
)

# %% [markdown]
# ## Ranks need no list
#
# Evaluation asks for the rank of the true place among all places. That does not take all scores at once: it is
# enough to *count* the higher ones. Ties are counted as in [chapter 4](04_baselines.ipynb).

# %%
test, model = data.test.batch(np.arange(64)), model.double()
found = model.rank(test)  # a stretch at a time
better, tied = rank(model.scores(test), test.target)  # by all scores
assert torch.equal(found.better, better)
assert torch.equal(found.tied, tied)
print(f"{len(test)} windows, {sizes[-1]:,} places: every rank is the same")

# %% [markdown]
# There is a trap in "higher". The target's logit must come out of the same product as the logits that it is compared
# with. Computed by itself it can differ in the last bit, and then a place no longer ties with itself. The
# last bit is also why this cell computes in double precision: products of another shape round differently, and among
# so many places some scores are that close.
#
# ## Which other arrays grow with the data?
#
# Check every array in a program: its size is a product of two numbers. Which of them grow with the data? In the table,
# the last column says what this package does instead.

# %%
V, people, draws, visits = 1_000_000, 200_000, 2_000, 10_000_000
usual = [
    ("Markov chain: place × place", 4 * V * V, "only steps that occur"),
    ("bootstrap: draws × people", 8 * draws * people, "one draw at a time"),
    ("evaluation: 512 windows × places", 4 * 512 * V, "a stretch at a time"),
    ("windows: visits × 9 numbers", 8 * 9 * visits, "32 bits, on disk"),
]
table = pd.DataFrame(usual, columns=["array", "GB as usual", "here"])
table["GB as usual"] /= 1e9
table.set_index("array").round(1)

# %% [markdown]
# None of these remedies is clever. We found where each was needed by making the data larger, step by step, and
# looking for what became too large.
#
# ## From ten thousand to ten million
#
# We drew more and more people, always with the same 5,000 places, and timed the stages before training ("check" looks
# for mistakes in the table) and the interval of a score after it. These times were measured once. `make bench`
# measures them on your machine, and the page [Experiments](https://where-next-book.github.io/where-next/book/experiments.html) has them all.
# All of them come from one processor: the stages on one thread, training on two. We had no GPU, so nothing here says how fast one is. `make bench`
# adds a section where it finds one.

# %%
from wherenext.results import read_results

speed = read_results("bench").rows
stage = speed.name.str.extract(r"^[\d,]+ visits: ([^(,]+)", expand=False)
curves = speed.assign(stage=stage.str.strip())
curves = curves[(curves.section == "growth") & (curves.unit == "s")]
curves = curves.astype({"n": int})
curves = curves.pivot(index="n", columns="stage", values="ours")
powers = dict(zip(curves.index, ["10⁴", "10⁵", "10⁶", "10⁷"], strict=True))
seconds = curves.T.rename(columns=powers)
seconds = seconds.rename_axis(index="seconds for …", columns="visits")
seconds.map("{:.3f}".format).replace("nan", "")

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.4, 3.6), layout="constrained")
marks = iter("os^Dv<>pP")
for name in curves.loc[1_000_000].sort_values(ascending=False).index:
    style = {"marker": next(marks), "ms": 5, "lw": 1.4, "label": name}
    ax.loglog(curves.index, curves[name], **style)
line = np.array([1e4, 1e7])
linear = {"color": "0.5", "lw": 1, "label": "linear growth"}
ax.loglog(line, 2e-6 * line, "--", **linear)
ax.set(xlabel="visits", ylabel="time (s)")
fig.legend(loc="outside right upper", fontsize=8, frameon=False)
slopes = np.log10(curves.loc[1_000_000] / curves.loc[100_000])
million = curves.loc[1_000_000].items()
show(
    fig,
    alt="Time of every stage against the number of visits from ten thousand "
    "to ten million, both axes logarithmic, and a dashed line of linear "
    "growth. Nearly all curves run beside it. Seconds at a million visits: "
    + ", ".join(f"{name} {took:.2f}" for name, took in million)
    + ".",
    caption="What each stage takes with ever more visits to the same places, "
    "on one thread. Reading a CSV ends early, since the next file takes too "
    "long to write.",
)

# %% tags=["hide-input"]
beyond = np.log10(curves.loc[10_000_000] / curves.loc[1_000_000]).dropna()
steep, later = slopes.idxmax(), beyond.idxmax()
Markdown(
    "If time grows like visits to the power $p$, growth is linear at "
    "$p = 1$. From a hundred thousand visits to a million $p$ "
    f"lies between {slopes.min():.2f} and {slopes[steep]:.2f}, the "
    f"largest for “{steep}”; from there to ten million it lies between "
    f"{beyond.min():.2f} and {beyond[later]:.2f}, the largest for “{later}”. "
    "Where $p$ is above 1, time grows "
    "faster than the visits do."
)

# %% [markdown]
# ## More visits than memory
#
# A window never crosses from one person to another. So a table of visits can be dealt out to **buckets** of
# people, and the package's own functions work on each bucket by itself. The buckets share only the vocabulary,
# which says what places exist and how they are numbered. It is made first.
#
# Three *engines* can do the work: this process, a pool of processes, or a [Dask](https://www.dask.org)
# cluster, whose machines may be anywhere. Does it matter which one does?

# %%
folder = tempfile.TemporaryDirectory()
table = Path(folder.name) / "town.parquet"
visits = town.visits.drop(columns="split", errors="ignore")
visits.to_parquet(table)
pgt_prepare = [sys.executable, "-m", "pgt", "prepare", str(table)]
options = ["--buckets", "4", "--protocol", "exact"]
took = {}
for kind, workers in (("process", 1), ("pool", 2), ("dask", 2)):
    began = time.perf_counter()
    engine = ["--engine", kind, "--workers", str(workers)]
    command = [*pgt_prepare, str(table.with_name(kind)), *engine, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    took[f"{kind} ({workers})"] = time.perf_counter() - began
print(*(x for x in done.stdout.splitlines() if "train" in x), sep="\n")

# %%
from pgt.scale.mapped import open_prepared

plain = prepare(pd.read_parquet(table), protocol="exact")
for kind in ("process", "pool", "dask"):
    buckets = open_prepared(str(table.with_name(kind)))
    for name in ("train", "valid", "test"):
        one, other = getattr(plain, name), getattr(buckets, name)
        assert torch.equal(one.features, other.features)
        assert np.array_equal(one.target, other.target)
Markdown(
    "The windows are equal to the last bit. Seconds, with starting, by "
    "engine (and processes): "
    + ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in took.items())
    + "."
)

# %% [markdown]
# For a town the cluster does not pay: starting processes takes longer than the work. More processes pay when a bucket
# takes minutes. If one of them dies, another takes over its buckets, and a bucket that is already whole on disk is
# not done again. The option `--engine` also works for `evaluate` and `predict` on such a folder, and for `visits`,
# which reads the GPS fixes of several people at a time.
#
# ## More than one computer for training
#
# Training is harder to divide, because its steps depend on each other. The usual way is **data parallel**:
# every process has the whole model and takes a part of each batch, and before each step all processes average their
# gradients. What could go wrong? Here are the losses of a batch of five windows, dealt out to two processes.

# %%
losses = torch.tensor([1.0, 2.0, 3.0, 4.0, 9.0])
shares = [losses[0::2], losses[1::2]]  # three windows and two
each = torch.stack([share.mean() for share in shares])
print(f"mean of all five: {losses.mean():.2f}")
print(f"mean of the two means: {each.mean():.2f}")

# %% [markdown]
# A window in the smaller share counts more. So each process must divide its *sum* by the number of windows in
# *all* shares, and the results are added. The last batch of an epoch is nearly always uneven.
#
# Chance is the second trap. If each process draws dropout from its own stream, two processes train a different
# model than one process does. Here every window brings its own random numbers, computed from the seed, the epoch and the
# window's number. They are the same in whichever process the window is.

# %%
script = Path(folder.name) / "train.py"
script.write_text("""
import sys, torch, numpy as np
from safetensors.torch import save_file
from pgt import city
from pgt.config import ModelConfig, TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.parallel import Team, joined
from pgt.train import fit
from pgt.windows import prepare

torch.set_num_threads(1)
with joined():
    data = prepare(city.load().visits, protocol="exact")
    torch.manual_seed(0)
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    config = ModelConfig(*size, d_model=16, dropout=0.2)
    model = PointerGeneratorTransformer(config).double()
    few = data.train.subset(np.arange(505))
    fewer = data.valid.subset(np.arange(50))
    once = TrainConfig(max_epochs=1, batch_size=100)
    fit(model, few, fewer, once, progress=False, device="cpu")
    if Team.now().leads:
        save_file(dict(model.state_dict()), sys.argv[1])
""")
one, two = (str(Path(folder.name) / name) for name in ("one", "two"))
torchrun = ["-m", "torch.distributed.run", "--standalone"]
torchrun += ["--nproc-per-node=2"]
for how, out in (([], one), (torchrun, two)):
    command = [sys.executable, *how, str(script), out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

# %%
from safetensors.torch import load_file

alone, together = load_file(one), load_file(two)
gap = max((alone[name] - together[name]).abs().max() for name in alone)
assert gap < 1e-9
print("one process and two, an epoch with dropout:")
print(f"weights differ by at most {gap:.0e}")

# %% [markdown]
# The command line does it for you: `torchrun --nproc-per-node 2 -m pgt train visits.parquet --out m.safetensors`,
# on one machine or several. If a process is killed, `--max-restarts 3` lets the team go on from its last epoch.
#
# > **Pitfall.** In single precision one kind of weight does differ between one process and two: the bias of the
# > attention's keys, whose true gradient is zero ([chapter 9](09_model.ipynb)). Adam makes steps of what rounding
# > leaves of it. The predictions do not change.
#
# ## A billion visits, on paper
#
# We have not done this. But if every stage is linear, it would take a thousand times what a million visits take,
# and more where growth is steeper.

# %%
hours = curves.loc[1_000_000] * 1000 / 3600  # of one core
names = speed.name
training = speed[names.str.contains("of which training")].ours.item()
epochs = names[names.str.contains("from CSV to a contextual")].iloc[0]
epochs = int(epochs.split(" epochs")[0].split()[-1])
cores = int(speed.device.str.extract(r"(\d+) thread").loc[0, 0])
hours["an epoch of the contextual pointer"] = cores * training / epochs / 3.6
files = table.with_name("dask").rglob("*.npy")  # by bucket, and joined
bytes_a_visit = sum(file.stat().st_size for file in files) / len(visits)
gb = bytes_a_visit * 1e9 / 1e9  # of a billion visits
print(f"windows on disk, in buckets and joined: {gb:.0f} GB")
hours = hours.sort_values().rename("hours of one core").rename_axis(None)
hours.round(2).to_frame()

# %% [markdown]
# On a hundred cores, everything up to training takes minutes. An epoch would take the last row divided by a hundred if
# nobody had to wait. In practice it takes longer: data-parallel steps wait for each other, and with small batches a
# hundred processes mostly wait. So training would take longest. But a model of so few numbers does not need a billion
# visits. Train on a sample, and spend the cluster on predicting.
#
# ## What does not scale?
#
# | what | why | what one would do |
# |---|---|---|
# | the generator's rows and AdamW's two averages of each | $3 \times V \times D$ numbers, all touched in every step | sparse gradients, or no generator |
# | the vocabulary | names are Python objects, and every process holds all of them | numbers from the start, names in a database |
# | dealing visits out to people | one stream through one machine | deal each file alone, then merge |
# | one row of ranks a window | comes back to one process | add up per person in the bucket |
# | one person with a million visits | a bucket is at least one person | nothing yet; we have not met one |
#
# ## Did we keep our budgets?
#
# These are the sizes at which we wanted to be able to work. We set each budget before we measured anything. (The row of
# DNNTSP has simulated baskets.) Unless a row says otherwise, memory is what the work needs beyond its input, the model and the model's gradients.

# %% tags=["hide-input"]
sections = ["vocabulary", "growth", "large", "gps", "intervals", "baskets"]
kept = speed[names.str.contains("budget") & speed.section.isin(sections)]


def amount(number, unit):
    digits = 0 if number >= 10 else 1
    return f"{number:,.{digits}f} {unit}"


lines = ["| what | measured | budget | kept |", "|---|--:|--:|---|"]
for row in kept.itertuples():
    what = row.name.replace(" (reference: the budget)", "")
    ours, budget = (amount(x, row.unit) for x in (row.ours, row.reference))
    answer = "yes" if row.ours <= row.reference else "no"
    lines.append(f"| {what} | {ours} | {budget} | {answer} |")
missed = kept[kept.ours > kept.reference]
said = (
    f"{len(missed)} of {len(kept)} budgets is not kept."
    if len(missed) == 1
    else f"{len(missed)} of {len(kept)} budgets are not kept."
)
Markdown("\n".join([*lines, "", said if len(missed) else "All are kept."]))

# %% [markdown]
# ## What to remember
#
# - The size of an array is a product. Several of ours were $B \times V$.
# - The exact loss and the exact ranks need no $B \times V$: sum and count a stretch at a time.
# - A pointer does not notice how many places there are.
# - Windows never cross from one person to another, so people can be dealt out, and the result is equal to the bit.
# - Data parallel training is the same training only if sums are divided by the global count and every window brings
#   its own random numbers.
#
# ## Exercises
#
# **Exercise 1** (quick). Take a batch of 128 windows, a million places and numbers of four bytes. How many gigabytes
# ($10^9$ bytes) is one array of log-probabilities? How many megabytes is a stretch of $2^{20}$ numbers?

# %% tags=["try"]
gigabytes, megabytes = ..., ...
check.exercise("25.1", [gigabytes, megabytes])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
gigabytes, megabytes = 4 * 128 * 1_000_000 / 1e9, 4 * 2**20 / 1e6
check.exercise("25.1", [gigabytes, megabytes])

# %% [markdown]
# **Exercise 2** (medium). Write `stretched(z, n)`: $\log\sum_\ell e^{s_\ell}$ of each row of a (B, V) tensor. Look at
# `n` columns at a time and never exponentiate a number above 0. Try it on scores in the thousands.


# %% tags=["try"]
def stretched(z, n):
    return ...


scores = 1000 * torch.randn(3, 100, dtype=torch.float64)
check.same(stretched(scores, 7), scores.logsumexp(1), name="log of the sum")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def stretched(z, n):
    total = torch.zeros_like(z[:, 0])
    top = torch.full_like(total, -torch.inf)
    for part in z.split(n, dim=1):
        higher = torch.maximum(top, part.amax(1))
        total = total * (top - higher).exp()
        total = total + (part - higher[:, None]).exp().sum(1)
        top = higher  # the sum so far is on the new scale
    return top + total.log()


check.same(stretched(scores, 7), scores.logsumexp(1), name="log of the sum")

# %% [markdown]
# **Exercise 3** (longer). Measure the price of sampling. For the trained generator of the town, estimate $\Lambda$ from
# 20 places drawn evenly, $\log\big(\frac{V}{20}\sum e^{s_\ell}\big)$. For the first test window, how far is the mean
# of 5,000 such estimates from $\Lambda$, and how far is a single one? Is the difference more than chance?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
from pgt.checkpoint import load_model, shipped

trained, _ = load_model(shipped("city"))
z = trained.mixture(data.test.batch([0])).logits
_, z = next(z.chunks())
z = z[0].detach().double()
seeded = torch.Generator().manual_seed(0)
drawn = torch.randint(len(z), (5000, 20), generator=seeded)
estimates = z[drawn].logsumexp(1) + np.log(len(z) / 20)
bias = float(estimates.mean() - z.logsumexp(0))
chance = float(estimates.std()) / 5000**0.5  # of the mean
assert bias < -3 * chance
print(f"Λ is {float(z.logsumexp(0)):.2f} nats; the estimates are {bias:+.3f}")
print(f"± {2 * chance:.3f} nats off on average, {estimates.std():.2f} each")

# %% [markdown]
# **Exercise 4** (project). Fit an exponent. Time `prepare` on the town's visits, and on two, four and eight copies of
# its people (with new ids). The slope of log time against log visits is the exponent. Is it one? Then try a
# function of your own.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
table = town.visits.drop(columns="split", errors="ignore")
sizes, seconds = [], []
for copies in (1, 2, 4, 8):
    ids = (table.user_id + 1000 * k for k in range(copies))
    others = [table.assign(user_id=new) for new in ids]
    many = pd.concat(others, ignore_index=True)
    began = time.perf_counter()
    prepare(many, protocol="exact")
    sizes.append(len(many))
    seconds.append(time.perf_counter() - began)
slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
print(f"exponent {slope:.2f} over a factor of eight")
if slope < 1:
    print("below 1: on small tables, what every call costs weighs most")

# %% [markdown]
# **Next:** [Playground](26_playground.ipynb), where the trained model answers you by hand.
