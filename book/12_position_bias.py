# %% [markdown]
# # What the position bias learns
#
# Ten training runs can agree on a curve in part, and it can still say nothing true about people.
#
# *You will be able to* read a learned curve without being fooled: ask what pulls at it, what else can say the same, and
# whether other people would show it. *You need* [The pointer](07_pointer.ipynb) and
# [The generator and the gate](08_generator_and_gate.ipynb). *It takes* a quarter of an hour to read and about twenty seconds
# to run, with or without a GPU.
#
# > **In one sentence.** The position bias has a number for each age of a visit, and yet it does not show how fast people
# > forget, because other parts of the model can say nearly the same in its place.

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
# score $s_i + b_{p_i}$, equation (7.2). The **content** $s_i$ is what query and key say about the visit; the bias is what its
# position says. So train the model, draw $b_p$ from the last visit backwards, and read off how fast people forget?

# %%
import copy

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
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

town = city.load()
model, known = load_model(shipped("city"))
size = ModelConfig(known.n_locations, known.n_users)
data = prepare(town.visits, protocol="exact", vocabulary=known)

# %% [markdown]
# ## Ten curves, nearly nothing
#
# Ten models were trained beforehand, with ten seeds. Here is the bias of each at the newest fifteen positions; 1 is the last
# visit. Only differences of scores matter, so every curve has a mean of zero. The unit is the *logit*.

# %%
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
trained = pd.concat([file.rows for file in files])


def curves(what, variant, letter="b", upto=15):
    """(models, upto) the bias (b) or the mean content (c)."""
    rows = trained.query("what == @what and variant == @variant")
    return rows[[f"{letter}{p}" for p in range(1, upto + 1)]].to_numpy()


# %% [markdown]
# In the town we also know the truth: the weight of a past visit when a person *returns*, that is, chooses freely among known
# places. One part of it fades with every visit since, and one never does. A bias is the log of a factor, so take its log.


# %%
decay, always = town.truth["recency_decay"], town.truth["always"]


def log_weight(rate, upto=15):
    """(upto,) log of what the visit p steps back counts, with mean zero."""
    log = np.log(rate ** np.arange(upto) + always)  # p = 1, 2, ...
    return log - log.mean()


learned = curves("city", "as documented")  # usual: one rate for all
truth = log_weight(decay)
oldest = np.exp(truth[-1] - truth[0])  # visit 15, if the last counts 1
targets = data.train.target[data.train.in_window]
free = 100 * (data.train.visits.why.iloc[targets] == "return").mean()

# %% tags=["hide-input"]
# @title Figure 12.1: ten curves, and the truth
fig, ax = plt.subplots(figsize=(6.4, 3.0))
label = "learned, ten seeds and mean"
plots.position_bias(learned, label=label, axes=ax)
ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none", label="truth")
ax.legend()
show(
    fig,
    alt="Ten learned curves near zero, and the town's recency, which falls "
    "steadily from above them to below them.",
    caption="The position bias after training. Diamonds: how much a past "
    "visit counts in the town, by its age.",
)

# %% [markdown]
# The people of the town do prefer recent visits: the fifteenth from the end counts {{ oldest:.2f }} times as much as the last.
# The learned curves do not show it.
#
# The diamonds are one factor of *returns*, {{ free:.0f }} % of the targets in the window. In all others the hour decides:
# home, work or school. And people seldom stay where they are, so position 1, the highest diamond, will be low in what
# follows.
#
# > **Pitfall.** Without the diamonds the axis would be shorter, and the same curves would look lively.
#
# ## Draw a curve of your own
#
# Position embedding, sinusoid and "days ago" are all in the encoded visit. So query and key, too, can tell an old visit from
# a new one. For any curve $\xi_p$,
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.1}
# $$
#
# If the content can say $\xi_p$, it can move from one bracket to the other, and no prediction changes. Then only the sum is
# **identifiable**, up to a constant; bias and content one by one are not.
#
# Draw a straight line in the place of the bias. A slope above zero says that people prefer what is long past. **Change this**
# slope, and find your line in the next figure.

# %%
slope = 0.10  # @param {type:"slider", min:-0.2, max:0.2, step:0.05}
drawn = copy.deepcopy(model)
with torch.no_grad():
    age = torch.arange(1.0, model.config.max_len + 1)
    drawn.pointer.position_bias[1:] = slope * age


# %% [markdown]
# Then train only query and key, to restore the attention that the model had before. How much of the attention lies on other
# visits than in the original model? (If all is restored, none.)


# %% tags=["hide-input"]
# @title Functions: adapt query and key; how much attention is elsewhere
def adapted(drawn, epochs=5, rate=2e-3):
    """A copy whose query and key give the attention of the model."""
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
    new = copy.deepcopy(drawn)
    layers = [*new.pointer.query.parameters(), *new.pointer.key.parameters()]
    adam = torch.optim.Adam(layers, rate)
    for _ in range(epochs):
        for one, want in zip(inputs, wanted, strict=True):
            gap = (want - new.pointer(*one)).masked_fill(one[2].padding, 0)
            adam.zero_grad()
            (want.exp() * gap).sum(1).mean().backward()  # KL divergence
            adam.step()
    return new


@torch.no_grad()
def elsewhere(other):
    """Share of the attention that is at another visit than it was, in %."""
    moved = []
    for batch in data.test.batches(512):
        was, now = (m(batch).pointer_attention for m in (model, other))
        # What moves is missing in one place and too much in another.
        moved.append((was - now).abs().sum(1) / 2)  # (B,)
    return 100 * torch.cat(moved).mean().item()


# %%
again = adapted(drawn)
before, after = elsewhere(drawn), elsewhere(again)
print(f"drawn {before:.0f} %, and with query and key adapted {after:.0f} %")

# %% tags=["hide-input"]
# @title Figure 12.2: two curves, nearly one sum
models = {"As trained": model, "Drawn and adapted": again}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (name, one) in zip(axes, models.items(), strict=True):
    bias, content = position_bias.by_position(one, data.test, 15)
    parts = pd.DataFrame({"bias": bias, "content": content})
    parts["sum"] = bias + content
    parts.index += 1
    sns.lineplot(parts, palette=[COPIED, EXTRA, MUTED], ax=ax)
    ax.set(title=name, xlabel="position from the end", xticks=[1, 5, 10, 15])
axes[0].set_ylabel("logits")
show(
    fig,
    alt="As trained the bias is flat; drawn and adapted it is a straight "
    "line, the content does the opposite, and the sums are alike.",
    caption="The bias, the mean content, and their sum, which on the left "
    "hides the content.",
)

# %% [markdown]
# The *mean content* is the mean of $s_i$ over the visits at a position. As trained, it has nearly all the shape. On the right
# it leans against your line: query and key could be trained to undo most of what the line did. (Not all: the content cannot
# say an exact straight line.) Whoever sees only this bias concludes that people prefer the distant past.
#
# ## Why it hardly moves
#
# So the bias could take many shapes. Why did training leave it flat? Ask what *pulls* at it. The bias at position 3 is one
# number for all windows. It is at rest when position 3 gets as much attention, over all windows, as it *should* get.
#
# A visit should get its share of the *answer*: nothing if it is elsewhere. Visits to the true place share the answer as they
# share attention: so says the slope of the loss, equation (12.2). Take four visits, the oldest two to the true place.

# %%
attention = np.array([0.3, 0.1, 0.2, 0.4])
copied = attention * [1, 1, 0, 0]  # what points to the true place
positions = pd.Index([4, 3, 2, 1], name="position")
example = pd.DataFrame({"attention": attention}, positions)
example["answer"] = copied / copied.sum()
example["gap"] = example.answer - example.attention
example["bias is pulled"] = np.where(example.gap > 0, "up", "down")
example.round(2)

# %% [markdown]
# Now take the mean over windows. Each counts with its *responsibility* $r$ ([chapter 8](08_generator_and_gate.ipynb)): the
# share of the true place's probability that was copied.


# %% tags=["hide-input"]
# @title Figure 12.3: what positions get, and what they should get
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


torch.manual_seed(42)
fresh = PointerGeneratorTransformer(size).eval()  # no step of training
stages = {"Before training": fresh, "After training": model}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
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
    caption="Where the two agree, nothing pulls at the bias. Training "
    "windows; each counts with its r.",
)

# %% [markdown]
# Look at the gap between the lines. (Both fall because few windows are long.) From position 3 on there is hardly a gap even
# before training, so little pulls there: recency is weak, and fewer than half of the targets follow it. Position 1 gets too
# much at first, and position 2 too little. Training closed both gaps, but by query and key, which were faster: in a step
# AdamW moves each number by about the learning rate, and many numbers together change a score more than one can.
#
# ## Let it run
#
# So give the bias, and nothing else, a hundred times the learning rate: on the left with ten seeds, on the right in ten other
# *towns*: other people with the same habits.

# %%
fast = curves("city", "fast bias")
others = curves("other people", "fast bias")

# %% tags=["hide-input"]
# @title Figure 12.4: the same people, other people
panels = {"One town, ten seeds": fast, "Ten towns": others}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (name, table) in zip(axes, panels.items(), strict=True):
    plots.position_bias(table, axes=ax)
    ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none", ms=4)
    ax.set_title(name)
show(
    fig,
    alt="Two panels of fast biases. In one town the ten curves share some "
    "hills and troughs; in ten towns only the first two positions agree.",
    caption="The fast bias: other seeds, other people. Thin: one run; thick: "
    "their mean. Diamonds: the truth.",
)

# %% [markdown]
# On the left the seeds agree about some hills and troughs. Would other people show them? Take the mean correlation of two
# curves: over all positions, and without the newest two, which show other habits. (People seldom stay, and they go back
# where they came from.) And do the towns' curves fall from position 3 on, as the diamonds do?


# %%
def agreement(table, first):
    """Mean correlation of two curves from a position on, all pairs."""
    found = np.corrcoef(table[:, first - 1 :])
    return found[np.triu_indices(len(table), 1)].mean()


rows = {"all": 1, "from 3 on": 3}
found = {name: [agreement(table, first) for first in rows.values()]
         for name, table in panels.items()}  # fmt: skip
tilt = np.polyfit(range(3, 16), others[:, 2:].T, 1)[0]  # a slope a town
half = 2.26 * tilt.std(ddof=1) / np.sqrt(10)  # t, nine degrees of freedom
low, high = tilt.mean() - half, tilt.mean() + half
true_tilt = np.polyfit(range(3, 16), truth[2:], 1)[0]
print(f"slope of the towns: {low:+.3f} to {high:+.3f} a step, 95 %")
seeds, towns = (pair[1] for pair in found.values())
pd.DataFrame(found, rows).rename_axis("positions").round(2)

# %% [markdown]
# From position 3 on, {{ seeds:.2f }} is a moderate agreement, {{ towns:.2f }} is none. The seeds agreed on what these
# particular people happened to do; the towns share the newest two positions only. (We left these out *after* we had seen
# them.) The slope of the towns may be zero. That of the diamonds, {{ true_tilt:.3f }}, is outside, but a weaker one is
# not, and fewer than half of the targets are returns. So not even ten towns show how people forget.
#
# > **Pitfall.** Ten seeds are not ten samples of people. A spread over seeds says nothing about the next data set.
#
# ## A world in which the answer is known
#
# In the simplest world people only copy: they go where they were $p$ visits ago with a probability $\kappa_p$ that fades by a
# fifth with every step. The right scores are $\log \kappa_p$, a straight line with the slope $\log 0.8 = -0.223$. The bias
# can be that line, or the content, by a position embedding. We trained the bias alone, and then both: the bias learned at a
# tenth of the learning rate (slow), at the same, or at ten times the rate (fast; here ten is enough).

# %% tags=["hide-input"]
# @title Table: slopes of bias, content and sum
variants = {
    "bias alone": "bias only",
    "both, slow bias": "both, bias at a tenth",
    "both, equal bias": "both",
    "both, fast bias": "both, bias tenfold",
}
slopes = pd.DataFrame(index=list(variants))
for name in ("bias", "content"):
    mean = [
        curves("fading kernel", variant, name[0], upto=20).mean(0)
        for variant in variants.values()
    ]
    slopes[name] = np.polyfit(range(20), np.transpose(mean), 1)[0]
slopes["sum"] = slopes.bias + slopes.content
slopes.round(2) + 0.0

# %% [markdown]
# In all four the sum has nearly the right slope. The bias has all of it, a part, or next to nothing, as the optimizer was
# set. **From the bias alone you cannot know which row you are in.**
#
# ## Read the sum
#
# Does the sum of bias and content show recency? Two variants of our town differ from it in one number: in *short memory* the
# part that fades shrinks by a fifth with each visit since; in *no recency* all remembered visits count alike. How far do the
# curves fall, from the newest five positions to the oldest five?


# %% tags=["hide-input"]
# @title Table: how far curves fall, and how far the sum differs by seed
def fall(table):
    """(models,) mean of the newest five positions minus the oldest five."""
    return (table[:, :5] - table[:, -5:]).mean(1)


decays = {"city": decay}
decays |= {"short memory": 0.8, "no recency": 1.0}
falls = {}
for what, rate in decays.items():
    bias, content = (fall(curves(what, "as documented", x)) for x in "bc")
    parts = {"bias": bias, "content": content, "sum": bias + content}
    falls[what] = {name: part.mean() for name, part in parts.items()}
    falls[what]["± by seed"] = parts["sum"].std(ddof=1)
    falls[what]["truth"] = fall(log_weight(rate)[None])[0]
falls = pd.DataFrame(falls).T.rename({"city": "our town"}).round(2) + 0.0
falls.map("{:.2f}".format)

# %% [markdown]
# With the short memory the bias hardly falls. The sum shows that strong recency, at about half its size: it covers *all*
# targets, and fewer than half are returns. Weak recency such as our town's is lost in the spread over seeds.
#
# Below is the shipped model's pointer alone, also in its probabilities. Dots are the content of each visit; sticks, nearly
# invisible at ×1, are its bias. Multiply the bias: when does it begin to matter?

# %%
playground(small="bias")

# %% [markdown]
# ## What to remember
#
# - Bias and content can exchange what both can say about positions, equation (12.1). Only their sum is identified: report it,
#   and compare it between worlds.
# - Before reading a parameter's curve, ask what pulls at it, and what else can say the same.
# - A flat bias does not exclude recency, and a steep one does not prove it.
# - Spread over seeds is not spread over people.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8 = 0.223$ with each step back, and content says nothing. After how many
# steps back has attention halved? And how many times the attention of position 15 does position 1 get?

# %% tags=["try"]
half, factor = ..., ...
check.exercise("12.1", [half, factor])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = np.log(0.5) / np.log(0.8)  # 0.8 ** half is one half
factor = 1 / 0.8**14  # fourteen steps from position 1 to position 15
check.exercise("12.1", [half, factor])

# %% [markdown]
# **Exercise 2** (medium). A bias is added to the score, so the loss has the same slope along both: that of equation (7.5),
# the last exercise of [chapter 7](07_pointer.ipynb), times $r$. For visit $i$ at position $p$,
#
# $$
# \frac{\partial(-\log P(\ell^*))}{\partial b_p} = r\,(a_i - r_i) ,
# \qquad r = \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)} . \tag{12.2}
# $$
#
# $a_i$ is the visit's attention, $r_i$ its share of the answer, and $r$ belongs to the window. Write this for one window,
# without autograd. `hit` marks the visits to the true place, and `generated` is its probability by the generator. (Mind 0/0
# if nothing is marked.)


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
# **Exercise 3** (longer). You have one town only. Which part of the fast bias's curve would other people show? Divide the
# people into two random halves. On the windows of each, train a new model with a fast bias
# (`position_bias.faster_bias(model, 100)`) for three epochs, and correlate the curves, over all positions and from 3 on.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
from dataclasses import replace

from pgt.train import fit

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
# The halves share the newest two positions, which other people may show, too.
# From position 3 on they do not agree: that is these people, or this run.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
