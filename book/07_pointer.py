# %% [markdown]
# # The pointer
#
# How can a model name a place that its training never showed? It points.
#
# *You will be able to* build the part that copies: score past visits against the present one, turn scores into
# weights, and add the weights up per place. *You need* [Windows](03_windows.ipynb) and the encoder's output from
# [Position and encoder](06_position_and_encoder.ipynb). *It takes* twenty minutes to read and a minute to run; a GPU
# makes no difference.
#
# > **In one sentence.** The pointer gives every visit of the window a weight and adds the weights up per place, so it can name
# > places that training never showed, and is right about {{ named:.0f }} % of those in the window, where a softmax over
# > places is never right, and counting is right about {{ counted_new:.0f }} %.

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
# @title Imports
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, GENERATED, MUTED, show
from wherenext.results import read_results
from wherenext.walkthrough import story

from pgt.baselines import ContextKernel, MostFrequent
from pgt.checkpoint import load_model, shipped
from pgt.look import look
from pgt.metrics import evaluate, gains, percentile_interval, resampled_means
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")  # every place has its own id
vocabulary, test = data.vocabulary, data.test
model, _ = load_model(shipped("city"))  # trained on this town
V, D = vocabulary.n_locations, model.config.d_model
names = dict(zip(town.places.location_id, town.places.name, strict=True))
shared = story(test)  # the window that the chapters of this part share

# %% tags=["hide-input"]
# @title Figure 7.1: the parts of this chapter
from wherenext.architecture import architecture

caption = "You are here: past visits are weighed and copied."
architecture("context", "pointer", "bias", "copies", caption=caption)

# %% [markdown]
# ## What a softmax over places cannot do
#
# The usual way to predict one of many things is to give each a score and take a softmax. Every place owns a row of
# weights. Training pulls its score up when the place is the **target**, where the person goes next, and down a little
# otherwise. A place that training never shows has a row, too, but no target ever pulls its score up. How often does that
# matter?

# %%
known = vocabulary.is_known(test.targets)
unseen = 100 * (~known).mean()  # % of all targets
in_sight = 100 * test.in_window[~known].mean()  # % of those

# %% [markdown]
# **{{ unseen:.0f }} %** of the test targets are places that training never saw. Of these, **{{ in_sight:.0f }} %** are
# in the window, in plain sight: the person has found a new bakery, and goes there again. The bakery need not be *known*.
# It need only be *pointed at*.
#
# That is the idea of pointer networks ([Vinyals et al., 2015](https://arxiv.org/abs/1506.03134)): the answer is a
# *position in the input*. Text summarisers copy names with it
# ([Gu et al., 2016](https://arxiv.org/abs/1603.06393); [See et al., 2017](https://arxiv.org/abs/1704.04368)). We copy places.
#
# ## The question and the visits
#
# The encoder has turned each visit into a vector of $D$ numbers. The vector of the *last* visit has looked at all
# others. It stands for "here and now" and is called the **context** $c$. We take the story window, which most chapters of this
# part follow, and seven others. Some are longer, so ours gets padding.

# %%
batch = test.batch([shared, *range(7)])  # B = 8, the story window first
B, L = batch.location.shape
with torch.no_grad():
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
context = encoded[torch.arange(B), batch.length - 1]  # (B, D) last visit

# %% [markdown]
# The context becomes a query, "which of you comes next?", and each visit has a key by which it is found. Let $x_i$ be the
# encoder's vector of visit $i$, a row of `encoded`. Two linear maps make **query** and **keys**; the score of visit $i$ is
# their scaled dot product:
#
# $$
# q = W_q c + b_q, \qquad k_i = W_k x_i + b_k, \qquad s_i = \frac{q \cdot k_i}{\sqrt{D}} . \tag{7.1}
# $$
#
# There are two maps because asking and being found are different things: with one map for both, the last visit would tend
# to match itself best. The division by $\sqrt D$ keeps scores at the same size whatever the width of the model
# ([chapter 6](06_position_and_encoder.ipynb)). This is one head of attention, so its width is $D$, and it has no values: where
# attention mixes *vectors*, the pointer returns the *weights themselves*. (Vectors are columns in the equation and rows in the
# code.)

# %%
w = model.pointer.state_dict()  # the trained numbers
query = context @ w["query.weight"].T + w["query.bias"]  # (B, D)
keys = encoded @ w["key.weight"].T + w["key.bias"]  # (B, L, D)
scores = (keys @ query[:, :, None]).squeeze(-1) / math.sqrt(D)  # (B, L)
print(scores[0, : batch.length[0]])  # of the story window, oldest first

# %% [markdown]
# ## A bias for each position
#
# Recent visits may matter more. So each position from the end has a learned number, the **position bias** $b_p$,
# added to the score: $p = 1$ is the last visit, $p = 2$ the one before. A softmax over the visits makes the weights,
#
# $$
# a_i = \frac{e^{s_i + b_{p_i}}}{\sum_j e^{s_j + b_{p_j}}} . \tag{7.2}
# $$
#
# Padding must get no weight. Its score becomes $-\infty$ *before* the softmax.


# %%
def weigh(s, padding):
    """(B, L) scores -> (B, L) weights that add up to one, 0 at padding."""
    return s.masked_fill(padding, -math.inf).softmax(1)


position = (batch.length[:, None] - torch.arange(L)).clamp(min=0)  # (B, L)
bias = w["position_bias"]  # one entry a position; entry 0 is padding's
a = weigh(scores + bias[position], batch.padding)  # (B, L)
n = int(batch.length[0])  # visits of the story window; then padding
# Wrong, without the mask:
leak = 100 * (scores + bias[position]).softmax(1)[0, n:].sum().item()

# %% [markdown]
# > **Pitfall.** Without the mask nothing crashes, and the weights still add up to one. But a padding column gets a score
# > like any other, and even a score of 0 means $e^0 = 1$, not zero weight. In the story window {{ leak:.0f }} % of the
# > weight would leak to padding, and how much depends on which *other* windows share the batch.
#
# Only differences between biases count. A constant $C$ added to all of them cancels:
#
# $$
# \operatorname{softmax}(s + b + C) = \operatorname{softmax}(s + b). \tag{7.3}
# $$
#
# So their common height is not **identifiable**. What do differences do? Make a bias up: each step back costs 0.1 of score.

# %%
slope = 0.1  # @param {type:"slider", min:0, max:0.5, step:0.05}
steep = -slope * torch.arange(len(bias))  # each step back costs `slope`
biases = {"no bias": 0 * bias, "the trained bias": bias, "made up": steep}
bars = pd.DataFrame(index=pd.RangeIndex(n, 0, -1, name="position"))
for name, b in biases.items():
    bars[name] = weigh(scores + b[position], batch.padding)[0, :n]
shift = (bars["the trained bias"] - bars["no bias"]).abs().max()

# %% tags=["hide-input"]
# @title Figure 7.2: the same scores under three biases
ax = bars.plot.bar(rot=0, width=0.8, figsize=(7.2, 2.4))
ax.set_ylabel("attention $a_i$")
alt = "Three bars for each visit. Only those of the made-up bias differ."
show(ax.figure, alt=alt, caption="Three biases; position 1: the last visit.")

# %% [markdown]
# The first two bars of each visit differ by at most {{ shift:.3f }}. So the *trained* bias does next to nothing here:
# what the pointer prefers comes from queries and keys. [Chapter 12](12_position_bias.ipynb) asks why. In a notebook, move the
# slope's slider to its end and run both cells again: old visits fade.
#
# ## From visits to places
#
# We have a weight per *visit* and want a probability per *place*. Let $l_i$ be the place of visit $i$. A place $\ell$
# collects the weights of all its visits:
#
# $$
# P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i . \tag{7.4}
# $$
#
# This is a **scatter**. Here it is as a loop, and then as one call for the whole batch. (Padding has id 0. The mask made its
# weight zero, so "place" 0 stays empty.)

# %%
looped = torch.zeros(B, V)
for row in range(B):
    for visit in range(int(batch.length[row])):
        looped[row, batch.location[row, visit]] += a[row, visit]

scattered = torch.zeros(B, V).scatter_add(1, batch.location, a)  # (B, V)
assert torch.allclose(looped, scattered, atol=1e-7)

# %% [markdown]
# Adding up has a consequence that is easy to miss: **many small weights can beat one large weight.** How often do the
# largest sum and the largest single weight belong to different places? `pointed = point(model)` is a table with a row for
# each test window. Two of its columns are those places, *largest sum* and *largest weight*.


# %%
@torch.no_grad()
def point(model):
    """A row a window: two places, and two shares of the target."""
    found = []
    for b in test.batches(512):
        a = model(b).pointer_attention  # (B, L)
        p = torch.zeros(len(b), V).scatter_add(1, b.location, a)
        target, largest = b.target[:, None], a.argmax(1, keepdim=True)
        row = {"largest sum": p.argmax(1)}
        row["largest weight"] = b.location.gather(1, largest)[:, 0]
        row["pointer's share"] = p.gather(1, target)[:, 0]
        row["share of the visits"] = (b.location == target).sum(1) / b.length
        found.append(pd.DataFrame(row, index=b.index.numpy()))
    return pd.concat(found).sort_index()


# %%
pointed = point(model)  # location ids; shares between 0 and 1
favourites = pointed[["largest sum", "largest weight"]]
right = 100 * favourites.eq(test.targets, axis=0).mean()
differ = 100 * (favourites.nunique(axis=1) > 1).mean()

# %% [markdown]
# In {{ differ:.0f }} % of the windows they differ. The largest sum is right in {{ right["largest sum"]:.1f }} % of all
# windows, the largest weight in {{ right["largest weight"]:.1f }} %. Here is a window where they differ, of the person of the
# story window, some visits earlier.

# %% tags=["hide-input"]
# @title Figure 7.3: small weights add up
blocks = look(model, test, 11).visits  # the weights of test window 11
blocks["place"] = blocks.location_id.map(names)
by_place = blocks.groupby("place").attention
blocks["block"] = by_place.rank(ascending=False, method="first")
wide = blocks.pivot(index="place", columns="block", values="attention")
wide = wide.loc[by_place.sum().sort_values().index]  # the largest on top
look_of = {"color": COPIED, "edgecolor": "white", "legend": False}
ax = wide.plot.barh(stacked=True, width=0.8, figsize=(7.0, 2.3), **look_of)
ax.set(xlabel="pointer probability $P_{ptr}$; one block a visit", ylabel="")
alt = "Bars made of blocks, one bar a place and one block a visit."
show(ax.figure, alt=alt, caption="The trained weights, added up per place.")

# %% [markdown]
# Indigo Wine Cellar, visited once, has the longest block of all. The four blocks of 46 Alder Walk are shorter. But together
# they reach more than twice as far, and that is where the person went.
#
# Now it is your turn, with the story window. A disc's *area* is the sum for its place. Delete a visit, change its hour, or
# add one by clicking a place: the same trained pointer answers.

# %%
from wherenext.live import playground

playground(small="pointer", window=shared)

# %% [markdown]
# ## A pointer that has learned nothing
#
# What does the pointer do *before* training? All position biases are 0, and embeddings, encoder, query and key are random,
# the last two with small numbers. So the weights of two visits differ by a modest factor, while a window may show one place
# once and another nine times. Adding up nearly equal weights is nearly counting. Two more columns of `point`'s table show
# it: the probability that the pointer gives to the target (*pointer's share*) and the target's *share of the visits*.

# %%
torch.manual_seed(0)  # another seed gives a little more or less
newborn = point(PointerGeneratorTransformer(model.config).eval())  # as above
newborn_right = 100 * (newborn["largest sum"] == test.targets).mean()

# %% tags=["hide-input"]
# @title Figure 7.4: random weights, and yet the pointer counts
inside = newborn[test.in_window]
correlation = inside["share of the visits"].corr(inside["pointer's share"])
ax = plt.figure(figsize=(4.4, 2.9)).gca()
axes_of = {"x": "share of the visits", "y": "pointer's share", "bins": 40}
key = {"cbar": True, "cbar_kws": {"label": "windows"}}
sns.histplot(inside, **axes_of, **key, color=COPIED, ax=ax)
ax.axline((0, 0), slope=1, color=MUTED, lw=1, ls="--")
ax.set_aspect("equal")
alt = "Share of visits against the untrained pointer's share: a diagonal."
caption = "Windows with their target in sight. Dashed: exactly counting."
show(ax.figure, alt=alt, caption=caption)

# %% [markdown]
# The correlation is {{ correlation:.2f }}. So compare a trained pointer with the counting rule, not with zero. We do so below,
# as soon as we have one of our own.
#
# ## The whole part, and the package's
#
# Here is everything above in one module. `batch.position_from_end` is `position`, computed as above. The cell after it loads
# the trained weights, and stops with an error if the two differ by more than a millionth.


# %%
class MyPointer(nn.Module):
    def __init__(self, d, max_len):
        super().__init__()
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(max_len + 1))

    def forward(self, encoded, batch):
        """-> weights of visits (B, L), probabilities of places (B, V)."""
        context = encoded[torch.arange(len(batch)), batch.length - 1]
        q, k = self.query(context), self.key(encoded)  # (B, D), (B, L, D)
        s = (k @ q[:, :, None]).squeeze(-1) / math.sqrt(q.shape[1])  # (B, L)
        s = s + self.position_bias[batch.position_from_end]
        a = weigh(s, batch.padding)
        return a, torch.zeros(len(a), V).scatter_add(1, batch.location, a)


# %%
many = test.batch(np.arange(0, len(test), 12))
mine = MyPointer(D, model.config.max_len)
mine.load_state_dict(model.pointer.state_dict())
with torch.no_grad():
    x, _ = model.encoder(model.embeddings(many), many.padding)
    a, p = mine(x, many)
    package = model(many)
equal = {"rtol": 0, "atol": 1e-6}
torch.testing.assert_close(a, package.pointer_attention, **equal)
torch.testing.assert_close(p, package.pointer_log_probs.exp(), **equal)

# %% [markdown]
# ## Train your own
#
# Now a pointer learns before your eyes, and beside it its rival, a softmax over places. Both stand on the trained encoder,
# which stays as it is, so we run it once. (It learned beside a pointer, and the softmax is not done after our seven epochs. So
# read a lead at known places as a head start, and no verdict: [chapter 14](14_ablations.ipynb) trains whole models.)


# %%
class MySoftmax(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, V)  # a row of weights for each place

    def forward(self, encoded, batch):
        """-> nothing, probabilities of places (B, V)."""
        context = encoded[torch.arange(len(batch)), batch.length - 1]
        return None, self.score(context).softmax(1)


# %%
@torch.no_grad()
def lessons(windows):
    """The encoder's output and the batch, in a random order."""
    found = []
    for b in windows.batches(128, shuffle=np.random.default_rng(0)):
        x, _ = model.encoder(model.embeddings(b), b.padding)
        found.append((x, b))  # (B, L, D)
    return found


# %% [markdown]
# The loss is $-\log P(\ell^*)$, where $\ell^*$ is the target. If the target is not in the window, the pointer gives it the
# probability zero, whatever we train; this is its ceiling. So it learns from the windows that have their target in sight. The
# softmax learns from all.


# %%
def one_epoch(part, adam, pairs):
    """Train once through; -> the mean loss in nats."""
    losses = []
    for x, b in pairs:
        p = part(x, b)[1][torch.arange(len(b)), b.target]  # (B,)
        loss = -p.clamp(min=1e-9).log().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return np.mean(losses)


# %%
@torch.no_grad()
def hits(part, windows, pairs):
    """(W,) 100 where the first guess is right, else 0."""
    found = np.zeros(len(windows))
    for x, b in pairs:
        found[b.index] = part(x, b)[1].argmax(1) == b.target
    return 100 * found


# %% [markdown]
# Before each epoch we ask both about the *validation* windows that have their target in sight, separately for known places
# and for places that training never saw.


# %%
def in_sight_of(windows):
    """Which windows have their target in sight, by the kind of target."""
    met = vocabulary.is_known(windows.targets)
    seen = windows.in_window
    return {"known": met & seen, "never seen": ~met & seen}


torch.manual_seed(0)
valid, in_valid = data.valid, lessons(data.valid)
kinds, history = in_sight_of(valid), []
few = kinds["never seen"].sum()
mine, softmax = MyPointer(D, model.config.max_len), MySoftmax(D)
sighted = data.train.subset(data.train.in_window)

# %%
for part, windows in ((mine, sighted), (softmax, data.train)):
    adam, pairs = torch.optim.Adam(part.parameters(), 1e-3), lessons(windows)
    for epoch in range(7):
        first = hits(part, valid, in_valid)
        row = {kind: first[where].mean() for kind, where in kinds.items()}
        row |= {"part": type(part).__name__, "epoch": epoch}
        history.append(row | {"loss": one_epoch(part, adam, pairs)})

# %% tags=["hide-input"]
# @title Figure 7.5: a pointer and a softmax learn
curves = pd.DataFrame(history)
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.5))
columns = {"loss": "loss while learning (nats)"}
columns |= {kind: f"{kind}: Acc@1 (%)" for kind in kinds}
some_new = kinds["never seen"]
few_people = len(np.unique(valid.users[some_new]))
by_count = evaluate(MostFrequent().fit(data.train), valid)
counted_few = 100 * gains(by_count)["acc@1"][some_new].mean()
styles = {"MyPointer": (COPIED, "o-"), "MySoftmax": (GENERATED, "s--")}
for ax, (column, label) in zip(axes, columns.items(), strict=True):
    for name, own in curves.groupby("part"):
        colour, style = styles[name]
        at = own.epoch + (column == "loss")  # of epoch 1, 2, …
        ax.plot(at, own[column], style, color=colour, label=name, ms=4)
    ax.set(xlabel="epochs", title=label)
    ax.title.set_fontsize(9)
    if column != "loss":
        ax.set_ylim(-2, 75)
axes[0].legend()
show(
    fig,
    alt="Three panels. Both losses fall. Among known places both rise, "
    "and the pointer is far ahead. Among places never seen the pointer does "
    "not rise, and the softmax stays at zero.",
    caption="Seven epochs on the same encoder. Left: the losses, of windows "
    "in sight and of all windows, so not to be compared. Middle and right: "
    "first guesses on validation windows with the target in sight.",
)

# %% [markdown]
# The left and the middle panel show what we hoped for. The right one does not: at new places we see no gain. But it has only
# {{ few }} windows, of {{ few_people }} people, where counting is right in {{ counted_few:.0f }} %, too. So ask the test windows
# before you believe it, and compare within one set of windows only.
#
# Why might it be so? A key is partly made of the place's vector. [Chapter 5](05_embeddings.ipynb) found that every place, known or new, keeps the random vector it started with. Training
# shows the key layer the vectors of known places, over and over, and it learns to score those. The vector of a new place is in
# no lesson.
#
# ## The answer to our question
#
# How can a model name a place that its training never showed? By pointing. And how well? Here are the test windows:
# {{ n_known:,.0f }} have a known target in sight, {{ n_new }} one that training never saw. `gains` says what each window adds to
# Acc@1: 1 if the target is ranked first, 0 if not, and a share of 1 if it ties with others for the first rank.

# %%
kinds, in_test = in_sight_of(test), lessons(test)
n_known, n_new = (where.sum() for where in kinds.values())
first = {"our softmax": hits(softmax, test, in_test)}
first["our pointer"] = hits(mine, test, in_test)
for name, table in {"untrained": newborn, "shipped": pointed}.items():
    first[f"{name} pointer"] = 100 * (table["largest sum"] == test.targets)
counts = MostFrequent().fit(data.train)  # the most visits in the window
chosen = {"base": 0.3, "clock": 0.5, "width": 60}  # in chapter 4
kernel = ContextKernel(**chosen).fit(data.train)
rest = {"counting": counts, "whole model": model, "context kernel": kernel}
for name, ranker in rest.items():
    first[name] = 100 * gains(evaluate(ranker, test))["acc@1"].to_numpy()
first = pd.DataFrame(first)
answer = {kind: first[where].mean() for kind, where in kinds.items()}
pd.DataFrame(answer | {"all targets": first.mean()}).round(1)

# %% [markdown]
# A softmax is right about none of the {{ n_new }} places that training never saw, since their scores were only ever pulled
# down. The shipped pointer is right about {{ named:.0f }} % of them. So pointing can name them. But to point, no learning is
# needed:
#
# Look at the fifth row. **Plain counting is right about {{ counted_new:.0f }} % of them.** For known places learning is a gain
# over counting (none over the kernel's five numbers, in the last row); **for new ones we find none**: the shipped pointer minus counting makes {{ behind:+.1f }} points, and with people resampled
# the 95 % interval goes from {{ behind_low:+.1f }} to {{ behind_high:+.1f }}. It is wide, because few people have such
# windows.
#
# And other seeds? Five whole models, in the results file of the town, name {{ seeds_new:.0f }} % of these places first, and
# five without a pointer {{ without_new:.0f }} %.
#
# Over all targets, the last column, the trained pointer alone is right as often as the whole model, whose first guess is nearly
# always the pointer's. The kernel of [chapter 4](04_baselines.ipynb) is ahead of both.

# %% tags=["hide-input"]
# @title Numbers: the interval, and five seeds
new = kinds["never seen"]
named, counted_new = first[new][["shipped pointer", "counting"]].mean()
behind = (first["shipped pointer"] - first["counting"])[new].to_numpy()
drawn = resampled_means([behind], test.users[new])
(behind_low, behind_high), behind = percentile_interval(drawn), behind.mean()


def of_new(variant):
    """The mean over seeds of Acc@1 on targets never seen, but in sight."""
    of_seeds = []
    for run in read_results("city").ranks(model="pgt", variant=variant):
        new = ~run.known & run.in_window
        of_seeds.append(100 * gains(run)["acc@1"][new].mean())
    return np.mean(of_seeds)


seeds_new, without_new = of_new("full"), of_new("no_pointer")

# %% [markdown]
# What the pointer gains by learning, it gains at places it knows. Targets out of the window it cannot name at all; they are
# the generator's job, in [the next chapter](08_generator_and_gate.ipynb). A pointer that tells *why* a visit deserves a copy,
# whatever its place is called, comes in [chapter 20](20_contextual_pointer.ipynb).
#
# %% [markdown]
# ## What to remember
#
# - To be pointed at, a place only needs to be *in the window*; that is also the pointer's ceiling. Of targets that
#   training never saw and that are in the window, the pointer names {{ named:.0f }} % first, and a softmax over places none.
# - Counting names {{ counted_new:.0f }} % of them. Training helps the pointer with known places; for new ones we find no
#   gain.
# - A visit's score is the scaled dot product of the last visit's query with its key, plus a bias of which only
#   differences count. Mask *before* the softmax.
# - Add up per place: many small weights can beat one large weight.
# - An untrained pointer nearly counts, so training starts near "most frequent place", and is to be compared with it.
#
# ## Exercises
#
# **Exercise 1** (quick). A window holds the places 4, 2, 4, 3 and then one column of padding, with scores $\log 3$,
# $\log 5$, $\log 3$, 0 and (at the padding) 7. Compute $P_\text{ptr}$ for places 0 to 4 on paper. Which place wins,
# and which has the largest single weight?

# %% tags=["try"]
answer = [..., ..., ..., ..., ...]  # of places 0, 1, 2, 3, 4
check.exercise("7.1", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answer = [0, 0, 5 / 12, 1 / 12, (3 + 3) / 12]  # the 7 must not count
s = torch.tensor([[math.log(3), math.log(5), math.log(3), 0, 7]])
weights = weigh(s, torch.tensor([[False] * 4 + [True]]))
by_code = torch.zeros(5)
by_code = by_code.scatter_add(0, torch.tensor([4, 2, 4, 3, 0]), weights[0])
check.same(answer, by_code, name="P_ptr")
check.exercise("7.1", answer)
# The visit to place 2 has the largest weight, and place 4 wins.

# %% [markdown]
# **Exercise 2** (medium). Divide the pointer's scores by a *temperature* $T$ before the softmax. Compute $P_\text{ptr}$ for the
# eight windows of `batch` at $T = 10^9$, with `scores`, `bias[position]`, `weigh` and `scatter_add` as in this chapter. Which
# baseline have you got?

# %% tags=["try"]
hot = ...  # (B, V)
shares = (~batch.padding) / batch.length[:, None]  # each visit the same
counted = torch.zeros(B, V).scatter_add(1, batch.location, shares)
check.same(hot, counted, name="infinite temperature")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
weights = weigh((scores + bias[position]) / 1e9, batch.padding)
hot = torch.zeros(B, V).scatter_add(1, batch.location, weights)
check.same(hot, counted, name="infinite temperature")
# Counting. A small temperature does the opposite: it trusts one large weight,
# and loses what adding up gives.

# %% [markdown]
# **Exercise 3** (longer). Show that for the loss $-\log P_\text{ptr}(\ell^*)$ with the target $\ell^*$ in the window
#
# $$
# \frac{\partial \mathcal{L}}{\partial s_i} = a_i - r_i, \qquad
# r_i = \frac{a_i\,[\,l_i = \ell^*\,]}{P_\text{ptr}(\ell^*)}, \tag{7.5}
# $$
#
# (the bracket is 1 if the statement in it holds, else 0) and check it against autograd. What happens to two visits of
# the target's place, one with a large weight and one with a small one?

# %% tags=["try"]
b = test.batch(np.flatnonzero(test.in_window)[:200])
s = model(b).pointer_attention.detach().log()  # (B, L), as good as scores
weight = weigh(s.requires_grad_(), b.padding)  # a
hit = b.location == b.target[:, None]  # the bracket
(weight * hit).sum(1).log().sum().neg().backward()  # from the loss
gradient = ...  # by equation (7.5), from `weight.detach()` and `hit`
check.same(gradient, s.grad, name="the gradient", atol=1e-5)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# log P_ptr(l*) = logsumexp of the s_i of its visits - logsumexp of all s_i;
# each derivative is a softmax.
a = weight.detach()
gradient = a - a * hit / (a * hit).sum(1, keepdim=True)
check.same(gradient, s.grad, name="the gradient", atol=1e-5)
# Both are pulled up, in proportion to what they have already: the rich get
# richer. The loss does not care *which* visit carries the place, so a
# high weight of one visit may be an accident of training.

# %% [markdown]
# **Next:** [The generator and the gate](08_generator_and_gate.ipynb), for the targets that cannot be pointed at.
