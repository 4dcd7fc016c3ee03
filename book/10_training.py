# %% [markdown]
# # Training
#
# The loss gets worse, and the model gives more right answers. How can both be true?
#
# *You will be able to* read a training curve without being fooled by it, write the loop yourself,
# and stop a run and resume it to the very same bits. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb); a short tour of [the model](09_model.ipynb) is included. *It takes* twenty-five minutes to read
# and about a minute and a half to run on two CPU cores; a GPU is used if
# there is one.

# %% tags=["hide-input"]
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
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.baselines import ContextKernel, MostFrequent
from pgt.config import ModelConfig, TrainConfig
from pgt.counter_random import use_keys
from pgt.metrics import GROUPS, evaluate, interval, summarize
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import cross_entropy
from pgt.train import fit
from pgt.windows import prepare

# %%
began = time.perf_counter()
data = prepare(city.load().visits, protocol="exact")
vocabulary = data.vocabulary
V = vocabulary.n_locations
size = ModelConfig(V, vocabulary.n_users)
torch.manual_seed(42)
model = PointerGeneratorTransformer(size)
print(f"{V:,} locations, {model.n_parameters():,} parameters")
pd.Series(data.counts(), name="windows").to_frame().T

# %% [markdown]
# ## The model in one picture
#
# A window of visits goes in at the left. Each visit becomes a vector. A Transformer encoder lets the
# visits look at each other. The vector of the *last* visit, the **context**, then answers three
# questions: which visit would I copy (pointer), which place of the whole town would I name (generator),
# and which of the two do I trust (gate)?

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from IPython.display import Markdown
from wherenext.figures import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    INK,
    MUTED,
    PAPER,
    TRUTH,
    show,
)

from pgt import plots

boxes = {  # name: (x, y, colour, what comes out)
    "window": (0.0, 1, MUTED, "(B, L)"),
    "embeddings": (1.5, 1, MUTED, "(B, L, D)"),
    "encoder": (3.0, 1, MUTED, "(B, L, D)"),
    "pointer": (4.9, 2, COPIED, "(B, L) → (B, V)"),
    "gate": (4.9, 1, GATE, "(B,)"),
    "generator": (4.9, 0, GENERATED, "(B, V)"),
    "mixture": (6.7, 1, TRUTH, "(B, V)"),
}
arrows = {
    "window": ["embeddings"],
    "embeddings": ["encoder"],
    "encoder": ["pointer", "gate", "generator"],
    "pointer": ["mixture"],
    "gate": ["mixture"],
    "generator": ["mixture"],
}
fig, ax = plt.subplots(figsize=(7.4, 2.9))
line = {"arrowstyle": "->", "color": INK}
for start, ends in arrows.items():
    x0, y0, *_ = boxes[start]
    for end in ends:
        x1, y1, *_ = boxes[end]
        tip, tail = (x1 - 0.55, y1), (x0 + 0.58, y0)
        ax.annotate("", tip, tail, arrowprops=line)
for name, (x, y, colour, shape) in boxes.items():
    frame = {"boxstyle": "round,pad=0.45", "fc": PAPER, "ec": colour, "lw": 2}
    ax.text(x, y, name, ha="center", va="center", fontsize=10, bbox=frame)
    ax.text(x, y - 0.46, shape, ha="center", fontsize=8, color=MUTED)
ax.set(xlim=(-0.6, 7.4), ylim=(-0.7, 2.5))
ax.axis("off")
show(
    fig,
    alt="Boxes joined by arrows: window, embeddings, encoder; from the "
    "encoder three arrows to pointer, gate and generator; from these three "
    "to the mixture. Below each box stands the shape of its output.",
    caption="The flow of the data. B windows, L visits, D numbers a visit, V "
    "locations.",
)

# %% [markdown]
# The last box is one formula. With gate $g$ between 0 and 1, for every location $\ell$
#
# $$
# P(\ell) = g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell),
# \qquad P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i , \tag{10.1}
# $$
#
# where $a_i$ is the pointer's attention on visit $i$. A place that was visited three times collects
# three weights. (In Part II these are equations (8.4) and (7.4), and
# [chapter 9](09_model.ipynb) puts the parts together.)
#
# Now walk one batch through, part by part, and check that the parts are the whole.

# %%
model.eval()
batch = data.train.batch(np.arange(128))
x = model.embeddings(batch)  # (B, L, D)
encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
last = torch.arange(len(batch)), batch.length - 1
context = encoded[last]  # (B, D) the last visit
a = model.pointer(context, encoded, batch).exp()  # (B, L)
p_ptr = torch.zeros(len(batch), V).scatter_add(1, batch.location, a)
p_gen = model.generator(context).softmax(-1)  # (B, V)
g = model.gate(context).sigmoid()  # (B, 1)
p = g * p_ptr + (1 - g) * p_gen  # (B, V)

out = model(batch)
assert torch.allclose(p, out.log_probs.exp(), atol=1e-6)
print(f"encoded {tuple(encoded.shape)}, pointer attention {tuple(a.shape)}")
print(f"mixture {tuple(p.shape)}")
print(f"gate at the start: {g.mean():.2f} ± {g.std():.2f}")

# %% [markdown]
# The gate starts near one half, because its last layer starts near zero and $\sigma(0) = 0.5$; how far from it depends
# on the seed. It has no reason yet to copy or to generate.
#
# ## Before the first step
#
# How good is a model that has learned nothing? Random weights, random guesses, one would think. Score
# it.


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
# It is far better than guessing. The reason is in the formula. With small random weights
# the pointer attends to all visits about equally, and adding up equal weights per place is *counting*.
# An untrained pointer is the "most frequent place" rule with noise, which decides all ties and some other windows.
#
# So whenever a pointer model beats a model without one, part of
# the difference was there before training. What did training add? That is the number to look at, and
# we shall come back to it.
#
# ## The loss
#
# The model answers with log-probabilities $\log P(\ell)$. Training makes the log-probability of the
# true next place $\ell^*$ large, that is, it makes the **cross-entropy**
#
# $$
# \mathcal{L} = -\log P(\ell^*) \tag{10.2}
# $$
#
# small. With the natural logarithm its unit is the **nat**. A model that knows nothing and spreads its
# probability evenly over all places pays $\log V$ nats; one that is always sure and right pays 0.
#
# `nn.CrossEntropyLoss` expects raw scores and takes a log-softmax first. Ours are log-probabilities
# already. Is a second softmax harmful? It computes
# $\log P(\ell) - \log \sum_{\ell'} e^{\log P(\ell')}$, and the sum is one, so its logarithm is zero:

# %%
log_probs = out.log_probs.detach()  # (B, V)
nll = -log_probs.gather(1, batch.target[:, None]).mean()
builtin = nn.CrossEntropyLoss()(log_probs, batch.target)
assert torch.isclose(nll, builtin, atol=1e-5)
print(f"by hand {nll:.5f}, CrossEntropyLoss {builtin:.5f}")
print(f"know-nothing log V = {math.log(V):.5f} nats")

# %% [markdown]
# The same number: harmless, and unnecessary.
#
# ## Label smoothing
#
# The loss above is never satisfied: a target at 99 % still pulls towards 100 %. **Label smoothing**
# ([Szegedy et al., 2016](https://arxiv.org/abs/1512.00567)) aims at something a little less certain. It
# takes a share $\varepsilon$ of the target's mass and spreads it over all $V$ locations:
#
# $$
# \mathcal{L}_\varepsilon = -(1 - \varepsilon) \log P(\ell^*)
#   - \frac{\varepsilon}{V} \sum_{\ell} \log P(\ell) . \tag{10.3}
# $$

# %%
eps = TrainConfig().label_smoothing
smoothed = (1 - eps) * nll - eps * log_probs.mean()
builtin = nn.CrossEntropyLoss(label_smoothing=eps)
builtin = builtin(log_probs, batch.target)
ours = cross_entropy(log_probs, batch.target, eps).mean()  # the package's
assert torch.isclose(smoothed, builtin, atol=1e-5)
assert torch.isclose(smoothed, ours, atol=1e-5)

best = torch.full((V,), eps / V, dtype=torch.float64)  # the perfect answer
best[0] += 1 - eps
floor = -(best * best.log()).sum()
print(f"smoothed loss {ours:.3f} nats, that of a perfect model {floor:.3f}")

# %% [markdown]
# Two consequences. The training loss cannot reach zero, so do not wait for it. And each place, even one
# that is never a target, is asked to keep a probability of about $\varepsilon / V$, as in equation (8.2). This will matter
# below, for places that training never shows.
#
# ## Steps: AdamW, warm-up, cosine, clipping
#
# **AdamW** ([Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101)) divides each weight's
# gradient by a running estimate of its size, so that the weights of rare places and of frequent places move at
# similar speed. It also shrinks all weights a little at each step (weight decay).
#
# That running estimate is poor at first. So the learning rate climbs from zero over a few epochs, the **warm-up**,
# and then falls along a cosine, the **cosine schedule**, to zero at the last planned epoch. This is the schedule that we are
# about to use:

# %%
config = TrainConfig(max_epochs=10, patience=10)  # no early stop, see below
steps = math.ceil(len(data.train) / config.batch_size)  # steps an epoch
rate = [config.learning_rate_at(step, steps) for step in range(10 * steps)]

# %% tags=["hide-input"]
peak, warm = config.learning_rate, config.warmup_epochs
fig, ax = plt.subplots(figsize=(6.6, 2.8))
ax.plot(np.arange(len(rate)) / steps, 1e4 * np.array(rate), color=INK)
ax.axvspan(0, warm, color=MUTED, alpha=0.15)
ax.text(0.15, 1e4 * peak * 0.92, "warm-up", color=MUTED)
ax.set(xlabel="epoch", ylabel="learning rate (10⁻⁴)", ylim=(0, None))
show(
    fig,
    alt=f"The learning rate rises in a straight line to {peak:g} over {warm} "
    "epochs, then falls along a cosine to zero at epoch "
    f"{config.max_epochs}.",
    caption="Learning rate, step by step: TrainConfig.learning_rate_at.",
)

# %% [markdown]
# **Gradient clipping** looks at all gradients as one long vector. If its norm exceeds a limit, here
# 0.8, the vector is shortened to that length. One strange batch then cannot throw the model far off.
#
# **Bucketed batches** are about speed. A batch is a rectangle, as long as its longest window, and the
# rest is padding that is computed and thrown away. If windows of similar length share a batch, there is
# less of it. But if we sort everything, the same windows meet in the same batch in every epoch, short ones first.
# The package shuffles first, sorts within pools of many batches, where windows of equal length stay shuffled, and
# then shuffles the batches.


# %%
def padding_share(**how):
    cells = visits = 0
    for b in data.train.batches(config.batch_size, **how):
        cells += b.location.numel()
        visits += int(b.length.sum())
    return 100 * (1 - visits / cells)


def rng():
    return np.random.default_rng(0)


eight = padding_share(shuffle=rng(), pool=8)
shares = {
    "shuffled": padding_share(shuffle=rng(), pool=1),
    "shuffled, sorted within pools of 8 batches": eight,
    "within pools of 32, as the package does": padding_share(
        shuffle=rng(), pool=32
    ),
    "sorted altogether": padding_share(),
}
pd.Series(shares, name="padding, % of cells").round(1).to_frame()

# %% [markdown]
# ## The loop
#
# Here is one whole epoch. Two lines may surprise you:
#
# - `mixture` is the model of [chapter 9](09_model.ipynb) with its loss written as in equation (9.2): the same number,
#   without an array of shape (B, V).
# - `use_keys` fixes the random numbers of dropout, which in training sets random entries of the vectors to zero. Each
#   window has its own, which depend only on the seed, the epoch and the window's number. So a window gets the same
#   ones whatever else is in its batch, and two computers that share the work draw the same numbers as one.


# %%
def epoch_one(model, windows, c):
    options = {"betas": c.betas, "eps": c.eps, "fused": True}
    options |= {"lr": c.learning_rate, "weight_decay": c.weight_decay}
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    shuffle = np.random.default_rng([c.seed, 0])  # order of the windows
    norms, total = [], 0.0
    model.train()
    batches = windows.batches(c.batch_size, shuffle=shuffle)
    for step, b in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = c.learning_rate_at(step, steps)
        use_keys(model, c.seed, 0, b.index)  # dropout: seed, epoch, windows
        mixture = model.mixture(b)
        loss = mixture.cross_entropy(b.target, c.label_smoothing)  # (B,)
        optimizer.zero_grad()
        loss.mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), c.clip)
        optimizer.step()
        norms.append(float(norm))
        total += float(loss.detach().sum())
    return total / len(windows), np.array(norms)


# %%
torch.manual_seed(42)
by_hand = PointerGeneratorTransformer(size)
first_loss, norms = epoch_one(by_hand, data.train, config)
clipped = 100 * (norms > config.clip).mean()
print(f"training loss {first_loss:.4f} nats")
print(f"{clipped:.0f} % of the steps were clipped")

# %% [markdown]
# > **Pitfall.** We took clipping for an emergency brake. Look at the share of clipped steps: if it is
# > near 100 %, the limit lies below the everyday gradient, and clipping sets the length of every step's
# > gradient. With AdamW that matters less than it sounds, because AdamW divides by the gradient's usual
# > size anyway. But it is not what the word "clip" suggests. Draw the norms before you believe the name.
#
# ## The real run
#
# In [the package](https://where-next-book.github.io/where-next/book/api.html) `pgt.train.fit` is that loop with validation, early stopping, checkpoints and a choice of device. We
# let it run for ten epochs without stopping early, and keep the weights of each epoch, so that we can
# replay afterwards what different stopping rules would have done.

# %%
weights = []  # one dictionary of tensors an epoch


def keep(row):
    state = model.state_dict()
    copied = {name: t.detach().cpu().clone() for name, t in state.items()}
    weights.append(copied)


how = {"after_epoch": keep, "progress": False}
history = fit(model, data.train, data.valid, config, **how)
table = history.table()
digits = {"train_loss": 3, "valid_loss": 3, "valid_acc@1": 1}
digits |= {"learning_rate": 5, "gradient_norm": 2, "seconds": 1}
shown = table.round(digits)
print(f"{len(table)} epochs in {history.seconds:.0f} s on {history.device}")
shown.rename(columns=lambda name: name.replace("_", " "))

# %% [markdown]
# `model` began with the same weights as `by_hand`, and epoch one used the same order and the same
# dropout. So our short loop and the package must agree; on the CPU, to the last bit:

# %%
pairs = [(weights[0][name], t) for name, t in by_hand.state_dict().items()]
same = all(torch.equal(theirs, ours) for theirs, ours in pairs)
assert same or history.device != "cpu"
print("after epoch one, our weights equal the package's:", same)

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.8), sharey=True)
left, right = axes
left.plot(norms, color=INK, lw=1)
left.set(xlabel="step of epoch 1", ylabel="gradient norm")
left.set_title("Within the first epoch")
right.plot(table.index, table.gradient_norm, "o-", color=INK)
right.set(xlabel="epoch", title="Mean of each epoch")
corner = {"ha": "right", "va": "bottom", "color": EXTRA}
for ax in axes:
    ax.axhline(config.clip, color=EXTRA, ls="--")
    ax.text(ax.get_xlim()[1], config.clip, "clip", **corner)
left.set_ylim(0, None)
show(
    fig,
    alt="Gradient norms before clipping. The mean of the first epoch is "
    f"{norms.mean():.2f}, of the last {table.gradient_norm.iloc[-1]:.2f}; "
    f"the limit, {config.clip}, is drawn as a dashed line.",
    caption="Gradient norms before clipping. The dashed line is the limit.",
)

# %% [markdown]
# The training loss falls, but the gradients do not: in the right-hand picture the norm ends higher than its lowest
# point. So a gradient norm does not measure how far training still has to go.
#
# ## Reading the curves

# %%
by_loss = table.valid_loss.idxmin()
by_accuracy = table["valid_acc@1"].idxmax()

# %% tags=["hide-input"]
train_loss, valid_loss = table.train_loss, table.valid_loss
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
plots.history(table, best_epoch=by_loss, axes=left)
right.plot(table["valid_acc@1"], color=GENERATED, ls="--")
right.axvline(by_loss, color=MUTED, lw=1, ls=":")
right.set(xlabel="epoch", ylabel="validation Acc@1 (%)")
show(
    fig,
    alt=f"Left: training loss falls from {train_loss.iloc[0]:.2f} to "
    f"{train_loss.iloc[-1]:.2f} nats; validation loss is lowest in epoch "
    f"{by_loss} and ends at {valid_loss.iloc[-1]:.2f}. Right: validation "
    f"accuracy is highest in epoch {by_accuracy}.",
    caption="Training and validation. The dotted line marks the epoch with "
    "the lowest validation loss.",
)

# %% tags=["hide-input"]
at_loss, at_accuracy = table.loc[by_loss], table.loc[by_accuracy]
promised = at_accuracy["valid_acc@1"] - at_loss["valid_acc@1"]
if by_accuracy > by_loss:
    verdict = (
        f"So **accuracy still rose by {promised:.1f} points while the loss "
        "got worse.** Stopping on the loss would have been too early for "
        "accuracy here."
    )
else:
    verdict = (
        "In this run accuracy gained nothing after the loss turned; with "
        "another seed it may."
    )
Markdown(
    f"Validation **loss** is lowest in epoch {by_loss} "
    f"({at_loss.valid_loss:.3f} nats, Acc@1 {at_loss['valid_acc@1']:.1f} %). "
    f"Validation **accuracy** is highest in epoch {by_accuracy} "
    f"({at_accuracy.valid_loss:.3f} nats, Acc@1 "
    f"{at_accuracy['valid_acc@1']:.1f} %). {verdict}"
)

# %% [markdown]
# First a warning about the left picture. The two curves are *not* on one scale: the training loss is
# smoothed, and measured with dropout on. The gap between them says little. The direction of each says
# much.
#
# How can a loss get worse while more answers are right? The loss is a mean, and a few large terms can
# decide a mean. Take it apart by three kinds of target: places in the window, places that training knows but the window
# does not show, and places that neither of them shows.


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
by_kind = pd.DataFrame(rows).T  # (epochs, 3) mean loss
share = pd.Series(kind).value_counts(normalize=True)[by_kind.columns]
parts = by_kind * share  # a row adds up to the loss
limit = 1e-3 if history.device == "cpu" else 0.05
assert np.allclose(parts.sum(axis=1), table.valid_loss, atol=limit)

# %% tags=["hide-input"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
colours, lines = (COPIED, GENERATED, EXTRA), ("o-", "s--", "^:")
said = []
for name, colour, line in zip(kinds, colours, lines, strict=True):
    label = f"{name} ({100 * share[name]:.0f} %)"
    curve, moved = by_kind[name], parts[name] - parts[name].iloc[0]
    left.plot(curve.index, curve, line, color=colour, label=label)
    right.plot(moved.index, moved, line, color=colour)
    ends = f"{curve.iloc[0]:.2f} to {curve.iloc[-1]:.2f} nats"
    said.append(f"{name} from {ends}")
left.set(xlabel="epoch", ylabel="mean loss (nats)", ylim=(0, None))
left.set_title("Loss of each kind")
right.set(xlabel="epoch", ylabel="change since epoch 1 (nats)")
right.set_title("What moves the total")
right.axhline(0, color=MUTED, lw=1)
below = {"loc": "outside lower center", "ncols": 3, "fontsize": 9}
fig.legend(*left.get_legend_handles_labels(), **below)
show(
    fig,
    alt="Validation loss by epoch, split into three kinds of target. From "
    f"the first epoch to the last: {'; '.join(said)}. The second picture "
    "shows how much each kind moves the total.",
    caption="Validation loss by kind of target (left; in brackets its share "
    "of windows) and how far each kind has moved the total since epoch 1 "
    "(right). The three curves on the right add up to the change of the "
    "validation loss.",
)

# %% tags=["hide-input"]
first, last = parts.iloc[0], parts.iloc[-1]
rare = kinds[1:]
of_loss = 100 * last[rare].sum() / last.sum()
since = last - parts.loc[by_loss]
listed = ", ".join(f"{name} {since[name]:+.3f}" for name in kinds)
Markdown(
    f"Targets outside the window are {100 * share[rare].sum():.0f} % of the "
    f"validation windows and **{of_loss:.0f} % of the final loss**. Targets "
    f"in the window moved the loss by {(last - first)[kinds[0]]:+.2f} nats "
    f"since epoch 1. And from epoch {by_loss}, where the loss was lowest, "
    f"to the last: {listed} nats."
)

# %% [markdown]
# A place that training never saw is never a training target. Each step pushes its score in the generator down,
# and nothing pulls it up except label smoothing. So training makes the model *surer and surer* that
# nobody goes to those places, and each validation window that goes there costs more nats. The answer was
# wrong before and is wrong after. Accuracy does not notice; the loss pays.
#
# Which one is right? Both, about different things. If you want **calibrated** probabilities, such that of all
# places given 30 % about 30 % come true, the loss is right: confidence is growing beyond what is
# justified. If you want the right place on top, the loss
# stops you for the wrong reason. Decide which one you want before you look.
#
# ## Early stopping, replayed
#
# The rule: stop after `patience` epochs without a better validation score, and go back to the best
# epoch. `monitor` says what "better" means. Both rules below choose on validation; only then do we look
# at the test windows.

# %%
chosen, ranks_of = {}, {}
for monitor, best in {"loss": by_loss, "acc@1": by_accuracy}.items():
    replay.load_state_dict(weights[best - 1])
    ranks_of[monitor] = evaluate(replay, data.test)
    row = scores(ranks_of[monitor], ["acc@1", "mrr"])
    nats = losses(replay, data.test).mean()
    chosen[monitor] = [best, row["acc@1"], row["mrr"], nats]
heads = ["epoch", "test Acc@1", "test MRR", "test loss (nats)"]
chosen = pd.DataFrame(chosen, index=heads).T.rename_axis("monitor")
chosen.astype({"epoch": int}).round(2)

# %% [markdown]
# Did the accuracy that validation promised arrive on the test windows?


# %% tags=["hide-input"]
def points(a, b):
    low, high = interval(a, "acc@1", against=b)
    value = scores(a, ["acc@1"]) - scores(b, ["acc@1"])
    value = value["acc@1"]
    sure = "the interval excludes zero"
    if low <= 0 <= high:
        sure = "zero lies inside, so this run alone does not settle it"
    between = f"{low:+.1f} to {high:+.1f}"
    return f"{value:+.1f} points (95 % interval {between}: {sure})"


p = at_accuracy["valid_acc@1"] / 100
error = 100 * math.sqrt(p * (1 - p) / len(data.valid))
Markdown(
    f"Promised on validation: {promised:+.1f} points. Delivered on test: "
    f"{points(ranks_of['acc@1'], ranks_of['loss'])}. For scale: one "
    f"validation score has a sampling error of about {error:.1f} points, "
    "even if all windows were independent."
)

# %% [markdown]
# > **Pitfall.** The best of ten noisy scores is too good to be true. Part of "highest validation
# > accuracy" is skill, part is the luck of that epoch, and the luck stays behind when you move to the test
# > windows. The interval above covers the luck of who was recorded, not that of the seed. So a gain of a point from
# > switching the monitor is a reason to run more seeds, not to cheer.
#
# ## How good is it?
#
# Now the comparison that counts, on test windows, against the rules of [Baselines](04_baselines.ipynb). We
# take the epoch that validation accuracy chose. The kernel is the strongest of the rules: five numbers,
# chosen on validation, no training. The results file of the town holds them.

# %%
from wherenext.results import read_results

results = read_results("city")
runs = results.header["runs"]
found = runs["kernel-full-unknown-None"]
numbers = {k: v for k, v in found.items() if k in ContextKernel.GRID}
kernel = ContextKernel(**numbers).fit(data.train)
kernel = evaluate(kernel, data.test)
replay.load_state_dict(weights[by_accuracy - 1])
trained = evaluate(replay, data.test)

# %%
ranked = {
    "most frequent": most_frequent,
    "untrained model": untrained,
    "context kernel": kernel,
    "trained model": trained,
}
columns = {
    name: summarize(ranks).set_index("group")["acc@1"]
    for name, ranks in ranked.items()
}
by_group = pd.DataFrame(columns).T[list(GROUPS)].round(1)
by_group.rename(columns=lambda name: name.replace("_", " "))

# %% tags=["hide-input"]
Markdown(
    f"- Trained against untrained: {points(trained, untrained)}.\n"
    f"- Trained against the five-number kernel: {points(trained, kernel)}."
    "\n\nThe intervals resample whole people, because windows of one person "
    "are alike."
)

# %% [markdown]
# Nearly all hits are among targets *in the window*. Outside it the model has
# only the generator, and naming one place among thousands is close to guessing.
# And anyone who reads only "accuracy of the trained model" never learns how much of it the untrained model
# had already. With ten guesses in place of one, the untrained model is as good as the trained one:

# %%
measures = ["acc@1", "acc@5", "acc@10", "mrr"]
rows = {name: scores(ranks, measures) for name, ranks in ranked.items()}
pd.DataFrame(rows).T.astype(float).round(1)

# %% [markdown]
# A week holds few different places, so ten guesses nearly exhaust it. Training hardly changes *which*
# places are on the list. It changes their order.
#
# ## The seed
#
# One run is one draw. The results file holds the same model trained from five seeds, with the settings
# written beside it.

# %%
training = results.header["data"]["training"]
settings = ["max_epochs", "patience", "monitor", "label_smoothing"]
settings = {key.replace("_", " "): training[key] for key in settings}
pd.Series(settings, name="setting").to_frame().T

# %%
which = {"model": "pgt", "variant": "full", "target_time": "unknown"}


def by_seed(**more):
    rows = results.select(**which, **more).astype({"seed": int})
    return rows.set_index("seed")["acc@1"]


seeds = by_seed(split="valid").rename("Acc@1, validation").to_frame()
seeds["Acc@1, test"] = by_seed()
kept = [runs[f"pgt-full-unknown-{seed}"]["epochs"] for seed in seeds.index]
seeds["best epoch"] = kept
seeds.round(1)

# %% tags=["hide-input"]
low, high = results.interval(seeds=False, **which)  # other people
mean, spread = results.mean(**which), results.spread(**which)
rule = results.mean(model="kernel")
fig, ax = plt.subplots(figsize=(6.6, 2.2))
ax.scatter(seeds["Acc@1, test"], [1] * len(seeds), color=COPIED, zorder=3)
bar = {"fmt": "D", "color": EXTRA, "capsize": 4}
ax.errorbar([mean], [0], xerr=[[mean - low], [high - mean]], **bar)
ax.axvline(rule, color=INK, ls="--", lw=1.5)
ax.text(rule, 1.62, " kernel", va="top")
ax.set_yticks([0, 1], ["mean, interval\nover people", "five seeds"])
ax.set(ylim=(-0.6, 1.7), xlabel="test Acc@1 (%)")
show(
    fig,
    alt=f"Test accuracy of five seeds: mean {mean:.1f} per cent, standard "
    f"deviation {spread:.2f}. The interval that resamples people reaches "
    f"from {low:.1f} to {high:.1f}. The kernel is at {rule:.1f}.",
    caption="Each dot is one seed. The bar is the 95 % interval of their "
    "mean over other draws of people. Dashed: the context kernel.",
)

# %% [markdown]
# These are two different kinds of luck. The dots say how much depends on the random numbers of
# training. The bar says how much depends on *whom* we happened to record; more seeds do not shrink it.
# When two models differ by less than the dots scatter, a single-seed comparison is a coin toss.
#
# The same file holds two relatives: the model without its pointer, and the model without its generator. All were trained with
# the settings above, and each kept the epoch where its own validation score was best. Look at *when*. (*± seeds* is the
# standard deviation over seeds.)

# %%
heads = ["test Acc@1", "± seeds", "epoch kept, mean", "earliest", "latest"]
rows = {}
for variant in ("full", "no_pointer", "no_generator"):
    those = which | {"variant": variant}
    start = f"pgt-{variant}-unknown-"
    kept = [run["epochs"] for k, run in runs.items() if k.startswith(start)]
    score = [results.mean(**those), results.spread(**those)]
    ages = [np.mean(kept), min(kept), max(kept)]
    rows[variant.replace("_", " ")] = score + ages
relatives = pd.DataFrame(rows, index=heads).T
relatives.round(1).astype({"earliest": int, "latest": int})

# %% tags=["hide-input"]
ages = relatives["epoch kept, mean"]
young, old = ages.idxmin(), ages.idxmax()
monitor = "loss" if training["monitor"] == "loss" else "accuracy"
Markdown(
    f"On average *{young}* kept epoch {ages[young]:.1f} and *{old}* epoch "
    f"{ages[old]:.1f}; the warm-up alone takes "
    f"{training['warmup_epochs']}. The stopping rule was the validation "
    f"{monitor}."
)

# %% [markdown]
# One rule keeps different models at different ages. If the ages are far apart, the table
# compares a young model with a grown one, and its differences may belong to the rule and not to the part that was
# removed. Before you believe an ablation, ask which epoch each row kept.
#
# ## Kill it, resume it
#
# Runs get interrupted. A resumed run should be *the same run*, not a similar one. In `fit`, an epoch
# depends on the seed and on its own number only: shuffling and dropout follow from both. A
# checkpoint holds the weights, the best weights so far, AdamW's running estimates and the history, and
# the file gets its name only when it is complete.
#
# We test that. A child process trains on a small part of the city. After two epochs
# it is killed without warning. We resume here, and compare with a run that nobody disturbed.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

from pgt.checkpoint import read

# %%
folder = tempfile.TemporaryDirectory()
script = f"""
import torch
from pgt import city
from pgt.config import ModelConfig, TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import prepare

torch.set_num_threads({torch.get_num_threads()})
data = prepare(city.load().visits, protocol="exact")
train = data.train.subset(slice(None, 600))
valid = data.valid.subset(slice(None, 300))
size = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
torch.manual_seed(7)
model = PointerGeneratorTransformer(size)
settings = TrainConfig(max_epochs=5, patience=5, warmup_epochs=2, seed=7)

def run(checkpoint=None, say=lambda row: None):
    how = dict(checkpoint=checkpoint, after_epoch=say)
    how |= dict(progress=False, device="cpu")
    return fit(model, train, valid, settings, **how)
"""
checkpoint = Path(folder.name) / "run.safetensors"

# %%
path = str(Path(city.__file__).parent.parent)
say = "lambda row: print(row['epoch'], flush=True)"
code = f"import sys\nsys.path.insert(0, {path!r})\n{script}"
code += f"run({str(checkpoint)!r}, say={say})"
command = [sys.executable, "-c", code]
child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
for line in child.stdout:
    if int(line) == 2:
        child.kill()  # SIGKILL: no farewell, no clean-up
        break
child.stdout.close()
code, (_, left_behind) = child.wait(), read(checkpoint)
epoch = left_behind["epoch"]
assert code != 0 and 2 <= epoch < 5
print(f"the child ended with code {code}")
print(f"and left a checkpoint of epoch {epoch}")


# %%
def in_process(checkpoint=None):
    scope = {}
    exec(script, scope)  # the very same text
    history = scope["run"](checkpoint)
    valid_loss = [row["valid_loss"] for row in history.rows]
    return scope["model"].state_dict(), valid_loss


undisturbed, losses_a = in_process()
resumed, losses_b = in_process(checkpoint)
for name, tensor in undisturbed.items():
    assert torch.equal(tensor, resumed[name])
assert losses_a == losses_b
print(f"{len(resumed)} tensors, {len(losses_b)} epochs: equal to the bit")

# %% [markdown]
# > **Note.** Equal bits need the same machine, the same device and the same number of threads: sums of
# > floats depend on their order. That is why the script names the device and sets the threads. Elsewhere a resumed run is
# > just as good, but not identical.
#
# ## What is in a checkpoint
#
# The file is in [safetensors](https://huggingface.co/docs/safetensors) format: eight bytes with the
# length of a header, the header as JSON, then raw numbers. No pickle is in it, so opening somebody's
# checkpoint never runs their code. You can read it with the standard library:

# %%
import json

with open(checkpoint, "rb") as handle:
    length = int.from_bytes(handle.read(8), "little")
    header = json.loads(handle.read(length))
info = json.loads(header.pop("__metadata__")["info"])  # the package's own
print(f"{len(header)} tensors, header of {length:,} bytes with")
print(", ".join(sorted(info)))
part = [name.split(".")[0] for name in header]
numbers = [math.prod(entry["shape"]) for entry in header.values()]
contents = pd.DataFrame({"part": part, "tensors": 1, "numbers": numbers})
contents.groupby("part").sum()

# %% [markdown]
# AdamW keeps two running means for each weight, of its gradient and of the squared gradient. So half of a resumable
# checkpoint belongs to the optimizer. The model that ships with the book has been stripped of it (`pgt.checkpoint.save_model`).
#
# What if you resume with other settings or other data? The file knows what it belongs to:

# %%
from pgt.errors import DataError

try:
    scope = {}
    other = script.replace("warmup_epochs=2", "warmup_epochs=3")
    exec(other, scope)
    scope["run"](checkpoint)
except DataError as error:
    print(error)
folder.cleanup()

# %% [markdown]
# ## On a GPU
#
# You change nothing. `fit` takes CUDA when it is there, copies the visits to the device once and gathers
# batches there. The encoder then runs in **bf16**, numbers with the range of 32-bit floats and only
# two or three significant digits. The probabilities and the loss stay in 32 bits, because a sum over thousands
# of small probabilities needs the digits. Expect scores like the CPU's, but not the
# same bits. The model comes back on the CPU.

# %%
from pgt.train import pick_device

bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
print(f"device here: {pick_device().type} | bf16 in the encoder: {bf16}")

# %% tags=["hide-input"]
Markdown(
    f"This page took **{time.perf_counter() - began:.0f} seconds** from the "
    f"first cell to here, {history.seconds:.0f} of them in the one real run, "
    f"on {history.device} with {torch.get_num_threads()} thread(s)."
)

# %% [markdown]
# ## What to remember
#
# - An untrained pointer counts visits. It is a baseline in disguise; always score it.
# - Warm-up, cosine and clipping shape the steps. Draw what they do.
# - Targets outside the window, the never-seen ones among them, rule the validation loss. Accuracy and
#   loss may ask for different epochs; decide beforehand which one you want, and distrust the best of many.
# - Seeds and people are two sources of luck; report both.
# - A killed run resumes to the same bits, because each epoch draws its own random numbers.
#
# ## Exercises
#
# **Exercise 1** (quick). A model always gives ten places 9 % each and spreads the rest evenly over all
# others. (The first cells print how many places there are.) How many nats does it pay when the target is one of
# the ten? And when it is not?

# %% tags=["try"]
hit, miss = ..., ...  # nats
check.exercise("10.1", [hit, miss])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
inside, outside = -math.log(0.09), -math.log((1 - 10 * 0.09) / (V - 10))
check.exercise("10.1", [inside, outside])
print(f"inside {inside:.2f} nats, outside {outside:.2f}:")
print(f"one miss costs as much as {outside / inside:.1f} hits")

# %% [markdown]
# **Exercise 2** (medium). Replay early stopping with every patience from 1 to 5, for both monitors, on
# `table`. Which epoch is kept, and how many epochs would you have paid for? A first check on a made-up curve:


# %% tags=["try"]
def stop(score, patience):
    """Score by epoch, lower is better -> (kept epoch, epochs paid for)."""
    return ..., ...


made_up = [5.0, 4.0, 4.5, 3.0, 3.5, 3.2, 3.1]
made_up = pd.Series(made_up, index=range(1, 8))
check.same(stop(made_up, 1), (2, 3), name="patience of one")
check.same(stop(made_up, 3), (4, 7), name="patience of three")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def stop(score, patience):
    """Score by epoch, lower is better -> (kept epoch, epochs paid for)."""
    best = 1
    for epoch in score.index:
        best = epoch if score[epoch] < score[best] else best
        if epoch - best >= patience:
            break
    return best, epoch


check.same(stop(made_up, 1), (2, 3), name="patience of one")
check.same(stop(made_up, 3), (4, 7), name="patience of three")
curves = {"loss": table.valid_loss, "acc@1": -table["valid_acc@1"]}
replayed = pd.DataFrame(index=curves, columns=range(1, 6))
for patience in replayed.columns:
    for name, score in curves.items():
        best, paid = stop(score, patience)
        replayed.loc[name, patience] = f"{best} of {paid}"
replayed.rename_axis("monitor").rename_axis("patience", axis=1)
# The schedule must not depend on the stopping rule, or the replay would be
# no replay. Here it does not.

# %% [markdown]
# **Exercise 3** (longer). Does label smoothing bound the price of never-seen places? Train twice for four
# epochs on 1,500 windows, with $\varepsilon = 0$ and $\varepsilon = 0.1$, and compare the validation loss of
# targets in the window with that of never-seen targets.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
few = np.random.default_rng(0).permutation(len(data.train))[:1500]
few = data.train.subset(few)
small_valid = data.valid.subset(slice(None, None, 4))
common = {"max_epochs": 4, "patience": 4, "warmup_epochs": 1}
common |= {"learning_rate": 2e-3, "batch_size": 64}
answer = {}
for smoothing in (0.0, 0.1):
    torch.manual_seed(0)
    student = PointerGeneratorTransformer(size)
    quick = TrainConfig(label_smoothing=smoothing, **common)
    fit(student, few, small_valid, quick, progress=False)
    each = pd.Series(losses(student, small_valid))
    answer[f"ε = {smoothing}"] = each.groupby(kind[::4]).mean()
# Smoothing asks each place to keep about ε / V, so in the long run the
# price of a never-seen target is held near log(V / ε):
print(f"log(V / ε) is {math.log(vocabulary.n_locations / 0.1):.2f} nats.")
# After four epochs the price is below that even without smoothing. So the
# bound is not visible yet; with smoothing the price is only a little lower.
pd.DataFrame(answer).round(2)

# %% [markdown]
# **Exercise 4** (project). AdamW divides by the gradient's usual size, so clipping all gradients to one
# length should change little. Test it: three seeds each with `clip=0.8` and `clip=1e9`, full city. What
# would convince you that there is a difference? Begin with the small version in the solution (run solution 3 first).

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
pilot = {}
for clip in (0.8, 1e9):
    torch.manual_seed(0)
    student = PointerGeneratorTransformer(size)
    quick = {"max_epochs": 3, "patience": 3, "warmup_epochs": 1}
    quick = TrainConfig(clip=clip, **quick)
    short = fit(student, few, small_valid, quick, progress=False)
    pilot[f"clip = {clip:g}"] = short.table()["valid_acc@1"]
pd.DataFrame(pilot).round(1)
# For the project: fix the number of epochs and what you compare before you
# start, run the seeds in pairs (same seed, both clips), and look at the mean
# of the paired differences beside their scatter. With three seeds only a
# difference well above the scatter of seeds in this chapter means anything.

# %% [markdown]
# **Next:** [The gate](11_gate.ipynb), the first of the trained parts that we look into.
