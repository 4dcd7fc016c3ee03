# %% [markdown]
# # Training
#
# The loss gets worse, and the model gives more right answers. How can both be true?
#
# *You will be able to* read a training curve without being fooled by it, write the loop yourself, train a model of your
# own, say where the time of a step goes, and stop a run and resume it to the very same bits. *You need* PyTorch's basics,
# [Windows](03_windows.ipynb) and [the model](09_model.ipynb), whose one formula is repeated here. *It takes* twenty minutes
# to read and about two minutes to run on two CPU cores. With a GPU the cell that trains *your* models trains five instead
# of one, in about two minutes.
#
# > **In one sentence.** Training teaches the model the *order* of places that an untrained pointer already lists, and it may
# > raise the loss while it still adds right answers, because the loss also pays for places that nobody could have known.

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

# %%
import math
import time

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib import pyplot as plt
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, MUTED, show
from wherenext.results import read_results

from pgt import plots
from pgt.baselines import MostFrequent, fit_baseline
from pgt.config import ModelConfig, TrainConfig
from pgt.metrics import GROUPS, evaluate, interval, summarize
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.train import fit
from pgt.windows import prepare

data = prepare(city.load().visits, protocol="exact")
vocabulary = data.vocabulary
V = vocabulary.n_locations
size = ModelConfig(V, vocabulary.n_users)
torch.manual_seed(42)
model = PointerGeneratorTransformer(size)
print(f"{V:,} locations, {model.n_parameters():,} parameters", data.counts())

# %% [markdown]
# A short reminder of the model. It reads a window of visits, and its answer is one formula. With a gate $g$ between 0 and
# 1, for every location $\ell$
#
# $$
# \begin{aligned}
# P(\ell) &= g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell), \\
# P_\text{ptr}(\ell) &= \sum_{i:\, l_i = \ell} a_i ,
# \end{aligned} \tag{10.1}
# $$
#
# where $a_i$ is the pointer's attention on visit $i$. A place that was visited three times collects three weights.
# [Chapter 9](09_model.ipynb) builds it part by part.
#
# ## Before the first step
#
# How good is a model that has learned nothing? Random weights, random guesses, one would think. Score it.


# %%
def scores(ranks, measures):
    return summarize(ranks, ["all"])[measures].iloc[0]


untrained = evaluate(model, data.test)
most_frequent = evaluate(MostFrequent().fit(data.train), data.test)
measures = ["acc@1", "acc@10"]
before = {
    "untrained model": scores(untrained, measures),
    "most frequent place in the window": scores(most_frequent, measures),
    "guessing among all places": [100 / V, 1000 / V],
}
pd.DataFrame(before, index=measures).T.astype(float).round(2)

# %% [markdown]
# It is far better than guessing. The reason is in the formula. With small random weights the pointer attends to all visits
# about equally, and adding up equal weights per place is *counting*. An untrained pointer is the "most frequent place" rule
# with noise, which decides all ties and some other windows.
#
# So whenever a pointer model beats a model without one, part of the difference was there before training. What did training
# add? That is the number to look at.
#
# ## The loss
#
# The model answers with log-probabilities $\log P(\ell)$. Training makes the log-probability of the true next place
# $\ell^*$ large, that is, it makes the **cross-entropy**
#
# $$
# \mathcal{L} = -\log P(\ell^*) \tag{10.2}
# $$
#
# small. With the natural logarithm its unit is the **nat**. A model that knows nothing and spreads its probability evenly
# over all places pays $\log V$ nats; one that is always sure and right pays 0.
#
# This loss is never satisfied: a target at 99 % still pulls towards 100 %. **Label smoothing**
# ([Szegedy et al., 2016](https://arxiv.org/abs/1512.00567)) aims at something a little less certain. It takes a share
# $\varepsilon$ of the target's mass and spreads it over all $V$ locations:
#
# $$
# \mathcal{L}_\varepsilon = -(1 - \varepsilon) \log P(\ell^*)
#   - \frac{\varepsilon}{V} \sum_{\ell} \log P(\ell) . \tag{10.3}
# $$

# %%
model.eval()
batch = data.train.batch(np.arange(128))
log_probs = model(batch).log_probs.detach()  # (B, V)
nll = -log_probs.gather(1, batch.target[:, None]).mean()
eps = TrainConfig().label_smoothing
smoothed = (1 - eps) * nll - eps * log_probs.mean()  # equation (10.3)
builtin = nn.CrossEntropyLoss()(log_probs, batch.target)
print(f"know-nothing, log V: {math.log(V):.3f} nats")
print(f"untrained: {nll:.3f}, by CrossEntropyLoss {builtin:.3f}")
print(f"smoothed: {smoothed:.3f} nats")

# %% [markdown]
# (`nn.CrossEntropyLoss` takes a log-softmax first. On log-probabilities that changes nothing: their exponentials add up to
# one, and the logarithm of one is zero.)
#
# Label smoothing has two consequences. The smoothed loss cannot reach zero, so do not wait for it. And each place, even one
# that is never a target, is asked to keep a probability of about $\varepsilon / V$. This will matter below, for places that
# training never shows.
#
# ## The steps
#
# An **epoch** is one pass through all training windows, a batch at a time. A batch is one step. Four things shape a step.
#
# - **AdamW** ([Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101)) divides each weight's gradient by a running
#   estimate of its size, so that the weights of rare places and of frequent places move at similar speed. It also shrinks
#   all weights a little at each step (weight decay).
# - That running estimate is poor at first. So the learning rate climbs from zero over a few epochs, the **warm-up**, and
#   then falls along a cosine, the **cosine schedule**, to zero at the last planned epoch.
# - **Gradient clipping** looks at all gradients as one long vector. If its norm exceeds a limit, the vector is shortened to
#   that length. One strange batch then cannot throw the model far off.
# - **Bucketed batches** save time. A batch is a rectangle as long as its longest window, and the rest is padding. So the
#   package lets windows of similar length share a batch: it sorts within pools of many batches, and shuffles the pools
#   and the batches. ([Evidence: windows](evidence_windows.ipynb) counts what that saves.)
#
# The learning rate is how far a step goes, and the first thing that one tunes. It is yours to change: everything below
# follows it.

# %%
learning_rate = 6.5e-4  # @param [1e-4, 6.5e-4, 2e-3, 5e-3] {type:"raw"}

# %%
config = TrainConfig(  # no early stop, see below
    learning_rate=learning_rate, max_epochs=10, patience=10
)
steps = math.ceil(len(data.train) / config.batch_size)  # steps an epoch

# %% [markdown]
# ## The loop
#
# Here is one whole epoch. One line may surprise you: `manual_seed`. Dropout sets random entries of the vectors to zero in
# training. We let the seed and the epoch's number alone decide which ones, and the order of the windows. So any epoch can be
# repeated exactly; the end of this chapter needs that.


# %%
def epoch_one(model, windows, c):
    options = {"betas": c.betas, "eps": c.eps, "fused": True}
    options |= {"lr": c.learning_rate, "weight_decay": c.weight_decay}
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    shuffle = np.random.default_rng([c.seed, 0])  # order of the windows
    torch.manual_seed(c.seed * 100_003)  # dropout; in epoch k, plus k
    norms = []
    model.train()
    batches = windows.batches(c.batch_size, shuffle=shuffle)
    for step, b in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = c.learning_rate_at(step, steps)
        log_probs = model(b).log_probs  # (B, V)
        losses = cross_entropy(log_probs, b.target, c.label_smoothing)
        optimizer.zero_grad()
        (losses * (1 / len(b))).sum().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), c.clip)
        optimizer.step()
        norms.append(float(norm))  # before clipping
    return np.array(norms)


torch.manual_seed(42)
by_hand = PointerGeneratorTransformer(size)
norms = epoch_one(by_hand, data.train, config)
clipped = 100 * (norms > config.clip).mean()

# %% [markdown]
# > **Pitfall.** We took clipping for an emergency brake. But {{ clipped:.0f }} % of these steps were clipped. If that share
# > is near 100 %, the limit lies below the everyday gradient, and clipping sets the length of every step's gradient. With
# > AdamW that matters less than it sounds, because AdamW divides by the gradient's usual size anyway. Still, count before
# > you believe the name.
#
# ## The real run
#
# `pgt.train.fit` is that loop with validation, early stopping, checkpoints and a choice of device. We let it run for ten
# epochs without stopping early, and keep the weights of each epoch, so that we can replay afterwards what different stopping
# rules would have done.

# %%
weights = []  # one dictionary of tensors an epoch


def keep(row):
    state = model.state_dict().items()
    weights.append({name: tensor.cpu().clone() for name, tensor in state})


history = fit(
    model, data.train, data.valid, config, after_epoch=keep, progress=False
)
ours = by_hand.state_dict().values()
same = all(map(torch.equal, weights[0].values(), ours))
print(f"{len(weights)} epochs in {history.seconds:.0f} s on {history.device}")
print("after epoch one, our loop's weights equal the package's:", same)
table = history.table()
table.round(4).rename(columns=lambda name: name.replace("_", " "))

# %% [markdown]
# (On the CPU they are equal to the last bit. On a GPU they are only close: it adds up in another order, and its dropout draws
# other random numbers.)
#
# ## What a step costs
#
# One line of Python in the loop becomes hundreds of operations: products, additions, softmaxes, once forwards and once
# backwards. Each of them costs time twice. It must be **launched**: Python and PyTorch find out what to do and with which
# memory, and hand the work over. That takes a few millionths of a second, however small the tensors are. And there is the
# **arithmetic**, which grows with the batch. To see the two apart, let the batch grow.

# %%
device = history.device  # where `fit` trained
student = PointerGeneratorTransformer(size).to(device).train()


def one_step(b):
    student.zero_grad()
    losses = cross_entropy(student(b).log_probs, b.target, eps)
    losses.mean().backward()
    return losses.sum().item()  # a number: waits until all is done


milliseconds = {}
for n in (1, 4, 16, 64, 256):
    b = data.train.batch(np.arange(n)).to(device)
    one_step(b)  # the first one sets up the libraries
    began = time.perf_counter()
    for _ in range(5):
        one_step(b)
    milliseconds[n] = 1000 * (time.perf_counter() - began) / 5
floor = milliseconds[1]

# %% tags=["hide-input"]
# @title Figure 10.1: a step by the size of its batch
axes = pd.Series(milliseconds).plot(loglog=True, marker="o", figsize=(6, 3))
axes.axhline(floor, color=EXTRA, ls="--")
axes.set(xlabel="windows in the batch", ylabel="ms")
show(
    axes.figure,
    alt="Milliseconds of a step against the batch size: flat, then rising.",
    caption="A step with one window (dashed) is nearly all launches.",
)

# %% [markdown]
# With one window nearly all of a step is launching: that is the dashed line. As long as the curve stays near it, more windows
# are nearly free. Where it has become steep, arithmetic decides.
#
# A CPU's curve is flat for a short stretch only. On a GPU it stays flat for long: thousands of small processors do the
# arithmetic of our batch almost at once, and then wait for the next launch, which comes from one core of the CPU. **A small
# model does not fill a GPU.** A faster GPU would not help, nor would half precision: both shorten what is short already.
# Three things do help. A larger batch means fewer steps (and is another training). A larger model has more arithmetic in
# each launch. Or one stops launching.
#
# That is what a **CUDA graph** does. The operations of one step are recorded once, with the memory that they read and write.
# From then on a single launch replays them all. The price: nothing may move, and no shape may change. So all windows lie on
# the GPU as one table, the learning rate lives there, too, a short last batch is filled up with copies that weigh nothing,
# and `fit` records one graph for each of at most eight padded lengths. It does all this by itself when it trains on a GPU;
# the code is one page, `pgt/graphs.py`.
#
# It pays when steps are small, many, and of few shapes: here. It does not pay when arithmetic rules (a large model), when
# shapes keep changing, or for a few steps, since recording takes about as long as some dozens of them.
#
# The table compares whole epochs, a row a machine: *ours* is `fit`, *reference* the same model and the usual loop, both
# written plainly. A graph is at work only in rows of a GPU. In a row of a CPU the ratio comes from other things, such as
# windows that are prepared once and bucketed batches. (A processor that is not in the table was not measured here.)

# %% tags=["hide-input"]
# @title Seconds, from `make bench`
bench = read_results("bench").rows.query("unit == 's'").set_index("section")
columns = ["name", "device", "ours", "reference", "ratio"]
whole = bench[bench.name.str.contains("geolife: PGT to its stop")].iloc[0]
shown = bench.loc[bench.index.isin(["training", "gpu"]), columns]
shown.astype(object).fillna("–")

# %% [markdown]
# On the GPU of the table a whole training of PGT on GeoLife takes {{ whole.ours:.1f }} seconds; with one launch after the other it
# takes {{ whole.reference:.0f }}.
#
# ## Reading the curves

# %%
by_loss = table.valid_loss.idxmin()
by_accuracy = table["valid_acc@1"].idxmax()

# %% tags=["hide-input"]
# @title Figure 10.2: loss and accuracy by epoch
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.0))
plots.history(table, best_epoch=by_loss, axes=left)
right.plot(table["valid_acc@1"], color=GENERATED, ls="--")
right.axvline(by_loss, color=MUTED, lw=1, ls=":")
right.set(xlabel="epoch", ylabel="validation Acc@1 (%)")
show(
    figure,
    alt="The training loss falls in every epoch, the validation loss rises "
    "again after a low point, and validation accuracy rises on.",
    caption="The dotted line marks the lowest validation loss.",
)

# %% [markdown]
# Validation loss is lowest in epoch {{ by_loss }}. Validation accuracy is highest in epoch {{ by_accuracy }}. So accuracy
# still rose while the loss got worse, and stopping on the loss would have been too early for accuracy. (The two curves on the
# left are not on one scale: the training loss is smoothed, and measured with dropout on. The gap between them says little,
# the direction of each says much.)
#
# How can a loss get worse while more answers are right? The loss is a mean, and a few large terms can decide a mean. Take it
# apart by three kinds of target: places in the window, places that training knows but the window does not show, and places
# that neither of them shows.


# %%
@torch.no_grad()
def losses(model, windows):
    out = np.zeros(len(windows))
    for b in windows.batches(512):
        out[b.index] = cross_entropy(model.scores(b), b.target)  # nats
    return out


kinds = ["in the window", "known, not in the window", "never seen"]
known = vocabulary.is_known(data.valid.targets)
kind = np.select([data.valid.in_window, known], kinds[:2], kinds[2])
rows = {}
replay = PointerGeneratorTransformer(size)
for epoch, state in enumerate(weights, start=1):
    replay.load_state_dict(state)
    rows[epoch] = pd.Series(losses(replay, data.valid)).groupby(kind).mean()
by_kind = pd.DataFrame(rows).T[kinds]  # (epochs, 3) mean loss
share = pd.Series(kind).value_counts(normalize=True)[kinds]
parts = by_kind * share  # a row adds up to the validation loss
outside_share = 100 * (1 - share[kinds[0]])
outside_loss = 100 * (1 - parts[kinds[0]] / parts.sum(axis=1)).iloc[-1]

# %% tags=["hide-input"]
# @title Figure 10.3: the validation loss by kind of target
axes = sns.lineplot(by_kind, palette=[COPIED, GENERATED, EXTRA])
axes.set(xlabel="epoch", ylabel="validation loss (nats)", ylim=(0, None))
show(
    axes.figure,
    alt="The loss falls for known targets, and rises for those never seen.",
    caption="Mean validation loss by kind of target.",
)

# %% [markdown]
# The two kinds outside the window are {{ outside_share:.0f }} % of the windows and {{ outside_loss:.0f }} % of the final loss.
# But only one kind climbs epoch after epoch: *never seen*. A place that training never saw is never a training target. Each
# step pushes its score in the generator down, and nothing pulls it up except label smoothing. So training makes the model
# *surer and surer* that nobody goes there, and each validation window that does costs more nats. The answer was wrong before
# and is wrong after. Accuracy does not notice; the loss pays.
#
# Which one is right? Both, about different things. If you want **calibrated** probabilities, such that of all places given
# 30 % about 30 % come true, the loss is right: confidence is growing beyond what is justified. If you want the right place on
# top, the loss stops you for the wrong reason. Decide which one you want before you look.
#
# ## Early stopping, replayed
#
# The rule: stop after `patience` epochs without a better validation score, and go back to the best epoch. `monitor` says
# what "better" means. Both rules below choose on validation; only then do we look at the test windows.

# %%
chosen, ranks_of = {}, {}
for monitor, best in {"loss": by_loss, "acc@1": by_accuracy}.items():
    replay.load_state_dict(weights[best - 1])
    ranks_of[monitor] = evaluate(replay, data.test)
    row = scores(ranks_of[monitor], ["acc@1", "mrr"])
    chosen[monitor] = [best, *row, losses(replay, data.test).mean()]
heads = ["epoch", "test Acc@1", "test MRR", "test loss (nats)"]
chosen = pd.DataFrame(chosen, index=heads).T.rename_axis("monitor")
chosen.astype({"epoch": int}).round(2)

# %% [markdown]
# > **Pitfall.** The best of ten noisy scores is too good to be true. Part of "highest validation accuracy" is skill, part is
# > the luck of that epoch, and the luck stays behind when you move to the test windows.
#
# ## What training added
#
# Now the comparison that counts, against the rules of [Baselines](04_baselines.ipynb). We take the epoch that validation
# accuracy chose. The context kernel is the strongest rule: five numbers, no training.

# %%
trained = ranks_of["acc@1"]
kernel = fit_baseline("kernel", data.train, data.valid)
ranked = {
    "most frequent": most_frequent,
    "untrained model": untrained,
    "context kernel": evaluate(kernel, data.test),
    "trained model": trained,
}
for name in ("untrained model", "context kernel"):
    low, high = interval(trained, against=ranked[name])
    print(f"trained minus {name}: {low:+.1f} to {high:+.1f} points, 95 %")
columns = {name: summarize(ranks).set_index("group")["acc@1"]
           for name, ranks in ranked.items()}  # fmt: skip
pd.DataFrame(columns).T[list(GROUPS)].round(1)

# %% [markdown]
# Read the two intervals first. Where one lies above zero, training has added something to that rule. Where one holds zero,
# these people cannot tell the two apart: a Transformer beside five numbers.
#
# Nearly all hits are among targets *in the window*. Outside it the model has only the generator, and naming one place among
# thousands is close to guessing. And with ten guesses in place of one, the untrained model is as good as the trained one:

# %%
measures = ["acc@1", "acc@5", "acc@10", "mrr"]
guesses = {name: scores(ranks, measures) for name, ranks in ranked.items()}
pd.DataFrame(guesses).T.astype(float).round(1)

# %% [markdown]
# A week holds few different places, so ten guesses nearly exhaust it. Training hardly changes *which* places are on the
# list. It changes their order.
#
# ## Your point on the chart
#
# Figure 10.4 will show the models of the town, one dot a run, and yours among them. The next cell trains with *your* learning
# rate and a shorter warm-up than ours. With a GPU it takes five seeds and twelve epochs, about two minutes; without one, a
# single seed and half the epochs. (In Colab: Runtime, Change runtime type, GPU. Nothing else changes: `fit` takes the GPU
# when it is there.)

# %%
gpu = torch.cuda.is_available()
seeds, epochs = (range(5), 12) if gpu else ([0], 6)
yours = []
for seed in seeds:
    torch.manual_seed(seed)
    own = PointerGeneratorTransformer(size)
    settings = TrainConfig(
        learning_rate=learning_rate, warmup_epochs=2, max_epochs=epochs,
        patience=epochs, monitor="acc@1", seed=seed,
    )  # fmt: skip
    log = fit(own, data.train, data.valid, settings, progress=False)
    on_valid = log.table()["valid_acc@1"].max()
    yours.append(scores(evaluate(own, data.test), ["acc@1"])["acc@1"])
    print(f"seed {seed}: validation {on_valid:.1f} %, test {yours[-1]:.1f} %")

# %% tags=["hide-input"]
# @title Figure 10.4: the models of the town, and yours
runs = read_results("city").select()  # of all people, on the test windows
names = (runs.model + " " + runs.variant).str.replace(" full", "")
town = runs.assign(model=names.str.replace("_", " "), whose="the book's")
mine = pd.DataFrame({"acc@1": yours, "whose": "yours", "model": "yours"})
axes = sns.stripplot(pd.concat([town, mine]), x="acc@1", y="model",
                     hue="whose", palette=[COPIED, EXTRA])  # fmt: skip
axes.set(xlabel="test Acc@1 (%)", ylabel="")
show(
    axes.figure,
    alt="A row of dots a model: rules, PGT, PGT without a part, and yours.",
    caption="First guesses on the town's test windows, one dot a run.",
)

# %% [markdown]
# > **Try it.** Change `learning_rate` above and run the cells again (or only the last two). Watch the validation score, and
# > choose by it. If you choose by the dot on the chart, you choose on the test set; that is one of the
# > [traps](15_traps.ipynb).
#
# The five dots of one model are five seeds: the same model, other random numbers. When two models differ by less than such
# dots scatter, a comparison with one seed each is a coin toss. There is a second kind of luck that more seeds do not shrink:
# *whom* we happened to record. The intervals above resample people for that reason.
#
# ## Stop it, resume it
#
# Runs get interrupted. A resumed run should be *the same run*, not a similar one. In `fit`, shuffling and dropout of an epoch
# follow from the seed and the epoch's number alone. A checkpoint holds the weights, the best weights so far, AdamW's running
# estimates and the history. We press "stop" after two of five epochs, resume, and compare with a run that nobody disturbed.

# %%
import tempfile
from contextlib import suppress

few, some = data.train.subset(slice(600)), data.valid.subset(slice(300))
quick = TrainConfig(max_epochs=5, patience=5, warmup_epochs=2, seed=7)


def run(**how):
    torch.manual_seed(7)
    student = PointerGeneratorTransformer(size)
    fit(student, few, some, quick, device="cpu", progress=False, **how)
    return student.state_dict()


def stop_after_two(row):
    if row["epoch"] == 2:
        raise KeyboardInterrupt  # what the stop button does


undisturbed = run()
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/run.safetensors"
    with suppress(KeyboardInterrupt):
        run(checkpoint=path, after_epoch=stop_after_two)
    resumed = run(checkpoint=path)
same = [torch.equal(undisturbed[name], resumed[name]) for name in resumed]
print(f"{sum(same)} of {len(same)} tensors are equal to the bit")

# %% [markdown]
# Equal bits need the same machine, the same device and the same number of threads, because sums of floats depend on their
# order. The file is in [safetensors](https://huggingface.co/docs/safetensors) format, plain numbers with a header: opening
# somebody's checkpoint never runs their code. If you resume with other settings or other data, `fit` says which differ, and
# refuses.
#
# ## What to remember
#
# - An untrained pointer counts visits. It is a baseline in disguise; always score it. Training mostly reorders its list.
# - Targets outside the window rule the validation loss. Accuracy and loss may ask for different epochs; decide beforehand
#   which one you want, and distrust the best of many.
# - Seeds and people are two sources of luck; report both.
# - On a GPU a small model waits for launches, not for arithmetic, and a recorded graph takes them away. On a CPU a full batch
#   is arithmetic.
#
# ## Exercises
#
# **Exercise 1** (quick). A model always gives ten places 9 % each and spreads the rest evenly over all others. (The first
# cell prints how many places there are.) How many nats does it pay when the target is one of the ten? And when it is not?

# %% tags=["try"]
hit, miss = ..., ...  # nats
check.exercise("10.1", [hit, miss])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
inside, outside = -math.log(0.09), -math.log((1 - 10 * 0.09) / (V - 10))
check.exercise("10.1", [inside, outside])
print(f"one miss costs as much as {outside / inside:.1f} hits")

# %% [markdown]
# **Exercise 2** (medium). Replay early stopping with every patience from 1 to 5, for both monitors, on `table`. Which epoch
# is kept, and how many epochs would you have paid for?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
curves = {"loss": table.valid_loss, "acc@1": -table["valid_acc@1"]}
for name, score in curves.items():  # lower is better
    for patience in range(1, 6):
        best = epoch = 1
        while epoch - best < patience and epoch < len(score):
            epoch += 1
            best = epoch if score[epoch] < score[best] else best
        print(f"{name}, patience {patience}: {best} of {epoch} epochs")

# %% [markdown]
# **Exercise 3** (project). AdamW divides by the gradient's usual size, so clipping all gradients to one length should change
# little. Test it with the cell of *your point*: three seeds each with `clip=0.8` and `clip=1e9`. What would convince you that
# there is a difference?

# %% [markdown]
# <details class="solution"><summary>Solution 3</summary>
#
# Fix the number of epochs and what you compare before you start. Run the seeds in pairs (same seed, both clips), and look at
# the mean of the paired differences beside their scatter. With three seeds only a difference well above the scatter of the
# dots in the chart means anything.
#
# </details>

# %% [markdown]
# **Next:** [The gate](11_gate.ipynb), the first of the trained parts that we look into.
