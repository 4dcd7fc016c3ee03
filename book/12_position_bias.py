# %% [markdown]
# # What the position bias learns
#
# *You will be able to* read a learned curve without being fooled by it: ask whether the parameter had time to learn, whether
# others say the same thing in its place, and whether another sample would show the same picture. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It takes* half an hour to read and about thirty seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %% [markdown]
# The pointer owns one number for each position from the end, the position bias $b_p$. It is the only parameter of this model
# that can be drawn as it is, without any further computation, and that seems to need no explanation: high for $p = 1, 2, 3$
# and lower for older visits, that is recency. The design documents expect just that, and say that the bias is there to make
# recent visits count. So train the model, draw the curve, and read off how fast people forget.
#
# This chapter does so, and the curve says nothing. Then it finds out why, makes the curve speak, and finds that what it says
# can be wrong. We can tell, because our towns are simulated: we know how fast their people forget.

# %%
RETRAIN = False  # True: train the model here instead of loading it, about a minute on two cores

# %%
import copy
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from pgt import city
from pgt.analysis.position_bias import bias_of, by_position, refit
from pgt.analysis.results import read_results
from pgt.checkpoint import load_model, shipped
from pgt.city import recency_world
from pgt.config import CITY, PRESETS, ModelConfig
from pgt.exercises import check
from pgt.losses import cross_entropy
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.viz.figures import COPIED, EXTRA, INK, MUTED, TRUTH, show
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
size = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
if RETRAIN:
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(size)
    fit(model, data.train, data.valid, CITY)
else:
    model, trained_on = load_model(shipped("city"))
    assert trained_on == data.vocabulary

# %% [markdown]
# ## Ten curves, nearly nothing
#
# One run is one run. A command trained the model ten times on the town, and ten times on GeoLife, and kept the
# curves. It measured more than that, and we come back to its file throughout. `b1` is the bias of the last visit. There is
# no `b0`: entry 0 of the table belongs to padding.

# %%
report = read_results("position_bias")
print(report.header["command"])


def runs(what, variant):
    """The rows of one world and one way to train."""
    return report.rows[(report.rows.what == what) & (report.rows.variant == variant)]


def curves(what, variant, letter="b"):
    """(seeds, positions) the bias (b) or the mean content (c), each row with mean zero."""
    upto = recency_world.MEMORY if "kernel" in what else 15
    return runs(what, variant)[[f"{letter}{p}" for p in range(1, upto + 1)]].to_numpy()


learned = {"town": curves("city", "as documented"), "GeoLife": curves("geolife", "as documented")}
rate = town.truth["recency_decay"]
kernel = rate ** np.arange(15) + town.truth["always"]   # how much a past visit counts, by age
truth = np.log(kernel) - np.log(kernel).mean()

# %%
def draw(ax, table, colour, label, style="-"):
    """One thin line a seed, and their mean."""
    p = np.arange(1, table.shape[1] + 1)
    ax.plot(p, table.T, color=colour, lw=0.6, alpha=0.45, ls=style)
    ax.plot(p, table.mean(0), color=colour, lw=2.2, ls=style, label=label)
    ax.set_xticks([1, *range(5, table.shape[1] + 1, 5)])


fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True)
for ax, (name, table) in zip(axes, learned.items(), strict=True):
    draw(ax, table, COPIED, "learned, ten seeds and mean")
    ax.set(title=name[0].upper() + name[1:], xlabel="position from the end (1 = last visit)")
axes[0].plot(range(1, 16), truth, "D", color=TRUTH, ms=5, mfc="none", label="log of the town's recency")
axes[0].set_ylabel("position bias $b_p$ (logits)")
axes[0].legend(loc="upper right", fontsize=8)
highest = {name: float(np.abs(table).max()) for name, table in learned.items()}
rates = {source["name"]: source["training"]["learning_rate"] for source in report.header["data"]}
as_documented = rates["geolife"] == PRESETS["geolife"].training.learning_rate
show(fig,
     alt=f"Learned position bias by position from the end, ten seeds. Town: all values within {highest['town']:.2f} logits of zero, while the town's own recency falls from "
     f"{truth[0]:.2f} to {truth[-1]:.2f}. GeoLife: within {highest['GeoLife']:.2f}.",
     caption="The position bias after training as documented. Diamonds: how much a past visit counts in the town, by its age. "
     "All curves are shifted to a mean of zero. GeoLife: " + ("the documents' own settings for it." if as_documented
     else "the package's default settings; with the documents' own for GeoLife it is yet to be measured."))

# %% tags=["hide-input"]
slopes = {name: 1000 * np.polyfit(np.arange(15), table.T, 1)[0] for name, table in learned.items()}
assert highest["town"] < 0.2 * np.ptp(truth)
Markdown(
    f"The people of the town do prefer recent visits: the fifteenth visit from the end counts {np.exp(-np.ptp(truth)):.2f} times as much as the last. The learned curves "
    f"know nothing of it. Their values stay within {highest['town']:.2f} logits of zero, and their slope is {slopes['town'].mean():+.1f} ± {slopes['town'].std(ddof=1):.1f} "
    f"thousandths of a logit a visit (mean and standard deviation over seeds); on GeoLife {slopes['GeoLife'].mean():+.1f} ± {slopes['GeoLife'].std(ddof=1):.1f}."
)

# %% [markdown]
# > **Pitfall.** Had the axis been left to itself, the picture would have shown ten lively curves that go up and down together. Draw a
# > curve on the scale of what it could mean. A bias of $b$ multiplies attention by $e^b$; here that is
# > next to nothing. And never draw entry 0: it belongs to padding, has no gradient, and stands at exactly zero, at the very place where the
# > eye looks for the last visit.
#
# ## Three suspects
#
# Why does a parameter stay where it was? Perhaps something *holds* it, perhaps it is *slow*, perhaps nothing *pulls*.
#
# **Held?** Weight decay shrinks every number a little at each step. **Slow?** AdamW moves a number by about the
# learning rate in each step, if all steps go one way ([chapter 13](13_attention_on_maps.ipynb) makes the sum). Both can be computed
# from the schedule.

# %%
steps = math.ceil(len(data.train) / CITY.batch_size)          # in an epoch
best = round(runs("city", "as documented").epochs.mean())     # the epoch whose weights are kept
rates = np.array([CITY.rate(step, steps) for step in range(best * steps)])
pd.Series({
    "steps until the best epoch": len(rates),
    "taken away by weight decay, %": 100 * (1 - np.prod(1 - rates * CITY.weight_decay)),
    "farthest that one number can travel, logits": rates.sum(),
    "farthest that a bias did travel, logits": highest["town"],
    "needed for the town's recency, logits": np.abs(truth).max(),
}).round(3).to_frame("")

# %% [markdown]
# Weight decay is innocent. The learning rate is not: the whole way that a single number can go until the best epoch is
# shorter than the curve that it ought to draw. But the biases did not even go that way. So look at what pulls.
#
# [Chapter 7](07_pointer.ipynb) derived the slope of a pointer's loss along a score, equation (7.7): $a_i - r_i$, what visit
# $i$ *gets* minus its share in the target's probability, what it *should* get. The bias is added to the score, so its
# slope is the same. With a generator beside the pointer it counts as much as the pointer had to do with the answer, which is the
# responsibility $r$ of [chapter 8](08_generator_and_gate.ipynb):
#
# $$
# \frac{\partial(-\log P(\ell^*))}{\partial b_p} = r\,(a_i - r_i)
# \quad\text{for the visit } i \text{ at position } p_i = p . \tag{12.1}
# $$
#
# Average it over the windows. **The bias is at rest when attention gives each position, on average, what the answers give
# it.** It does not matter *who* brought that about. If the keys have seen to it already, nothing pulls at the bias, however strong recency
# is.

# %%
def pulls(model, windows, upto=15):
    """Two (W, upto): what each position gets and what it should get, both times r."""
    gets, should = [], []
    with torch.no_grad():
        for batch in windows.batches(512):
            out = model(batch)
            a, own = out.pointer_attention, batch.target[:, None]         # (B, L), (B, 1)
            hit = a * ((batch.location == own) & ~batch.padding)
            copied = hit.sum(1, keepdim=True)                             # (B, 1)
            r = out.gate[:, None] * copied / out.log_probs.gather(1, own).exp()
            at = batch.length[:, None] - torch.arange(1, upto + 1)        # (B, upto)
            for found, value in ((gets, r * a), (should, r * hit / copied.clamp(min=1e-30))):
                found.append(value.gather(1, at.clamp(min=0)) * (at >= 0))
    return torch.cat(gets), torch.cat(should)


some = data.train.subset(np.arange(300))                                  # against autograd
gets, should = pulls(model, some)
model.zero_grad()
batch = some.batch(np.arange(300))
cross_entropy(model(batch).log_probs, batch.target).mean().backward()
slope = model.pointer.position_bias.grad[1:16]
assert torch.allclose((gets - should).mean(0), slope, atol=1e-6)

# %%
torch.manual_seed(42)
fresh = PointerGeneratorTransformer(size).eval()                          # no step of training
stages = {"before training": pulls(fresh, data.train), "after training": pulls(model, data.train)}

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
for ax, (name, (gets, should)) in zip(axes, stages.items(), strict=True):
    ax.plot(range(1, 16), gets.mean(0) / gets.mean(0).sum(), "o-", color=COPIED, ms=5, lw=1.2,
            label="attention")
    ax.plot(range(1, 16), should.mean(0) / should.mean(0).sum(), "s--", color=TRUTH, ms=5, lw=1.2,
            mfc="none", label="answers")
    ax.set(title=name[0].upper() + name[1:], xlabel="position from the end (1 = last visit)",
           xticks=[1, 5, 10, 15])
axes[0].set(ylabel="mean share, weighted by $r$", ylim=(0, None))
axes[0].legend()
gap = {name: float((gets - should).mean(0).abs().max()) for name, (gets, should) in stages.items()}
assert gap["after training"] < 0.5 * gap["before training"]
show(fig,
     alt=f"Mean attention and mean share of the answers by position. Before training they differ most at the newest positions, by {gap['before training']:.3f} before normalising; "
     f"after training the two lines lie on each other, the largest difference is {gap['after training']:.3f}.",
     caption="What positions get (blue, circles) and what the answers give them (green, squares), on the training windows. Where both agree, nothing pulls at "
     "the bias.")

# %% [markdown]
# After training the curves agree: attention has learned positions, and well. It learned them without the bias. The keys know
# the position as well, from its embedding, from the sinusoid and from "days ago", and they are many numbers, which together get farther in one step
# than one number can.
#
# At the start something did pull. How hard? Adam divides the mean slope by its usual size. A slope that keeps its sign from batch to
# batch moves the number by the full rate; a slope that is mostly noise moves it by a small part of that. The table has that part, and how
# much loss the best bias could still win if all else stays (`refit` finds it, all positions at once).

# %%
def part_of_step(gets, should):
    """(upto,) the part of the learning rate by which a bias moves on average."""
    slope = gets - should                                                 # (W, upto)
    return (slope.mean(0).abs() / (slope.mean(0) ** 2 + slope.var(0) / CITY.batch_size).sqrt()).numpy()


part = {name: part_of_step(*found) for name, found in stages.items()}
change, gain = refit(model, data.train)
pd.DataFrame({
    name: {"part of a step, p = 1": part[name][0], "p = 2": part[name][1],
           "others, mean": part[name][2:].mean()}
    for name in stages
}).T.round(2)

# %% tags=["hide-input"]
trained_loss = torch.cat([cross_entropy(model.scores(b), b.target) for b in data.train.batches(512)]).mean().item()
assert gain < 0.005
Markdown(
    f"The best bias that the trained model could have would lower its loss on the training windows by **{gain:.4f}** nats, of {trained_loss:.2f}. So the verdict is: "
    "**slow, and soon without a job**. The bias sets out, at the newest two positions even with some force; within a few epochs the keys do its work, and what is left for it "
    "is noise."
)

# %% [markdown]
# ## Giving it its head
#
# If the bias is slow, let it run: train again with a hundred times the learning rate for the bias alone. (`pgt.analysis.position_bias.faster_bias`
# stores it in a unit that much larger. Adam's steps have a length of their own, so that does it.) Ten seeds again.

# %%
fast = curves("city", "fast bias")
fig, ax = plt.subplots(figsize=(7.0, 3.4))
draw(ax, fast, COPIED, "bias with a hundred times the rate")
ax.plot(range(1, 16), learned["town"].mean(0), color=MUTED, ls="--", lw=1.5, label="as documented, mean")
ax.plot(range(1, 16), truth, "D", color=TRUTH, ms=5, mfc="none", label="log of the town's recency")
ax.set(xlabel="position from the end (1 = last visit)", ylabel="position bias $b_p$ (logits)")
ax.legend(ncols=2, fontsize=8)
together = np.corrcoef(fast)[np.triu_indices(len(fast), 1)]               # of two seeds
low, high = int(fast.mean(0).argmin()) + 1, int(fast.mean(0).argmax()) + 1
show(fig,
     alt=f"Position bias of ten fast runs: they range from {fast.min():.2f} to {fast.max():.2f} logits. Their mean is lowest at position {low} and highest at position {high}; two seeds correlate by "
     f"{together.mean():.2f} on average. The town's recency falls evenly from {truth[0]:.2f} to {truth[-1]:.2f}.",
     caption="The bias of ten runs in which it may hurry.")

# %% tags=["hide-input"]
score = {v: (runs("city", v)["acc@1"].mean(), runs("city", v).loss.mean()) for v in ("as documented", "fast bias")}
assert together.mean() > 0.3
Markdown(
    f"Now there are curves. And the seeds *agree*: the mean correlation between two of them is **{together.mean():.2f}**. Position {low} sits in a trough in run after run, position "
    f"{high} on a hill. Surely ten independent runs cannot invent the same thing? Accuracy is {score['fast bias'][0]:.1f} % against {score['as documented'][0]:.1f} % with the slow bias, "
    f"so nothing good came of it; still, a paper could be written about position {low}."
)

# %% [markdown]
# > **Pitfall.** Ten seeds are ten initial weights and ten orders of the same windows. They are not ten samples of people. What all seeds
# > share, the training windows, they share with all its accidents. A spread over seeds tells how sure you can be about *this
# > data set*, and nothing about the next.
#
# In a simulated town we can ask for the next. Simulate it a few times more with the same numbers of behaviour and other people, train one fast model on
# each, and draw the curves.

# %%
others = curves("other people", "fast bias")
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
for ax, (name, table) in zip(axes, {f"One town, {len(fast)} seeds": fast, f"{len(others)} towns": others}.items(), strict=True):
    draw(ax, table, COPIED, "learned")
    ax.plot(range(1, 16), truth, "D", color=TRUTH, ms=4, mfc="none", label="log of the recency")
    ax.set(title=name, xlabel="position from the end (1 = last visit)")
axes[0].set_ylabel("position bias $b_p$ (logits)")
axes[0].legend(fontsize=8)
apart = np.corrcoef(others)[np.triu_indices(len(others), 1)]
spread = {"one town": fast.std(0, ddof=1).mean(), "towns": others.std(0, ddof=1).mean()}
assert apart.mean() < together.mean() and spread["towns"] > spread["one town"]
show(fig,
     alt=f"Two panels of fast biases. In one town two curves correlate by {together.mean():.2f} on average and spread by {spread['one town']:.2f} logits (standard deviation); in {len(others)} towns with the same "
     f"behaviour by {apart.mean():.2f} and {spread['towns']:.2f}.",
     caption="The same model, again and again. Left: the same people, other seeds. Right: other people with the same habits.")

# %% tags=["hide-input"]
alike = {name: np.corrcoef(table[:, 2:])[np.triu_indices(len(table), 1)]      # of two curves, positions 3 and more
         for name, table in (("town", fast), ("towns", others))}
older = {name: values.mean() for name, values in alike.items()}
assert abs(others.mean(0)[low - 1]) < abs(fast.mean(0)[low - 1]) and older["towns"] < older["town"] / 2
Markdown(
    f"The trough at position {low}, {fast.mean(0)[low - 1]:+.2f} in our town, is {others.mean(0)[low - 1]:+.2f} on average in {len(others)} towns. The towns still agree about the newest two positions: "
    f"not here (1), rather back where you came from (2). That is habit, and every town has it. From position 3 on, the mean correlation of two curves is {older['town']:.2f} in one town, and "
    f"**{older['towns']:.2f}** between towns. These are but {len(alike['towns'])} pairs, from {alike['towns'].min():+.2f} to {alike['towns'].max():+.2f}; yet in the one town the median pair has "
    f"{np.median(alike['town']):.2f}. What the seeds agreed on there was, for the most part, our particular people. On GeoLife there is one set of people, and nobody can draw the right-hand panel; "
    "all one can do is to divide them (exercise 3)."
)

# %% [markdown]
# ## Worlds in which the answer is known
#
# The town is a hard case: routine, hours and habits besides recency, and a network with many ways to say one thing. So take the simplest world there
# can be. Its people do nothing but copy: with probability $\kappa_p$ they go where they were $p$ visits ago, and now and
# then to a place that is out of sight. There are two such worlds (`pgt.city.recency_world`). In one, $\kappa_p$ fades by a fifth with every step; in the other it is flat,
# with no recency whatever. A pointer with $a_i = \kappa_{p_i}$ predicts as well as anybody can, so
#
# $$
# s_i + b_{p_i} = \log \kappa_{p_i} + C \tag{12.2}
# $$
#
# is the right answer. The model is small, and gets nothing but the places, their order, and (or not) the position from the end as
# an embedding. Each seed has people of its own.

# %%
shown = {"bias only": "Bias, no embedding", "both": "Bias and embedding",
         "embedding only": "Embedding, no bias"}
fig, axes = plt.subplots(2, 3, figsize=(7.4, 4.8), sharex=True, sharey=True)
for row, what in zip(axes, ("fading kernel", "flat kernel"), strict=True):
    log = np.log(recency_world.fading() if what == "fading kernel" else recency_world.flat())
    for ax, (variant, name) in zip(row, shown.items(), strict=True):
        bias, content = curves(what, variant), curves(what, variant, "c")
        draw(ax, bias, COPIED, "bias")
        draw(ax, content, EXTRA, "content", "--")
        ax.plot(range(1, 21), (bias + content).mean(0), color=INK, lw=1.2, ls=":", label="sum, mean")
        ax.plot(range(1, 21), log - log.mean(), "D", color=TRUTH, ms=3, mfc="none", label="truth")
        if what == "fading kernel":
            ax.set_title(name, fontsize=10)
    row[0].set_ylabel(f"logits; {what.split()[0]}")
axes[1, 1].set_xlabel("position from the end (1 = last visit)")
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=9)
both, alone = (np.polyfit(np.arange(20), curves("fading kernel", v).T, 1)[0] for v in ("both", "bias only"))
true_slope = math.log(0.8)
error = {v: np.abs((curves("fading kernel", v) + curves("fading kernel", v, "c")).mean(0) - (np.log(recency_world.fading()) - np.log(recency_world.fading()).mean())).mean()
         for v in shown}
show(fig,
     alt=f"Bias and content by position in the two copying worlds. Fading world, true slope {true_slope:.2f} logits a visit: with the bias alone its slope is {alone.mean():.2f}; with the embedding "
     f"as well, the bias has {both.mean():.2f} and the content the rest; without a bias the content has it all. The sums differ from the truth by {max(error.values()):.2f} on average at most. "
     "Flat world: all curves lie at zero.",
     caption="Who says it? Bias (blue), mean content (ochre, dashed), their mean sum (dotted) and the truth (green), in a world with recency (above) and without (below); ten seeds.")

# %%
rows = {}
for what in ("fading kernel", "flat kernel"):
    for variant, name in {**shown, "neither": "Neither", "frozen": "Bias frozen at the truth"}.items():
        table = runs(what, variant)
        bias, content = (np.polyfit(np.arange(20), curves(what, variant, x).T, 1)[0] for x in "bc")
        rows[what.split()[0], name] = {
            "slope of the bias": bias.mean(), "of the content": content.mean(),
            "of the sum": (bias + content).mean(), "± of the bias": bias.std(ddof=1),
            "± of the sum": (bias + content).std(ddof=1), "loss above the best": (table.loss - table.best).mean()}
pd.DataFrame(rows).T.round(3)

# %% tags=["hide-input"]
fading = pd.DataFrame(rows).T.loc["fading"]
assert fading["± of the bias"]["Bias and embedding"] > fading["± of the sum"]["Bias and embedding"]
assert abs(both.mean()) < 0.75 * abs(true_slope) and abs(alone.mean() - true_slope) < 0.03
Markdown(
    f"The bias alone finds the kernel: {alone.mean():.3f} logits a visit, where $\\log 0.8$ = {true_slope:.3f}; and in the flat world it finds nothing, as it should. "
    f"Give the same model the embedding as well, and the bias of the *same people* shows only **{100 * both.mean() / true_slope:.0f} %** of the recency, from {100 * both.max() / true_slope:.0f} to "
    f"{100 * both.min() / true_slope:.0f} % depending on the seed. All three models predict about equally well (last column, in nats). Who read the middle curve as “how fast people forget” "
    "would be off by a factor of two, and no number of seeds would put it right."
)

# %% [markdown]
# By what right does the bias get *its* half? Train the middle model again, with ten times the learning rate for the bias, and with a tenth of it.

# %%
speeds = {"both, bias at a tenth": 0.1, "both": 1, "both, bias tenfold": 10}
share, leftover = {}, {}
for variant, times in speeds.items():
    bias, content = (np.polyfit(np.arange(20), curves("fading kernel", variant, x).T, 1)[0] for x in "bc")
    share[times], leftover[times] = 100 * bias / (bias + content), (bias + content).mean()
fig, ax = plt.subplots(figsize=(7.0, 2.9))
for times, values in share.items():
    ax.plot(np.full(len(values), times), values, "o", color=COPIED, ms=5, alpha=0.4)
    ax.plot(times, values.mean(), "D", color=INK, ms=7, mfc="none")
ax.set(xscale="log", xlabel="learning rate of the bias, relative to all other parameters",
       ylabel="share of the slope, %", ylim=(-5, 110))
ax.set_xticks(list(share), [f"{times:g}" for times in share])
ax.minorticks_off()
show(fig,
     alt="How much of the recency's slope sits in the bias, by its relative learning rate: "
     + ", ".join(f"{values.mean():.0f} % at {times:g}" for times, values in share.items()) + ". Dots are ten seeds.",
     caption="The share of the bias in the learned recency. Dots: seeds; diamonds: their means. The sum is right in all three cases.")

# %% tags=["hide-input"]
assert share[0.1].mean() < 15 and share[10].mean() > 85 and max(abs(x - true_slope) for x in leftover.values()) < 0.03
Markdown(
    f"From **{share[0.1].mean():.0f} %** over {share[1].mean():.0f} % to **{share[10].mean():.0f} %**. The people are the same, the model is the same, the sum is the same "
    f"({leftover[0.1]:.3f}, {leftover[1]:.3f} and {leftover[10]:.3f} logits a visit). The curve that was to show how people forget shows how the optimiser was set."
)

# %% [markdown]
# ## What cannot be known
#
# The reason fits in one line. For *any* curve $\xi_p$,
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.3}
# $$
#
# Whatever the content is able to say about positions may be moved from one bracket to the other, and no prediction notices. The
# two are not **identifiable** one by one; their sum is, up to a constant. For some changes of this kind there is no
# doubt: they are *exact*.

# %%
exact = {}
longest = int(max(part.lengths.max() for part in (data.train, data.valid, data.test)))
for name in ("all biases + 5", "entry 0 (padding) = 99", f"entries beyond {longest} = 99", "key's bias = 99"):
    twin = copy.deepcopy(model).double()
    with torch.no_grad():
        if name.startswith("all"):
            twin.pointer.position_bias += 5
        elif name.startswith("entry 0"):
            twin.pointer.position_bias[0] = 99
        elif name.startswith("entries"):
            twin.pointer.position_bias[longest + 1:] = 99
        else:
            twin.pointer.key.bias[:] = 99
    plain = copy.deepcopy(model).double()
    batch = data.test.batch(np.arange(0, len(data.test), 40))
    exact[name] = float((twin.scores(batch) - plain.scores(batch)).abs().max())
assert max(exact.values()) < 1e-9
pd.Series(exact, name="largest change of a log-probability").to_frame()

# %% [markdown]
# The constant is equation (7.3). Entry 0 and the entries beyond the longest window are never looked up. The key's bias adds one number, its
# product with the query, to all scores of a window, as in [chapter 9](09_model.ipynb).
#
# Other changes are possible as far as the keys can read the position off the encoded visit. How far is that? Do it by hand. **Draw a curve**, any
# curve, and put it in the place of the bias. Then let query and key, nothing else, find back to the attention that the model had before.
# We draw two: one that falls by a tenth of a logit with every visit, and one that *rises* as fast, as if people preferred what is long past.

# %%
def heard(model, windows):
    """What the pointer gets, batch by batch: context, encoded visits, batch."""
    with torch.no_grad():
        for batch in windows.batches(256, shuffle=np.random.default_rng(0)):
            encoded, _ = model.encoder(model.embeddings(batch), batch.padding)   # (B, L, D)
            yield encoded[torch.arange(len(batch)), batch.length - 1], encoded, batch


inputs = list(heard(model, data.train))
with torch.no_grad():
    wanted = [model.pointer(*one) for one in inputs]                               # (B, L) log-weights


def drawn(curve, epochs=10, rate=5e-3):
    """A copy whose bias is a drawn curve, and the same after query and key have made up for it."""
    first = copy.deepcopy(model)
    with torch.no_grad():
        first.pointer.position_bias[1:] = torch.as_tensor(curve)
    last = copy.deepcopy(first)
    layers = [*last.pointer.query.parameters(), *last.pointer.key.parameters()]
    optimizer = torch.optim.Adam(layers, rate)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(inputs))
    for _ in range(epochs):
        for one, want in zip(inputs, wanted, strict=True):
            gap = (want - last.pointer(*one)).masked_fill(one[2].padding, 0)
            optimizer.zero_grad()
            (want.exp() * gap).sum(1).mean().backward()                          # KL divergence
            optimizer.step()
            slower.step()
    return first, last

# %%
age = np.arange(1, model.config.max_len + 1, dtype="float32")
models = {"as trained": model}
models["falling, drawn"], models["falling, made up for"] = drawn(-0.1 * age)
models["rising, drawn"], models["rising, made up for"] = drawn(0.1 * age)
rows, favourite, before = {}, {}, {}
for name, one in models.items():
    log_probs = [one.scores(batch) for batch in data.test.batches(512)]          # (B, V) each
    favourite[name] = torch.cat([each.argmax(1) for each in log_probs])
    loss = torch.cat([cross_entropy(each, b.target) for each, b in zip(log_probs, data.test.batches(512), strict=True)])
    moved = [(x.exp() - y.exp()).abs().sum(1) / 2 for x, y in zip(log_probs, before or log_probs, strict=True)]
    before = before or log_probs
    rows[name] = {
        "slope of the bias": np.polyfit(age[:15], bias_of(one, 15).numpy(), 1)[0],
        "Acc@1, %": 100 * gains(evaluate(one, data.test))["acc@1"].mean(), "loss, nats": loss.mean().item(),
        "same favourite, %": 100 * (favourite[name] == favourite["as trained"]).double().mean().item(),
        "probability moved, %": 100 * torch.cat(moved).mean().item()}
table = pd.DataFrame(rows).T
table.round({"slope of the bias": 2, "Acc@1, %": 1, "loss, nats": 3, "same favourite, %": 1, "probability moved, %": 1})

# %%
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.1), sharey=True)
names = {"as trained": "As trained", "falling, made up for": "Falling, made up for",
         "rising, made up for": "Rising, made up for"}
for ax, (name, title) in zip(axes, names.items(), strict=True):
    bias, content = by_position(models[name], data.test, 15)
    ax.plot(range(1, 16), bias, "o-", color=COPIED, ms=3, lw=1.5, label="bias")
    ax.plot(range(1, 16), content, "--", color=EXTRA, lw=1.5, label="content")
    ax.plot(range(1, 16), bias + content, ":", color=INK, lw=1.8, label="sum")
    ax.set_title(title, fontsize=10)
    ax.set_xticks([1, 5, 10, 15])
axes[0].set_ylabel("logits")
axes[1].set_xlabel("position from the end (1 = last visit)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
sums = {name: by_position(models[name], data.test, 15).sum(0) for name in names}
away = max(float(np.abs(sums[name] - sums["as trained"]).mean()) for name in names)
show(fig,
     alt=f"Three models. Their biases are flat, falling and rising; their content does the opposite. The sums differ by {away:.2f} logits on average at most.",
     caption="Three curves, nearly one model: bias (blue), mean content (ochre, dashed), sum (dotted).")

# %% tags=["hide-input"]
up, down = table.loc["rising, made up for"], table.loc["falling, made up for"]
assert min(up["same favourite, %"], down["same favourite, %"]) > 90 and away < 0.3
Markdown(
    f"The last model has a bias that *rises* with age, by a factor of $e^{{1.4}}$ = {math.exp(1.4):.0f} over fourteen visits. It names the same favourite as the trained model in {up['same favourite, %']:.0f} % of "
    f"the windows, moves {up['probability moved, %']:.1f} % of the probability, and its loss differs by {abs(up['loss, nats'] - table.loc['as trained', 'loss, nats']):.3f} nats. Whoever "
    "draws its curve concludes that people prefer the distant past. It is no exact twin, because the keys see positions only through the encoder. But no score would give it away. "
    f"Look at the rows *drawn*, too: even before query and key make up for it, the wrong curve moves no more than {table.loc['rising, drawn', 'probability moved, %']:.1f} % of the probability. "
    "So little do these predictions lean on age."
)

# %% [markdown]
# ## Flat where there is recency, bent where there is none
#
# Now the towns again, as they must be read. Two variants of Larkmere differ from it in a single number, the recency of a past visit. In *short memory* a visit counts
# a fifth less with each one since; in *no recency* all remembered visits count alike. What do the curves say, the documented and the fast one?

# %%
kinds = {"short memory": 0.8, "no recency": 1.0}
fig, axes = plt.subplots(2, 2, figsize=(7.4, 5.0), sharex=True, sharey=True)
for row, (what, decay) in zip(axes, kinds.items(), strict=True):
    log = np.log(decay ** np.arange(15) + town.truth["always"])
    for ax, variant in zip(row, ("as documented", "fast bias"), strict=True):
        draw(ax, curves(what, variant), COPIED, "bias")
        draw(ax, curves(what, variant, "c"), EXTRA, "content", "--")
        ax.plot(range(1, 16), log - log.mean(), "D", color=TRUTH, ms=4, mfc="none", label="log of the recency")
        ax.set_title(f"{what[0].upper()}{what[1:]}: {variant}", fontsize=10)
    row[0].set_ylabel("logits")
for ax in axes[1]:
    ax.set_xlabel("position from the end (1 = last visit)")
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


def fall(table):
    """(seeds,) how far a curve falls from the newest five positions to the oldest five."""
    return table[:, :5].mean(1) - table[:, -5:].mean(1)


falls = {(what, variant, letter): fall(curves(what, variant, letter))
         for what in kinds for variant in ("as documented", "fast bias") for letter in "bc"}
told_apart = {v: falls["short memory", v, "b"].mean() - falls["no recency", v, "b"].mean() for v in ("as documented", "fast bias")}
first = {what: curves(what, "fast bias").mean(0)[0] for what in kinds}
show(fig,
     alt="Bias and content in a town with short memory and in one without recency. As documented, the bias falls by "
     + " and ".join(f"{falls[what, 'as documented', 'b'].mean():.2f}" for what in kinds) + " logits from new to old positions; the fast bias by "
     + " and ".join(f"{falls[what, 'fast bias', 'b'].mean():.2f}" for what in kinds) + f". Without recency the fast bias is {first['no recency']:.2f} at the last visit.",
     caption="Two towns that differ in one number. Blue: bias; ochre, dashed: mean content; green: log of how much a past visit counts. Every line is another town.")

# %%
rows = {}
for (what, variant, letter), value in falls.items():
    name = "bias" if letter == "b" else "content"
    rows.setdefault((what, variant), {"models": len(value)})[name] = f"{value.mean():+.2f} ± {value.std(ddof=1):.2f}"
    if letter == "c":
        total = value + falls[what, variant, "b"]
        rows[what, variant]["sum"] = f"{total.mean():+.2f} ± {total.std(ddof=1):.2f}"
pd.DataFrame(rows).T.rename_axis(["town", "training"])

# %% [markdown]
# The table has the fall from the newest five positions to the oldest five, in logits, mean and standard deviation over towns.

# %% tags=["hide-input"]
bias_doc, bias_fast = (falls["short memory", v, "b"].mean() for v in ("as documented", "fast bias"))
sums = {(what, v): falls[what, v, "b"] + falls[what, v, "c"] for what in kinds for v in ("as documented", "fast bias")}
true_fall = fall(np.log(kinds["short memory"] ** np.arange(15) + town.truth["always"])[None])[0]
assert bias_fast > 5 * abs(bias_doc) and told_apart["fast bias"] > 0.3 and abs(told_apart["as documented"]) < 0.1
assert sums["short memory", "as documented"].mean() > sums["no recency", "as documented"].mean() + 0.3
Markdown(
    f"- **A flat curve is no evidence of no recency.** In the town with the short memory the documented bias falls by {bias_doc:.2f}, where the town's recency falls by {true_fall:.2f}. "
    f"The model knows better: bias and content *together* fall by {sums['short memory', 'as documented'].mean():.2f}.\n"
    f"- **A bent curve is no evidence of recency.** In the town without any, the fast bias stands at {first['no recency']:+.2f} for the last visit. There is no preference for age in that town; but people "
    "seldom go where they already are. Position 1 *is* where they are. The curve shows a habit of leaving, not of forgetting.\n"
    f"- **What tells the towns apart, however one trains, is the sum.** Bias plus content falls by {sums['short memory', 'as documented'].mean():.2f} in one and {sums['no recency', 'as documented'].mean():.2f} in the other as "
    f"documented, by {sums['short memory', 'fast bias'].mean():.2f} and {sums['no recency', 'fast bias'].mean():.2f} with the fast bias. The fall of the bias alone does it only if the bias is fast ({bias_fast:.2f} and "
    f"{falls['no recency', 'fast bias', 'b'].mean():.2f}): again the optimiser decides what the curve says."
)

# %% [markdown]
# Do not take even the sum for the simulator's kernel. The kernel says how much *one visit* counts; hours, habits, routine and the power to which a place's score
# is raised (`pgt.city.people.Behaviour`) come on top, and the pointer has no other way to say them than through the same scores.
#
# ## Off, frozen, fitted
#
# What is the bias worth? Remove it; freeze it at the town's own recency, which no model would know; freeze it at the same curve *upside down*; or
# let it learn, slowly or fast.

# %%
ways = {"as documented": "Fitted, as documented", "fast bias": "Fitted, fast", "bias off": "Off",
        "frozen": "Frozen at the truth", "frozen upside down": "Frozen upside down"}
common = runs("city", "bias off").seed                        # seeds that all five have


def scores(variant):
    """(seeds, 2) Acc@1 and loss of the town's models."""
    return runs("city", variant).set_index("seed").loc[common, ["acc@1", "loss"]]


fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for at, variant in enumerate(ways):
    for ax, column in zip(axes, ("acc@1", "loss"), strict=True):
        values = scores(variant)[column]
        ax.plot(values, np.full(len(values), at), "o", color=COPIED, ms=4, alpha=0.4)
        ax.plot(values.mean(), at, "D", color=INK, ms=6, mfc="none")
axes[0].set_yticks(range(len(ways)), ways.values())
axes[0].set_ylim(len(ways) - 0.5, -0.5)
axes[0].set_xlabel("Acc@1 (%)")
axes[1].set_xlabel("loss (nats)")
for ax in axes:
    ax.grid(axis="y", visible=False)
worth = pd.DataFrame({name: {"Acc@1, %": scores(v)["acc@1"].mean(), "loss, nats": scores(v).loss.mean()}
                      for v, name in ways.items()}).T
show(fig,
     alt="Accuracy and loss of five ways to treat the bias, a dot a seed. Means of Acc@1: "
     + ", ".join(f"{name} {row['Acc@1, %']:.1f} %" for name, row in worth.iterrows()) + ".",
     caption="Five ways to treat the position bias, on the town's test windows. Dots: seeds; diamonds: their means.")

# %%
for column, name, digits in (("acc@1", "Acc@1, difference", 2), ("loss", "loss, difference", 3)):
    gaps = [scores(v)[column] - scores("as documented")[column] for v in ways]
    worth[name] = [f"{gap.mean():+.{digits}f} ± {gap.sem():.{digits}f}" for gap in gaps]
print(f"{len(common)} seeds")
worth.round({"Acc@1, %": 2, "loss, nats": 3})

# %% tags=["hide-input"]
spread = worth["Acc@1, %"].max() - worth["Acc@1, %"].min()
upside = scores("frozen upside down")["acc@1"] - scores("as documented")["acc@1"]
hurried, documented = (runs("city", v).set_index("seed").loss for v in ("fast bias", "as documented"))
hurry = hurried - documented                                  # these two have all ten seeds
assert worth["loss, nats"].idxmax() == "Fitted, fast" and spread < 1 and hurry.mean() > 2 * hurry.sem()
Markdown(
    f"The differences are paired by seed, with standard errors. All five means of accuracy lie within **{spread:.1f}** points. A bias that leans the wrong way, and may not move, changes it by "
    f"{upside.mean():+.1f} ± {upside.sem():.1f}: {len(common)} seeds cannot tell that from nothing. The highest loss has the bias that was free to hurry, and with all {len(hurry)} seeds that these two rows have "
    f"it is no accident: {hurry.mean():+.3f} ± {hurry.sem():.3f} nats. Its curve has learned our people's accidents. In the copying worlds, where nothing else may know the order, "
    f"to have neither bias nor embedding costs {fading['loss above the best']['Neither']:.2f} nats. The bias is a good parameter in a bad place. Here it is the fourth to know what three others "
    "know ([chapter 14](14_ablations.ipynb) finds the same for the others)."
)

# %% [markdown]
# You can multiply it yourself. Below is the shipped model's pointer: dots are what its keys say about each visit, sticks its position bias.
# How many times must the bias be multiplied before it changes a first guess? (The whole model waits in [chapter 26](26_playground.ipynb).)

# %% tags=["hide-input"]
from pgt.viz.live import playground

playground(small="bias")

# %% [markdown]
# ## Summary
#
# - A parameter's curve shows where *that parameter* stands, not what the model does, and still less what people do.
# - Before reading it, ask: how far could it travel? What pulls at it, equation (12.1)? Who else can say the same, equation (12.3)?
# - The documented bias stays within a few hundredths of a logit of zero: a single number with a small learning rate, beside keys that
#   do the same work faster.
# - Where nothing else knows the order, the bias finds the kernel, and none where there is none. Beside a position embedding it shows as much of it as the
#   optimiser lets it.
# - Spread over seeds is not spread over people. Ten seeds agree about accidents of one data set.
# - Report the sum of bias and content, on windows that have all positions; compare it between worlds, or intervene. Do not read a curve alone.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8$ with each step back, and content says nothing. After how many steps back has attention halved? And by what factor does
# attention differ between positions 1 and 15? (Give both as numbers.)

# %% tags=["try"]
half, factor = ..., ...
check.same([half, factor], [math.log(2) / -math.log(0.8), 0.8**-14], name="steps and factor", atol=0.01)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = math.log(0.5) / math.log(0.8)        # 0.8 ** half is one half
factor = 1 / 0.8**14                        # fourteen steps lie between position 1 and position 15
check.same([half, factor], [math.log(2) / -math.log(0.8), 0.8**-14], name="steps and factor", atol=0.01)

# %% [markdown]
# **Exercise 2** (medium). Write equation (12.1) for one window: given scores, biases by visit, which visits are to the true place, the gate and the
# generator's probability of the true place, return the slope of the loss along each visit's bias. No autograd; the check uses it.

# %% tags=["try"]
def slopes_by_hand(s, b, hit, g, generated):
    """(L,), (L,), (L,) of 0 and 1, two numbers -> (L,)."""
    return ...


def by_autograd(s, b, hit, g, generated):
    b = torch.tensor(b, requires_grad=True)
    a = (torch.tensor(s) + b).softmax(0)
    (-torch.log(g * (a * torch.tensor(hit)).sum() + (1 - g) * generated)).backward()
    return b.grad


rng = np.random.default_rng(0)
cases = [(rng.normal(size=6), rng.normal(size=6), np.array([0.0, 1, 0, 1, 0, 0]), 0.7, 0.1),
         (rng.normal(size=4), np.zeros(4), np.zeros(4), 0.7, 0.1)]               # target not in the window
check.function(slopes_by_hand, by_autograd, *cases)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def slopes_by_hand(s, b, hit, g, generated):
    a = np.exp(s + b) / np.exp(s + b).sum()
    copied = (a * hit).sum()                                                     # P_ptr of the true place
    r = g * copied / (g * copied + (1 - g) * generated)
    return r * (a - a * hit / copied) if copied > 0 else np.zeros_like(a)        # r = 0: nothing pulls


check.function(slopes_by_hand, by_autograd, *cases)

# %% [markdown]
# **Exercise 3** (medium). Is there anything that *all* people ask of the bias of the trained model? Refit it (`refit`) on half of the people of the validation windows and on the other half, for
# five random halvings. Give the mean correlation of the two curves over positions 1 to 15. What would you expect if the model had missed the town's recency? And why not
# the training windows?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
rng, users = np.random.default_rng(0), np.unique(data.valid.users)
found = []
for _ in range(5):
    half = np.isin(data.valid.users, rng.permutation(users)[: len(users) // 2])
    one, other = (refit(model, data.valid.subset(part))[0][:15] for part in (half, ~half))
    found.append(np.corrcoef(one, other)[0, 1])
print(f"correlations {np.round(found, 2)}, mean {np.mean(found):.2f}")
# Had the model missed the recency, both halves would ask for the same falling curve, and correlate near one. Near zero or below: each half asks for its own accidents.
# On the training windows the model was fitted to both halves together. What one half still asks for, the other denies, and the correlation is negative from the start.

# %% [markdown]
# **Exercise 4** (longer). The pull at the start of training, before the keys have learned: draw the mean slope of equation (12.1) by position for the fresh model, with
# a 95 % interval, people resampled. At which positions does the interval exclude zero? Which way would the bias go there, and what has that to do with recency?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
gets, should = stages["before training"]
order = np.concatenate([b.index.numpy() for b in data.train.batches(512)])       # the order of the rows
slope = pd.DataFrame((gets - should).numpy(), columns=range(1, 16)).groupby(data.train.users[order])
total, n, rng = slope.sum().to_numpy(), slope.size().to_numpy(), np.random.default_rng(0)
draws = [rng.integers(0, len(n), len(n)) for _ in range(300)]
drawn_means = np.array([total[at].sum(0) / n[at].sum() for at in draws])         # (300, 15)
low, high = np.quantile(drawn_means, [0.025, 0.975], axis=0)
sure = (low > 0) | (high < 0)
print("excludes zero at positions", (np.flatnonzero(sure) + 1).tolist())
fig, ax = plt.subplots(figsize=(7.0, 2.8))
ax.vlines(range(1, 16), low, high, color=COPIED, lw=2)
ax.plot(range(1, 16), total.sum(0) / n.sum(), "o", color=COPIED)
ax.axhline(0, color=MUTED, lw=1)
ax.set(xlabel="position from the end (1 = last visit)", ylabel="slope of the loss")
show(fig, alt="Mean slope of the loss along each bias before training, with intervals: positive at position 1, negative at position 2, near zero further back.",
     caption="A positive slope pushes the bias down. People leave (1) and go back (2); that is habit, and not a falling curve.")
# Farther back the slopes are several times smaller, and of both signs, where the interval leaves out zero: no fall there either.

# %% [markdown]
# **Exercise 5** (project). In the town, take away everything else that knows the order (position embedding, sinusoid, "days ago"), hurry the bias (`pgt.analysis.position_bias.faster_bias`), and train for
# three epochs. Who speaks for the position now? Is there a curve of recency at last?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
from dataclasses import replace

from pgt.analysis.position_bias import faster_bias

torch.manual_seed(0)
lonely = PointerGeneratorTransformer(replace(size, without=("position_from_end", "sinusoid", "recency")))
with faster_bias(lonely, 100):
    fit(lonely, data.train, data.valid, replace(CITY, max_epochs=3, warmup_epochs=1), progress=False)
bias, content = by_position(lonely, data.test, 15)
print(pd.DataFrame({"bias": bias, "content": content}, index=range(1, 16)).round(2).T.to_string())
print(f"Acc@1 {100 * gains(evaluate(lonely, data.test))['acc@1'].mean():.1f} %")
# Now the bias speaks for the position (but for the last visit, whose vector is the context itself). What it says: not here (1), rather back where you came from (2).
# Of a steady fall there is little to be seen: the town's recency is mild, and hours and habits are louder.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
