# %% [markdown]
# # Training
#
# *You will be able to* read a training curve without being fooled by it, write the loop yourself,
# stop a run and resume it to the very same bits. *You need* PyTorch's basics and
# [Windows](03_windows.ipynb); of [the model](09_model.ipynb) a short tour is included. *It takes* twenty-five minutes to read
# and about a minute and a half to run on two CPU cores; a GPU is used by itself where
# there is one.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %%
import math
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

from pgt import city
from pgt.baselines import ContextKernel, MostFrequent
from pgt.config import ModelConfig, TrainConfig
from pgt.counter_random import use_keys
from pgt.exercises import check
from pgt.intervals import interval
from pgt.losses import cross_entropy
from pgt.metrics import GROUPS, evaluate, summarize
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.viz import plots
from pgt.viz.figures import COPIED, EXTRA, GATE, GENERATED, INK, MUTED, PAPER, TRUTH, show
from pgt.windows import prepare

began = time.perf_counter()
data = prepare(city.load().visits, protocol="exact")
vocabulary = data.vocabulary
size = ModelConfig(vocabulary.n_locations, vocabulary.n_users)
torch.manual_seed(42)
model = PointerGeneratorTransformer(size)
print(data.counts(), "windows,", f"{size.n_locations:,} locations,", f"{model.n_parameters():,} parameters")

# %% [markdown]
# ## The model in one picture
#
# A window of visits goes in at the left. Each visit becomes a vector. A Transformer encoder lets the
# visits look at each other. The vector of the *last* visit, the **context**, then answers three
# questions: which visit would I copy (pointer), which place of the whole town would I name (generator),
# and which of the two do I trust (gate)?

# %%
boxes = {  # name: (x, y, colour, what comes out)
    "window": (0.0, 1, MUTED, "(B, L)"), "embeddings": (1.5, 1, MUTED, "(B, L, D)"),
    "encoder": (3.0, 1, MUTED, "(B, L, D)"), "pointer": (4.9, 2, COPIED, "(B, L) → (B, V)"),
    "gate": (4.9, 1, GATE, "(B,)"), "generator": (4.9, 0, GENERATED, "(B, V)"),
    "mixture": (6.7, 1, TRUTH, "(B, V)"),
}
arrows = [("window", "embeddings"), ("embeddings", "encoder"), ("encoder", "pointer"), ("encoder", "gate"),
          ("encoder", "generator"), ("pointer", "mixture"), ("gate", "mixture"), ("generator", "mixture")]
fig, ax = plt.subplots(figsize=(7.4, 2.9))
for start, end in arrows:
    (x0, y0, *_), (x1, y1, *_) = boxes[start], boxes[end]
    ax.annotate("", (x1 - 0.55, y1), (x0 + 0.58, y0), arrowprops={"arrowstyle": "->", "color": INK})
for name, (x, y, colour, shape) in boxes.items():
    ax.text(x, y, name, ha="center", va="center", fontsize=10,
            bbox={"boxstyle": "round,pad=0.45", "fc": PAPER, "ec": colour, "lw": 2})
    ax.text(x, y - 0.46, shape, ha="center", fontsize=8, color=MUTED)
ax.set(xlim=(-0.6, 7.4), ylim=(-0.7, 2.5))
ax.axis("off")
show(fig,
     alt="Boxes joined by arrows: window, embeddings, encoder; from the encoder three arrows to pointer, "
     "gate and generator; from these three to the mixture. Below each box stands the shape of its output.",
     caption="The flow of the data. B windows, L visits, D numbers a visit, V locations.")

# %% [markdown]
# The last box is one formula. With gate $g$ between 0 and 1, for every location $\ell$
#
# $$
# P(\ell) = g \, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell),
# \qquad P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i , \tag{10.1}
# $$
#
# where $a_i$ is the pointer's attention on visit $i$. A place that was visited three times collects
# three weights. (If you have come through Part II: these are equations (8.4) and (7.4), and
# [chapter 9](09_model.ipynb) puts the parts together.)
#
# Now walk one batch through, part by part, and check that the parts are the whole.

# %%
model.eval()
batch = data.train.batch(np.arange(128))
x = model.embeddings(batch)                                     # (B, L, D)
encoded, _ = model.encoder(x, batch.padding)                    # (B, L, D)
context = encoded[torch.arange(len(batch)), batch.length - 1]   # (B, D) the last visit
a = model.pointer(context, encoded, batch).exp()                # (B, L) pointer attention
p_ptr = torch.zeros(len(batch), size.n_locations).scatter_add(1, batch.location, a)  # (B, V)
p_gen = model.generator(context).softmax(-1)                    # (B, V)
g = model.gate(context).sigmoid()                               # (B, 1)
p = g * p_ptr + (1 - g) * p_gen                                 # (B, V)

out = model(batch)
assert torch.allclose(p, out.log_probs.exp(), atol=1e-6)
{"location": tuple(batch.location.shape), "encoded": tuple(encoded.shape), "attention": tuple(a.shape),
 "mixture": tuple(p.shape), "gate at the start": f"{g.mean():.2f} ± {g.std():.2f}"}

# %% [markdown]
# The gate starts near one half, because its last layer starts near zero and $\sigma(0) = 0.5$. Nobody
# told it to copy or to generate. It begins with a shrug.
#
# ## Before the first step
#
# How good is a model that has learned nothing? Random weights, random guesses, one would think. Score
# it.

# %%
untrained = evaluate(model, data.test)
most_frequent = evaluate(MostFrequent().fit(data.train), data.test)
pd.DataFrame({
    "untrained model": summarize(untrained, ["all"])[["acc@1", "acc@10", "mrr"]].iloc[0],
    "most frequent place in the window": summarize(most_frequent, ["all"])[["acc@1", "acc@10", "mrr"]].iloc[0],
    "guessing among all places": pd.Series({"acc@1": 100 / size.n_locations, "acc@10": 1000 / size.n_locations}),
}).T.astype(float).round(2)

# %% [markdown]
# It is hundreds of times better than guessing. The reason is in the formula. With small random weights
# the pointer attends to all visits about equally, and adding up equal weights per place is *counting*.
# An untrained pointer is the "most frequent place" rule, with a little noise to break its ties.
#
# This is worth remembering. Whenever a pointer model is praised against a model without one, part of
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
# belief over all places pays $\log V$ nats; one that is always sure and right pays 0.
#
# `nn.CrossEntropyLoss` expects raw scores and takes a log-softmax first. Ours are log-probabilities
# already. Is a second softmax harmful? It computes
# $\log P(\ell) - \log \sum_{\ell'} e^{\log P(\ell')}$, and the sum is one, so its logarithm is zero:

# %%
log_probs = out.log_probs.detach()
nll = -log_probs.gather(1, batch.target[:, None]).mean()       # pick the target's, (B, V) -> (B, 1)
builtin = nn.CrossEntropyLoss()(log_probs, batch.target)
assert torch.isclose(nll, builtin, atol=1e-5)
print(f"by hand {nll:.5f}, CrossEntropyLoss {builtin:.5f}, know-nothing log V = {math.log(size.n_locations):.5f} nats")

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
config = TrainConfig()
eps, V = config.label_smoothing, size.n_locations
smoothed = (1 - eps) * nll - eps * log_probs.mean()
builtin = nn.CrossEntropyLoss(label_smoothing=eps)(log_probs, batch.target)
ours = cross_entropy(log_probs, batch.target, eps).mean()            # the package's, (B,) -> ()
assert torch.isclose(smoothed, builtin, atol=1e-5) and torch.isclose(smoothed, ours, atol=1e-5)

best = torch.full((V,), eps / V, dtype=torch.float64)          # the perfect answer to a smoothed target
best[0] += 1 - eps
floor = -(best * best.log()).sum()
print(f"smoothed loss {ours:.3f} nats; no model can get below {floor:.3f}, a perfect one included")

# %% [markdown]
# Two consequences. The training loss cannot reach zero, so do not wait for it. And each place, even one
# that is never a target, is asked to keep a probability of about $\varepsilon / V$, as in equation (8.2). Keep that in mind
# until we meet places that training never shows.
#
# ## Steps: AdamW, warm-up, cosine, clipping
#
# **AdamW** ([Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101)) divides each weight's
# gradient by a running estimate of its size, so that the weights of rare places and of frequent places move at
# similar speed, and shrinks all weights a little at each step (weight decay).
#
# That running estimate is poor at first. So the learning rate climbs from zero over a few epochs, the **warm-up**,
# and then falls along a cosine, the **cosine schedule**, to zero at the last planned epoch. This is the schedule that we are
# about to use, not a sketch of it:

# %%
config = TrainConfig(max_epochs=10, patience=10)  # why patience = max_epochs: see below
steps = math.ceil(len(data.train) / config.batch_size)  # steps an epoch
rate = [config.rate(step, steps) for step in range(config.max_epochs * steps)]

fig, ax = plt.subplots(figsize=(6.6, 2.8))
ax.plot(np.arange(len(rate)) / steps, 1e4 * np.array(rate), color=INK)
ax.axvspan(0, config.warmup_epochs, color=MUTED, alpha=0.15)
ax.text(0.15, 1e4 * config.learning_rate * 0.92, "warm-up", color=MUTED)
ax.set(xlabel="epoch", ylabel="learning rate (10⁻⁴)", ylim=(0, None))
show(fig,
     alt=f"The learning rate rises in a straight line to {config.learning_rate:g} over "
     f"{config.warmup_epochs} epochs, then falls along a cosine to zero at epoch {config.max_epochs}.",
     caption="Learning rate, step by step, as `TrainConfig.rate` gives it.")

# %% [markdown]
# **Gradient clipping** looks at all gradients as one long vector. If its norm exceeds a limit, here
# 0.8, the vector is shortened to that length. One strange batch then cannot throw the model far off.
#
# **Bucketed batches** are about speed. A batch is a rectangle, as long as its longest window, and the
# rest is padding that is computed and thrown away. If windows of like length share a batch, there is
# less of it. But sort everything, and the same windows meet in the same batch in every epoch, short ones first.
# The package shuffles first, sorts within pools of many batches, where windows of equal length stay shuffled, and
# then shuffles the batches.

# %%
def padding_share(**how):
    shapes = [(b.location.numel(), int(b.length.sum())) for b in data.train.batches(config.batch_size, **how)]
    cells, visits = np.array(shapes).sum(0)
    return 100 * (1 - visits / cells)


def rng():
    return np.random.default_rng(0)


pd.Series({
    "shuffled": padding_share(shuffle=rng(), pool=1),
    "shuffled, sorted within pools of 8 batches": padding_share(shuffle=rng(), pool=8),
    "as the package does by default": padding_share(shuffle=rng()),
    "sorted altogether": padding_share(),
}).round(1).rename("padding, % of cells").to_frame()

# %% [markdown]
# ## The loop
#
# Everything is in place. Here is one whole epoch. Two lines may surprise you. `mixture` is the model
# of [chapter 9](09_model.ipynb) with its loss written as in equation (9.2): the same number, without an
# array of (B, V). And the numbers that dropout draws are *counted*, not drawn one after the other: each
# window has its own, which depend on the seed, the epoch and the window's number. So a window is treated
# alike whoever is in its batch, and two computers that share the work draw what one would have drawn.

# %%
def epoch_one(model, windows, config):
    shuffle = np.random.default_rng([config.seed, 0])      # order of the windows
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, betas=config.betas,
                                  eps=config.eps, weight_decay=config.weight_decay, fused=True)
    norms, total = [], 0.0
    model.train()
    for step, batch in enumerate(windows.batches(config.batch_size, shuffle=shuffle)):
        for group in optimizer.param_groups:
            group["lr"] = config.rate(step, steps)
        use_keys(model, config.seed, 0, batch.index)       # dropout: seed, epoch, windows
        loss = model.mixture(batch).cross_entropy(batch.target, config.label_smoothing)  # (B,)
        optimizer.zero_grad()
        loss.mean().backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), config.clip)))
        optimizer.step()
        total += float(loss.detach().sum())
    return total / len(windows), np.array(norms)


torch.manual_seed(42)
by_hand = PointerGeneratorTransformer(size)
first_loss, norms = epoch_one(by_hand, data.train, config)
print(f"training loss {first_loss:.4f} nats; {100 * (norms > config.clip).mean():.0f} % of the steps were clipped")

# %% [markdown]
# > **Pitfall.** We took clipping for an emergency brake. Look at the share of clipped steps: if it is
# > near 100 %, the limit lies below the everyday gradient, and clipping sets the length of every step's
# > gradient. With AdamW that matters less than it sounds, because AdamW divides by the gradient's usual
# > size anyway. But it is not what the word "clip" suggests. Draw the norms before you believe the name.
#
# ## The real run
#
# `pgt.train.fit` is that loop with validation, early stopping, checkpoints and a choice of device. We
# let it run for ten epochs without stopping early, and keep the weights of each epoch, so that we can
# replay afterwards what different stopping rules would have done.

# %%
weights = []  # one dictionary of tensors an epoch


def keep(row):
    weights.append({name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()})


history = fit(model, data.train, data.valid, config, after_epoch=keep, progress=False)
table = history.table()
print(f"{len(table)} epochs in {history.seconds:.0f} s on {history.device}")
table.round({"train_loss": 3, "valid_loss": 3, "valid_acc@1": 1, "learning_rate": 5, "gradient_norm": 2, "seconds": 1})

# %% [markdown]
# `model` began with the same weights as `by_hand`, and epoch one used the same order and the same
# dropout. So our twenty lines and the package must agree, on the same device to the last bit:

# %%
same = all(torch.equal(weights[0][name], value) for name, value in by_hand.state_dict().items())
assert same or history.device != "cpu"
print("weights after epoch one, ours and the package's, equal to the bit:", same)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.8), sharey=True)
left.plot(norms, color=INK, lw=1)
left.set(xlabel="step of epoch 1", ylabel="gradient norm", title="Within the first epoch")
right.plot(table.index, table.gradient_norm, "o-", color=INK)
right.set(xlabel="epoch", title="Mean of each epoch")
for ax in (left, right):
    ax.axhline(config.clip, color=EXTRA, ls="--")
    ax.text(ax.get_xlim()[1], config.clip, "clip", ha="right", va="bottom", color=EXTRA)
left.set_ylim(0, None)
show(fig,
     alt=f"Gradient norms before clipping. The mean of the first epoch is {norms.mean():.2f}, of the last "
     f"{table.gradient_norm.iloc[-1]:.2f}; the limit, {config.clip}, is drawn as a dashed line.",
     caption="Gradient norms before clipping. The dashed line is the limit.")

# %% [markdown]
# The losses fall, but do the gradients? Compare the two ends of the right-hand picture. A gradient norm
# is no measure of how far training still has to go: a model that is confident and wrong about a few
# windows has large gradients, however well it does on the rest.
#
# ## Reading the curves

# %%
by_loss, by_accuracy = table.valid_loss.idxmin(), table["valid_acc@1"].idxmax()
plots.history(
    table, best_epoch=by_loss,
    alt=f"Left: training loss falls from {table.train_loss.iloc[0]:.2f} to {table.train_loss.iloc[-1]:.2f} "
    f"nats; validation loss is lowest in epoch {by_loss} and ends at {table.valid_loss.iloc[-1]:.2f}. "
    f"Right: validation accuracy is highest in epoch {by_accuracy}.",
    caption="Training and validation. The dotted line marks the epoch with the lowest validation loss.",
)

# %% tags=["hide-input"]
at_loss, at_accuracy = table.loc[by_loss], table.loc[by_accuracy]
if by_accuracy > by_loss:
    verdict = (f"So **accuracy still rose by {at_accuracy['valid_acc@1'] - at_loss['valid_acc@1']:.1f} points "
               "while the loss got worse.** Whoever stops on the loss stops too early for accuracy.")
else:
    verdict = "In this run accuracy gained nothing after the loss turned; with another seed it may."
Markdown(
    f"Validation **loss** is lowest in epoch {by_loss} ({at_loss.valid_loss:.3f} nats, Acc@1 "
    f"{at_loss['valid_acc@1']:.1f} %). Validation **accuracy** is highest in epoch {by_accuracy} "
    f"({at_accuracy.valid_loss:.3f} nats, Acc@1 {at_accuracy['valid_acc@1']:.1f} %). {verdict}"
)

# %% [markdown]
# First a warning about the left picture. The two curves are *not* on one scale: the training loss is
# smoothed, and measured with dropout on. The gap between them says little. The direction of each says
# much.
#
# How can a loss get worse while more answers are right? Because the loss is a mean, and a mean belongs
# to its largest terms. Take it apart by the three kinds of target: places in the window, places that
# training knows but the window does not show, and places that training never saw.

# %%
@torch.no_grad()
def losses(model, windows):
    out = np.zeros(len(windows))
    for batch in windows.batches(512):
        out[batch.index] = cross_entropy(model.scores(batch), batch.target)  # (B,) nats
    return out


known = vocabulary.is_known(data.valid.targets)
kind = np.select([data.valid.in_window, known], ["in the window", "known, not in the window"], "never seen")
rows = {}
replay = PointerGeneratorTransformer(size)
for epoch, state in enumerate(weights, start=1):
    replay.load_state_dict(state)
    rows[epoch] = pd.Series(losses(replay, data.valid)).groupby(kind).mean()
by_kind = pd.DataFrame(rows).T                                 # (epochs, 3) mean loss
share = pd.Series(kind).value_counts(normalize=True)[by_kind.columns]
parts = by_kind * share                                        # contributions; a row adds up to the loss
assert np.allclose(parts.sum(axis=1), table.valid_loss, atol=1e-3 if history.device == "cpu" else 0.05)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3))
looks = {"in the window": (COPIED, "o-"), "known, not in the window": (GENERATED, "s--"), "never seen": (EXTRA, "^:")}
for name, (colour, line) in looks.items():
    left.plot(by_kind.index, by_kind[name], line, color=colour, label=f"{name} ({100 * share[name]:.0f} %)")
    right.plot(parts.index, parts[name] - parts[name].iloc[0], line, color=colour)
left.set(xlabel="epoch", ylabel="mean loss (nats)", title="Loss of each kind", ylim=(0, None))
right.set(xlabel="epoch", ylabel="change since epoch 1 (nats)", title="What moves the total")
right.axhline(0, color=MUTED, lw=1)
fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
show(fig,
     alt="Validation loss by epoch, split into three kinds of target. From the first epoch to the last: "
     + "; ".join(f"{n} from {by_kind[n].iloc[0]:.2f} to {by_kind[n].iloc[-1]:.2f} nats" for n in looks)
     + ". The second picture shows how much each kind moves the total.",
     caption="Validation loss by kind of target (left; in brackets its share of windows) and how far each kind "
     "has moved the total since epoch 1 (right). The three curves on the right add up to the change of the "
     "validation loss.")

# %% tags=["hide-input"]
first, last = parts.iloc[0], parts.iloc[-1]
rare = [name for name in looks if name != "in the window"]
Markdown(
    f"Targets outside the window are {100 * share[rare].sum():.0f} % of the validation windows and "
    f"**{100 * parts[rare].iloc[-1].sum() / parts.iloc[-1].sum():.0f} % of the final loss**. Targets in the window "
    f"moved it by {(last - first)['in the window']:+.2f} nats since epoch 1. And from epoch {by_loss}, where the loss was lowest, to the "
    "last: " + ", ".join(f"{name} {(last - parts.loc[by_loss])[name]:+.3f}" for name in looks) + " nats."
)

# %% [markdown]
# A place that training never saw is never a target there. Each step pushes its generator weight down,
# and nothing pulls it up except label smoothing. So training makes the model *surer and surer* that
# nobody goes to those places, and each validation window that goes there costs more nats. The answer was
# wrong before and is wrong after. Accuracy does not notice; the loss pays.
#
# Which one is right? Both, about different things. If you want **calibrated** probabilities, such that of all
# places given 30 % about 30 % come true, the loss tells you truly that confidence is growing beyond what is
# justified. If you want the right place on top, it
# stops you for the wrong reason. Say which one you want, before you look.
#
# ## Early stopping, replayed
#
# The rule: stop after `patience` epochs without a better validation score, and go back to the best
# epoch. `monitor` says what "better" means. Both rules below choose on validation; only then do we look
# at the test windows.

# %%
chosen, ranks_of = {}, {}
for monitor, best in [("loss", by_loss), ("acc@1", by_accuracy)]:
    replay.load_state_dict(weights[best - 1])
    ranks_of[monitor] = evaluate(replay, data.test)
    row = summarize(ranks_of[monitor], ["all"]).iloc[0]
    chosen[monitor] = {"epoch": best, "test Acc@1": row["acc@1"], "test MRR": row["mrr"],
                       "test loss (nats)": losses(replay, data.test).mean()}
pd.DataFrame(chosen).T.rename_axis("monitor").round(2)

# %% [markdown]
# Did the accuracy that validation promised arrive on the test windows?

# %% tags=["hide-input"]
def points(a, b):
    low, high = interval(a, "acc@1", against=b)
    value = summarize(a, ["all"])["acc@1"][0] - summarize(b, ["all"])["acc@1"][0]
    sure = "the interval excludes zero" if low > 0 or high < 0 else "zero lies inside, so this run alone does not settle it"
    return f"{value:+.1f} points (95 % interval {low:+.1f} to {high:+.1f}: {sure})"


promised = at_accuracy["valid_acc@1"] - at_loss["valid_acc@1"]
p_valid = at_accuracy["valid_acc@1"] / 100
Markdown(f"Promised on validation: {promised:+.1f} points. Delivered on test: {points(ranks_of['acc@1'], ranks_of['loss'])}. "
         f"For scale: one validation score has a sampling error of about {100 * math.sqrt(p_valid * (1 - p_valid) / len(data.valid)):.1f} "
         "points, even if all windows were independent.")

# %% [markdown]
# > **Pitfall.** The best of ten noisy scores is too good to be true. Part of "highest validation
# > accuracy" is skill, part is the luck of that epoch, and the luck stays behind when you move to the test
# > windows. Accuracy looks at the right thing through a noisy glass; loss looks at something else through a
# > clear one. So a gain of a point from switching the monitor is a reason to run more seeds, not to cheer.
#
# ## How good is it?
#
# Now the comparison that counts, on test windows, against the rules of [Baselines](04_baselines.ipynb). We
# take the epoch that validation accuracy chose. The kernel is the strongest of the rules: five numbers,
# chosen on validation, no training.

# %%
from pgt.analysis.results import read_results

results = read_results("city")
numbers = {k: v for k, v in results.header["runs"]["kernel-full-unknown-None"].items() if k in ContextKernel.GRID}
kernel = evaluate(ContextKernel(**numbers).fit(data.train), data.test)
replay.load_state_dict(weights[by_accuracy - 1])
trained = evaluate(replay, data.test)

ranked = {"most frequent": most_frequent, "untrained model": untrained, "context kernel": kernel, "trained model": trained}
pd.DataFrame({name: summarize(ranks).set_index("group")["acc@1"] for name, ranks in ranked.items()}).T[list(GROUPS)].round(1)

# %% tags=["hide-input"]
Markdown(f"- Trained against untrained: {points(trained, untrained)}.\n"
         f"- Trained against the five-number kernel: {points(trained, kernel)}.\n\n"
         "The intervals resample whole people, because windows of one person are alike.")

# %% [markdown]
# Look along the columns too. Nearly all hits are among targets *in the window*. Outside it the model has
# only the generator, and naming one place among thousands that somebody explores is close to guessing.
# And whoever reads only "accuracy of the trained model" never learns how much of it the untrained model
# had already. With ten guesses in place of one, the two are even closer:

# %%
pd.DataFrame({name: summarize(ranks, ["all"]).iloc[0][["acc@1", "acc@5", "acc@10", "mrr"]] for name, ranks in ranked.items()}
             ).T.astype(float).round(1)

# %% [markdown]
# A week holds few different places, so ten guesses nearly exhaust it. Training hardly changes *which*
# places are on the list. It changes their order.
#
# ## The seed
#
# One run is one draw. The results file holds the same model trained from five seeds, with the settings
# written beside it.

# %%
which = {"model": "pgt", "variant": "full", "target_time": "unknown"}
print({key: results.header["data"]["training"][key] for key in ("max_epochs", "patience", "monitor", "label_smoothing")})
test = results.select(**which).set_index("seed")
seeds = pd.DataFrame({
    "Acc@1, validation": results.select(split="valid", **which).set_index("seed")["acc@1"],
    "Acc@1, test": test["acc@1"],
    "best epoch": {s: results.header["runs"][f"pgt-full-unknown-{int(s)}"]["epochs"] for s in test.index},
})
seeds.round(1)

# %%
low, high = results.interval(seeds=False, **which)                # other people, these seeds
mean, spread = results.mean(**which), results.spread(**which)
fig, ax = plt.subplots(figsize=(6.6, 2.2))
ax.scatter(seeds["Acc@1, test"], [1] * len(seeds), color=COPIED, zorder=3)
ax.errorbar([mean], [0], xerr=[[mean - low], [high - mean]], fmt="D", color=EXTRA, capsize=4)
ax.axvline(results.mean(model="kernel"), color=INK, ls="--", lw=1.5)
ax.text(results.mean(model="kernel"), 1.62, " kernel", va="top")
ax.set(yticks=[0, 1], yticklabels=["mean, interval\nover people", "five seeds"], ylim=(-0.6, 1.7), xlabel="test Acc@1 (%)")
show(fig,
     alt=f"Test accuracy of five seeds: mean {mean:.1f} per cent, standard deviation {spread:.2f}. The interval "
     f"that resamples people reaches from {low:.1f} to {high:.1f}. The kernel is at {results.mean(model='kernel'):.1f}.",
     caption="Each dot is one seed. The bar is the 95 % interval of their mean over other draws of people. Dashed: "
     "the context kernel.")

# %% [markdown]
# Two kinds of luck, and they are not the same. The dots say how much depends on the random numbers of
# training. The bar says how much depends on *whom* we happened to record; more seeds do not shrink it.
# When two models differ by less than the dots scatter, a single-seed comparison is a coin toss.
#
# The same file holds two relatives: the model without its pointer, and without its generator. All were trained with
# the settings above, and each was stopped where its own validation score was best. Look at *when*.

# %%
rows = {}
for variant in ("full", "no_pointer", "no_generator"):
    chosen_runs = {"model": "pgt", "variant": variant, "target_time": "unknown"}
    kept = [run["epochs"] for key, run in results.header["runs"].items() if key.startswith(f"pgt-{variant}-unknown-")]
    rows[variant] = {"test Acc@1": results.mean(**chosen_runs), "± seeds": results.spread(**chosen_runs),
                     "epoch kept, mean": np.mean(kept), "earliest": min(kept), "latest": max(kept)}
relatives = pd.DataFrame(rows).T
relatives.round(1)

# %% tags=["hide-input"]
young, old = relatives["epoch kept, mean"].idxmin(), relatives["epoch kept, mean"].idxmax()
Markdown(
    f"On average *{young}* was stopped after {relatives['epoch kept, mean'][young]:.1f} epochs and *{old}* after "
    f"{relatives['epoch kept, mean'][old]:.1f}; the warm-up alone takes {results.header['data']['training']['warmup_epochs']}. The stopping "
    f"rule was the {'validation loss' if results.header['data']['training']['monitor'] == 'loss' else 'validation accuracy'}."
)

# %% [markdown]
# One rule, applied to different models, stops them at different ages. If the ages in this table are far apart, it
# compares a young model with a grown one, and its differences belong partly to the rule and not to the part that was
# removed. Before you believe an ablation, ask at which epoch each row was stopped.
#
# ## Kill it, resume it
#
# Runs get interrupted. A resumed run should be *the same run*, not a similar one. In `fit`, an epoch
# depends on the seed and on its own number only: shuffling and dropout follow from both. A
# checkpoint holds the weights, the best weights so far, AdamW's running estimates and the history, and
# it appears under its name only when it is complete.
#
# Let us not trust that, but try. A child process trains on a small part of the city. After two epochs
# it is killed without warning. We resume here, and compare with a run that nobody disturbed.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

from pgt.checkpoint import read

folder = tempfile.TemporaryDirectory()
script = f"""
import sys, torch
from pgt import city
from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer
from pgt.config import TrainConfig
from pgt.train import fit
from pgt.windows import prepare

torch.set_num_threads({torch.get_num_threads()})
data = prepare(city.load().visits, protocol="exact")
train, valid = data.train.subset(slice(None, 600)), data.valid.subset(slice(None, 300))
torch.manual_seed(7)
model = PointerGeneratorTransformer(ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users))
settings = TrainConfig(max_epochs=5, patience=5, warmup_epochs=2, seed=7)

def run(checkpoint=None, say=lambda row: None):
    return fit(model, train, valid, settings, checkpoint=checkpoint, after_epoch=say, progress=False, device="cpu")
"""
checkpoint = Path(folder.name) / "run.safetensors"

# %%
code = script + f"run({str(checkpoint)!r}, say=lambda row: print(row['epoch'], flush=True))"
environment_path = str(Path(city.__file__).parent.parent)
child = subprocess.Popen([sys.executable, "-c", f"import sys; sys.path.insert(0, {environment_path!r})\n{code}"],
                         stdout=subprocess.PIPE, text=True)
for line in child.stdout:
    if int(line) == 2:
        child.kill()  # SIGKILL: no farewell, no clean-up
        break
child.stdout.close()
code, (_, left_behind) = child.wait(), read(checkpoint)
assert code != 0 and 2 <= left_behind["epoch"] < 5
print("the child ended with code", code, "and left a checkpoint of epoch", left_behind["epoch"])

# %%
def in_process(checkpoint=None):
    scope = {}
    exec(script, scope)  # the very same text
    history = scope["run"](checkpoint)
    return scope["model"].state_dict(), history


undisturbed, history_a = in_process()
resumed, history_b = in_process(checkpoint)
assert all(torch.equal(undisturbed[name], resumed[name]) for name in undisturbed)
assert [row["valid_loss"] for row in history_a.rows] == [row["valid_loss"] for row in history_b.rows]
print(f"{len(undisturbed)} tensors, {len(history_b.rows)} epochs: equal to the bit")

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
info = json.loads(header.pop("__metadata__")["info"])  # ours: configuration, vocabulary, history
print(f"{len(header)} tensors, header of {length:,} bytes with {sorted(info)}")
contents = pd.DataFrame([{"part": name.split(".")[0], "numbers": math.prod(entry["shape"])} for name, entry in header.items()])
contents.groupby("part").numbers.agg(["size", "sum"]).rename(columns={"size": "tensors", "sum": "numbers"})

# %% [markdown]
# AdamW keeps two running means for each weight, so most of a resumable checkpoint is optimizer. The
# model that ships with the book has been stripped of it (`pgt.checkpoint.save_model`).
#
# What if you resume with other settings or other data? The file knows what it belongs to:

# %%
from pgt.visits import DataError

try:
    scope = {}
    exec(script.replace("warmup_epochs=2", "warmup_epochs=3"), scope)
    scope["run"](checkpoint)
except DataError as error:
    print(error)
folder.cleanup()

# %% [markdown]
# ## On a GPU
#
# You change nothing. `fit` takes CUDA when it is there, moves the visits over once and gathers batches
# on the device. The encoder then runs in **bf16**, numbers with the range of 32-bit floats and only
# three significant digits; the probabilities and the loss stay in 32 bits, because a sum over thousands
# of small probabilities needs the digits. Expect scores like the CPU's, but not the
# same bits. The model comes back on the CPU.

# %%
from pgt.train import pick_device

print("device here:", pick_device().type, "| bf16 in the encoder:",
      torch.cuda.is_available() and torch.cuda.is_bf16_supported())

# %% tags=["hide-input"]
Markdown(f"This page took **{time.perf_counter() - began:.0f} seconds** from the first cell to here, "
         f"{history.seconds:.0f} of them in the one real run, on {history.device} with {torch.get_num_threads()} thread(s).")

# %% [markdown]
# ## Summary
#
# - The model mixes a copied and a generated distribution; its loss is cross-entropy in nats, and
#   log-probabilities need no second softmax.
# - An untrained pointer counts visits. It is a baseline in disguise; always score it.
# - Warm-up, cosine and clipping shape the steps. Draw what they do.
# - Validation loss is ruled by targets outside the window, the never-seen ones among them. Accuracy and
#   loss may ask for different epochs; decide beforehand which one you want, and distrust the best of many.
# - Seeds and people are two sources of luck; report both.
# - A killed run resumes to the same bits, because each epoch draws its own random numbers.
#
# ## Exercises
#
# **Exercise 1** (quick). How many nats does a model pay that always gives the ten places right in front of
# it 9 % each and spreads the rest over all others, when the target is one of the ten? And when it is not?

# %% tags=["try"]
hit, miss = ..., ...  # nats
check.exercise("10.1", [hit, miss])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
inside, outside = -math.log(0.09), -math.log((1 - 10 * 0.09) / (V - 10))
check.exercise("10.1", [inside, outside])
print(f"inside {inside:.2f} nats, outside {outside:.2f}: one miss costs as much as {outside / inside:.1f} hits")

# %% [markdown]
# **Exercise 2** (medium). Replay early stopping with every patience from 1 to 5, for both monitors, on
# `table`. Which epoch is kept, and how many epochs would you have paid for? A first check on a made-up curve:

# %% tags=["try"]
def stop(score, patience):
    """Score by epoch, lower is better -> (kept epoch, epochs paid for)."""
    return ..., ...


made_up = pd.Series([5.0, 4.0, 4.5, 3.0, 3.5, 3.2, 3.1], index=range(1, 8))
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
scores = {"loss": table.valid_loss, "acc@1": -table["valid_acc@1"]}
pd.DataFrame({patience: {name: "{} of {}".format(*stop(score, patience)) for name, score in scores.items()}
              for patience in range(1, 6)}).rename_axis("monitor").rename_axis("patience", axis=1)
# The schedule must not depend on the stopping rule, or the replay would be no replay. Here it does not.

# %% [markdown]
# **Exercise 3** (longer). Does label smoothing bound the price of never-seen places? Train twice for four
# epochs on 1,500 windows, with $\varepsilon = 0$ and $\varepsilon = 0.1$, and compare the validation loss of
# targets in the window with that of never-seen targets.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
few = np.random.default_rng(0).permutation(len(data.train))[:1500]
small_valid = data.valid.subset(slice(None, None, 4))
answer = {}
for smoothing in (0.0, 0.1):
    torch.manual_seed(0)
    student = PointerGeneratorTransformer(size)
    quick = TrainConfig(max_epochs=4, patience=4, warmup_epochs=1, label_smoothing=smoothing, learning_rate=2e-3, batch_size=64)
    fit(student, data.train.subset(few), small_valid, quick, progress=False)
    answer[f"ε = {smoothing}"] = pd.Series(losses(student, small_valid)).groupby(kind[::4]).mean()
pd.DataFrame(answer).round(2)
# Smoothing asks each place to keep about ε / V, so the price of a never-seen target is held near
# log(V / ε). How much of that you see after four epochs is in the table.

# %% [markdown]
# **Exercise 4** (project). AdamW divides by the gradient's usual size, so clipping all gradients to one
# length should change little. Test it: three seeds each with `clip=0.8` and `clip=1e9`, full city. What
# would convince you that there is a difference? Begin with the small version in the solution.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
pilot = {}
for clip in (0.8, 1e9):
    torch.manual_seed(0)
    student = PointerGeneratorTransformer(size)
    quick = TrainConfig(max_epochs=3, patience=3, warmup_epochs=1, clip=clip)
    pilot[f"clip = {clip:g}"] = fit(student, data.train.subset(few), small_valid, quick, progress=False).table()["valid_acc@1"]
pd.DataFrame(pilot).round(1)
# For the project: fix the number of epochs and what you compare before you start, run the seeds in pairs
# (same seed, both clips), and look at the mean of the paired differences beside their scatter. With three
# seeds only a difference well above the scatter of seeds in this chapter means anything.

# %% [markdown]
# **Next:** [The gate](11_gate.ipynb), the first of the trained parts that we look into.
