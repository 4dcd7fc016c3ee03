# %% [markdown]
# # What the position bias learns
#
# The pointer has a number for each age of a visit. Does it tell how fast people forget?
#
# *You will be able to* read a learned curve without being fooled: ask what else in the model can say the same, and whether
# other people would show it. *You need* [The pointer](07_pointer.ipynb). *It takes* a quarter of an hour to read and about
# twenty seconds to run, with or without a GPU.
#
# > **In one sentence.** The position bias does not show how fast people forget: the rest of the model can say nearly the same
# > in its place, and even by the sum of the two, ten towns cannot tell slow forgetting from none.

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
# The pointer has one number for each position from the end, the position bias $b_p$. Visit $i$ gets the score
# $s_i + b_{p_i}$, equation (7.2), and a softmax turns scores into attention. The **content** $s_i$ is what query and key say
# about the visit; the bias is what its position says.
#
# So train the model, draw $b_p$ from the last visit backwards, and read off how fast people forget? In the simulated town
# we can check this reading, because we know the rule by which its people choose.

# %% tags=["hide-input"]
# @title Imports
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

# %%
town = city.load()
model, known = load_model(shipped("city"))
data = prepare(town.visits, protocol="exact", vocabulary=known)

# %% [markdown]
# ## Ten curves, nearly flat
#
# Ten models were trained on the town, with ten seeds. We look at the bias of each at the newest fifteen positions; 1 is the
# last visit.

# %%
files = [read_results(f"position_bias{end}") for end in ("", "_towns")]
trained = pd.concat([file.rows for file in files])


def curves(what, variant, letter="b", upto=15):
    """(models, upto) the bias (b) or the mean content (c)."""
    rows = trained.query("what == @what and variant == @variant")
    return rows[[f"{letter}{p}" for p in range(1, upto + 1)]].to_numpy()


learned = curves("city", "as documented")  # trained as usual

# %% [markdown]
# And the truth? A person who *returns* chooses freely among known places. There every past visit has a weight. With each
# visit since, it fades to $0.97$ of what it was, but for a small part that stays.
#
# Attention is made of $e^{s+b} = e^s e^b$. So if the content said nothing about age, the bias would be the logarithm of this
# weight. Only differences of scores matter, so all our curves have a mean of zero.


# %%
decay, always = town.truth["recency_decay"], town.truth["always"]


def log_weight(rate, upto=15):
    """(upto,) log of what the visit p steps back counts, with mean zero."""
    log = np.log(rate ** np.arange(upto) + always)  # p = 1, 2, ...
    return log - log.mean()


truth = log_weight(decay)
drop = truth[-1] - truth[0]
oldest = np.exp(drop)  # what visit 15 counts, if the last counts 1
targets = data.train.target[data.train.in_window]
free = 100 * (data.train.visits.why.iloc[targets] == "return").mean()

# %% [markdown]
# This `truth` is drawn as diamonds in Figure 12.1. But only {{ free:.0f }} % of the targets in the window are returns. At the
# others the hour decides: home, work or school. So, as a rough guess, we **expect** {{ free:.0f }} % of the truth: the dashed
# line.

# %% tags=["hide-input"]
# @title Figure 12.1: ten curves, and the truth
fig, ax = plt.subplots(figsize=(6.4, 3.0))
plots.position_bias(learned, axes=ax)
ax.plot(range(1, 16), truth, "D", color=TRUTH, mfc="none")
ax.plot(range(1, 16), free / 100 * truth, "--", color=TRUTH)
ax.text(4.4, 0.14, "truth, for returns", color=TRUTH)
ax.text(12.8, -0.045, "expected", color=TRUTH)
ax.text(9.5, 0.045, "learned, ten seeds and their mean", color=COPIED)
ax.set_xlim(0.5, 16.5)
show(
    fig,
    alt="Ten learned curves near zero. The truth falls steadily from above "
    "them to below them, and the expected line about half as far.",
    caption="The position bias after training, and the logarithm of a past "
    "visit's weight in the town."
)

# %% [markdown]
# In a return, the fifteenth visit from the end counts {{ oldest:.2f }} times as much as the last, and the diamonds drop by the
# logarithm of this, {{ drop:.2f }}. The dashed line drops less. But why do the learned curves not drop at all?
#
# > **Pitfall.** Without the diamonds the axis would zoom in, and the same curves would look lively.
#
# ## Draw a curve of your own
#
# Take a visit whose content says $1.2$ and whose bias says nothing: its score is $1.2 + 0$. With less content and more bias,
# $0.9 + 0.3$, the score is the same. So is the attention, and so is the prediction.
#
# The content can make such an exchange, because it knows the position, too: the position embedding, the sinusoid and "days
# ago" are all in the encoded visit. In general, let $\xi_p$ be any curve over positions:
#
# $$
# s_i + b_{p_i} = (s_i + \xi_{p_i}) + (b_{p_i} - \xi_{p_i}) . \tag{12.1}
# $$
#
# What the bias loses, the content gains. If the content can say $\xi_p$, no prediction changes.
#
# And the sum? It is the logarithm of the attention, up to a constant. So the attention determines the sum, but not its two
# parts. The sum is **identifiable**, the bias is not.
#
# We replace the trained model's bias by a straight line. A slope above zero says that people prefer what is long past.
# **Change this** slope.

# %%
slope = 0.10  # @param {type:"slider", min:-0.2, max:0.2, step:0.05}
drawn = copy.deepcopy(model)
with torch.no_grad():
    age = torch.arange(1.0, model.config.max_len + 1)
    drawn.pointer.position_bias[1:] = slope * age  # 0 is padding's


# %% [markdown]
# Then we train only query and key, to restore the attention that the model had before. We measure what share of the attention
# has moved to other visits. If $(0.6, 0.4)$ has become $(0.5, 0.5)$, it is a tenth.


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

# %% [markdown]
# Now we look at the two parts by position. A position has one bias, but every visit there has a content of its own, so we
# take the mean content. (Only test windows of at least fifteen visits count: the same ones at every position.) The sum is
# identifiable at each visit, so its mean is, too.

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
axes[0].get_legend().remove()
sns.move_legend(axes[1], "center left", bbox_to_anchor=(1, 0.5))
axes[0].set_ylabel("logits")
show(
    fig,
    alt="As trained the bias is flat; drawn and adapted it is a straight "
    "line, the content does the opposite, and the sums are alike.",
    caption="The bias, the mean content of the visits at a position, and "
    "their sum, which on the left hides the content.",
)

# %% [markdown]
# On the left the content has nearly all the shape. Its start is not about forgetting: people seldom stay where they are, so
# position 1 is low. They go out and come home again (home, work, home), so position 2 is high.
#
# On the right the content does the opposite of your line, so the sum is about as before. Query and key have undone most of
# what the line did, but not all. Whoever sees only this bias concludes that people prefer the distant past.
#
# ## A world in which the answer is known
#
# We drew that line by hand. When bias and content are both trained, which one learns what is true? Take a world with nothing
# else to learn: people only copy. They go where they were $p$ visits ago with a probability $\kappa_p$ that shrinks by a
# fifth with every step back. The right scores are $\log \kappa_p$, a straight line with the slope $\log 0.8 = -0.223$.
#
# We trained small models in four ways, ten seeds each. In the first only the bias can tell positions apart. In the other three
# the content can, too, by a position embedding; the bias learns slower than the rest, as fast, or faster.

# %% tags=["hide-input"]
# @title Table: slopes of bias, content and sum
variants = {
    "bias alone": "bias only",
    "both; bias at a tenth of the rate": "both, bias at a tenth",
    "both; the same rate": "both",
    "both; bias at ten times the rate": "both, bias tenfold",
}
slopes = pd.DataFrame(index=list(variants))
for name in ("bias", "content"):
    mean = [
        curves("fading kernel", variant, name[0], upto=20).mean(0)
        for variant in variants.values()
    ]
    slopes[name] = np.polyfit(range(20), np.transpose(mean), 1)[0]
slopes["sum"] = slopes.bias + slopes.content
slopes["true"] = np.log(0.8)
slopes.rename_axis("slope of", axis=1).round(2) + 0.0

# %% [markdown]
# Compare the last two columns: in all four rows the sum is nearly right. Then look at the bias. It has all of the slope, a
# part, or next to nothing, as the optimizer was set. **From the bias alone you cannot know which row you are in.**
#
# This may be one reason why the town's bias stayed flat. In one step AdamW moves each number by about the learning rate. A
# position has one bias, but query and key have many numbers, which together move a score faster. Once they have said what
# there is to say, nothing pulls at the bias any more ([Evidence: the model](evidence_model.ipynb) measures the pull).
#
# ## Read the sum
#
# The bias cannot show how fast people forget. Does the sum? The **fall** of a curve is its mean at positions
# 1 to 5 minus its mean at positions 11 to 15. (The low position 1 and the high position 2 nearly cancel in it.)
#
# Two more worlds differ from our town in one number, and in their people. In *short memory* the weight of a past visit fades
# to $0.8$ with each visit since, not to $0.97$. In *no recency* it does not fade. As before, we expect {{ free:.0f }} % of the
# truth's fall (the share of our town).

# %% tags=["hide-input"]
# @title Table: falls in three worlds
def summed(what, variant):
    """(models, 15) bias plus mean content."""
    return curves(what, variant) + curves(what, variant, "c")


def fall(table):
    """(models,) mean of positions 1 to 5 minus mean of 11 to 15."""
    return (table[:, :5] - table[:, -5:]).mean(1)


rows = {"short memory, 3 towns": ("short memory", 0.8)}
rows["our town, 10 seeds"] = "city", decay
rows["no recency, 3 towns"] = "no recency", 1
falls = pd.DataFrame(index=["expected", "bias", "sum"])
for name, (what, rate) in rows.items():
    both = [of(what, "as documented") for of in (curves, summed)]
    expected = free / 100 * log_weight(rate)[None]
    falls[name] = [fall(x).mean() for x in (expected, *both)]
due = falls["our town, 10 seeds"]["expected"]
falls = falls.T.round(2) + 0.0
falls.rename_axis("mean fall", axis=1).map("{:.2f}".format)

# %% [markdown]
# With a short memory the sum falls about as expected: it shows strong forgetting. Without recency it does not fall, in these
# three towns. The bias is nearly flat in all three rows, however much there is to learn.
#
# Our town forgets slowly, so we expect a fall of only {{ due:.2f }}. The sum falls by less. Does it miss slow forgetting, or
# is that chance? Ten seeds cannot tell, for they are ten times the same people.
#
# ## Other people
#
# So ten more models were trained, each in another *town*: other people with the same habits. These runs were made to see the
# bias itself learn a shape, so it learned at a hundredfold rate. Another training ends in another model, and so in another
# sum. So we compare them with ten seeds of our town that were trained in this way, too.

# %% tags=["hide-input"]
# @title Figure 12.3: the sum for the same people, and for others
panels = {"One town, ten seeds": "city", "Ten towns": "other people"}
panels = {name: summed(what, "fast bias") for name, what in panels.items()}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (name, table) in zip(axes, panels.items(), strict=True):
    plots.position_bias(table, axes=ax)
    ax.plot(range(1, 16), free / 100 * truth, "--", color=TRUTH)
    ax.set(title=name, xlabel="position from the end", ylabel="sum (logits)")
axes[1].set_ylabel("")
show(
    fig,
    alt="Two panels of sums. In one town the ten curves share some hills "
    "and troughs; in ten towns only the first two positions agree.",
    caption="Bias + mean content. Thin: one model each; thick: their mean; "
    "dashed: what we expect, as in Figure 12.1.",
)

# %% [markdown]
# Both panels begin low and then high, as in Figure 12.2. From position 3 on, the seeds on the left share some hills and
# troughs. In ten towns these are mostly gone: they were what our town's people happened to do.
#
# How far do these sums fall? *Low* and *high* are the ends of a 95 % interval of the mean.

# %% tags=["hide-input"]
# @title Table: the mean fall in Figure 12.3, with an interval
found = {}
for name, table in panels.items():
    each = fall(table)  # ten falls
    half = 2.262 * each.std(ddof=1) / len(each) ** 0.5  # Student's t
    found[name] = each.mean(), each.mean() - half, each.mean() + half
pd.DataFrame(found, ["mean fall of the sum", "low", "high"]).T.round(2)

# %% [markdown]
# From the seeds alone we should conclude that the sum does not fall, and surely not by {{ due:.2f }}. But towns differ more
# than seeds: over ten towns the interval is much wider, and holds both zero and {{ due:.2f }}. So even ten towns do not
# tell whether slow forgetting is in the sum.
#
# > **Pitfall.** Ten seeds are not ten samples of people. A spread over seeds does not say what other people would show.
#
# ## What to remember
#
# - Bias and content can exchange what both can say about positions, equation (12.1). Only their sum is identifiable: report
#   it, with a spread over people.
# - Which of the two learns a shape depends on the optimizer. A flat bias does not exclude recency, and a steep one does not
#   prove it.
# - Spread over seeds is not spread over people.
#
# ## Exercises
#
# **Exercise 1** (quick). A bias falls by $-\log 0.8 = 0.223$ with each step back, and content says nothing. After how many
# steps back (a decimal number) has attention halved? And how many times the attention of position 15 does position 1 get?

# %% tags=["try"]
half, factor = ..., ...
check.exercise("12.1", [half, factor])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
half = np.log(0.5) / np.log(0.8)  # 0.8 ** half is one half
factor = 1 / 0.8**14  # fourteen steps from position 1 to position 15
check.exercise("12.1", [half, factor])

# %% [markdown]
# **Exercise 2** (quick, by hand). Here is the pointer of a trained model, alone. Dots are the content of each visit; sticks,
# nearly invisible at ×1, are its bias. By what must you multiply the bias until another place comes first?

# %%
playground(small="bias")

# %% [markdown]
# <details class="solution"><summary>Show solution 2</summary>
#
# In this window, by a hundred. At ×1 the content decides alone.
#
# </details>
#
# **Exercise 3** (longer). You have one town only. Which part of the sum's curve would other people show? Divide the people
# into two random halves. On the windows of each, train a new model for three epochs, with the hundredfold rate for the bias
# (`position_bias.faster_bias(model, 100)`). Correlate the two sums, over all positions and from 3 on.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
from dataclasses import replace

from pgt.train import fit

few = replace(CITY, max_epochs=3, warmup_epochs=1)
size = ModelConfig(known.n_locations, known.n_users)
people = np.random.default_rng(0).permutation(np.unique(data.train.users))
halves = []
for half in (people[::2], people[1::2]):
    torch.manual_seed(0)
    new = PointerGeneratorTransformer(size)
    own = [w.subset(np.isin(w.users, half)) for w in (data.train, data.valid)]
    with position_bias.faster_bias(new, 100):
        fit(new, *own, few, progress=False)
    halves.append(position_bias.by_position(new, data.test, 15).sum(0))
one, two = halves
print(f"all positions: correlation {np.corrcoef(one, two)[0, 1]:.2f}")
print(f"from position 3 on: {np.corrcoef(one[2:], two[2:])[0, 1]:.2f}")
# The halves share the start, low and then high; so would other people.
# Whether the negative number means anything, one pair of curves does not
# tell: with 13 positions, two unrelated curves get as far from zero one time
# in five.

# %% [markdown]
# **Next:** [Attention on maps](13_attention_on_maps.ipynb), where the pointer is put on the map, and to the test.
