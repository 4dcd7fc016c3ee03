# %% [markdown]
# # The pointer
#
# How can a model name a place that its training never showed? It points.
#
# *You will be able to* build the part that copies: score past visits against the present one, turn scores into
# weights, and add the weights up per place without losing small numbers. *You need*
# [Windows](03_windows.ipynb), the encoder's output from [Position and encoder](06_position_and_encoder.ipynb), and the idea of a
# softmax. *It takes* twenty-five minutes to read and less than half a minute to run; a GPU makes no difference.

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
from itertools import combinations

import numpy as np
import pandas as pd
import torch
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.baselines import MostFrequent
from pgt.checkpoint import load_model, shipped
from pgt.look import look, story
from pgt.metrics import evaluate, summarize
from pgt.model import Pointer, PointerGeneratorTransformer
from pgt.sparse import scatter_log_probs
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary, test = data.vocabulary, data.test
model, trained_on = load_model(shipped("city"))
assert trained_on == vocabulary
V, D = vocabulary.n_locations, model.config.d_model
places = town.places
names = dict(zip(places.location_id, places.name, strict=True))
i = story(test)  # the window that the chapters share

# %% [markdown]
# The protocol "exact" gives every place an id of its own, whether training showed it or not
# ([Windows](03_windows.ipynb)).

# %% tags=["hide-input"]
from wherenext.architecture import architecture

architecture(
    "context",
    "pointer",
    "bias",
    "copies",
    caption="You are here: past visits are weighed and copied.",
)

# %% [markdown]
# ## What a softmax over places cannot do
#
# The usual way to predict one of many things is to give each a score and take a softmax. Every place owns a row
# of weights. Training pulls the score up when the place is the target, and pushes it down a little otherwise. A
# place that training never shows has a row, too, but no target ever pulls its score up.
#
# How much of a problem is that? Sort the test windows by two questions. Did training show the target's place? And is
# that place in the window, in plain sight?

# %%
known = vocabulary.is_known(test.targets)
rows = np.where(known, "known", "never seen in training")
columns = np.where(test.in_window, "in the window", "not in the window")
cross = 100 * pd.crosstab(rows, columns, normalize=True)
heads = {"index": "target's place", "columns": "% of test windows"}
cross.round(1).rename_axis(**heads)

# %% tags=["hide-input"]
from IPython.display import Markdown

inside_unseen = test.in_window[~known].mean()
Markdown(
    f"**{100 * (~known).mean():.0f} %** of the targets are places that "
    f"training never saw. Of these, **{100 * inside_unseen:.0f} %** are in "
    "the window all the same: the person has found a new bakery, and goes "
    "there again. A softmax over places has no idea of that bakery. Yet it "
    "need not be *known*. It need only be *pointed at*."
)

# %% [markdown]
# That is the idea of pointer networks ([Vinyals et al., 2015](https://arxiv.org/abs/1506.03134)): the answer is a
# *position in the input*. Text summarisers took it up to copy names they could not spell
# ([Gu et al., 2016](https://arxiv.org/abs/1603.06393); [See et al., 2017](https://arxiv.org/abs/1704.04368)). We
# copy places.
#
# ## The question and the visits
#
# The encoder has turned each visit into a vector of $D$ numbers. The vector of the *last* visit has looked at all
# others. It stands for "here and now" and is called the **context** $c$. We take the story window that all chapters
# share, the shortest test window, and one that is three visits longer than ours, so that there is padding to get wrong.

# %%
lengths = test.lengths
shortest = int(lengths.argmin())
longer = int((lengths == lengths[i] + 3).argmax())
batch = test.batch([i, shortest, longer])
with torch.no_grad():
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
B, L = batch.location.shape
rows = torch.arange(B)
context = encoded[rows, batch.length - 1]  # (B, D) the last visit
assert torch.equal(context[1], encoded[1, batch.length[1] - 1])
windows = ["story window", "shortest window", "longer window"]
print(f"encoded {tuple(encoded.shape)}, context {tuple(context.shape)}")
pd.DataFrame({"visits": batch.length.numpy()}, index=windows)

# %% [markdown]
# The context asks a question, and each visit offers an answer. Let $x_i$ be the encoder's vector of visit $i$. Two linear
# maps make **query** and **keys**; the score of visit $i$ is their scaled dot product:
#
# $$
# q = W_q c + b_q, \qquad k_i = W_k x_i + b_k, \qquad s_i = \frac{q \cdot k_i}{\sqrt{D}} . \tag{7.1}
# $$
#
# There are two maps because asking and answering are different things. With one map for both, the last visit
# would tend to match itself best, and the pointer would favour staying put. The division by $\sqrt D$ keeps
# scores at the same size whatever the width of the model ([chapter 6](06_position_and_encoder.ipynb)). First by
# hand, one visit at a time:

# %%
w = model.pointer.state_dict()  # the trained numbers
W_q, b_q = w["query.weight"], w["query.bias"]
W_k, b_k = w["key.weight"], w["key.bias"]
n = int(batch.length[0])
q = [float(W_q[d] @ context[0] + b_q[d]) for d in range(D)]
by_hand = []
for visit in range(n):
    x = encoded[0, visit]
    k = [float(W_k[d] @ x + b_k[d]) for d in range(D)]
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    by_hand.append(dot / math.sqrt(D))

query = context @ W_q.T + b_q  # (B, D)
keys = encoded @ W_k.T + b_k  # (B, L, D)
scores = (keys @ query[:, :, None]).squeeze(-1) / math.sqrt(D)  # (B, L)
assert torch.allclose(scores[0, :n], torch.tensor(by_hand), atol=1e-5)
print("scores of the story window:", [round(s, 2) for s in by_hand])

# %% [markdown]
# > **Note.** This is one head of attention with one query. There are no values: an attention layer mixes *vectors*,
# > while the pointer returns the *weights themselves*.
#
# ## A bias for each position
#
# Recent visits may matter more. So each position from the end has a learned number, the **position bias** $b_p$, added to the score:
# $p = 1$ is the last visit, $p = 2$ the one before.

# %%
steps = torch.arange(L)
position = (batch.length[:, None] - steps).clamp(min=0)  # (B, L)
assert torch.equal(position, batch.position_from_end)
bias = w["position_bias"]  # (max_len + 1,)
print("story window:   ", position[0].tolist())
print("shortest window:", position[1].tolist())
most = model.config.max_len
print(f"{len(bias)} entries for {most} visits; entry 0 is {bias[0]:.0f}")

# %% [markdown]
# Entry 0 belongs to padding. It is never used, so it never moves, and a drawing of the bias must start at 1.
#
# > **Errata.** [The original specification](https://where-next-book.github.io/where-next/book/errata.html) has one entry fewer, `max_len`, and clamps the index.
# > The two oldest visits of a full window then share an entry, while entry 0 lies idle. It also counts 8,192
# > numbers in query and key, which are the matrices alone; with their biases it is 8,320.
#
# Let $p_i$ be the position of visit $i$ from the end. A softmax over the visits makes the weights,
#
# $$
# a_i = \frac{e^{s_i + b_{p_i}}}{\sum_j e^{s_j + b_{p_j}}} , \tag{7.2}
# $$
#
# and in it only differences count. Add a constant $C$ to all the biases, and nothing happens:
#
# $$
# \frac{e^{s_i + b_{p_i} + C}}{\sum_j e^{s_j + b_{p_j} + C}} = \frac{e^C\, e^{s_i + b_{p_i}}}{e^C \sum_j e^{s_j + b_{p_j}}} = a_i . \tag{7.3}
# $$
#
# So the common height of all biases is not **identifiable**: no data can tell what it is. The gradient along it,
# which is the sum of all entries' gradients, is zero. The height still moves during training, by accident. Weight
# decay, which pulls all weights towards zero, shrinks it. And AdamW ([chapter 10](10_training.ipynb)) rescales each
# entry's gradient separately, so gradients that cancel become steps that do not. Never read meaning into "all biases are negative".


# %%
def attend(s, padding):
    """(B, L) scores -> (B, L) weights, sum one, 0 at padding."""
    s = s.masked_fill(padding, -math.inf)
    e = (s - s.amax(1, keepdim=True)).exp()  # the largest becomes e^0
    return e / e.sum(1, keepdim=True)


a = attend(scores + bias[position], batch.padding)  # (B, L)
raised = attend(scores + (bias + 5)[position], batch.padding)
assert torch.allclose(a.sum(1), torch.ones(B))
assert torch.allclose(a, raised, atol=1e-6)

free = bias.clone().requires_grad_()
attend(scores + free[position], batch.padding)[:, 0].log().sum().backward()
print(f"gradient at entry 0: {free.grad[0]:.0f}")
print(f"gradient along the common height: {float(free.grad.sum()):.1e}")

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from wherenext.figures import COPIED, MUTED, show

shapes = {
    "no bias": torch.zeros_like(bias),
    "the trained bias": bias,
    "made up: −0.4 a step": -0.4 * torch.arange(len(bias)),
}
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), sharey=True)
for ax, (name, b) in zip(axes, shapes.items(), strict=True):
    weight = attend(scores + b[position], batch.padding)[0, :n]
    ax.bar(position[0, :n], weight, color=COPIED)
    ax.set(title=name, xlabel="position from the end")
    ax.invert_xaxis()
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("attention $a_i$")
shift = float((a - attend(scores, batch.padding))[0].abs().max())
show(
    fig,
    alt="Attention on the visits of the story window under three biases. "
    "Without bias and with the trained one the bars differ by at most "
    f"{shift:.3f}; with a made-up steep bias the newest visits get most.",
    caption="The same scores under three biases. Oldest visit left, last "
    "visit (1) right.",
)

# %% [markdown]
# The first two pictures are almost the same, so in this window the trained position bias does little: what the pointer
# prefers comes from queries and keys. [Chapter 12](12_position_bias.ipynb) asks why the bias does so little.
#
# > **Pitfall.** It is tempting to multiply by the mask *after* the softmax. Nothing crashes, and the weights of short
# > windows no longer add up to one. Leaving the mask out is just as quiet. A padding column still has a key, because
# > $b_k$ is not zero and the encoder writes something there. So weight leaks to padding, and how much depends on which
# > *other* windows share the batch:

# %%
no_mask = torch.softmax(scores + bias[position], dim=1)  # wrong
late = no_mask * ~batch.padding  # wrong as well
leak = {
    "visits": batch.length,
    "leaks to padding, %": 100 * (no_mask * batch.padding).sum(1).double(),
    "sum, mask after softmax": late.sum(1),
    "sum, mask before": a.sum(1),
}
pd.DataFrame(leak, index=windows).round(2)

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

empty = torch.zeros(B, V)
scattered = empty.scatter_add(1, batch.location, a)  # (B, L) -> (B, V)
assert torch.allclose(looped, scattered, atol=1e-7)
assert torch.allclose(scattered.sum(1), torch.ones(B))
assert scattered[1, 0] == 0  # padding
possible = int((scattered[0] > 0).sum())
print(f"story window: {possible} of {V:,} places have any probability")

# %% [markdown]
# Padding has id 0, so its weight lands on "place" 0. Because the mask made that weight exactly
# zero, place 0 stays empty.
#
# Adding up has a consequence that is easy to miss: **many small bars can beat one tall bar.** The first figure shows
# the bars of the story window, one a visit; the second has the same bars, laid end to end for each place. (`look`
# runs the model once on a window and returns what it used, as tables.)

# %% tags=["hide-input"]
from pgt import plots

seen = look(model, test, i)
bars, target = seen.visits, seen.target.location_id
there = bars.attention[bars.location_id == target].sum()
ax = plots.pointer_strip(bars, target, names=names)
show(
    ax.figure,
    alt=f"Pointer attention on the {n} visits of the story window, oldest "
    f"first. The tallest bar is {bars.attention.max():.2f}; the visits to "
    f"the true next place, {names[target]}, add up to {there:.2f}.",
    caption="The story window, one bar a visit. Green, hatched: visits to "
    "the place where the person went next.",
)

# %% tags=["hide-input"]
per_place = seen.visits.groupby("location_id").attention
per_place = per_place.agg(["sum", "max", "size", list]).sort_values("sum")
label = [names[place] for place in per_place.index]
fig, ax = plt.subplots(figsize=(7.0, 2.6))
left = np.zeros(len(per_place))
for rank in range(int(per_place["size"].max())):  # one block a visit
    blocks = [sorted(b, reverse=True) for b in per_place["list"]]
    part = np.array([sum(b[rank : rank + 1]) for b in blocks])
    block_style = {"color": COPIED, "edgecolor": "white", "lw": 1.5}
    ax.barh(label, part, left=left, **block_style)
    left += part
ax.set_xlabel("pointer probability $P_{ptr}$; one block a visit")
ax.grid(axis="y", visible=False)
best = per_place.iloc[-1]
tallest = per_place["max"]
swaps = [
    (tallest[less] - tallest[more], more, less)
    for less, more in combinations(per_place.index, 2)  # by their sums
    if tallest[less] > tallest[more]
]
_, more, less = max(swaps)
show(
    fig,
    alt=f"Bars of blocks, one bar a place. The first, {names[best.name]}, is "
    f"{best['sum']:.2f} long and made of {int(best['size'])} blocks, the "
    f"largest {best['max']:.2f}.",
    caption="The same weights added up per place, the largest block first. "
    f"{names[more]} has more in all than {names[less]}, whose largest block "
    "is larger.",
)

# %% [markdown]
# How often does the tallest bar belong to another place than the largest sum? We run all test windows once.


# %%
@torch.no_grad()
def point(model):
    """One row a window: favourite by sum and by bar; share of the target."""
    columns = ["sum", "tall", "target", "smallest"]
    found = []
    for b in test.batches(512):
        out = model(b)
        weights, log_p = out.pointer_attention, out.pointer_log_probs
        tallest = weights.argmax(1, keepdim=True)
        row = {"sum": log_p.argmax(1)}
        row["tall"] = b.location.gather(1, tallest)[:, 0]
        row["target"] = log_p.gather(1, b.target[:, None])[:, 0].exp()
        row["smallest"] = weights.masked_fill(b.padding, 1).amin(1).log()
        found.append(pd.DataFrame(row, index=b.index.numpy()))
    return pd.concat(found).sort_index()[columns].astype(float)


# %%
pointed = point(model)
hits = {
    "they name different places": pointed["sum"] != pointed.tall,
    "largest sum is right": pointed["sum"] == test.targets,
    "tallest bar's place is right": pointed.tall == test.targets,
}
share = 100 * pd.DataFrame(hits).mean()
share.round(1).rename("% of test windows").to_frame()

# %% [markdown]
# On the map, a circle's *area* is the sum for its place. Lines lead to the last visit, the wider, the more attention.
# At the top right you can choose one of the encoder's heads instead: what the last visit looks at. (The dashed rings are
# the model's answers, the subject of the next chapter.)

# %% tags=["hide-input"]
from wherenext.ground import ground, located

from pgt.maps import attention_map

attention_map(
    located(seen.visits, town),
    guesses=located(seen.candidates.head(5), town),
    truth=located(seen.target, town),
    heads=seen.self_attention,
    ground=ground(town.base),
    alt="Map of the story window: past visits, pointer attention per place, "
    "likeliest places, the true place",
    caption="The story window. Blue circles: the pointer's sum for each "
    "place. Green ring: where the person went.",
)

# %% [markdown]
# Now it is your turn. Delete a visit, change its hour, add one by clicking a place, or go on to this person's other moments:
# the same trained pointer answers, computed in this page. The whole model waits in [chapter 26](26_playground.ipynb).

# %% tags=["hide-input"]
from wherenext.live import playground

playground(small="pointer", window=i)

# %% [markdown]
# ## The same in log space
#
# The loss needs $\log P_\text{ptr}$. Taking the logarithm at the end looks innocent, and loses everything below
# the smallest number that the machine can hold. Take three visits, two of them hopeless.

# %%
log_a = torch.tensor([[0.0, -110.0, -112.0]], requires_grad=True)  # (1, 3)
place = torch.tensor([[1, 2, 2]])
zeros = torch.zeros(1, 3)
naive = zeros.scatter_add(1, place, log_a.exp()).log()
truth = zeros.double().scatter_add(1, place, log_a.double().exp()).log()
naive[0, 2].backward()
print(f"naive: {naive[0, 2]:.3f}, in double precision: {truth[0, 2]:.3f}")
print(f"naive gradient: {log_a.grad.tolist()}")

# %% [markdown]
# Place 2 is not impossible, only unlikely. Yet `exp` gives zero, the log of the sum gives $-\infty$, and its
# gradient is $\infty \cdot 0$: not a number. One such window, and all weights of the model are NaN after the next step.
#
# The cure is the trick behind every safe softmax. For each place take out its own largest log-weight,
# $m_\ell = \max_{i:\, l_i = \ell} \log a_i$:
#
# $$
# \log P_\text{ptr}(\ell) = \log \sum_{i:\, l_i = \ell} e^{\log a_i}
#   = m_\ell + \log \sum_{i:\, l_i = \ell} e^{\log a_i - m_\ell} . \tag{7.5}
# $$
#
# The largest term of the new sum is $e^0 = 1$. The sum lies between 1 and the number of visits, and its logarithm is harmless.
# One maximum for the whole row would not do, because a single *place* could still vanish. First the definition,
# place by place, then the same without a loop, which the package calls `scatter_log_probs`:


# %%
def slow_log_scatter(log_a, place, n_places):
    """(B, L) -> (B, V): log-sum-exp over the visits of each place."""
    shape = len(place), n_places
    out = torch.full(shape, -math.inf, dtype=log_a.dtype)
    for row in range(len(place)):
        for there in place[row].unique():
            own = log_a[row, place[row] == there]
            out[row, there] = torch.logsumexp(own, dim=0)
    return out


def log_scatter(log_a, place, n_places):
    """The same without a loop."""
    empty = log_a.new_full((len(place), n_places), -math.inf)
    m = empty.scatter_reduce(1, place, log_a.detach(), "amax")  # (B, V)
    absent = m == -math.inf  # no visit, or only padding
    m = torch.where(absent, 0, m)  # -inf - (-inf) would be NaN
    share = (log_a - m.gather(1, place)).exp()  # (B, L) in 0..1
    total = torch.zeros_like(m).scatter_add(1, place, share)  # (B, V)
    total = torch.where(absent, 1, total)
    return torch.where(absent, -math.inf, m + total.log())


# %%
log_a.grad = None
safe = log_scatter(log_a, place, 3)
safe[0, 2].backward()
gradient = log_a.grad[0]
assert torch.allclose(safe, truth.float()) and gradient.isfinite().all()
by_loop = slow_log_scatter(a.log(), batch.location, V)
at_once = log_scatter(a.log(), batch.location, V)
assert torch.allclose(by_loop, at_once, atol=1e-6)
print(f"safe: {safe[0, 2]:.3f}, gradient: {gradient.numpy().round(3)}")

# %% [markdown]
# The gradient shows how the last two visits share the credit for place 2. Their entries are positive and sum to one:
# each is the visit's part of the place's weight.
#
# The code may treat the maximum as a constant (`detach`): equation (7.5) has the same value for *any* $m_\ell$, so its
# gradient with respect to $m_\ell$ is zero.

# %% tags=["hide-input"]
smallest = pointed.smallest.min()
Markdown(
    "Is this paranoia? In float32, almost: over all test windows the "
    f"smallest log-weight of this model is **{smallest:.1f}**, and `exp` "
    "reaches zero near −104. In float16 it happens near **−17**. The safe "
    "version costs one more scatter; we pay it rather than wait for the "
    "window that ends a night's training."
)

# %% [markdown]
# ## A pointer that has learned nothing
#
# What does the pointer do *before* training? All biases $b_p$ are 0. A linear layer of width $D$ starts with weights
# uniform in $\pm 1/\sqrt D$, so their variance is $1/(3D)$. Let the entries of a visit's vector have variance $v$.
# Then follow the variance, one step a row:
#
# | quantity | variance, about |
# |---|---|
# | an entry of query or key: a sum of $D$ products | $D \cdot v/(3D) = v/3$ |
# | a product of the two | $v^2/9$ |
# | the sum of $D$ such products | $D\, v^2/9$ |
# | that sum divided by $\sqrt D$ | $v^2/9$ |
#
# So the score has standard deviation
#
# $$
# \operatorname{std}(s_i) \approx \frac{v}{3} . \tag{7.6}
# $$
#
# The width has cancelled. Within one window the spread must be smaller. Its visits have much
# in common, the person first of all, and whatever they have in common moves all their scores alike. So the weights
# of two visits differ by a modest factor, while a window may show one place once and another nine times. Adding
# up nearly equal weights is counting.

# %%
torch.manual_seed(0)
newborn = PointerGeneratorTransformer(model.config).eval()
some = test.batch(np.arange(0, len(test), 5))
with torch.no_grad():
    x, _ = newborn.encoder(newborn.embeddings(some), some.padding)
    last = x[torch.arange(len(some)), some.length - 1]
    log_w = newborn.pointer(last, x, some)
each = zip(log_w, some.length, strict=True)
spread = np.mean([float(row[:m].std()) for row, m in each])
bound = float(x[~some.padding].var()) / 3
print(f"predicted at most {bound:.2f}, measured {spread:.2f}")
print(f"one standard deviation is a factor of {math.exp(spread):.2f}")

# %%
counts = MostFrequent().fit(data.train)
guess = torch.tensor(point(newborn)["sum"].to_numpy()).long()
share, favourite, copied = [], [], []
with torch.no_grad():
    for b in test.batches(512):
        visits = counts.scores(b).clamp(min=0)
        frequency = visits / b.length[:, None]  # (B, V)
        top = frequency == frequency.amax(1, keepdim=True)
        favourite += top.gather(1, guess[b.index][:, None])[:, 0].tolist()
        p = newborn(b).pointer_log_probs.exp()
        share += frequency[frequency > 0].tolist()
        copied += p[frequency > 0].tolist()

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.6, 4.2))
ax.plot([0, 1], [0, 1], color=MUTED, lw=1, ls="--", label="exactly counting")
dots = {"color": COPIED, "ms": 3, "alpha": 0.15, "rasterized": True}
ax.plot(share, copied, ".", **dots)
ax.set_xlabel("share of the window's visits")
ax.set_ylabel("untrained pointer's probability")
ax.legend(loc="upper left")
correlation = np.corrcoef(share, copied)[0, 1]
show(
    fig,
    alt="Scatter plot of all places of all test windows: share of visits "
    "against the untrained pointer's probability. The points follow the "
    f"diagonal; the correlation is {correlation:.3f}.",
    caption="Random weights, and yet the pointer counts. One dot is one "
    "place in one test window.",
)

# %% tags=["hide-input"]
counting = summarize(evaluate(counts, test), ["all"])["acc@1"].iloc[0]
untrained = 100 * np.mean(guess.numpy() == test.targets)
trained = 100 * np.mean(pointed["sum"] == test.targets)
Markdown(
    f"In **{100 * np.mean(favourite):.0f} %** of the windows the newborn "
    "pointer's favourite is a most frequent place of the window. Of all test "
    f"windows, the newborn pointer gets {untrained:.1f} % right, the "
    f"counting rule {counting:.1f} %, and the trained pointer "
    f"{trained:.1f} %. So compare a trained pointer with the counting rule, "
    "not with zero."
)

# %% [markdown]
# ## What it can and cannot do
#
# The pointer has a ceiling. If the target is not in the window, the pointer gives it the probability zero, whatever we
# train. Such targets are the generator's job, in [the next chapter](08_generator_and_gate.ipynb).
#
# The embedding of a place that training never saw is still the random vector that it started with: it never had a
# gradient (weight decay may have shrunk it a little).
# The pointer has to judge visits to such a place by hour, weekday, duration and position, and by whether the
# same noise turns up twice. Does it manage?

# %%
inside = test.in_window
there = [
    (test.visits_of(j).location_id == test.target_of(j).location_id).mean()
    for j in range(len(test))
]
table = pd.DataFrame({"place": np.where(known, "known", "never seen")})
table["share of the visits"] = there
table["pointer's share"] = pointed.target
table["right, %"] = 100.0 * (pointed["sum"] == test.targets)
groups = table[inside].groupby("place")
by = groups.mean()
by.insert(0, "windows", groups.size())
assert (pointed.target[~inside] == 0).all()
assert (pointed.target[inside] > 0).all()
print(f"ceiling: {100 * inside.mean():.1f} % of the test windows")
by["right, %"] = by["right, %"].round(1)
by.round(3)

# %% tags=["hide-input"]
gains = by["pointer's share"] / by["share of the visits"]
Markdown(
    "Targets never seen in training are visited less often within the "
    "window, so some disadvantage is fair. Compare the pointer's share with "
    "the share of the visits: for known targets it is "
    f"{gains['known']:.1f} times as large, for those never seen "
    f"{gains['never seen']:.1f} times. A noisy embedding may explain a part "
    "of that; this table cannot tell. Still, the pointer finds some of these "
    "places. A softmax over places would have next to no chance with any of "
    "them."
)

# %% [markdown]
# > **Pitfall.** Under the protocol "published" all places that training did not show become *one* place, "unknown". Then the
# > scatter adds up *different* new places as if they were one, and the pointer scores by naming "unknown". Under
# > "exact", which we use here, pointing has to find the right one.
#
# ## The whole part, and the package's
#
# Here is everything above in one module. Its parameters have the package's names, so that the trained weights
# can be loaded.


# %%
class MyPointer(nn.Module):
    def __init__(self, d, max_len, n_places):
        super().__init__()
        self.query, self.key = nn.Linear(d, d), nn.Linear(d, d)
        self.position_bias = nn.Parameter(torch.zeros(max_len + 1))
        self.n_places = n_places

    def forward(self, encoded, location, length):
        """-> log-weights (B, L), log-probabilities (B, V)."""
        steps = torch.arange(encoded.shape[1])
        last = torch.arange(len(length)), length - 1
        q, k = self.query(encoded[last]), self.key(encoded)
        s = torch.einsum("bd,bld->bl", q, k)
        s = s / math.sqrt(encoded.shape[-1])
        position = (length[:, None] - steps).clamp(min=0)
        s = s + self.position_bias[position]
        s = s.masked_fill(steps >= length[:, None], -math.inf)  # (B, L)
        log_a = s - s.logsumexp(1, keepdim=True)
        return log_a, log_scatter(log_a, location, self.n_places)


# %%
many = test.batch(np.arange(0, len(test), 12))
last = torch.arange(len(many)), many.length - 1
trained_weights = model.pointer.state_dict()
with torch.no_grad():
    encoded, _ = model.encoder(model.embeddings(many), many.padding)
for dtype, limit in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    package = Pointer(model.config).to(dtype)
    package.load_state_dict(trained_weights)
    mine = MyPointer(D, model.config.max_len, V).to(dtype)
    mine.load_state_dict(trained_weights)
    x = encoded.to(dtype)
    with torch.no_grad():
        log_w = package(x[last], x, many)
        theirs = log_w, scatter_log_probs(log_w, many.location, V)
        ours = mine(x, many.location, many.length)
    gaps = []
    for p, q in zip(ours, theirs, strict=True):  # the same -inf as well
        assert torch.allclose(p, q, rtol=limit, atol=2 * limit)
        gaps.append(float((p.exp() - q.exp()).abs().max()))
    assert max(gaps) <= limit
    print(f"{dtype}: {len(many)} windows, difference {max(gaps):.0e}")

# %% [markdown]
# | step | shape |
# |---|---|
# | visits, encoded | (B, L, D) |
# | context, query | (B, D) |
# | keys | (B, L, D) |
# | scores, bias, mask, weights $a_i$ | (B, L) |
# | $\log P_\text{ptr}$ | (B, V), $-\infty$ for places not in the window |
#
# ## What to remember
#
# - A softmax over places knows only places that were targets. To be pointed at, a place only
#   needs to be *in the window*.
# - Score = scaled dot product of the last visit's query with each visit's key, plus a bias. Only differences
#   between biases mean anything.
# - Mask before the softmax. Then add up per place, with log-sum-exp per place, so that no place vanishes.
# - Many small bars can beat one tall bar. So an untrained pointer counts, and training starts from "most frequent place".
# - Its ceiling is the share of targets in the window.
#
# ## Exercises
#
# **Exercise 1** (quick). A window holds the places 4, 2, 4, 3 and then one column of padding, with scores $\log 2$,
# $\log 5$, $\log 2$, 0 and (at the padding) 7. Compute $P_\text{ptr}$ for places 0 to 4 on paper. Which place
# wins, and which has the tallest bar?

# %% tags=["try"]
answer = [..., ..., ..., ..., ...]  # of places 0, 1, 2, 3, 4
check.exercise("7.1", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answer = [0, 0, 5 / 10, 1 / 10, (2 + 2) / 10]  # the 7 must not count
s = torch.tensor([[math.log(2), math.log(5), math.log(2), 0, 7]])
weights = attend(s, torch.tensor([[False] * 4 + [True]]))
p = torch.zeros(1, 5)
p = p.scatter_add(1, torch.tensor([[4, 2, 4, 3, 0]]), weights)
check.same(answer, p[0], name="P_ptr")
check.exercise("7.1", answer)
# Place 2 wins here, with the tallest bar. One more visit to place 4 with
# score log 2, and 4 wins with 6 of 12.

# %% [markdown]
# **Exercise 2** (medium). Divide the pointer's scores by a *temperature* $T$ before the softmax. Which baseline do
# you get as $T \to \infty$? Prove it with `check.same`. Is $T = 1$ the best for Acc@1 of the trained
# pointer?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def heated(b, T):
    """(B, V) P_ptr at temperature T."""
    with torch.no_grad():
        x, _ = model.encoder(model.embeddings(b), b.padding)
        context = x[torch.arange(len(b)), b.length - 1]
        log_w = model.pointer(context, x, b)
    # log-weights are scores minus a constant, which a softmax forgets
    weights = attend(log_w / T, b.padding)
    return torch.zeros(len(b), V).scatter_add(1, b.location, weights)


frequency = counts.scores(many).clamp(min=0) / many.length[:, None]
name = "the pointer at infinite temperature"
check.same(heated(many, 1e9), frequency, name=name)
right = {}
for T in (0.1, 0.3, 0.6, 1.0, 1.5, 3.0, 10.0):
    hits = 0
    for b in test.batches(512):
        hits += int((heated(b, T).argmax(1) == b.target).sum())
    right[T] = 100 * hits / len(test)
right = pd.Series(right, name="Acc@1, %").rename_axis("temperature")
print(f"best at {right.idxmax():g}, {right.max():.1f} %; ", end="")
print(f"at 1 it is {right[1.0]:.1f} %, of {len(test)} windows")
right.round(1).to_frame().T
# Training chose the scale of the scores for the loss, and near T = 1 the
# hits hardly change. Small temperatures trust the tallest bar, and lose
# what adding up gives.

# %% [markdown]
# **Exercise 3** (longer). Show that for the loss $-\log P_\text{ptr}(\ell^*)$ with the target $\ell^*$ in the window
#
# $$
# \frac{\partial \mathcal{L}}{\partial s_i} = a_i - r_i, \qquad
# r_i = \frac{a_i\,[\,l_i = \ell^*\,]}{P_\text{ptr}(\ell^*)}, \tag{7.7}
# $$
#
# (the bracket is 1 if the statement in it holds, else 0) and check it against autograd. What happens to two visits of the target's place, one with a large weight and one
# with a small one?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# log P_ptr(l*) = logsumexp of the s_i of its visits - logsumexp of all s_i;
# each derivative is a softmax.
b = test.batch(np.flatnonzero(test.in_window)[:200])
with torch.no_grad():
    x, _ = model.encoder(model.embeddings(b), b.padding)
    context = x[torch.arange(len(b)), b.length - 1]
    s = model.pointer(context, x, b)  # (B, L)
s.requires_grad_()
log_a = torch.log_softmax(s, dim=1)
log_p = log_scatter(log_a, b.location, V)
loss = -log_p.gather(1, b.target[:, None]).sum()
loss.backward()
weight = attend(s.detach(), b.padding)
hit = b.location == b.target[:, None]
r = weight * hit / (weight * hit).sum(1, keepdim=True)
name = "the gradient of the scores"
check.same(weight - r, s.grad, name=name, atol=1e-5)
# Both are pulled up, in proportion to what they have already: the rich get
# richer. The loss does not care *which* visit carries the place, so a
# high weight of one visit may be an accident of training.

# %% [markdown]
# **Exercise 4** (project). Adding up favours places with many visits. There are alternatives: a place gets the
# *largest* weight of its visits, or their *mean*, and the results are normalised. Compare the three with the
# trained weights, among targets known and never seen. Then (on your own machine) train a model with each. Do keys
# learn to make up for it?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
ways = {"sum": "sum", "largest": "amax", "mean": "mean"}
chosen = {how: np.zeros(len(test), dtype=bool) for how in ways}
with torch.no_grad():
    for b in test.batches(512):
        weights = model(b).pointer_attention  # (B, L)
        options = {"include_self": False}
        for how, hit in chosen.items():
            p, way = torch.zeros(len(b), V), ways[how]
            p = p.scatter_reduce(1, b.location, weights, way, **options)
            # normalising would change no order
            hit[b.index] = (p.argmax(1) == b.target).numpy()
result = pd.DataFrame({how: 100.0 * hit for how, hit in chosen.items()})
groups = result.groupby(np.where(known, "known", "never seen"))
groups.mean().round(1).rename_axis("Acc@1, %")
# The keys were trained to be added up, so a fair comparison trains each.
# Places never seen have few visits to add up: there "largest" is no worse.
# To train with "largest", let log_scatter return its peak m, normalised over
# the places. Remove the detach, or query and keys learn nothing.

# %% [markdown]
# **Next:** [The generator and the gate](08_generator_and_gate.ipynb), for the targets that cannot be pointed at.
