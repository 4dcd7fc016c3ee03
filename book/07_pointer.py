# %% [markdown]
# # The pointer
#
# How can a model name a place that its training never showed? It points.
#
# *You will be able to* build the part that copies: score past visits against the present one, turn scores into
# weights, and add the weights up per place. *You need* [Windows](03_windows.ipynb), the encoder's output from
# [Position and encoder](06_position_and_encoder.ipynb), and the idea of a softmax. *It takes* twenty minutes to
# read and less than half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** The pointer gives every visit of the window a weight and adds the weights up per place, so
# > it can name any place in the window, known or new; and before it has learned anything, it counts visits.

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

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, MUTED, show
from wherenext.ground import ground, located

from pgt import maps
from pgt.baselines import MostFrequent
from pgt.checkpoint import load_model, shipped
from pgt.look import look, story
from pgt.metrics import evaluate, summarize
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")  # every place has its own id
vocabulary, test = data.vocabulary, data.test
model, _ = load_model(shipped("city"))  # trained on this town
V, D = vocabulary.n_locations, model.config.d_model
names = dict(zip(town.places.location_id, town.places.name, strict=True))
i = story(test)  # the window that the chapters share

# %% tags=["hide-input"]
# @title Figure 7.1: the parts of this chapter
from wherenext.architecture import architecture

caption = "You are here: past visits are weighed and copied."
architecture("context", "pointer", "bias", "copies", caption=caption)

# %% [markdown]
# ## What a softmax over places cannot do
#
# The usual way to predict one of many things is to give each a score and take a softmax. Every place owns a row
# of weights. Training pulls its score up when the place is the answer, and pushes it down a little otherwise. A
# place that training never shows has a row, too, but nothing ever pulls its score up.
#
# How much of a problem is that? Sort the test windows by two questions. Did training show the place where the
# person goes next, the **target**? And is that place in the window, in plain sight?

# %%
known = vocabulary.is_known(test.targets)
rows = np.where(known, "known", "never seen in training")
columns = np.where(test.in_window, "in the window", "not in the window")
heads = {"rownames": ["target's place"], "colnames": ["% of windows"]}
cross = 100 * pd.crosstab(rows, columns, normalize=True, **heads)
unseen = 100 * (~known).mean()  # % of all targets
in_sight = 100 * test.in_window[~known].mean()  # % of those
cross.round(1)

# %% [markdown]
# **{{ unseen:.0f }} %** of the targets are places that training never saw. Of these, **{{ in_sight:.0f }} %** are in
# the window all the same: the person has found a new bakery, and goes there again. A softmax over places has no idea
# of that bakery. Yet it need not be *known*. It need only be *pointed at*.
#
# That is the idea of pointer networks ([Vinyals et al., 2015](https://arxiv.org/abs/1506.03134)): the answer is a
# *position in the input*. Text summarisers took it up to copy names they could not spell
# ([Gu et al., 2016](https://arxiv.org/abs/1603.06393); [See et al., 2017](https://arxiv.org/abs/1704.04368)). We
# copy places.
#
# ## The question and the visits
#
# The encoder has turned each visit into a vector of $D$ numbers. The vector of the *last* visit has looked at all
# others. It stands for "here and now" and is called the **context** $c$. We take the story window that all chapters
# share, the shortest test window, and one that is three visits longer than the story window, so that there is padding
# to get wrong.

# %%
lengths = test.lengths
shortest = int(lengths.argmin())
longer = int((lengths == lengths[i] + 3).argmax())
batch = test.batch([i, shortest, longer])
with torch.no_grad():
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
B, L = batch.location.shape
context = encoded[torch.arange(B), batch.length - 1]  # (B, D) last visit
windows = ["story window", "shortest window", "longer window"]

# %% [markdown]
# The context asks a question, and each visit offers an answer. Let $x_i$ be the encoder's vector of visit $i$. Two
# linear maps make **query** and **keys**; the score of visit $i$ is their scaled dot product:
#
# $$
# q = W_q c + b_q, \qquad k_i = W_k x_i + b_k, \qquad s_i = \frac{q \cdot k_i}{\sqrt{D}} . \tag{7.1}
# $$
#
# There are two maps because asking and answering are different things. With one map for both, the last visit would
# tend to match itself best, and the pointer would favour staying put. The division by $\sqrt D$ keeps scores at the
# same size whatever the width of the model ([chapter 6](06_position_and_encoder.ipynb)).

# %%
w = model.pointer.state_dict()  # the trained numbers
query = context @ w["query.weight"].T + w["query.bias"]  # (B, D)
keys = encoded @ w["key.weight"].T + w["key.bias"]  # (B, L, D)
scores = (keys @ query[:, :, None]).squeeze(-1) / math.sqrt(D)  # (B, L)
n = int(batch.length[0])  # the rest of the row is padding
print("scores of the story window:", scores[0, :n].numpy().round(2))

# %% [markdown]
# > **Note.** This is one head of attention with one query. There are no values: an attention layer mixes *vectors*,
# > while the pointer returns the *weights themselves*.
#
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
def attend(s, padding):
    """(B, L) scores -> (B, L) weights that add up to one, 0 at padding."""
    return s.masked_fill(padding, -math.inf).softmax(1)


position = (batch.length[:, None] - torch.arange(L)).clamp(min=0)  # (B, L)
bias = w["position_bias"]  # one entry a position; entry 0 is padding's
a = attend(scores + bias[position], batch.padding)  # (B, L)
print("positions, story window:", position[0].tolist())

# %% [markdown]
# In equation (7.2) only differences between biases count. Add a constant $C$ to all of them, and it cancels:
#
# $$
# \frac{e^{s_i + b_{p_i} + C}}{\sum_j e^{s_j + b_{p_j} + C}}
#   = \frac{e^C\, e^{s_i + b_{p_i}}}{e^C \sum_j e^{s_j + b_{p_j}}} = a_i . \tag{7.3}
# $$
#
# So the common height of all biases is not **identifiable**: no data can tell what it is.
#
# What does the bias do? Make one up: let each visit count for less than the one after it, by a constant slope.

# %%
slope = 0.1  # @param {type:"slider", min:0, max:0.5, step:0.05}
steep = -slope * torch.arange(len(bias))  # 0.1 less for each step back
biases = {
    "no bias": torch.zeros_like(bias),
    "the trained bias": bias,
    "made up, by slope": steep,
}
bars = pd.DataFrame(index=pd.RangeIndex(1, n + 1, name="visit"))
for name, b in biases.items():
    bars[name] = attend(scores + b[position], batch.padding)[0, :n]
shift = (bars["the trained bias"] - bars["no bias"]).abs().max()

# %% tags=["hide-input"]
# @title Figure 7.2: the same scores under three biases
ax = bars.plot.bar(rot=0, width=0.8)
ax.set(xlabel="visits, oldest first", ylabel="attention $a_i$")
alt = "Three bars for each visit. Only those of the made-up bias differ."
show(ax.figure, alt=alt, caption="The same scores under three biases.")

# %% [markdown]
# The first two bars of each visit differ by at most {{ shift:.3f }}. So the *trained* bias does next to nothing here:
# what the pointer prefers comes from queries and keys. [Chapter 12](12_position_bias.ipynb) asks why. Move the slope
# to its end and run on: watch the old visits fade in the figure, and the last row of the table below.
#
# > **Pitfall.** It is tempting to multiply by the mask *after* the softmax. Nothing crashes, and the weights of short
# > windows no longer add up to one. Leaving the mask out is just as quiet. A padding column still has a key, because
# > $b_k$ is not zero and the encoder writes something there. So weight leaks to padding, and how much depends on
# > which *other* windows share the batch:

# %%
no_mask = torch.softmax(scores + bias[position], dim=1)  # wrong
leak = 100 * (no_mask * batch.padding).sum(1).double()
table = {"visits": batch.length, "leaks to padding, %": leak}
pd.DataFrame(table, index=windows).round(2)

# %% [markdown]
# ## From visits to places
#
# We have a weight per *visit* and want a probability per *place*. Let $l_i$ be the place of visit $i$. A place $\ell$
# collects the weights of all its visits:
#
# $$
# P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i . \tag{7.4}
# $$
#
# This is a **scatter**. As a loop, and then as the one call that does the same for a batch:

# %%
looped = torch.zeros(B, V)
for row in range(B):
    for visit in range(int(batch.length[row])):
        looped[row, batch.location[row, visit]] += a[row, visit]

scattered = torch.zeros(B, V).scatter_add(1, batch.location, a)  # (B, V)
assert torch.allclose(looped, scattered, atol=1e-7)
print(f"{(scattered[0] > 0).sum()} of {V:,} places have any probability")

# %% [markdown]
# Padding has id 0, so its weight lands on "place" 0. Because the mask made that weight exactly zero, place 0 stays
# empty.
#
# Adding up has a consequence that is easy to miss: **many small bars can beat one tall bar.** Here are the bars of the
# story window under the trained bias, one a visit, laid end to end for each place. (`look` runs the model once on a
# window and returns what it used, as tables.)

# %%
seen = look(model, test, i)
blocks = seen.visits.assign(place=seen.visits.location_id.map(names))
by_place = blocks.groupby("place").attention
blocks["block"] = by_place.rank(ascending=False, method="first")
wide = blocks.pivot(index="place", columns="block", values="attention")
wide = wide.loc[by_place.sum().sort_values().index]  # the largest on top
look_of = {"color": COPIED, "edgecolor": "white", "legend": False}
ax = wide.plot.barh(stacked=True, width=0.8, figsize=(7.0, 2.6), **look_of)
ax.set(xlabel="pointer probability $P_{ptr}$; one block a visit", ylabel="")
alt = "Bars made of blocks, one bar a place and one block a visit."
show(ax.figure, alt=alt, caption="The trained weights, added up per place.")

# %% [markdown]
# The four small blocks of Sage & Jolly Instruments add up to more than the one block of Saint Alder Music School, which
# is larger than any of them. How often does the tallest bar belong to another place than the largest sum? And what do
# the three biases change? We run all test windows.


# %%
@torch.no_grad()
def point(model, bias=None):
    """A row a window: favourite by sum, by tallest bar; target's share."""
    found = []
    for b in test.batches(512):
        a = model(b).pointer_attention  # (B, L)
        if bias is not None:  # exchange the trained bias for this one
            change = bias - model.pointer.position_bias
            a = (a.log() + change[b.position_from_end]).softmax(1)
        p = torch.zeros(len(b), V).scatter_add(1, b.location, a)
        tallest = a.argmax(1, keepdim=True)
        row = {"largest sum": p.argmax(1)}
        row["tallest bar"] = b.location.gather(1, tallest)[:, 0]
        row["share"] = p.gather(1, b.target[:, None])[:, 0]
        found.append(pd.DataFrame(row, index=b.index.numpy()))
    return pd.concat(found).sort_index()


# %%
right = {}
for name, b in biases.items():
    guesses = point(model, b)[["largest sum", "tallest bar"]]
    right[name] = 100 * guesses.eq(test.targets, axis=0).mean()
pointed = point(model)
trained = 100 * (pointed["largest sum"] == test.targets).mean()
differ = 100 * (pointed["largest sum"] != pointed["tallest bar"]).mean()
pd.DataFrame(right).T.rename_axis("right, % of test windows").round(1)

# %% [markdown]
# In {{ differ:.1f }} % of the windows the two name different places, and adding up is right more often.
#
# ## On the map
#
# A disc's *area* is the sum for its place. Bent lines lead to the last visit, the wider, the more attention. Click a
# disc for its numbers. At the top right you can choose one of the encoder's heads instead: what the last visit looks
# at. (The dashed rings are the whole model's answers, the subject of the next chapter.)

# %%
maps.attention_map(
    located(seen.visits, town),
    guesses=located(seen.candidates.head(5), town),
    truth=located(seen.target, town),
    heads=seen.self_attention,
    ground=ground(town.base),
    caption="The story window. Green ring: where the person went.",
)

# %% [markdown]
# Now it is your turn. Delete a visit, change its hour, add one by clicking a place, or go on to this person's other
# moments: the same trained pointer answers, computed in this page. The whole model waits in
# [chapter 26](26_playground.ipynb).

# %%
from wherenext.live import playground

playground(small="pointer", window=i)

# %% [markdown]
# ## A pointer that has learned nothing
#
# What does the pointer do *before* training? All biases are 0, and query and key are random maps with small
# numbers. The visits of one window have much in common, the person first of all, and what they have in common moves
# all their scores alike. So the weights of two visits differ by a modest factor, while a window may show one place
# once and another nine times. Adding up nearly equal weights is counting.

# %%
torch.manual_seed(0)
newborn = PointerGeneratorTransformer(model.config).eval()
counts = MostFrequent().fit(data.train)  # the rule that counts visits
dots = []
with torch.no_grad():
    for b in test.batches(512):
        visits = counts.scores(b).clamp(min=0)  # (B, V), 0: not there
        p = newborn(b).pointer_log_probs.exp()  # (B, V)
        share = visits / b.length[:, None]
        dots.append(torch.stack([share[visits > 0], p[visits > 0]]))
share, p = torch.cat(dots, 1).numpy()
correlation = np.corrcoef(share, p)[0, 1]
rule = summarize(evaluate(counts, test), ["all"])
counting = rule["acc@1"].iloc[0]
newborn_right = 100 * (point(newborn)["largest sum"] == test.targets).mean()

# %% tags=["hide-input"]
# @title Figure 7.5: random weights, and yet the pointer counts
ax = plt.figure(figsize=(4.6, 4.2)).gca()
sns.histplot(x=share, y=p, bins=50, color=COPIED, ax=ax)
ax.axline((0, 0), slope=1, color=MUTED, lw=1, ls="--")
ax.set(xlabel="share of the window's visits")
ax.set(ylabel="untrained pointer's probability")
show(
    ax.figure,
    alt="Share of visits against the untrained pointer's probability.",
    caption="All places of all test windows: the darker, the more of them. "
    "Dashed: exactly counting.",
)

# %% [markdown]
# The correlation is {{ correlation:.2f }}. Of all test windows, the counting rule gets {{ counting:.1f }} % right, the
# newborn pointer {{ newborn_right:.1f }} %, and the trained pointer {{ trained:.1f }} %. So compare a trained pointer
# with the counting rule, not with zero.
#
# ## What it can and cannot do
#
# The pointer has a ceiling. If the target is not in the window, the pointer gives it the probability zero, whatever
# we train. Such targets are the generator's job, in [the next chapter](08_generator_and_gate.ipynb).
#
# And it has a handicap. The embedding of a place that training never saw is still the random vector that it started
# with. The pointer has to judge visits to such a place by the other features, and by whether the same random vector
# turns up twice. Does it manage?

# %%
inside = test.in_window
kind = np.where(known, "known", "never seen")
able = pd.DataFrame({"place": kind, "pointer's share": pointed.share})
able["share of the visits"] = [
    (test.visits_of(j).location_id == test.target_of(j).location_id).mean()
    for j in range(len(test))
]
able["right, %"] = 100.0 * (pointed["largest sum"] == test.targets)
able = able[inside].groupby("place").mean()
ceiling = 100 * inside.mean()
able.round({"right, %": 1}).round(3)

# %% [markdown]
# The table has the windows with the target in sight, {{ ceiling:.0f }} % of all: that is the ceiling. Places never seen
# in training are visited less often within the window, so some disadvantage is fair. For *known* targets the pointer's
# share is larger than the share of the visits: it has learned something. For new ones it is about the same: it counts.
# A softmax over places would have next to no chance with the new ones.
#
# ## The whole part, and the package's
#
# Here is everything above in one module. Its parameters have the package's names, so that the trained weights can be
# loaded. (The package adds the weights up in logarithms, so that no place is lost to rounding however small its
# weight. [Evidence: the model](evidence_model.ipynb) shows how. In this town the two differ by rounding only.)


# %%
class MyPointer(nn.Module):
    def __init__(self, d, max_len, n_places):
        super().__init__()
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(max_len + 1))
        self.n_places = n_places

    def forward(self, encoded, location, length):
        """-> weights of visits (B, L), probabilities of places (B, V)."""
        steps = torch.arange(encoded.shape[1])
        context = encoded[torch.arange(len(length)), length - 1]  # (B, D)
        q, k = self.query(context), self.key(encoded)
        s = (k @ q[:, :, None]).squeeze(-1)  # (B, L)
        s = s / math.sqrt(encoded.shape[-1])
        position = (length[:, None] - steps).clamp(min=0)
        s = s + self.position_bias[position]
        s = s.masked_fill(steps >= length[:, None], -math.inf)
        a = s.softmax(1)
        p = a.new_zeros(len(a), self.n_places)
        return a, p.scatter_add(1, location, a)


# %%
many = test.batch(np.arange(0, len(test), 12))
mine = MyPointer(D, model.config.max_len, V)
mine.load_state_dict(model.pointer.state_dict())
with torch.no_grad():
    x, _ = model.encoder(model.embeddings(many), many.padding)
    a, p = mine(x, many.location, many.length)
    package = model(many)
equal = {"rtol": 0, "atol": 1e-6}  # raises an error if they are not
torch.testing.assert_close(a, package.pointer_attention, **equal)
torch.testing.assert_close(p, package.pointer_log_probs.exp(), **equal)
print(f"{len(many)} windows: the same to a millionth")

# %% [markdown]
# | step | shape |
# |---|---|
# | visits, encoded | (B, L, D) |
# | context, query | (B, D) |
# | keys | (B, L, D) |
# | scores, bias, mask, weights $a_i$ | (B, L) |
# | $P_\text{ptr}$ | (B, V), zero for places not in the window |
#
# ## What to remember
#
# - A softmax over places knows only places that were targets. To be pointed at, a place only needs to be *in the
#   window*; that is also the pointer's ceiling.
# - Score = scaled dot product of the last visit's query with each visit's key, plus a bias of which only differences
#   mean anything. Mask *before* the softmax.
# - Add up per place: many small bars can beat one tall bar.
# - An untrained pointer counts, so training starts from "most frequent place".
#
# ## Exercises
#
# **Exercise 1** (quick). A window holds the places 4, 2, 4, 3 and then one column of padding, with scores $\log 2$,
# $\log 5$, $\log 2$, 0 and (at the padding) 7. Compute $P_\text{ptr}$ for places 0 to 4 on paper. Which place wins,
# and which has the tallest bar?

# %% tags=["try"]
answer = [..., ..., ..., ..., ...]  # of places 0, 1, 2, 3, 4
check.exercise("7.1", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answer = [0, 0, 5 / 10, 1 / 10, (2 + 2) / 10]  # the 7 must not count
s = torch.tensor([[math.log(2), math.log(5), math.log(2), 0, 7]])
weights = attend(s, torch.tensor([[False] * 4 + [True]]))
by_code = torch.zeros(5)
by_code = by_code.scatter_add(0, torch.tensor([4, 2, 4, 3, 0]), weights[0])
check.same(answer, by_code, name="P_ptr")
check.exercise("7.1", answer)
# Place 2 wins here, with the tallest bar. One more visit to place 4 with
# score log 2, and 4 wins with 6 of 12.

# %% [markdown]
# **Exercise 2** (medium). Divide the pointer's scores by a *temperature* $T$ before the softmax. Which baseline do
# you get as $T \to \infty$? Prove it with `check.same`. Is $T = 1$ the best for Acc@1 of the trained pointer?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def heated(b, T):
    """(B, V) P_ptr at temperature T."""
    with torch.no_grad():
        log_w = model(b).pointer_attention.log()
    # log-weights are scores minus a constant, which a softmax forgets
    weights = attend(log_w / T, b.padding)
    return torch.zeros(len(b), V).scatter_add(1, b.location, weights)


frequency = counts.scores(many).clamp(min=0) / many.length[:, None]
check.same(heated(many, 1e9), frequency, name="infinite temperature")
right = pd.Series(dtype=float, name="Acc@1, %")
for T in (0.1, 0.3, 1.0, 3.0, 10.0):
    hits = [heated(b, T).argmax(1) == b.target for b in test.batches(512)]
    right[T] = 100 * float(torch.cat(hits).float().mean())
right.rename_axis("temperature").round(1).to_frame().T
# Of these five, T = 1 is the best. Small temperatures trust the tallest bar,
# and lose what adding up gives; large ones only count visits.

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

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# log P_ptr(l*) = logsumexp of the s_i of its visits - logsumexp of all s_i;
# each derivative is a softmax.
b = test.batch(np.flatnonzero(test.in_window)[:200])
with torch.no_grad():
    s = model(b).pointer_attention.log()  # (B, L)
s.requires_grad_()
weight = attend(s, b.padding)
hit = b.location == b.target[:, None]
loss = -(weight * hit).sum(1).log().sum()
loss.backward()
weight = weight.detach()
r = weight * hit / (weight * hit).sum(1, keepdim=True)
check.same(weight - r, s.grad, name="the gradient", atol=1e-5)
# Both are pulled up, in proportion to what they have already: the rich get
# richer. The loss does not care *which* visit carries the place, so a
# high weight of one visit may be an accident of training.

# %% [markdown]
# **Next:** [The generator and the gate](08_generator_and_gate.ipynb), for the targets that cannot be pointed at.
