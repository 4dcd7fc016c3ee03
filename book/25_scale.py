# %% [markdown]
# # Scale
#
# A city gets more places, and more people. What grows with it in memory, and what can be done a piece at a time?
#
# *You will be able to* measure what a step of training keeps in memory, compute the exact loss a stretch of places at a time,
# and deal out a table of visits by person with DuckDB and Dask. *You need* [the loss](09_model.ipynb),
# [Training](10_training.ipynb) and [Windows](03_windows.ipynb). *It takes* a quarter of an hour to read and a minute or two
# to run; the first half uses a GPU if there is one.
#
# > **In one sentence.** With {{ places:,}} places instead of 2,500, a step of training keeps {{ more:.0f }} times as much for
# > its gradient, but no more than before if the loss adds up a stretch of places at a time; the weights grow all the same. A
# > table of visits, too, can be taken in pieces, by person, and a piece need not grow when people are added.

# %% tags=["hide-input"]
# @title Setup: install the package with the extra "scale" (Colab)
try:
    import dask
    import duckdb

    import pgt
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q 'pgt[scale] @ "
        "https://github.com/where-next-book/where-next/archive/main.zip'",
    )

# %% tags=["hide-input"]
# @title Imports
import tempfile
import tracemalloc
from pathlib import Path

import dask
import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from torch.utils.checkpoint import checkpoint
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import GENERATED, INK, PAPER, show
from wherenext.results import read_results

from pgt import large_vocabulary, read_visits
from pgt import visits as tables
from pgt.baselines import ContextKernel
from pgt.config import ModelConfig
from pgt.metrics import evaluate
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

# Without DuckDB's progress bar, where a notebook has one.
asked = duckdb.sql("SELECT current_setting('enable_progress_bar')")
if asked.fetchall() == [(True,)]:
    duckdb.sql("SET enable_progress_bar = false")

# %%
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
town = city.load()
data = prepare(town.visits, protocol="exact")
words = data.vocabulary
ids = words.n_locations  # of places; two stand for padding and unknown
print(f"{ids:,} ids of places, {words.n_users - 1} people, {device}")

# %% [markdown]
# ## More places: what grows?
#
# We give the model a larger vocabulary. Nobody visits the new places, so the windows stay as they are.
#
# The loss can be computed in two ways. The first makes a log-probability for every place and window. The second, of which
# we shall see the inside, makes only sums over the places.


# %%
def every_place(model, batch):
    log_probs = model(batch).log_probs  # (B, V)
    return cross_entropy(log_probs, batch.target, 0.03)  # 0.03: smoothing


def only_sums(model, batch):
    return large_vocabulary.losses(model, batch, 0.03)


# %% [markdown]
# During the forward pass PyTorch keeps arrays that the gradient will need. `kept(model, batch, way)` runs the pass in one of
# the two ways and adds up these arrays, in megabytes. Weights are not counted, nor are arrays that live only for a moment.


# %%
def kept(model, batch, way):
    """Megabytes kept for the gradient: each array once, no weights."""

    def at(x):
        return x.untyped_storage().data_ptr()

    weights, found = {at(p) for p in model.parameters()}, {}

    def hook(x):  # PyTorch calls it for every tensor that it keeps
        if at(x) not in weights:
            found[at(x)] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(hook, lambda x: x):
        way(model, batch)
    return sum(found.values()) / 1e6


# %% [markdown]
# **Change this.** Make the city larger still, and watch which columns grow.

# %%
places = 100_000  # @param {type:"integer"}

windows = 128
some = np.linspace(0, len(data.train) - 1, windows).astype(int)
batch, memory = data.train.batch(some).to(device), {}
for n in (2_500, 20_000, places):
    model = PointerGeneratorTransformer(ModelConfig(n, words.n_users))
    model = model.to(device)
    ways = [kept(model, batch, way) for way in (every_place, only_sums)]
    weights = 4 * model.n_parameters() / 1e6  # four bytes a number
    memory[f"{n:,}"] = [*ways, 4 * weights]  # gradient, two averages, too

# %% tags=["hide-input"]
# @title Table: megabytes
heads = ["kept: every place", "kept: only sums", "weights and AdamW"]
memory = pd.DataFrame(memory, heads).T.round().astype(int)
usual = memory["kept: every place"]
more = usual.iloc[-1] / usual.iloc[0]
saved = (usual - memory["kept: only sums"]).iloc[-1]
one_array = 4 * windows * places / 1e6  # B x V, four bytes a number
memory.rename_axis(columns="MB, by places")

# %% [markdown]
# Read the first column down: the windows are the same, yet a step keeps far more. What grows are arrays of $B \times V$,
# windows by places. One has 128 · 100,000 numbers of four bytes in the last row, {{ one_array:.0f }} MB. Five of them hold
# numbers: the pointer's weights laid out over all places, the generator's log-probabilities, both again with the gate, and
# the mixture of the two. The others are masks, a byte for each place.
#
# The second way makes none of these and keeps {{ saved:.0f }} MB less. What it does keep comes nearly all from the encoder,
# whose arrays are windows by visits, whatever the city.
#
# The last column has the weights, their gradients and AdamW's two averages. It grows either way.
#
# ## Why are sums enough?
#
# Label smoothing deals out a share of the answer over all places. So the loss, equation (9.1), needs $\log P$ of the target,
# and the sum of $\log P$ over all places. Can we have this sum without such an array?
#
# Take a city of four places. The window holds only home, the gate $g$ is one half, and the generator's scores are 3 for home,
# 2 for the office, 1 for gym and bar. Logarithms are to the base 2 here, so that the numbers are round.

# %%
g, score = 0.5, np.array([3.0, 2, 1, 1])
pointer = np.array([1.0, 0, 0, 0])  # copies home alone
total = np.log2((2**score).sum())  # log2(8 + 4 + 2 + 2) = 4
never = np.log2(1 - g) + score - total
true = np.log2(g * pointer + (1 - g) * 2 ** (score - total))
rows = {"score": score, "log P, if never copied": never, "log P": true}
four = pd.DataFrame(rows, ["home", "office", "gym", "bar"]).T
four.assign(sum=four.sum(axis=1)).round(1)

# %% [markdown]
# Compare the last two rows: they differ at home alone, the one place in the window. So the last sum is the sum above it,
# corrected in the one column *home*: $-13 + (-0.4 + 2) = -11.4$.
#
# And we can get $-13$ without making its row. Each number in the row is $-1 + \text{score} - 4$, where $-1$ is the logarithm
# of $1 - g$ and $4$ is `total`. The four make $4 \cdot (-1 - 4) = -20$, plus the sum of the scores, $7$.
#
# Now in symbols. Let $s_\ell$ be the score of a place, and $\Lambda = \log\sum_\ell e^{s_\ell}$, the `total`. A place that is
# never copied has
#
# $$
# \log P_\text{never}(\ell) = \log(1 - g) + s_\ell - \Lambda . \tag{25.1}
# $$
#
# For the few places $\mathcal{W}$ in the window, $\log P$ comes from the mixture, equation (8.4). It needs only $\Lambda$ and
# each place's own score. So does $\log P$ of the target. Now the sum: the first line treats every place as never copied, and
# the second puts the few right.
#
# $$
# \begin{aligned}
# \sum_\ell \log P(\ell) ={}& V \big( \log(1 - g) - \Lambda \big) + \sum_\ell s_\ell \\
# &+ \sum_{\ell \in \mathcal{W}} \big( \log P(\ell) - \log P_\text{never}(\ell) \big) .
# \end{aligned} \tag{25.2}
# $$
#
# In the example the first line is $-20 + 7$, and the second $-0.4 + 2$.
#
# ## A stretch at a time
#
# Two sums go over all places: the one in $\Lambda$, and the plain one. Neither needs all scores at once.

# %% tags=["hide-input"]
# @title Figure 25.1: the scores come and go, two numbers a window stay
pairs = [10 + stretch + j for stretch in range(4) for j in (0, 0.3)]
left, width = [0, 2, 4, 6, *pairs, 16, 16.3], 4 * [2] + 10 * [0.3]
filled = [GENERATED if k in (1, 4, 5, 6, 7) else PAPER for k in range(14)]
ax = plt.figure(figsize=(7.2, 2)).gca()
ax.bar(left, 3, width, align="edge", color=filled, edgecolor=INK)
labels = {
    "scores": (4, 3.3), "$V$ places": (4, -0.7), "$B$ windows": (-1.6, 1.4),
    "two sums\nof each stretch": (11.8, 3.3), "two sums\nof all": (16.3, 3.3),
    r"$\longrightarrow$": (9, 1.3), r" $\longrightarrow$": (15, 1.3),
}  # fmt: skip
for text, (x, y) in labels.items():
    ax.text(x, y, text, ha="center")
ax.set(xlim=(-3, 17.5), ylim=(-0.8, 4.2))
ax.axis("off")
alt = "A block in four stretches, then four pairs of columns, then one pair."
caption = "Filled: what is in memory while the second stretch is there."
show(ax.figure, alt=alt, caption=caption)

# %% [markdown]
# In the city of four places, two stretches of two do it:
#
# | stretch | scores | sum of $2^s$ | its logarithm | plain sum |
# |---|---|---|---|---|
# | home, office | 3, 2 | 8 + 4 = 12 | $\log_2 12$ | 5 |
# | gym, bar | 1, 1 | 2 + 2 = 4 | 2 | 2 |
# | together | | 12 + 4 = 16 | 4 | 7 |
#
# To combine logarithms, undo them and add, $12 + 4$, and take the logarithm again. That is what `logsumexp` does, with $e$
# for 2.
#
# But the gradient needs the scores again. PyTorch's `checkpoint` (it has nothing to do with saved weights) throws them away
# and runs `stretch` once more in the backward pass. It keeps only what goes into `stretch`: the context, and weights, which
# are in memory anyway.


# %%
def stretch(context, rows, bias):
    scores = context @ rows.T + bias  # (B, n), soon thrown away
    return scores.logsumexp(1), scores.sum(1)


def two_sums(context, weight, bias, n=20_000):
    """(B,) Lambda, and (B,) the plain sum, of (B, V) scores."""
    found = [
        checkpoint(stretch, context, *part, use_reentrant=False)
        for part in zip(weight.split(n), bias.split(n), strict=True)
    ]
    logs, plain = zip(*found, strict=True)
    return torch.stack(logs).logsumexp(0), torch.stack(plain).sum(0)


# %% [markdown]
# Are these the sums that the whole array gives?

# %%
# `model` is that of the table's last row.
context = torch.randn(windows, model.config.d_model, device=device)
sums = two_sums(context, model.generator.weight, model.generator.bias)
scores = model.generator(context)  # (B, V), all at once
check.same(sums[0], scores.logsumexp(1), name="Lambda", atol=1e-4)
# Plain sums are in the hundreds here, so 0.1 is little.
check.same(sums[1], scores.sum(1), name="the plain sum", atol=0.1)

# %% [markdown]
# The package's `losses` puts such sums into equation (25.2). Is it the same loss?

# %%
with torch.no_grad():
    one, other = every_place(model.eval(), batch), only_sums(model, batch)
check.same(one, other, name="the loss, in both ways", atol=1e-5)

# %% [markdown]
# And what does it cost? Every score is computed twice, once more for the gradient. Here is a recorded step of PGT with its
# backward pass, again with 128 windows and 100,000 places. The *peak* is the most memory at any moment, short-lived arrays
# and all, beyond weights and gradients.

# %% tags=["hide-input"]
# @title Table: a training step with 100,000 places and 128 windows
bench = read_results("bench").rows.query("section == 'vocabulary'")
step = bench[bench.name.str.startswith("100,000 places")]
step = step.set_index("unit")[["reference", "ours"]].T.astype(float)
step = step.set_axis(["every place", "only sums"])
peaks = (step.MiB * 2**20 / 1e6).round().astype(int)
step = pd.DataFrame({"seconds": step.s.round(2), "peak, MB": peaks})
step.rename_axis(bench.device.iloc[0], axis=1)

# %% [markdown]
# Twice the work, in less time? Only the products that make the scores are doubled. PyTorch's profiler shows that the first
# way spends most of its time on what follows: writing and reading arrays of $B \times V$, one after the other, forward and
# backward. (With a thousand places there is nothing to gain: [Evidence: speed](evidence_speed.ipynb).)
#
# The weights still grow: each place has a row in the location table and one in the generator. The [contextual
# pointer](20_contextual_pointer.ipynb) has neither. It only copies from a person's past, with the same number of weights,
# whatever $V$ is.
#
# ## More people: what grows?
#
# With more people the table of visits grows, until it does not fit into memory. Must it be there as a whole?
#
# Here are six visits of three people, and a rule: guess where the person was last. We deal the rows out by person, in two
# **parts**, and ask the rule about one part at a time:


# %%
def guessed(part):
    return part.assign(guess=part.groupby("who").place.shift())


rows = "Ann home, Ben home, Cem gym, Ann office, Ben bar, Ann home"
six = pd.DataFrame([row.split() for row in rows.split(", ")])
six.columns = ["who", "place"]
two_parts = [six[six.who == "Ann"], six[six.who != "Ann"]]
pd.concat(map(guessed, two_parts)).fillna("")

# %% [markdown]
# A guess needs only earlier rows of the same person. Cut the six in the middle instead, and Ann's office and Ben's bar
# have no guess.
#
# Our windows, too, stay with one person, and so does the split by days. But models need places and people as numbers, and
# home, which is in both parts, must have one number. So each part is asked twice:
#
# 1. Who was where? The places and people of all parts make the vocabulary.
# 2. How high does the context kernel ([chapter 4](04_baselines.ipynb)) rank each next place of the test days?
#
# So the plan is: deal, ask the first question, number the places, ask the second. Each question is a function of a file:

# %%
# DuckDB's files are in UTC; this turns the times back into the town's.
zone = {"timezone": str(town.visits.started_at.dt.tz)}


def places_of(file):
    # The vocabulary numbers the places of the training days first.
    visits = tables.split_by_days(read_visits(file, **zone))
    return visits[["user_id", "location_id", "split"]].drop_duplicates()


def answers_of(file, vocabulary):
    data = prepare(read_visits(file, **zone), vocabulary=vocabulary)
    # The kernel's five numbers are fixed; `fit` only notes V.
    return evaluate(ContextKernel().fit(data.train), data.test)


# %% [markdown]
# Now for a million visits, on disk: the town's people are copied, under new numbers, until there are so many.
# [DuckDB](https://duckdb.org) deals the table out into eight files. A hash turns the person's number into another, always into
# the same one. Its remainder by 8 names the file, so that nobody is torn in two.

# %% tags=["hide-input"]
# @title `repeated`: so many visits of the town's people, renumbered
def repeated(n):
    columns = ["user_id", "location_id", "started_at", "finished_at"]
    town_once = town.visits[columns]
    times = range(-(-n // len(town_once)))  # rounded up
    copies = [
        town_once.assign(user_id=town_once.user_id + 1000 * k) for k in times
    ]
    return pd.concat(copies)[:n]


# %%
def dealt(n_visits, n_parts):
    """A file with all visits, and the files of the parts."""
    folder = Path(tempfile.mkdtemp())
    table = folder / "visits.parquet"
    repeated(n_visits).to_parquet(table)
    duckdb.sql(
        f"""
        COPY (SELECT *, hash(user_id) % {n_parts} AS part FROM '{table}')
        TO '{folder}/parts' (FORMAT parquet, PARTITION_BY (part))
        """
    )
    return table, sorted(folder.glob("parts/*/*.parquet"))


table, files = dealt(1_000_000, 8)

# %% [markdown]
# [Dask](https://www.dask.org) asks the files. A loop would do; Dask asks two at once, each in a process of its own. `delayed`
# notes a call, and `compute` makes all that are noted.


# %%
def ask(question, files, *more):
    """What a function answers for each file, in one table."""
    calls = [dask.delayed(question)(file, *more) for file in files]
    found = dask.compute(*calls, scheduler="processes", num_workers=2)
    return pd.concat(found, ignore_index=True)


who_where = ask(places_of, files)
vocabulary = Vocabulary.build(who_where, "exact")
apart = ask(answers_of, files, vocabulary)
print(f"{vocabulary.n_locations:,} ids of places, {len(apart):,} answers")

# %% [markdown]
# Now the whole table at once, to compare. A million visits still fit into memory. `with_peak` makes a call and also gives the
# most megabytes that its arrays and other objects had at one moment.


# %%
def with_peak(function, *arguments):
    tracemalloc.start()  # sees what Python and NumPy take, not Arrow
    answer = function(*arguments)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return answer, round(most / 1e6)


# %%
of_table = Vocabulary.build(places_of(table), "exact")
at_once, whole = with_peak(answers_of, table, of_table)
by = {"by": "user_id", "kind": "stable", "ignore_index": True}
both = apart.sort_values(**by), at_once.sort_values(**by)
pd.testing.assert_frame_equal(*both)  # else the cell stops

# %% [markdown]
# Every answer is the same. And the memory? We take a quarter of the people, too, in two parts.

# %% tags=["hide-input"]
# @title Table: peaks of memory while the second question is answered
def peak(file):
    return with_peak(answers_of, file, vocabulary)[1]


quarter, halves = dealt(250_000, 2)
largest = [max(map(peak, parts)) for parts in (halves, files)]
sizes = [max(len(pd.read_parquet(f)) for f in x) for x in (halves, files)]
needs = [
    [peak(quarter), f"{sizes[0]:,}", largest[0]],
    [whole, f"{sizes[1]:,}", largest[1]],
]
rows = ["250,000 visits, 2 parts", "1,000,000 visits, 8 parts"]
heads = ["whole table, MB", "visits of the largest part", "its MB"]
collected = sum(x.memory_usage(deep=True).sum() for x in (who_where, apart))
collected = collected / 1e6
pd.DataFrame(needs, rows, heads)

# %% tags=["hide-input"]
# @title Numbers: the command on five million visits
answers = read_results("answers").rows.set_index("name")
gib = answers.peak["pgt predict --out of 5 million visits"] / 1024
five_million = 5_000_000

# %% [markdown]
# **With four times the people, the whole table needs four times the memory; a part hardly needs more, since there are four
# times the parts.** Two parts are asked at once, so the machine needs twice that: parts pay only for a large table.
#
# How large? The package's own command reads {{ five_million:,}} visits of a hundred thousand people, says where each goes next
# and writes the answers in {{ gib:.1f }} GiB ([Evidence: speed](evidence_speed.ipynb)), since it asks people in groups. So take
# DuckDB and Dask for a table that does not fit into memory, or for a question of your own. Our million is small, so that the
# cells run in seconds.
#
# ## What still grows?
#
# The main process collects who was where, and all answers: {{ collected:.0f }} MB for the million. A model's lists
# ([chapter 9](09_model.ipynb)) grow, too: the location table and the generator with the places, the table of users with the
# people. One person's visits must still fit into memory. We have not tried a billion visits, nor parts with places of their
# own: our new people go where the town's go.
#
# Training is harder to divide, but several processes can share it ([Evidence: speed](evidence_speed.ipynb)).
#
# ## What to remember
#
# - The size of an array is a product. Several of ours were $B \times V$: with {{ places:,}} places a step kept {{ more:.0f }}
#   times as much as with 2,500. The exact loss needs none of them; a stretch at a time saves {{ saved:.0f }} MB.
# - The weights of a location table and a generator grow with $V$. A pointer without them has as many weights at every $V$.
# - Windows never cross from one person to another, so people can be dealt out to parts, and a part's memory need not grow. A
#   rule with fixed numbers needs only the vocabulary in common.
#
# What DuckDB, Dask and Polars do with parts, ids and times:
# [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# **Exercise 1** (quick). Take a batch of 128 windows, a million places and numbers of four bytes. How many gigabytes ($10^9$
# bytes) is one array of log-probabilities? The package's stretches have $2^{20}$ scores, over all windows together. How
# many megabytes ($10^6$ bytes)?

# %% tags=["try"]
gigabytes, megabytes = ..., ...
check.exercise("25.1", [gigabytes, megabytes])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("25.1", [4 * 128 * 1_000_000 / 1e9, 4 * 2**20 / 1e6])

# %% [markdown]
# **Exercise 2** (medium). Write `stretched(z, n)`: $\log\sum_\ell e^{s_\ell}$ of each row of a (B, V) tensor. Look at
# `n` columns at a time and never exponentiate a number above 0. (Hint: first subtract each row's largest score.)


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
# **Exercise 3** (project). Ask the predictor that was trained on nobody ([chapter 24](24_trained_on_nobody.ipynb))
# where each person goes next, part by part: write `next_of(file)` and give it to `ask`. In what percentage of the people is
# the first place that of the whole table?

# %% tags=["try"]
same_place = ...  # percent
check.exercise("25.3", same_place)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def next_of(file):
    visits = read_visits(file, **zone)
    return pgt.NextLocation.pretrained().predict(visits, top=1)


apart, whole = ask(next_of, files), next_of(table)
pair = apart.merge(whole, on="user_id")
same_place = 100 * (pair.location_id_x == pair.location_id_y).mean()
check.exercise("25.3", same_place)
print(f"{same_place:.1f} % of {len(pair):,} people")
# The predictor weighs its opinions by the past of everybody in the table, and
# the parts are alike.

# %% [markdown]
# **Next:** [Ceilings](26_ceilings.ipynb): how much could any model, of any size, still win?
