# %% [markdown]
# # Temporal sets
#
# *You will be able to* predict the next basket of a shopper or the next day's places of a person with attention over
# sets, tell a causal mask from its mirror image, and say when counting is enough. *You need*
# [Position and encoder](06_position_and_encoder.ipynb) and [Baselines](04_baselines.ipynb). *It takes* half an hour to
# read and about half a minute to run; training its networks on the baskets anew takes half an hour on one processor
# core.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %%
import math

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt

from pgt import check, city
from pgt.checkpoint import load_model, shipped
from pgt.experiments import read_results
from pgt.figures import COPIED, GENERATED, INK, MUTED, TRUTH
from pgt.improvements.parts import improved
from pgt.look import story
from pgt.plots import show
from pgt.relatives.baskets import daily_places, padded
from pgt.relatives.dnntsp import VARIANTS, GatedFusion, SetConfig, SetPredictor
from pgt.relatives.set_baselines import Personal, Popular
from pgt.relatives.set_graph import co_occurrence
from pgt.relatives.set_metrics import evaluate
from pgt.relatives.set_training import SetTraining, fit
from pgt.relatives.temporal_sets import MaskedSelfAttention, WeightedAggregation
from pgt.windows import prepare

torch.set_num_threads(1)
torch.manual_seed(18)
town = city.load()
days = daily_places(town.visits, days=7)  # the places of each active day
results = read_results("temporal_sets")
print(results.header["command"])

# %% [markdown]
# So far the question was which *one* place comes next. Often what comes next is a set: the products of the next
# basket, the places of tomorrow. Order within a set means nothing, its size is not known, and several answers are
# right at once. [Yu et al. (2020)](https://arxiv.org/abs/2006.11483) call this the prediction of *temporal sets*, and
# one of the notebooks behind this book takes the middle part of their network, DNNTSP, apart: attention over time.
# We build that part, complete it to a working predictor, and ask what we always ask. Does it beat counting?
#
# ## A history is a table of ones and zeros
#
# Somebody's sets, in order of time, with a row for each element that occurs:

# %%
i = int((days["test"].length == 7).nonzero()[3])
one = days["test"].batch([i])
table = one.present[0].int()  # (elements, days)
goal = set(one.target[0].tolist()) - {-1}
names = town.places.set_index("location_id").name
ids = sorted(town.visits.location_id.unique())
rows = [names[ids[e]] for e in one.elements[0].tolist()]
figure, axes = plt.subplots(figsize=(7.0, 0.8 + 0.26 * len(rows)))
for y, e in enumerate(one.elements[0].tolist()):
    at = np.flatnonzero(table[y])
    axes.plot(at, [y] * len(at), "s", color=COPIED, ms=9)
    if e in goal:
        axes.plot(7, y, "*", color=TRUTH, ms=12)
axes.set_yticks(range(len(rows)), rows)
axes.set_xticks(range(8), [*(f"−{7 - k}" for k in range(7)), "next"])
axes.set(xlabel="active day, counted from the one to predict", ylim=(len(rows) - 0.5, -0.5))
found = len(goal & set(one.elements[0].tolist()))
show(
    figure,
    alt=f"A grid of {len(rows)} places by seven days, marked where the place was visited. Of the {len(goal)} places of the "
    f"next day, {found} occur in the grid.",
    caption="One person's last seven active days. Squares: the place was visited that day. Stars: places of the next day "
    "that have a row; a new place has none.",
)

# %% [markdown]
# Nothing else goes into the models of this chapter. A person with few habits has a tall table, most tables have
# many empty cells, and padding is easy: further rows and further columns of zeros at the end.
#
# ## A mask with a sign
#
# Take one row and give it a vector at each time. The vectors shall look at each other, but only backwards: a state must
# not depend on what comes later. With the words of [chapter 6](06_position_and_encoder.ipynb), the attention of a head is
#
# $$
# A = \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}} + \mathcal{M}\Big), \quad \text{output} = A\, (X W_V), \tag{18.1}
# $$
#
# with a **causal mask** that is added before the softmax. Set $i$ may look at set $j$ when $j$ is not later:
#
# $$
# \mathcal{M}_{ij} = \begin{cases} 0 & \text{if } j \le i, \\ -\infty & \text{if } j > i. \end{cases} \tag{18.2}
# $$
#
# The notebook's formula is the other one: 0 if $i < j$ and $-\infty$ otherwise. Its code is equation (18.2). One of the two is
# wrong, and four sets are enough to see which.

# %%
n = 4
earlier, later = (torch.ones(n, n).triu(1) == 0), (torch.ones(n, n).triu(1) == 1)
zero, no = torch.tensor(0.0), torch.tensor(-math.inf)
code, formula = torch.where(earlier, zero, no), torch.where(later, zero, no)
pd.concat(
    {
        "code": pd.DataFrame(code.softmax(-1).numpy().round(2)),
        "formula": pd.DataFrame(formula.softmax(-1).numpy().round(2)),
    },
    axis=1,
)

# %% [markdown]
# With equal scores, row $i$ shows whom set $i$ looks at. The code averages what has been so far. The formula looks at the future only,
# not even at the present; and the last set has no future. Its row is $-\infty$ throughout, the softmax divides 0 by 0, and
# the result is not a number.
#
# > **Pitfall.** A mask the wrong way round fails loudly in one row only, the last, and that is the one that predicts. All other
# > rows give finite numbers, of states that have seen nothing but their own future.
#
# With padding at the end there is a second gift in equation (18.2): what is padding for a set is always later than it. The mask
# that hides the future hides the padding, and no other is needed.
#
# ## All rows at once
#
# Here is attention as one would explain it: row by row, head by head, time by time.


# %%
def slow(x, module):
    """(rows, T, D) -> (rows, T, D), in loops."""
    h, width = module.n_heads, module.per_head
    weight = module.project.weight.view(3, h, width, -1)  # queries, keys, values
    out = []
    for row in x:  # (T, D)
        heads = []
        for k in range(h):
            q, key, v = (row @ weight[what, k].T for what in range(3))  # (T, width)
            states = []
            for t in range(len(row)):
                scores = key[: t + 1] @ q[t] / math.sqrt(width)  # the past and the present
                states.append(scores.softmax(0) @ v[: t + 1])
            heads.append(torch.stack(states))
        out.append(torch.cat(heads, -1) if module.heads == "concat" else sum(heads) / h)
    return torch.stack(out)


x = torch.randn(6, 5, 16, dtype=torch.float64)  # 6 rows, 5 sets, D = 16
for heads in ("concat", "mean"):
    module = MaskedSelfAttention(16, 16, n_heads=4, heads=heads).double()
    fast, weights = module(x)
    gap = (fast - slow(x, module)).detach().abs().max()
    print(
        heads,
        weights.shape,
        f"largest difference {gap.item():.0e}",
    )

# %% [markdown]
# The slow version needs no mask, because it never touches the future. The fast one lets all times look at all times and takes it
# back with $\mathcal{M}$. They are equal to the last digits. Heads are joined in one of two ways: side by side, each with a share of the
# dimensions, or averaged, each with all of them.
#
# ## One vector a row
#
# Let $\mathcal{Z}_i$ be the output at set $i$. The sets are weighed by how they look and added up:
#
# $$
# \mathcal{C} = \sum_i \big(w_\text{agg} \cdot \mathcal{Z}_i\big)\, \mathcal{Z}_i . \tag{18.3}
# $$
#
# The weights are not normalised. They may be negative, and a longer history makes a longer vector.
#
# Histories differ in length, and the notebook cuts each user's rows out of the batch in a loop, sums, and glues the results together.
# A weight of zero does the same.


# %%
def by_user(z, counts, lengths, weigh):
    """The notebook's way: user after user. (rows, T, D) -> (rows, D)."""
    found, first = [], 0
    for rows, length in zip(counts, lengths, strict=True):
        own = z[first : first + rows, :length]  # (rows of the user, length, D)
        found.append((weigh(own).transpose(1, 2) @ own).squeeze(1))
        first += rows
    return torch.cat(found)


counts, lengths = [2, 1, 3], [5, 2, 4]  # three users with six rows
aggregation = WeightedAggregation(16).double()
each = torch.tensor(lengths).repeat_interleave(torch.tensor(counts))  # (rows,)
z, _ = module(x)
apart = aggregation(z, each) - by_user(z, counts, lengths, aggregation.weigh)
print(f"largest difference {apart.detach().abs().max().item():.0e}")

# %% [markdown]
# ## Who goes with whom
#
# Attention looks along a row. What about columns? Bread and butter in one basket say something about each other. DNNTSP draws
# a **co-occurrence graph** for every set: elements that are in it are joined, the stronger the more often they were together in the
# whole history, and every element is joined to itself at all times. For elements $\ell$ and $\ell'$ and set $i$,
#
# $$
# \mathcal{G}_{\ell\ell'}^{i} = \frac{1}{\mathcal{N}} \begin{cases}
# \text{number of sets with both} & \text{if } \ell \ne \ell' \text{ and both are in set } i, \\
# 1 & \text{if } \ell = \ell', \\ 0 & \text{otherwise,} \end{cases} \tag{18.4}
# $$
#
# where $\mathcal{N}$ is the largest of the numbers. A convolution lets each element add up its neighbours' vectors with these
# weights, and puts the sum through a linear layer. The whole graph library that this seems to need is one batched matrix product.

# %%
graph = co_occurrence(one.present)[0]  # (T, N, N)
sizes = one.present[0].sum(0)
busiest, quietest = int(sizes.argmax()), int(sizes.argmin())
figure, panels = plt.subplots(1, 2, figsize=(7.0, 3.2))
for axes, t in zip(panels, (busiest, quietest), strict=True):
    picture = axes.imshow(graph[t].numpy(), vmin=0, vmax=1)
    axes.set(title=f"day −{7 - t}: {int(sizes[t])} places", xlabel="element", ylabel="element")
    axes.grid(False)
figure.colorbar(picture, ax=panels, label="weight", shrink=0.8)
show(
    figure,
    alt=f"Two weight matrices. On the day with {int(sizes[busiest])} places a block of them is joined; on the day with "
    f"{int(sizes[quietest])} hardly anything is off the diagonal. The diagonal has the same weight on both.",
    caption="The graphs of two of the seven days above. The diagonal is there for every element on every day.",
)

# %% [markdown]
# Look at the diagonal. It does not tell whether an element was there that day. The only sign of having been in a set is to have had company.
# So take two people whose sets all have one element, and who could hardly be more different:

# %%
torch.manual_seed(0)
published = SetPredictor(SetConfig(n_elements=9)).eval()
loyal = padded([[[3], [5], [5], [5], [5]]], [[5]], n_elements=9)  # 3 once, long ago
fickle = padded([[[3], [3], [3], [3], [5]]], [[5]], n_elements=9)  # 5 once, just now
with torch.inference_mode():
    same = torch.equal(published(loyal), published(fickle))
    knows = SetPredictor(SetConfig(n_elements=9, **VARIANTS["told"])).eval()
    apart = (knows(loyal) - knows(fickle)).abs().max()
print("published network, same scores:", same)
print(f"told who was there, scores differ by up to {float(apart):.4f}")

# %% tags=["hide-input"]
facts = results.select(group="facts").iloc[0]
sizes = days["test"].present.sum(1)  # (sequences, days) places of a day
alone = 100 * float((sizes == 1).sum() / (sizes > 0).sum())
Markdown(
    f"In the shopping baskets that the paper uses (DC, below), **{facts.alone:.0f} %** of the sets hold a single "
    f"element; of the city's days, {alone:.0f} %."
)

# %% [markdown]
# > **Pitfall.** The published network cannot count. Whether somebody bought an element alone five times or once, yesterday or long ago, its input
# > is the same, digit by digit. Attention over time then weighs equal vectors. This does not show in the formulas of attention, nor in
# > a loss that falls; it shows when one asks for two inputs that must differ and compares the outputs.
#
# The remedy is small: add a learned vector to an element at the times when it was there, and one for how long ago that
# was. We call this network *told* and train both.
#
# ## What was not seen
#
# The network so far has a vector for every element of the history. The others are scored from a table $E$ that is
# the same for everybody, and a gate with one number $\alpha_\ell$ an element mixes both for those that were seen:
#
# $$
# s_\ell = \begin{cases} (1 - \alpha_\ell)\; w_\text{out} \cdot E_{\ell,:} + \alpha_\ell\; w_\text{out} \cdot \mathcal{C}_\ell + b
# & \text{if } \ell \text{ was seen,} \\ w_\text{out} \cdot E_{\ell,:} + b & \text{otherwise.} \end{cases} \tag{18.5}
# $$
#
# A sigmoid makes a probability of each score, since every element is a yes or no of its own. The paper updates a copy of the table for each user and
# then takes the product with $w_\text{out}$. The product is linear, so the mixture may as well be one of two scores. That saves a table of users × elements ×
# dimensions:

# %%
fusion = GatedFusion(9, 8).double()
E, seen, vector = torch.randn(9, 8).double(), torch.tensor([[3, 5]]), torch.randn(1, 2, 8).double()
updated = E.clone()
for k, e in enumerate(seen[0].tolist()):
    updated[e] = (1 - fusion.alpha[e]) * E[e] + fusion.alpha[e] * vector[0, k]
slow_scores = fusion.out(updated).squeeze(-1)
apart = (fusion(E, seen, vector)[0] - slow_scores).detach().abs().max()
print(f"largest difference {apart.item():.0e}")

# %% [markdown]
# Read equation (18.5) once more. For an element that was not seen, nothing in it depends on the person. **What DNNTSP recommends beyond
# your own history is one list, the same for everybody.** It is a pointer, the history, and a generator without a context,
# the list. [Chapter 8](08_generator_and_gate.ipynb) has the generator with a context.
#
# That also tells us what to compare with: *count what this person took, and fill up with what everybody takes*.
#
# ## The city's days
#
# Two networks, a few epochs. Every person's days are split in order of time, as always; the next active day is to be predicted from the seven before.

# %%
scores, lists = {}, {}
training = SetTraining(epochs=10, learning_rate=3e-3)
for name in ("full", "told"):
    torch.manual_seed(training.seed)
    model = SetPredictor(SetConfig(days["train"].n_elements, **VARIANTS[name]))
    history = fit(model, days["train"], days["valid"], training)
    print(name, " ".join(f"{100 * row['ndcg@10']:.1f}" for row in history))  # validation
    scores["DNNTSP" if name == "full" else "DNNTSP, told"] = evaluate(model, days["test"])
    lists[name] = model
for name, rule in {
    "popular": Popular(),
    "personal frequency": Personal(backoff=False),
    "personal, then popular": Personal(),
}.items():
    scores[name] = evaluate(rule.fit(days["train"]), days["test"])

# %% [markdown]
# *Recall* at ten is the share of the next set that is among the ten best scores, *NDCG* also asks how high, and the
# **personal hit ratio** (PHR) is the share of people of whom at least one element is found.

# %%
columns = ["recall@10", "ndcg@10", "phr@10", "recall@40", "repeated@10", "new@10"]
live = pd.DataFrame({name: 100 * part[columns].mean() for name, part in scores.items()}).T
display(live.round(1))
with torch.inference_mode():
    two = days["test"].batch([0, len(days["test"]) - 1])
    unseen = lists["full"](two).masked_fill(two.seen(), -math.inf).topk(30).indices
shared = len(set(unseen[0].tolist()) & set(unseen[1].tolist()))
print(f"of the thirty best places they have not been to, two people share {shared}")

# %% tags=["hide-input"]
best = live["ndcg@10"].idxmax()
Markdown(
    f"By NDCG@10 the best row is *{best}*. In `repeated@10` only places of the last seven days count, in `new@10` only the others. "
    f"Among the new ones the network finds {live.loc['DNNTSP', 'new@10']:.1f} %, and a list of popular places "
    f"{live.loc['personal, then popular', 'new@10']:.1f} %."
)

# %% [markdown]
# ## Shopping baskets
#
# A city of our own making proves little about shops. *DC* is one of the data sets of [Yu et al. (2020)](https://arxiv.org/abs/2006.11483): baskets from a
# retailer, the last one of each customer to be predicted, customers of the test set never met in training. The file is in [their
# repository](https://github.com/yule-BUAA/DNNTSP); we keep only scores. `PGT_DC` names the file when you measure again.

# %%
dc = results.rows[(results.rows.data == "dc") & (results.rows.split == "test")]
LABELS = {
    ("popular", "full"): "popular",
    ("personal", "own"): "personal frequency",
    ("personal", "backoff"): "personal, then popular",
    ("dnntsp", "full"): "DNNTSP",
    ("dnntsp", "told"): "DNNTSP, told",
}
shown = dc[dc.group == "all"].groupby(["model", "variant"])
metrics = [f"{name}@{k}" for k in (10, 20, 30, 40) for name in ("recall", "ndcg", "phr")]
board = pd.DataFrame(
    {label: shown.get_group(key)[metrics].mean() for key, label in LABELS.items()}
).T
display(board.round(1).iloc[:, :6], board.round(1).iloc[:, 6:])

# %% tags=["hide-input"]
runs = shown.get_group(("dnntsp", "full")).seed.nunique()
people = int(facts.n)


def lead(variant, group="lead", metric="ndcg@10"):
    """A difference in points and its interval."""
    own = dc[(dc.model == "dnntsp") & (dc.variant == variant)].set_index("group")[metric]
    return own[group], own[f"{group} low"], own[f"{group} high"]


def said(mean, low, high):
    """In words."""
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


recalls = lead("full", metric="recall@10"), lead("told", metric="recall@10")
if lead("full")[2] < 0:
    verdict = "it loses to counting"
elif lead("full")[1] > 0:
    verdict = "it beats counting"
else:
    verdict = "it cannot be told from counting"
Markdown(
    f"Means over {runs} seed{'s' * (runs > 1)}, {people:,} people. Against *personal, then popular*, which takes no training, the network of the paper "
    f"gains {said(*lead('full'))} points of NDCG@10 and {said(*recalls[0])} of Recall@10 (95 % intervals, people resampled): "
    f"**{verdict}**. Told who was there, it gains {said(*lead('told'))} and {said(*recalls[1])}."
)

# %% [markdown]
# The paper's own scores are in its table of results ([Yu et al., 2020](https://arxiv.org/abs/2006.11483)). Whenever a paper beats a
# personal baseline, ask what that baseline does when the history is shorter than the list. Compare the rows *personal frequency* and *personal, then
# popular* here: a ranking that stops after the few elements of a history leaves places empty that cost nothing to fill. **A baseline that does not use
# all its guesses is not a baseline.** What a network gains over the first row, the second one has for free, or most of it.
#
# ## Which part does what?
#
# > **Pitfall.** Two of our settings, the learning rate and the patience, were changed after test scores had been seen. We ended with
# > the learning rate of the authors' code, and every variant shares it, so the comparison among networks stands; but the test set is no
# > longer untouched, and the choice may flatter the networks against counting. Read small leads with that in mind.

# %%
order = [v for v in VARIANTS if v in set(dc[dc.model == "dnntsp"].variant)]
figure, axes = plt.subplots(figsize=(7.0, 1.2 + 0.42 * len(order)))
for y, variant in enumerate(order):
    mean, low, high = lead(variant)
    colour = COPIED if variant in ("told", "presence") else GENERATED
    axes.hlines(y, low, high, color=colour)
    axes.plot(mean, y, "o" if colour == COPIED else "D", color=colour)
axes.axvline(0, color=MUTED, lw=1)
axes.set_yticks(
    range(len(order)), [v.replace("_", " ").replace("full", "as published") for v in order]
)
axes.invert_yaxis()
axes.set(xlabel="NDCG@10 against personal, then popular (points)")
below = [v for v in order if lead(v)[2] < 0]
above = [v for v in order if lead(v)[1] > 0]
show(
    figure,
    alt=f"Differences to counting for {len(order)} networks with intervals. Below zero: "
    f"{', '.join(below).replace('_', ' ') or 'none'}; above zero: {', '.join(above).replace('_', ' ') or 'none'}.",
    caption="DC baskets: networks against counting, mean over seeds and 95 % interval over people. Diamonds: the network as published, and "
    "with a part taken out or heads averaged. Dots: told which elements were in each set; “told” also knows how long ago.",
)

# %% tags=["hide-input"]
removed = [v for v in order if v.startswith("no_")]
Markdown(
    "Against the whole network, taking a part out changes NDCG@10 by "
    + "; ".join(f"*{v.replace('_', ' ')}* {said(*lead(v, 'gain'))}" for v in removed)
    + f". Telling it who was there changes it by {said(*lead('told', 'gain'))}."
)

# %% [markdown]
# An interval that crosses zero confirms nothing, as in [chapter 14](14_ablations.ipynb). Where a part can be taken out without loss, ask
# whether it had anything to work with. Attention over time has nothing to tell apart when an element's vectors are
# equal, and a graph has nothing to join when sets have one element.
#
# ## Causal attention inside PGT
#
# PGT's encoder has no mask but that of padding: a visit on Monday may look at Wednesday's. Is that not the leak that equation (18.2) prevents? No. The
# target is later than the whole window, so nothing that a visit can look at is the answer. Then what would a causal mask change?
#
# Gate, generator and the pointer's query read *the last visit only*. Its row of equation (18.2) is zeros: it sees everything, mask or
# not. What changes are the earlier visits, which serve the pointer as keys, and the next layer as what is looked at. With the shipped
# weights in both models:

# %%
data = prepare(town.visits, protocol="exact")
plain, _ = load_model(shipped("city"))
causal = improved(plain.config, data.train, "causal")
causal.load_state_dict(plain.state_dict())
causal.eval()
window = data.test.batch([story(data.test)])
with torch.inference_mode():
    layers = {
        name: model(window, attention=True).self_attention[0][0].mean(0)  # (L, L), first layer
        for name, model in {"plain": plain, "causal": causal}.items()
    }
print("last row the same:", torch.allclose(layers["plain"][-1], layers["causal"][-1]))

# %%
length = int(window.length[0])
figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.5), sharey=True)
for axes, (name, weights) in zip(panels, layers.items(), strict=True):
    picture = axes.imshow(weights.numpy(), vmin=0, vmax=float(layers["plain"].max()) * 1.5)
    axes.set(title=name, xlabel="looks at visit")
    axes.axhline(length - 1.5, color=INK, lw=1)
    axes.grid(False)
panels[0].set_ylabel("visit")
figure.colorbar(picture, ax=panels, label="attention, mean over heads", shrink=0.8, extend="max")
seen_later = float(layers["plain"].triu(1).sum() / length)
show(
    figure,
    alt="Two square maps of attention. Without the mask all cells are filled; with it, those above the diagonal are empty and rows "
    "near the top concentrate on few visits. The last row is the same in both.",
    caption=f"First layer on one window, same weights. Without a mask {100 * seen_later:.0f} % of the attention of an average visit goes to later "
    "visits. The row below the line is the last visit's: gate, generator and query read nothing else.",
)

# %% [markdown]
# So the mask costs the keys their view of what came later. Whether that matters is a matter of training with it. Five
# seeds, on the city and on GeoLife, beside the model without the mask, all else equal ([chapter 19](19_improvements.ipynb)
# has the other variants of the same run):

# %%
variants = read_results("improvements")
for source in ("city", "geolife"):
    where = {"model": "improved", "data": source, "protocol": "exact"}
    gap, low, high = variants.difference(
        where | {"variant": "causal"}, where | {"variant": "plain"}
    )
    word = "no difference that this data can show" if low <= 0 <= high else "a difference"
    print(f"{source}: {gap:+.1f} points of Acc@1, 95 % interval [{low:+.1f}, {high:+.1f}]: {word}")

# %% [markdown]
# A mask has a second use, for which one does pay: with it, one pass over a long history predicts after *every* visit, as language models do, since no state has
# seen its own answer. PGT trains on one target a window and has no such use for it.
#
# ## Summary
#
# - A causal mask is 0 for the past and $-\infty$ for the future. The mirror image gives a row of nothing, and that row is the one that predicts.
# - Loops over users, times and heads are masks and products: equal to the last digits.
# - The published network does not see whether an element was there unless it had company, and beyond the history it has one list for everybody.
# - Count what a person took, then fill up with what everybody takes: that is the baseline for sets.
# - In PGT a causal mask takes nothing from the visit that is read.
#
# ## Exercises
#
# **Exercise 1** (quick). Six elements, all scores different. The next set has two elements, ranked first and fourth. What are Recall, NDCG and hit at 3? Replace
# the dots, in that order.

# %% tags=["try"]
yours = ...  # for example [0.1, 0.2, 0.3]
check.same(yours, [0.5, 1 / (1 + 1 / math.log2(3)), 1.0], name="exercise 18.1")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
# One of two is among the first three. Its gain, 1 at rank one, is divided by what both could give: ranks one and two.
gain, ideal = 1.0, 1 + 1 / math.log2(3)
check.same([1 / 2, gain / ideal, 1.0], [0.5, 1 / (1 + 1 / math.log2(3)), 1.0], name="exercise 18.1")

# %% [markdown]
# **Exercise 2** (medium). The aggregation of equation (18.3) does not normalise its weights. Show that a history said twice over, set for set, doubles the vector of the
# aggregation, and that a softmax over time would not change it. Which would you want for a shop?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
once = torch.randn(1, 4, 16).double()
twice = torch.cat([once, once], 1)  # (1, 8, D)
with torch.inference_mode():
    long, short = aggregation(twice, torch.tensor([8])), aggregation(once, torch.tensor([4]))
    print("unnormalised:", float((long / short).mean()))
    soft = [(aggregation.weigh(one).softmax(1) * one).sum(1) for one in (once, twice)]
print("softmax:", float((soft[1] / soft[0]).mean()))
# How often is what a shop wants to know, so the sum is right, once presence is told; it also grows without bounds.

# %% [markdown]
# **Exercise 3** (longer). Let old sets count less: `Personal(half_life=…)`. Choose the half-life on the city's validation days, then score the test days. Did it help, and
# would it on the baskets?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
from pgt.relatives.set_baselines import HALF_LIVES, chosen

fading = chosen(days["train"], days["valid"])
gained = evaluate(fading, days["test"])["ndcg@10"] - scores["personal, then popular"]["ndcg@10"]
print(f"half-life {fading.half_life} of {HALF_LIVES}: {100 * gained.mean():+.2f} points of NDCG@10")
on_dc = (
    shown.get_group(("personal", "half_life"))["ndcg@10"].mean()
    - board.loc["personal, then popular", "ndcg@10"]
)
print(f"baskets, chosen in the same way: {on_dc:+.2f} points")

# %% [markdown]
# **Exercise 4** (project). Beyond the history DNNTSP has one list for everybody. Give it a context: add to the score of every element the product of its row in the table
# with the mean of the vectors of the person's own elements. Does `new@10` rise, on the city or on the baskets?
#
# <details class="solution"><summary>Solution 4</summary>
#
# Derive from `SetPredictor` and let `forward` return `super().forward(batch) + context @ self.table.weight.T`, where `context` is the mean over real
# elements of `represent(batch)`, through a linear layer that starts at zero, so that training begins at the published
# network. Use three seeds and the interval over people. New elements are rare and hard: expect a gain that is small next to its
# interval, and look at Recall at forty, where the list has room.
#
# </details>
