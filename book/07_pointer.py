# %% [markdown]
# # The pointer
#
# How can a model name a place that its training never showed? It points.
#
# *You will be able to* build the part that copies: score past visits against the present one, turn scores into
# weights, and add the weights up per place. *You need* [Windows](03_windows.ipynb) and the encoder's output from
# [Position and encoder](06_position_and_encoder.ipynb). *It takes* thirty minutes to read and half a minute to run;
# a GPU makes no difference.
#
# > **In one sentence.** The pointer gives every visit of the window a weight and adds the weights up per place, so it can name
# > places that training never showed: where such a place is in the window, its first guess is right in {{ named:.0f }} % (a
# > softmax over places: in none, plain counting: {{ counted_new:.0f }} %).

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
import torch
from torch import nn
from wherenext import city
from wherenext.architecture import architecture
from wherenext.exercises import check
from wherenext.figures import (
    COPIED,
    EXTRA,
    GENERATED,
    INK,
    MUTED,
    TRUTH,
    show,
)
from wherenext.live import playground
from wherenext.walkthrough import story

from pgt.baselines import MostFrequent
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
print(f"never seen in training: {unseen:.0f} % of the targets")
print(f"of these in the window: {in_sight:.0f} %", end=", ")
new_in_sight = unseen * in_sight / 100
print(f"which is {new_in_sight:.0f} % of all targets")

# %% [markdown]
# **{{ unseen:.0f }} %** of the test targets are places that training never saw. Of these, **{{ in_sight:.0f }} %** are in the
# window, in plain sight ({{ new_in_sight:.0f }} % of all targets): the person has found a new bakery, and goes there again. The
# bakery need not be *known*. It need only be *pointed at*.
#
# That is the idea of pointer networks ([Vinyals et al., 2015](https://arxiv.org/abs/1506.03134)): the answer is a *position in
# the input*. Text summarisers copy names with it ([Gu et al., 2016](https://arxiv.org/abs/1603.06393);
# [See et al., 2017](https://arxiv.org/abs/1704.04368)). We copy places.
#
# ## The question and the visits
#
# The encoder has turned each visit into a vector of $D$ numbers. The vector of the *last* visit has heard of all others through
# attention. It stands for "here and now" and is called the **context** $c$. We take the story window, which most chapters of
# this part follow, and seven others. Some are longer, so ours gets padding.

# %%
batch = test.batch([shared, *range(7)])  # B = 8, the story window first
B, L = batch.location.shape
with torch.no_grad():
    encoded, _ = model.encoder(model.embeddings(batch), batch.padding)
context = encoded[torch.arange(B), batch.length - 1]  # (B, D) last visit

# %% [markdown]
# The context becomes a query, "which of you comes next?", and each visit has a key by which it is found. Let $x_i$ be the
# encoder's vector of visit $i$, a row of `encoded`. Two linear maps make **query** and **keys**; the score of visit $i$ is
# their scaled dot product:
#
# $$
# q = W_q c, \qquad k_i = W_k x_i, \qquad s_i = \frac{q \cdot k_i}{\sqrt{D}} . \tag{7.1}
# $$
#
# There are two maps because asking and being found are different things: with one map for both, the last visit would tend
# to match itself best. The division by $\sqrt D$ keeps scores at the same size whatever the width of the model
# ([chapter 6](06_position_and_encoder.ipynb)). This is one head of attention, so its width is $D$, and it has no values: where
# attention mixes *vectors*, the pointer returns the *weights themselves*. (In the code, vectors are rows, and each map adds an
# offset.)

# %%
w = model.pointer.state_dict()  # the trained numbers
query = context @ w["query.weight"].T + w["query.bias"]  # (B, D)
keys = encoded @ w["key.weight"].T + w["key.bias"]  # (B, L, D)
scores = (keys @ query[:, :, None]).squeeze(-1) / math.sqrt(D)  # (B, L)
n = int(batch.length[0])  # visits of the story window; then padding

# %% tags=["hide-input"]
# @title Table: the visits of the story window, and their scores
visits = test.visits_of(shared)
table = pd.DataFrame({"place": visits.location_id.map(names)})
table["kind"] = visits.kind
table["from"] = visits.started_at.dt.strftime("%a %H:%M")
table["score"] = scores[0, :n].numpy().round(2)
table.set_axis(pd.RangeIndex(n, 0, -1, name="position"))

# %% [markdown]
# The last visit (position 1: positions count from the end) asks. The trained pointer prefers the visits home.
#
# ## A bias for each position
#
# Recent visits may matter more. So each position from the end has a learned number, the **position bias** $b_p$,
# added to the score: $p = 1$ is the last visit, $p = 2$ the one before. With $p_i$ for the position of visit $i$, a softmax over
# the visits makes the weights,
#
# $$
# a_i = \frac{e^{s_i + b_{p_i}}}{\sum_j e^{s_j + b_{p_j}}} . \tag{7.2}
# $$
#
# Padding gets $-\infty$ before the softmax, as in [chapter 6](06_position_and_encoder.ipynb).


# %%
def weigh(s, padding):
    """(B, L) scores -> (B, L) weights that add up to one, 0 at padding."""
    return s.masked_fill(padding, -math.inf).softmax(1)


position = (batch.length[:, None] - torch.arange(L)).clamp(min=0)  # (B, L)
bias = w["position_bias"]  # one entry a position; entry 0 is padding's
a = weigh(scores + bias[position], batch.padding)  # (B, L)

# %% [markdown]
# Only differences between biases count. A constant $C$ added to all of them cancels:
#
# $$
# \operatorname{softmax}(s + b + C) = \operatorname{softmax}(s + b). \tag{7.3}
# $$
#
# Two models that differ only by $C$ predict the same, so no data can reveal $C$: it is not **identifiable**. To see what
# differences do, we make up a bias in which each step back costs 0.1 of score.

# %%
slope = 0.1  # @param {type:"slider", min:0, max:0.5, step:0.05}
steep = -slope * torch.arange(len(bias))  # each step back costs `slope`
biases = {"no bias": 0 * bias, "the trained bias": bias, "made up": steep}
bars = pd.DataFrame(index=pd.RangeIndex(n, 0, -1, name="position"))
for name, each in biases.items():
    bars[name] = weigh(scores + each[position], batch.padding)[0, :n]
shift = (bars["the trained bias"] - bars["no bias"]).abs().max()

# %% tags=["hide-input"]
# @title Figure 7.2: the same scores under three biases
colours = {"color": [MUTED, COPIED, EXTRA]}
ax = bars.plot.bar(rot=0, width=0.8, figsize=(7.2, 2.4), **colours)
labels = [f"{n - k}\n{kind}" for k, kind in enumerate(visits.kind)]
ax.set_xticklabels(labels, fontsize=8)
ax.set(xlabel="position, and kind of place", ylabel="attention $a_i$")
alt = "Three bars for each visit. Only those of the made-up bias differ."
caption = "The trained bias changes next to nothing; the made-up one lifts "
caption += "recent visits."
show(ax.figure, alt=alt, caption=caption)

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
# largest sum and the largest single weight belong to different places? `point` names both places for each test window.
# (The interval draws people anew, as in [chapter 4](04_baselines.ipynb).)


# %%
@torch.no_grad()
def point(model):
    """A row a window: the places of the largest sum and weight."""
    found = []
    for b in test.batches(512):
        a = model(b).pointer_attention  # the package's a, (B, L)
        p = torch.zeros(len(b), V).scatter_add(1, b.location, a)
        row = {"largest sum": p.argmax(1)}
        largest = a.argmax(1, keepdim=True)  # which visit
        row["largest weight"] = b.location.gather(1, largest)[:, 0]
        found.append(pd.DataFrame(row, index=b.index.numpy()))
    return pd.concat(found).sort_index()


# %%
pointed = point(model)  # two location ids a window
correct = 100 * pointed.eq(test.targets, axis=0)
right, differ = correct.mean(), 100 * (pointed.nunique(axis=1) > 1).mean()
better = correct["largest sum"] - correct["largest weight"]
drawn = resampled_means([better], test.users)
sum_low, sum_high = percentile_interval(drawn)
print(f"they differ in {differ:.0f} % of the windows; right, in %:")
print(right.round(1).to_dict())
print(f"difference, 95 % interval: {sum_low:.1f} to {sum_high:.1f} points")

# %% [markdown]
# So this pointer, which was trained to add up, gains by it. Here is a window where the two differ, some visits before the story
# window.

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
at = list(wide.index).index(names[test.target_of(11).location_id])
ax.text(wide.iloc[at].sum() + 0.005, at, "✓", color=TRUTH, va="center")
alt = "Bars made of blocks, one bar a place and one block a visit."
for k, row in enumerate(wide.index[-2:], len(wide) - 2):  # in the text
    text = f"{wide.loc[row].max():.3f}"
    ax.text(0.006, k, text, color="white", va="center", fontsize=8)
caption = "Four weights beat one slightly larger. In white: the place's "
caption += "largest weight. ✓: the target."
show(ax.figure, alt=alt, caption=caption)

# %% [markdown]
# Indigo Wine Cellar, visited once, has the longest block of all. The four blocks of 46 Alder Walk are shorter. But together
# they reach more than twice as far, and that is where the person went.
#
# Now it is your turn, with the story window. A disc's *area* is the sum for its place. Delete a visit, change its hour, or
# add one by clicking a place: the same trained pointer answers.

# %%
playground(small="pointer", window=shared)

# %% [markdown]
# ## A pointer that has learned nothing
#
# What does the pointer do *before* training? All position biases are 0, and embeddings, encoder, query and key are random. But
# a place with many visits collects many weights, whatever they are. How often does it name the most visited place of the window
# (or one of them, in a tie)?


# %%
@torch.no_grad()
def most_visited(guess):
    """% of windows in which the guess is (one of) the most visited."""
    found = []
    for b in test.batches(512):
        visits = (~b.padding).float()  # each counts one, padding nothing
        n = torch.zeros(len(b), V).scatter_add(1, b.location, visits)
        guessed = torch.tensor(guess[b.index.numpy()].to_numpy())  # (B,)
        own = n[torch.arange(len(b)), guessed]
        found.append(own == n.max(1).values)
    return 100 * torch.cat(found).double().mean().item()


torch.manual_seed(0)  # another seed gives a little more or less
untrained = PointerGeneratorTransformer(model.config).eval()
of_untrained = point(untrained)["largest sum"]

# %%
like_counting = most_visited(of_untrained)
trained_like = most_visited(pointed["largest sum"])
print("the pointer names a most visited place of the window,")
print(f"untrained: in {like_counting:.0f} %, trained: {trained_like:.0f} %")

# %% [markdown]
# Before it learns anything, the pointer nearly counts: in {{ like_counting:.0f }} % of the windows it names a most visited
# place. So compare a trained pointer with counting (the *most frequent place* of [chapter 4](04_baselines.ipynb)), not with zero.
#
# ## The whole part, and the package's
#
# Here is everything above in one module. `batch.position_from_end` is `position`, computed as above. The second cell loads the
# trained weights, and stops with an error if the two differ by more than a millionth.


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
        p = torch.zeros(len(a), V)  # V places, as everywhere here
        return a, p.scatter_add(1, batch.location, a)


# %%
many = test.batch(np.arange(0, len(test), 12))
loaded = MyPointer(D, model.config.max_len)
loaded.load_state_dict(model.pointer.state_dict())
with torch.no_grad():
    encoded, _ = model.encoder(model.embeddings(many), many.padding)
    a, p = loaded(encoded, many)
    package = model(many)
equal = {"rtol": 0, "atol": 1e-6}
torch.testing.assert_close(a, package.pointer_attention, **equal)
torch.testing.assert_close(p, package.pointer_log_probs.exp(), **equal)

# %% [markdown]
# ## Train your own
#
# Now a pointer learns before your eyes, and beside it its rival, a softmax over places. Both stand on the trained encoder,
# which stays as it is, so we run it once.


# %%
class MySoftmax(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, V)  # a row of weights for each place

    def forward(self, encoded, batch):
        """-> nothing, probabilities of places (B, V)."""
        context = encoded[torch.arange(len(batch)), batch.length - 1]
        return None, self.score(context).softmax(1)


# %% [markdown]
# To train, we need the encoder's output for each batch, and the loss $-\log P(\ell^*)$, where $\ell^*$ is the target. If the
# target is not in the window, the pointer gives it the probability zero, whatever we train (the copy ceiling). So it learns
# from the windows that have their target in sight. The softmax learns from all.


# %%
@torch.no_grad()
def lessons(windows):
    """The encoder's output, (B, L, D), and the batch, shuffled once."""
    shuffled = windows.batches(128, shuffle=np.random.default_rng(0))
    return [
        (model.encoder(model.embeddings(b), b.padding)[0], b)
        for b in shuffled
    ]


@torch.no_grad()
def hits(part, windows, pairs):
    """(W,) 100 where the first guess is right, else 0."""
    found = np.zeros(len(windows))
    for encoded, b in pairs:
        found[b.index] = part(encoded, b)[1].argmax(1) == b.target
    return 100 * found


# %%
def learn(part, windows, epochs):
    """Train; (epochs + 1, W) what is right on validation."""
    given, asked = lessons(windows), lessons(data.valid)
    adam = torch.optim.Adam(part.parameters(), 1e-3)
    right = [hits(part, data.valid, asked)]  # before the first epoch
    for _ in range(epochs):
        for encoded, b in given:
            p = part(encoded, b)[1][torch.arange(len(b)), b.target]  # (B,)
            loss = -p.log().mean()  # a pointer has no logits of places
            adam.zero_grad()
            loss.backward()
            adam.step()
        right.append(hits(part, data.valid, asked))
    return np.stack(right)


# %% [markdown]
# We score first guesses on the *validation* windows that have a known target in sight. (**Unseen** targets, which training
# never showed, are too few there, {{ few_unseen }} windows; they come from the test windows below.) A row's score is pulled up
# only when its own place is the target, so the softmax gets three times the epochs: 21 against seven.


# %%
def in_sight_of(windows):
    """Which windows have their target in sight, by the kind of target."""
    met = vocabulary.is_known(windows.targets)
    seen = windows.in_window
    return {"known": met & seen, "unseen": ~met & seen}


# %%
torch.manual_seed(0)
mine, softmax = MyPointer(D, model.config.max_len), MySoftmax(D)
sighted = data.train.subset(data.train.in_window)
learned = {"pointer": learn(mine, sighted, 7)}
learned["softmax"] = learn(softmax, data.train, 21)
asked = in_sight_of(data.valid)
rises = {
    name: found[:, asked["known"]].mean(1)  # by epoch
    for name, found in learned.items()
}
for name, rise in rises.items():
    print(f"{name}, known places: {rise[0]:.0f} % before,", end=" ")
    print(f"{rise[-1]:.0f} % after training")
few_unseen = asked["unseen"].sum()

# %% tags=["hide-input"]
# @title Figure 7.4: a pointer and a softmax learn
fig, ax = plt.subplots(figsize=(5.4, 2.5))
looks = {"pointer": (COPIED, "o-"), "softmax": (GENERATED, "s--")}
for name, (colour, style) in looks.items():
    rise = rises[name]
    ax.plot(rise, style, color=colour, ms=4)
    ax.text(len(rise) - 0.5, rise[-1], name, color=colour, va="center")
ax.set(xlabel="epochs", ylabel="Acc@1, known (%)", ylim=(-2, 75))
ax.set(xlim=(-0.5, 25), xticks=range(0, 22, 7))
show(
    fig,
    alt="Two curves that rise and level off. The pointer is far ahead.",
    caption="First guesses on the validation windows with a known target in "
    "sight. The pointer stops after seven epochs.",
)

# %% [markdown]
# The pointer starts near counting, as above. It also has two advantages: the encoder learned beside one, and it chooses among
# the few places in sight, the softmax among {{ V:,.0f }} ids. ([Chapter 14](14_ablations.ipynb) trains whole models.)
#
# ## The answer to our question
#
# How can a model name a place that its training never showed? By pointing. And how well? We compare our softmax, our pointer,
# counting, and the untrained pointer from above, whose encoder is random, too. `gains` says what each window adds to Acc@1: 1
# if the target is ranked first, 0 if not, and a share of 1 if it ties with others for the first rank.


# %%
def gained(ranker):
    """(W,) what each test window adds to Acc@1, in percent."""
    return 100 * gains(evaluate(ranker, test))["acc@1"].to_numpy()


in_test, test_kinds = lessons(test), in_sight_of(test)
first = pd.DataFrame({
    "softmax": hits(softmax, test, in_test),
    "untrained pointer": 100 * of_untrained.eq(test.targets),
    "our pointer": hits(mine, test, in_test),
    "counting": gained(MostFrequent().fit(data.train)),  # it often ties
})

# %% tags=["hide-input"]
# @title Figure 7.5: who names places that training never showed
people_new = len(np.unique(test.users[test_kinds["unseen"]]))
test_kinds["all targets"] = np.ones(len(test), dtype=bool)
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.3), sharey=True, sharex=True)
level, colours = {}, [GENERATED, MUTED, COPIED, EXTRA]
for ax, (kind, where) in zip(axes, test_kinds.items(), strict=True):
    level[kind] = first[where].mean()
    for row, name in enumerate(first):
        means = resampled_means([first[name][where]], test.users[where])
        ax.plot(percentile_interval(means), [row, row], color=INK, lw=1.2)
        ax.plot(level[kind][name], row, "o", color=colours[row])
        text = f"{level[kind][name]:.0f}"
        ax.annotate(text, (level[kind][name], row), (0, 5),
                    textcoords="offset points", ha="center")  # fmt: skip
    ax.set(yticks=range(4), ylim=(3.5, -0.7), xlim=(-5, 80))
    title = kind if "all" in kind else f"{kind}, in sight"
    ax.set_title(f"{title} ({where.sum():,})", fontsize=10)
    ax.set_yticklabels(first)
axes[1].set_xlabel("Acc@1 (%)")
named, counted_new = level["unseen"][["our pointer", "counting"]]
show(
    fig,
    alt="Four dots with intervals in each of three panels. At unseen places "
    "the softmax is at zero, and counting is ahead of both pointers. At "
    "known places our pointer leads.",
    caption="First guesses on the test windows, with 95 % intervals over "
    "people. In brackets: the number of windows.",
)

# %% [markdown]
# The softmax's first guess is right for {{ level["unseen"]["softmax"]:.0f }} % of the unseen targets in sight: their scores
# were only ever pulled down. Our pointer is right for {{ named:.0f }} %. (Whole models with five seeds are right for about as
# many: [evidence](evidence_model.ipynb).) So pointing can name them. We had expected training to raise this. It did not, as far
# as these few windows can tell: an untrained model's pointer is right for {{ level["unseen"]["untrained pointer"]:.0f }} %, and
# **plain counting for {{ counted_new:.0f }} %**. Is the pointer better than counting? We compare on the same windows, with
# people resampled.


# %%
def lead(one, other):
    """By kind of target: the mean of one minus other, its interval."""
    change, found = (one - other).to_numpy(), {}
    for kind, where in test_kinds.items():
        means = resampled_means([change[where]], test.users[where])
        found[kind] = [change[where].mean(), *percentile_interval(means)]
    return pd.DataFrame(found, ["points of Acc@1", "low", "high"]).T


learning = lead(first["our pointer"], first["counting"])
gain, gain_low, gain_high = learning.loc["known"]
behind, behind_low, behind_high = learning.loc["unseen"]
whole = gained(model).mean()
print(f"Acc@1 of the whole model, all targets: {whole:.1f} %")
learning.round(1)

# %% [markdown]
# At known places learning is a gain over counting, of {{ gain:.1f }} points ({{ gain_low:.1f }} to {{ gain_high:.1f }}). **At
# unseen ones we find none**: {{ behind:+.1f }} points, from {{ behind_low:+.1f }} to {{ behind_high:+.1f }}. That interval is
# wide, because only {{ people_new }} people have such windows. One reason may be that a key is partly made of the place's
# vector, and no layer has learned to read the vector of a place that it never met. [Chapter 20](20_contextual_pointer.ipynb)
# builds a pointer that does not ask what a place is called.
#
# Over all targets the trained pointer of the package, alone, is right as often as its whole model
# ({{ right["largest sum"]:.1f }} against {{ whole:.1f }} %). What the rest of the model is for, the next chapter asks.
#
# ## What to remember
#
# - To be pointed at, a place only needs to be *in the window*; that is also the pointer's ceiling. Of the targets in the window
#   that training never showed, the pointer's first guess is right for {{ named:.0f }} %, that of a softmax over places for none.
# - Counting names {{ counted_new:.0f }} % of them. Training helps the pointer with known places; for unseen ones we find no gain.
# - A visit's score is the scaled dot product of the last visit's query with its key, plus a bias of which only differences
#   count. Mask *before* the softmax, and add up per place: many small weights can beat one large weight.
# - An untrained pointer nearly counts, so training starts near "most frequent place", and is to be compared with it.
#
# ## Exercises
#
# **Exercise 1** (quick). A window holds the places 4, 2, 4, 3 and then one column of padding, with scores $\log 3$, $\log 5$,
# $\log 3$, 0 and (at the padding) 7; all biases are zero. Compute $P_\text{ptr}$ for places 0 to 4 on paper. Which place wins,
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
# **Exercise 2** (medium). Divide the scores of the story window, `(scores + bias[position])[:1]`, by a *temperature* $T$ before
# the softmax. What is $P_\text{ptr}$ of 46 Alder Walk (`batch.location[0, n - 3]`) at $T = 10^9$, and at $T = 0.01$? Which
# baseline is it at $T = 10^9$?

# %% tags=["try"]
answer = [..., ...]  # at T = 1e9, at T = 0.01
check.exercise("7.2", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
at_home = batch.location[0] == batch.location[0, n - 3]  # (L,)
answer = []
for T in (1e9, 0.01):
    weights = weigh((scores + bias[position])[:1] / T, batch.padding[:1])
    answer.append(weights[0, at_home].sum().item())
check.exercise("7.2", answer)
# Three visits of eleven: hot, the pointer counts. Cold, it trusts the one
# largest weight; in the window of figure 7.3 that would be a loss.

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
# With z_i = s_i + b_{p_i}, and the bracket [i] = [l_i = l*]:
#   L = -log(sum_i [i] e^{z_i} / sum_j e^{z_j})
#     = log(sum_j e^{z_j}) - log(sum_i [i] e^{z_i})
#   dL/ds_i = e^{z_i} / sum_j e^{z_j} - [i] e^{z_i} / sum_j [j] e^{z_j}
# The first fraction is a_i. Divide the second one above and below by
# sum_j e^{z_j}: it is [i] a_i / P_ptr(l*) = r_i.
a = weight.detach()
gradient = a - a * hit / (a * hit).sum(1, keepdim=True)
check.same(gradient, s.grad, name="the gradient", atol=1e-5)
# Both are pulled up, in proportion to what they have already: the rich get
# richer. The loss does not care *which* visit carries the place, so a
# high weight of one visit may be an accident of training.

# %% [markdown]
# **Next:** [The generator and the gate](08_generator_and_gate.ipynb), for the targets that cannot be pointed at.
