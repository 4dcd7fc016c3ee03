# %% [markdown]
# # What the position bias learns
#
# Ten training runs can agree on a curve, and the curve can still say nothing true about people.
#
# *You will be able to* read a learned curve without being fooled: ask whether the parameter had time to learn, whether
# other parameters say the same in its place, and whether other people would show the same picture. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It takes* twenty minutes
# to read and about thirty seconds to run, with or without a GPU.
#
# > **In one sentence.** The bias does not show how fast people forget: trained as usual it stays flat, trained faster it
# > draws the habits of this sample, and when a curve of your own takes its place and query and key adapt, the model's first
# > guess is what it was in {{ same:.0f }} % of the windows.

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

# %% [markdown]
# The pointer has one number for each position from the end, the position bias $b_p$. Before the softmax, visit $i$ has the
# score $s_i + b_{p_i}$, equation (7.2): what its key says, plus the bias of its position. If the bias is high for
# $p = 1, 2, 3$ and lower for older visits, that is recency, and the curve seems to need no explanation. So train the
# model, draw the curve, and read off how fast people forget?

# %%
import copy
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from wherenext import city, position_bias
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, MUTED, TRUTH, show
from wherenext.live import playground
from wherenext.results import read_results

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, ModelConfig
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import prepare

town = city.load()
model, known = load_model(shipped("city"))
size = ModelConfig(known.n_locations, known.n_users)
data = prepare(town.visits, protocol="exact", vocabulary=known)

# %% [markdown]
# ## Ten curves, nearly nothing
#
# Training ten models takes a while, so it was done beforehand. Two files of results hold two curves of each trained model:
# its bias (`b1`, `b2`, …; position 1 is the last visit) and its *content* (`c1`, …), the mean over test windows of
# $s_i$ at that position. Only differences of scores matter, so every curve is shifted to a mean of zero. *As documented*
# means that the bias has the learning rate of all other weights; the *fast bias* further down has its own.

# %%
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
trained = pd.concat([file.rows for file in files])


def runs(what, variant):
    """The trained models of one world and one way to train, a row each."""
    return trained.query("what == @what and variant == @variant")


def curves(what, variant, letter="b", upto=15):
    """(seeds, upto) the bias (b) or the mean content (c)."""
    columns = [f"{letter}{p}" for p in range(1, upto + 1)]
    return runs(what, variant)[columns].to_numpy()


# %% [markdown]
# In the town we also know the truth. A visit $p$ steps back counts $\text{decay}^{p - 1} + \text{always}$: one part fades
# with every visit since, the other never does. A bias adds to the log of the attention, so compare it with the log of this
# sum. (The unit of a score before the softmax is called a *logit*.)

# %%
rate, always = town.truth["recency_decay"], town.truth["always"]


def log_weight(rate, upto=15):
    """(upto,) log of what a past visit counts, with mean zero."""
    log = np.log(rate ** np.arange(upto) + always)
    return log - log.mean()


learned, truth = curves("city", "as documented"), log_weight(rate)
oldest = np.exp(truth[-1] - truth[0])  # visit 15, if the last counts 1

# %% tags=["hide-input"]
# @title Figure 12.1: ten curves, and the truth
ax = plots.position_bias(learned, label="learned, ten seeds and mean")
ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none", label="truth")
ax.legend()
show(
    ax.figure,
    alt="Ten learned curves near zero, and the town's recency, which falls "
    "steadily from above them to below them.",
    caption="The position bias after training as documented. Diamonds: how "
    "much a past visit counts in the town, by its age.",
)

# %% [markdown]
# The people of the town do prefer recent visits: the fifteenth visit from the end counts {{ oldest:.2f }} times as much
# as the last. The learned curves do not show it. (On GeoLife, real people, they are as flat.)
#
# > **Pitfall.** Without the diamonds the axis would be shorter, and the same curves would look lively. Draw a curve on the
# > scale of what it could mean: a bias of $b$ multiplies a visit's weight by $e^b$. And never draw entry 0 of the
# > table. It belongs to padding, stays at zero, and is easily taken for the last visit.
#
# ## Why it hardly moves
#
# Is it too slow? AdamW moves a number by about the learning rate in each step, if all steps go one way. The schedule says
# how far that is.

# %%
steps = -(-len(data.train) // CITY.batch_size)  # in an epoch
epochs = round(runs("city", "as documented").epochs.mean())  # weights kept
rates = [CITY.learning_rate_at(k, steps) for k in range(epochs * steps)]
travel = {
    "farthest that one number can travel": sum(rates),
    "farthest that a bias did travel": np.abs(learned).max(),
    "needed for the town's recency": np.abs(truth).max(),
}
pd.Series(travel).round(3).to_frame("logits")

# %% [markdown]
# The learning rate does limit the bias: even at full speed it could not get there. But the biases went less far than they
# could. So look at what *pulls*. A bias is added to the score, so the loss has the same slope along both: that of equation
# (7.5), times the *responsibility* $r$ of [chapter 8](08_generator_and_gate.ipynb), the pointer's share in the true place's
# probability:
#
# $$
# \begin{aligned}
# \frac{\partial(-\log P(\ell^*))}{\partial b_p} &= r\,(a_i - r_i) \quad\text{for the visit } i \text{ at } p_i = p, \\
# r &= \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)} .
# \end{aligned} \tag{12.1}
# $$
#
# $a_i$ is the attention that visit $i$ *gets*. $r_i$ is what it *should* get: its share of the attention on the true place,
# and 0 for a visit to another place. **The bias is at rest when attention gives each position, on average, what the answers
# give it.** If the keys do so already, nothing pulls at the bias, however strong recency is. (In the figure both lines fall
# in part because short windows have no far positions.)


# %%
@torch.no_grad()
def pulls(model, windows, upto=15):
    """(2, upto): what each position gets and should get, times r."""
    total = torch.zeros(2, upto)
    for batch in windows.batches(512):
        out = model(batch)
        a, own = out.pointer_attention, batch.target[:, None]  # (B, L)
        hit = a * ((batch.location == own) & ~batch.padding)  # (B, L)
        copied = hit.sum(1, keepdim=True).clamp(min=1e-30)  # (B, 1)
        p = out.log_probs.gather(1, own).exp()  # (B, 1)
        r = out.gate[:, None] * hit.sum(1, keepdim=True) / p
        at = batch.length[:, None] - torch.arange(1, upto + 1)  # (B, upto)
        for k, value in enumerate((r * a, r * hit / copied)):
            total[k] += (value.gather(1, at.clamp(min=0)) * (at >= 0)).sum(0)
    return total / len(windows)


# %% tags=["hide-input"]
# @title Figure 12.2: what positions get, and what they should get
torch.manual_seed(42)
fresh = PointerGeneratorTransformer(size).eval()  # no step of training
stages = {"Before training": fresh, "After training": model}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
for ax, (stage, one) in zip(axes, stages.items(), strict=True):
    gets, should = pulls(one, data.train)
    ax.plot(range(1, 16), gets, "o-", color=COPIED, label="attention")
    ax.plot(range(1, 16), should, "s--", color=TRUTH, label="answers")
    ax.set(title=stage, xlabel="position from the end", xticks=[1, 5, 10, 15])
axes[0].set_ylabel("mean share, times $r$")
axes[0].legend()
show(
    fig,
    alt="What positions get and should get. Before training the two lines "
    "differ at the newest positions; after training they lie on each other.",
    caption="Where the two agree, nothing pulls at the bias.",
)

# %% [markdown]
# After training the lines agree: attention *has* learned positions, but not through the bias. The keys know the position
# too, since position embedding, sinusoid and "days ago" are all in the encoded visit. Many numbers that move together
# change a score more in one step than one number can.
#
# So the bias is slow, and in the end it is not needed. `position_bias.refit` finds the bias with the smallest training loss
# and leaves all else as it is.

# %%
change, gain = position_bias.refit(model, data.train)
print(f"the best bias would lower the loss by {gain:.4f} nats")

# %% [markdown]
# ## Let it run
#
# If the bias is slow, let it run: train again with a hundred times the learning rate for the bias alone. Ten seeds again.
# Then, on the right, ten other *towns*: simulated people with the same habits, one model for each town.

# %%
fast = curves("city", "fast bias")
others = curves("other people", "fast bias")

# %% tags=["hide-input"]
# @title Figure 12.3: the same people, other people
panels = {"One town, ten seeds": fast, "Ten towns": others}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
for ax, (name, table) in zip(axes, panels.items(), strict=True):
    plots.position_bias(table, axes=ax)
    ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none", ms=4)
    ax.set_title(name)
show(
    fig,
    alt="Two panels of fast biases. In one town the ten curves share their "
    "hills and troughs; in ten towns only the first two positions agree.",
    caption="The fast bias: other seeds, and other people.",
)

# %% [markdown]
# On the left there are hills and troughs, and the seeds *agree* about them. Does that say something about people? Compare
# the mean correlation of two curves.


# %%
def agreement(table, first):
    """Mean correlation of two curves from a position on, all pairs."""
    found = np.corrcoef(table[:, first - 1 :])
    return found[np.triu_indices(len(table), 1)].mean()


groups = {"one town": fast, "between towns": others}
agree = pd.DataFrame(
    {n: [agreement(t, first) for first in (1, 3)] for n, t in groups.items()},
    index=["all positions", "positions 3 and more"],
)
agree.round(2)

# %% [markdown]
# From position 3 on, seeds agree by {{ agree.iloc[1,0]:.2f }} and towns by {{ agree.iloc[1,1]:.2f }}. What the seeds agreed on is
# mostly what these particular people happened to do. What is left everywhere sits in the first two positions: people
# seldom stay (1), and go back where they came from (2). Those are habits, not recency. (We split the table at 3 *after* we
# had seen this.)
#
# > **Pitfall.** Ten seeds are not ten samples of people. All share the training windows. A spread over seeds shows how sure you
# > can be about *this data set*, and nothing about the next.
#
# ## A world in which the answer is known
#
# The town is a hard case. Take the simplest world there can be (`wherenext.recency_world`): people only copy. With probability
# $\kappa_p$ they go where they were $p$ visits ago, $p = 1, \ldots, 20$, and $\kappa_p$ fades by a fifth with every step. A
# pointer with $a_i = \kappa_{p_i}$ predicts as well as anybody can, so
#
# $$
# s_i + b_{p_i} = \log \kappa_{p_i} + C \tag{12.2}
# $$
#
# is the right answer, and its slope is $\log 0.8$ (logits a visit). The model sees the places, and learns their order through
# the bias, through an embedding of the position, or through both. When it has both, we also train with the bias at a tenth of
# the learning rate, and at ten times the rate. The table has the mean slopes.

# %%
variants = {
    "bias only": "bias alone",
    "both, bias at a tenth": "both, bias ten times slower",
    "both": "both, as documented",
    "both, bias tenfold": "both, bias ten times faster",
    "embedding only": "embedding alone",
}


def slope_of(variant, letter):
    """Mean slope of a curve in the fading world, in logits a visit."""
    table = curves("fading kernel", variant, letter, upto=20)
    return np.polyfit(np.arange(20), table.T, 1)[0].mean()


worlds = pd.DataFrame(
    {x: [slope_of(v, x[0]) for v in variants] for x in ("bias", "content")},
    index=list(variants.values()),
)
worlds["sum"] = worlds.bias + worlds.content
fading = [runs("fading kernel", variant) for variant in variants]
worlds["excess loss"] = [(one.loss - one.best).mean() for one in fading]
worlds.round(3) + 0.0  # no -0

# %% [markdown]
# All five find the kernel: the sum is right, and the losses are about equal (the excess is over the best possible pointer, in
# nats). But the bias has all of it, a part, or nothing. **Its curve shows how the optimizer was set, not how people
# forget.** Whoever reads the documented row as "how fast people forget" is off by a factor of more than two, and no number of
# seeds puts it right.
#
# ## Draw a curve of your own
#
# The reason fits in one line. For *any* curve $\xi_p$,
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.3}
# $$
#
# Whatever the content can say about positions can move from one bracket to the other, and no prediction changes. Bias and
# content are not **identifiable** one by one; their sum is, up to a constant. Try it on the town's model. Draw a curve in the
# place of the bias: with a slope above zero it *rises* with age, as if people preferred what is long past. Then train query
# and key, and nothing else, to restore the attention that the model had before. Watch *same favourite*.

# %%
slope = 0.10  # @param {type:"slider", min:-0.2, max:0.2, step:0.05}


# %%
def adapt(drawn, epochs=10, rate=2e-3):
    """Train query and key until attention is what it was in the model."""
    inputs, wanted = [], []  # the encoder stays, so it runs only once
    with torch.no_grad():
        for batch in data.train.batches(
            256, shuffle=np.random.default_rng(0)
        ):
            x = model.embeddings(batch)
            encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
            context = encoded[torch.arange(len(batch)), batch.length - 1]
            inputs.append((context, encoded, batch))
            wanted.append(model.pointer(*inputs[-1]))  # (B, L) log-weights
    pointer = drawn.pointer
    layers = [*pointer.query.parameters(), *pointer.key.parameters()]
    adam = torch.optim.Adam(layers, rate)
    for _ in range(epochs):
        for one, want in zip(inputs, wanted, strict=True):
            gap = (want - pointer(*one)).masked_fill(one[2].padding, 0)
            adam.zero_grad()
            (want.exp() * gap).sum(1).mean().backward()  # KL divergence
            adam.step()


# %%
drawn = copy.deepcopy(model)
age = torch.arange(1.0, model.config.max_len + 1)
with torch.no_grad():
    drawn.pointer.position_bias[1:] = slope * age
adapted = copy.deepcopy(drawn)
adapt(adapted)
models = {"as trained": model, "drawn": drawn, "adapted": adapted}
rows = {}
with torch.no_grad():
    for name, one in models.items():
        scores = [one.scores(batch) for batch in data.test.batches(512)]
        favourite = torch.cat([score.argmax(1) for score in scores])
        if one is model:
            first = favourite
        same = 100 * (favourite == first).double().mean().item()
        hits = 100 * gains(evaluate(one, data.test))["acc@1"].mean()
        rows[name] = {"Acc@1, %": hits, "same favourite, %": same}
pd.DataFrame(rows).T.round(1)

# %% tags=["hide-input"]
# @title Figure 12.4: two curves, nearly one model
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.1), sharey=True)
for ax, name in zip(axes, ("as trained", "adapted"), strict=True):
    bias, content = position_bias.by_position(models[name], data.test, 15)
    parts = pd.DataFrame({"bias": bias, "content": content})
    parts["sum"] = bias + content
    parts.index += 1
    sns.lineplot(parts, palette=[COPIED, EXTRA, MUTED], ax=ax)
    ax.set(title=name, xlabel="position from the end", ylabel="logits")
show(
    fig,
    alt="As trained the bias is flat; drawn and adapted it is a straight "
    "line, the content does the opposite, and the sums are alike.",
    caption="The bias, the mean content, and their sum.",
)

# %% [markdown]
# Whoever sees the right-hand bias concludes that people prefer the distant past. It is no exact twin, because the keys see
# positions only through the encoder; but accuracy does not give it away. (The proof is weak in one way: this model's
# predictions depend little on age. Even the drawn curve alone changes few favourites, and adapting wins back only some.)
#
# ## Flat where there is recency, bent where there is none
#
# Now the towns again. Two variants of our town differ from it in one number. In *short memory* the part that fades shrinks
# by a fifth with each visit since; in *no recency* all remembered visits count alike. How far does each curve fall, from the
# newest five positions to the oldest five, in logits? (Mean and standard deviation over models.)


# %%
def fall(table):
    """(models,) mean of the newest five positions minus the oldest five."""
    return table[:, :5].mean(1) - table[:, -5:].mean(1)


decays = {"city": rate, "short memory": 0.8, "no recency": 1.0}
falls = {}
for what, decay in decays.items():
    truly = fall(log_weight(decay)[None])[0]
    for way in ("as documented", "fast bias"):
        bias, content = (fall(curves(what, way, letter)) for letter in "bc")
        found = {"bias": bias, "bias + content": bias + content}
        falls[what, way] = {
            name: f"{value.mean():+.2f} ± {value.std(ddof=1):.2f}"
            for name, value in found.items()
        } | {"truth": f"{truly:+.2f}"}
pd.DataFrame(falls).T.rename({"city": "our town"})

# %% [markdown]
# - **A flat curve does not exclude recency.** In the town with the short memory the documented bias hardly falls.
# - **A bent curve does not prove it.** In our own town recent visits count more, and the fast bias says that they count less.
#   In the town without recency single fast curves bend as well, some up and some down: see the ±.
# - **The sum shows strong recency**, however one trains, **and misses weak recency** such as our town's. It does not
#   *measure* recency either: hours, habits and routine come on top, and all go through the same scores.
#
# Try it yourself. Below is the shipped model's pointer: dots are what its keys say about each visit, sticks are its position
# bias. Multiply the bias: does the first guess change? ([Chapter 26](26_playground.ipynb) has the whole model.)

# %%
playground(small="bias")

# %% [markdown]
# ## What to remember
#
# - A parameter's curve shows where *that parameter* stands, not what the model does, and still less what people do.
# - Before reading it, ask: how far could it travel? What pulls at it, equation (12.1)? What else can say the same, equation
#   (12.3)?
# - Spread over seeds is not spread over people.
# - Report the sum of bias and content, and compare it between worlds.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8 = 0.223$ with each step back, and content says nothing. After how many
# steps back has attention halved? And by what factor does attention differ between positions 1 and 15? (Give both as
# numbers.)

# %% tags=["try"]
half, factor = ..., ...
check.exercise("12.1", [half, factor])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = np.log(0.5) / np.log(0.8)  # 0.8 ** half is one half
factor = 1 / 0.8**14  # fourteen steps from position 1 to position 15
check.exercise("12.1", [half, factor])

# %% [markdown]
# **Exercise 2** (medium). Write equation (12.1) for one window: given scores, biases by visit, which visits are to the true
# place, the gate and the generator's probability of the true place, return the slope of the loss along each visit's bias.
# No autograd; the check uses it.


# %% tags=["try"]
def slopes_by_hand(s, b, hit, g, generated):
    """(L,), (L,), (L,) of 0 and 1, two numbers -> (L,)."""
    return ...


def by_autograd(s, b, hit, g, generated):
    b = torch.tensor(b, requires_grad=True)
    a = (torch.tensor(s) + b).softmax(0)
    copied = (a * torch.tensor(hit)).sum()
    (-torch.log(g * copied + (1 - g) * generated)).backward()
    return b.grad


s, b = np.random.default_rng(0).normal(size=(2, 6))
hit = np.array([0.0, 1, 0, 1, 0, 0])
cases = [(s, b, x, 0.7, 0.1) for x in (hit, 0 * hit)]  # 0: not in the window
check.function(slopes_by_hand, by_autograd, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def slopes_by_hand(s, b, hit, g, generated):
    a = np.exp(s + b) / np.exp(s + b).sum()
    copied = max((a * hit).sum(), 1e-30)  # P_ptr; if 0, nothing pulls
    r = g * copied / (g * copied + (1 - g) * generated)
    return r * (a - a * hit / copied)


check.function(slopes_by_hand, by_autograd, *cases)

# %% [markdown]
# **Exercise 3** (longer). You have one town and cannot simulate another. Which part of the fast bias's curve would other
# people show as well? Divide the people into two random halves. On the windows of each half, train a new model with a fast
# bias (`position_bias.faster_bias(model, 100)`) for three epochs. Correlate the two curves, over all positions and from
# position 3 on.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
few = replace(CITY, max_epochs=3, warmup_epochs=1)
people = np.random.default_rng(0).permutation(np.unique(data.train.users))
halves = []
for half in (people[::2], people[1::2]):
    torch.manual_seed(0)
    new = PointerGeneratorTransformer(size)
    own = [w.subset(np.isin(w.users, half)) for w in (data.train, data.valid)]
    with position_bias.faster_bias(new, 100):
        fit(new, *own, few, progress=False)
    halves.append(position_bias.bias_of(new, 15).numpy())
print(f"all positions: correlation {agreement(np.stack(halves), 1):.2f}")
print(f"from position 3 on: {agreement(np.stack(halves), 3):.2f}")
# What both halves show may hold for other people, too. What only one shows
# belongs to its people or to its run.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
