# %% [markdown]
# # Sets over time
#
# Can a network with a graph, attention and a gate beat a list of what you usually buy?
#
# *You will be able to* predict somebody's next basket, or the places of their next day, with masked self-attention over sets,
# say which way a mask looks, and say when counting is enough. *You need*
# [Position and encoder](06_position_and_encoder.ipynb) and [Baselines](04_baselines.ipynb). *It takes* twenty minutes to
# read and about a minute to run, with or without a GPU.
#
# > **In one sentence.** Count what a person took, fill up with what everybody takes, and you have a baseline that the network
# > of this chapter does not beat. It hardly sees whether a thing was in a set at all, and mending that brings it level only
# > where people shop.

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
from dataclasses import replace

import pandas as pd
import seaborn as sns
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from wherenext import city, figures
from wherenext.exercises import check
from wherenext.figures import flowchart, show
from wherenext.results import read_results

from pgt import temporal_sets

torch.set_num_threads(1)
town = city.load()
days = temporal_sets.daily_places(town.visits, days=7)  # of active days

# %% [markdown]
# So far we asked which *one* place comes next. Often what comes next is a set: the products of the next basket, the places of
# tomorrow. The order within a set means nothing, and several answers are right at once.
# [Yu et al. (2020)](https://arxiv.org/abs/2006.11483) call this the prediction of *temporal sets*. We build all of their
# network, DNNTSP, part by part, and then ask it to beat a count.

# %% tags=["hide-input"]
# @title Figure 18.1: DNNTSP
figure, axes = plt.subplots(figsize=(7.0, 2.7))
COPIED, GENERATED, INK = figures.COPIED, figures.GENERATED, figures.INK
PARTS = {  # name: x, y, colour, and where its arrows lead
    "history of sets": (0, 5, INK, "weighted GCN"),
    "table of all elements": (2.6, 5, GENERATED, "weighted GCN", "gate"),
    "weighted GCN": (0, 4, COPIED, "masked self-attention"),
    "masked self-attention": (0, 3, COPIED, "weighted sum over time"),
    "weighted sum over time": (0, 2, COPIED, "gate"),
    "gate": (1.3, 1, figures.GATE, "a score for every element"),
    "a score for every element": (1.3, 0, figures.TRUTH),
}
flowchart(axes, PARTS)
show(
    figure,
    alt="History of sets, weighted GCN, masked self-attention, weighted sum; "
    "the sum and a table of all elements meet in a gate, which gives scores.",
    caption="DNNTSP. Blue: from a person's own history. Orange: the same for "
    "everybody. Purple weighs the two, green is the prediction.",
)

# %% [markdown]
# ## One person's week
#
# One person goes with us through all parts: the one whose window Part II followed. The input is a person's sets in order of time,
# and nothing else. There is a row for each **element** that occurs, a place or a product.

# %%
i = int((days["test"].length == 7).nonzero()[3])
person = days["test"].batch([i])  # seven sets, and the one after them
name_of = town.places.set_index("location_id").name
ids = sorted(town.visits.location_id.unique())
places = [name_of[ids[e]] for e in person.elements[0].tolist()]
past = [f"−{7 - t}" for t in range(7)]  # the days

# %% tags=["hide-input"]
# @title Figure 18.2: a history of sets
grid = pd.DataFrame(person.present[0].int(), index=places, columns=past)
grid["next"] = 2 * torch.isin(person.elements, person.target)[0].int()
plt.figure(figsize=(7.0, 2.4))
look = {"cbar": False, "linewidths": 2, "linecolor": figures.PAPER}
colours = [figures.PAPER, COPIED, figures.TRUTH]
axes = sns.heatmap(grid, cmap=colours, vmax=2, **look)
axes.set(xlabel="active day", ylabel="")
show(
    axes.figure,
    alt="A grid of places by days, marked where a place was visited: Sage & "
    "Jolly Instruments on four days, 46 Alder Walk on three, others on one.",
    caption="Seven active days (days with visits); in green, the next one.",
)

# %% [markdown]
# The package has DNNTSP, too, as `SetPredictor`. We train it now, on the town's training days, to predict an active day from up to
# seven before. Then each part that we build can borrow trained weights and show what it does with this history.


# %% tags=["hide-input"]
# @title train(variant) and borrow(part, trained_part); V places in all
V = days["train"].n_elements
training = temporal_sets.SetTraining(epochs=6, learning_rate=3e-3)


def train(variant):
    """A network of the package, trained on the town's days."""
    torch.manual_seed(training.seed)
    config = temporal_sets.SetConfig(V, **temporal_sets.VARIANTS[variant])
    network = temporal_sets.SetPredictor(config)
    temporal_sets.fit(network, days["train"], days["valid"], training)
    return network.requires_grad_(False)


def borrow(part, trained_part):
    """A part of ours with the weights of a trained one."""
    part.load_state_dict(trained_part.state_dict())
    return part.eval().requires_grad_(False)


# %%
trained = train("full")

# %% [markdown]
# ## Who goes with whom: the weighted GCN
#
# Places of one day say something about each other. So DNNTSP draws a **co-occurrence graph** for every set. Its elements are
# joined, more strongly if they were together more often in the whole history. Every element of the history is also joined to
# itself. For elements $\ell$ and $\ell'$ and set $i$,
#
# $$
# \mathcal{G}_{\ell\ell'}^{i} = \frac{1}{\mathcal{N}} \begin{cases}
# \text{sets with both} & \text{if } \ell \ne \ell' \text{ are in set } i, \\
# 1 & \text{if } \ell = \ell', \\ 0 & \text{otherwise.} \end{cases} \tag{18.1}
# $$
#
# "Sets with both" is their number in the whole history, and $\mathcal{N}$ the largest number that the brace gives anywhere in it.
# In a *graph convolution* (GCN) each element adds up its neighbours' vectors with these weights. A linear layer, batch normalisation
# (each number gets mean 0 and variance 1 over the batch) and a ReLU follow. In the code $U$ counts people, $N$ elements and $T$
# sets; vectors have the width $D$.


# %%
def weighted_graphs(present):
    """(U, N, T) which elements were in which set -> (U, T, N, N)."""
    x = present.float().transpose(1, 2)  # (U, T, N) of U people
    both = x[..., :, None] * x[..., None, :]  # 1 where both are in set t
    graph = both * both.sum(1, keepdim=True)  # times: in how many sets
    itself = torch.eye(x.shape[-1])
    graph = graph * (1 - itself) + itself
    return graph / graph.amax((1, 2, 3), keepdim=True)


class GraphConvolution(nn.Module):
    def __init__(self, D):
        super().__init__()
        self.linear, self.norm = nn.Linear(D, D), nn.BatchNorm1d(D)

    def forward(self, x, graph):
        """(U, T, N, D) vectors, (U, T, N, N) weights -> (U, T, N, D)."""
        x = self.linear(graph @ x)
        return self.norm(x.flatten(0, 2)).view_as(x).relu()


# %% [markdown]
# Our person's elements start with their rows of the table, and pass two convolutions. Here is the graph of day −2.

# %%
graph = weighted_graphs(person.present)  # (1, T, N, N)
x = trained.table(person.elements)  # (1, N, D) each element's vector
x = x[:, None].expand(-1, 7, -1, -1)  # the same at each time
for layer in trained.convolutions:
    x = borrow(GraphConvolution(32), layer)(x, graph)

# %% tags=["hide-input"]
# @title Figure 18.3: the graph of day −2
shade = sns.light_palette(COPIED, as_cmap=True)
day = pd.DataFrame(graph[0, 5].numpy(), places)
figure = plt.figure(figsize=(7.0, 2.4))
look |= {"cmap": shade, "annot": True, "vmin": 0, "xticklabels": False}
sns.heatmap(day, mask=day == 0, **look).grid(False)
show(
    figure,
    alt="A grid of places: 1 between Sage & Jolly Instruments and 46 Alder "
    "Walk, a half from both to Winter Garden Centre and on the diagonal.",
    caption="Edges of one set. The columns are the same places.",
)

# %% [markdown]
# Three places were visited. Sage & Jolly Instruments and 46 Alder Walk were together on two days, no pair more often. So
# $\mathcal{N}$ is 2, and their edge is 1.
#
# ## Looking back: masked self-attention
#
# Each place now has a vector, its state, at each time. The states of one place look at each other, but only backwards. As in
# [chapter 6](06_position_and_encoder.ipynb), the attention of a head is
#
# $$
# \begin{aligned}
# A &= \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}} + \mathcal{M}\Big), \\
# \text{output} &= A\, (X W_V),
# \end{aligned} \tag{18.2}
# $$
#
# where $X$ holds the states of one element, one for each set, and $d$ is the width of a head. With the **causal mask**
# $\mathcal{M}$, set $i$ may look at set $j$ when $j$ is not later:
#
# $$
# \mathcal{M}_{ij} = \begin{cases} 0 & \text{if } j \le i, \\ -\infty & \text{if } j > i. \end{cases} \tag{18.3}
# $$


# %%
def mask(n, ahead=0):
    """(n, n) equation (18.3); ``ahead`` sets of the future are let in."""
    return torch.full((n, n), -math.inf).triu(1 + ahead)


class MaskedSelfAttention(nn.Module):
    def __init__(self, D, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(D, 3 * D, bias=False)  # W_Q, W_K, W_V

    def forward(self, x, ahead=0):
        """(rows, T, D), a row is one person's element: output, weights."""
        rows, T, D = x.shape
        heads = self.project(x).view(rows, T, 3, self.heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # (rows, heads, T, d) each
        scores = q @ k.transpose(-2, -1) / math.sqrt(D / self.heads)
        a = (scores + mask(T, ahead)).softmax(-1)  # (rows, heads, T, T)
        return (a @ v).transpose(1, 2).reshape(rows, T, D), a


# %%
attention = borrow(MaskedSelfAttention(32, heads=4), trained.attention)
states = x.transpose(1, 2).flatten(0, 1)  # (N, T, D) a row for each place
z, a = attention(states)
weights = a[0].mean(0).numpy()  # first place, mean over heads
pd.DataFrame(weights, past, past).round(2).rename_axis(places[0])

# %% [markdown]
# A row looks, a column is looked at; above the diagonal lies the future, without weight. In the last row something is odd: the
# person was there on day −7 and not on days −5 to −3, but all four weigh the same. Keep that in mind.
#
# A mask the wrong way round need not crash. So test it by what it promises: change the last two days, and see which states notice.

# %%
ahead = 0  # @param {type:"slider", min:0, max:4, step:1}

# %%
changed = states.clone()
changed[:, 5:] += 1  # another future
before, after = (attention(rows, ahead)[0] for rows in (states, changed))
moved = (after - before).abs().mean((0, 2))
print("change of each state:", moved.numpy().round(2))

# %% [markdown]
# The first five states stay as they were.
#
# > **Try it.** Set `ahead` to 1. The fifth state changes, and nothing warns.
#
# ## One vector for each element: the weighted sum
#
# Let $\mathcal{Z}_i$ be what attention makes of an element at set $i$. A learned vector $w_\text{agg}$ gives each set a weight, and
# the weighted vectors are added up:
#
# $$
# \mathcal{C} = \sum_i \big(w_\text{agg} \cdot \mathcal{Z}_i\big)\, \mathcal{Z}_i . \tag{18.4}
# $$
#
# Nothing normalises the weights. Histories differ in length, so padding gets the weight zero.


# %%
class WeightedAggregation(nn.Module):
    def __init__(self, D):
        super().__init__()
        self.weigh = nn.Linear(D, 1, bias=False)  # w_agg

    def forward(self, z, length):
        """(rows, T, D) states, (rows,) sets of each -> (rows, D)."""
        real = torch.arange(z.shape[1]) < length[:, None]  # (rows, T)
        return (self.weigh(z) * real[..., None] * z).sum(1)


# %%
aggregation = borrow(WeightedAggregation(32), trained.aggregation)
c = aggregation(z, torch.full((len(places),), 7))  # (N, D)
weights = aggregation.weigh(z)[0, :, 0].numpy()
print(f"{places[0]}, days −7 to −1:", weights.round(2))

# %% [markdown]
# For this place the weights are nearly equal, so that the sum is nearly a plain one.
#
# ## What was not seen: the gate
#
# Every element of the history now has a vector $\mathcal{C}_\ell$. Every place of the town, seen or not, also has a row in the
# table $E$. A learned vector $w_\text{out}$ and a number $b$ turn either into a score. An element that was seen gets a mixture of both.
# Its gate is one learned number $\alpha_\ell$, and nothing keeps it between 0 and 1. One that was not seen has only the table:
#
# $$
# \begin{aligned}
# \text{seen:} \quad s_\ell &= (1 - \alpha_\ell)\; w_\text{out} \cdot E_{\ell,:}
#     + \alpha_\ell\; w_\text{out} \cdot \mathcal{C}_\ell + b , \\
# \text{not seen:} \quad s_\ell &= w_\text{out} \cdot E_{\ell,:} + b .
# \end{aligned} \tag{18.5}
# $$
#
# A sigmoid turns each score into a probability, since every element is a separate yes or no, and the loss adds up the
# cross-entropies of all.


# %%
class GatedFusion(nn.Module):
    def __init__(self, V, D):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(V))
        self.out = nn.Linear(D, 1)  # w_out and b

    def forward(self, E, elements, c):
        """(V, D) table, (U, N) elements, (U, N, D) vectors -> (U, V)."""
        common = self.out(E).squeeze(-1)  # (V,) the same for everybody
        e = elements.clamp(min=0)  # -1 is padding
        alpha, own = self.alpha[e], self.out(c).squeeze(-1)  # (U, N)
        own = (1 - alpha) * common[e] + alpha * own
        where = torch.where(elements >= 0, elements, len(E))
        scores = F.pad(common, (0, 1)).repeat(len(c), 1)  # one for padding
        return scores.scatter(1, where, own)[:, : len(E)]


# %% tags=["hide-input"]
# @title Table: gate and scores of our person's places
fusion = borrow(GatedFusion(V, 32), trained.fusion)
E, e = trained.table.weight, person.elements[0]
look_at = {
    "days": person.present[0].sum(1),
    "gate": fusion.alpha[e],
    "by the table": fusion.out(E[e])[:, 0],
    "by the history": fusion.out(c)[:, 0],
    "score": fusion(E, e[None], c[None])[0, e],
}
board = pd.DataFrame({k: v.numpy() for k, v in look_at.items()}, places)
board.sort_values("score", ascending=False).round(2)

# %% [markdown]
# The gate mixes the scores *by the table* and *by the history*. 46 Alder Walk comes first, rightly. Sage & Jolly Instruments, the
# other right answer, was visited on the most days, and yet a place with a single visit is ahead of it. That is the gate's doing. It
# belongs to the place, not to the person: each place has one gate for everybody.
#
# ## The whole network
#
# It calls the parts one after the other. With the trained weights it must give the package's scores.


# %%
class DNNTSP(nn.Module):
    def __init__(self, V, D=32, heads=4):
        super().__init__()
        self.table = nn.Embedding(V, D)
        two = (GraphConvolution(D) for _ in range(2))
        self.convolutions = nn.ModuleList(two)
        self.attention = MaskedSelfAttention(D, heads)
        self.aggregation = WeightedAggregation(D)
        self.fusion = GatedFusion(V, D)

    def forward(self, batch):
        U, N, T = batch.present.shape
        graph = weighted_graphs(batch.present)
        x = self.table(batch.elements.clamp(min=0))  # (U, N, D)
        x = x[:, None].expand(-1, T, -1, -1)  # the same at each time
        for convolution in self.convolutions:
            x = convolution(x, graph)
        rows = x.transpose(1, 2).flatten(0, 1)  # (U N, T, D)
        length = batch.length.repeat_interleave(N)
        z, _ = self.attention(rows)
        c = self.aggregation(z, length).view(U, N, -1)
        return self.fusion(self.table.weight, batch.elements, c)


# %%
ours = borrow(DNNTSP(V), trained)
some = days["test"].batch(range(0, len(days["test"]), 9))
torch.testing.assert_close(ours(some), trained(some))  # or an error
print(f"{len(some)} histories: our network gives the same scores")

# %% [markdown]
# ## The blind spot
#
# Now give the network another week. On days −7, −4 and −1 our person visited one place only. Let that be Bright Repair Shop each
# time, never Sage & Jolly Instruments. How far do the scores move?

# %%
sage, repair = 0, 4  # rows of figure 18.2
present = person.present.clone()
for day in (0, 3, 6):  # days −7, −4 and −1
    present[0, sage, day], present[0, repair, day] = False, True
elsewhere = replace(person, present=present)
largest = (ours(elsewhere) - ours(person)).abs().max()
print(f"largest change of a score: {largest:.1f}")

# %% [markdown]
# Not at all. Look at equation (18.1) again: an element is joined to itself in *every* set, whether it was there or not. So the
# only sign that it was there is an edge to another one. **An element that is alone leaves no trace of when it was there.** That is
# why the lonely day −7 weighed as much as days without a visit. And it is not rare: in the shopping baskets below,
# {{ facts.alone:.0f }} % of the sets hold a single element.
#
# We mend it in a network that we call *informed*. In the sets that an element was in, it adds to the element's vector a learned
# vector that says "here", and another for how many sets ago that was. All else is DNNTSP.

# %%
informed = train("informed")
both = person.elements[0, [sage, repair]]
moved = (informed(elsewhere) - informed(person))[0, both]
print("change of both scores:", moved.numpy().round(1))

# %% [markdown]
# This one notices.
#
# ## Against counting
#
# Read equation (18.5) once more. For an element that was not seen, nothing in it depends on the person. **Beyond your own history,
# DNNTSP recommends one list, the same for everybody.** That tells us what to compare with: *count what this person took, and fill
# up with what everybody takes*. We call this rule *personal, then popular*.
#
# Here are the town's test days. **Recall** is the share of the next set that is among the first ten guesses; `repeated` and `new`
# are the recall of places in the history and of all others. NDCG adds up what equation (4.1) gives for each right answer, and
# divides by what a perfect list would get.

# %% tags=["hide-input"]
# @title Table: the town's days
models = {"DNNTSP": trained, "informed": informed}
models["popular"] = temporal_sets.Popular().fit(days["train"])
models["personal, then popular"] = temporal_sets.Personal().fit(days["train"])
columns = ["recall@10", "ndcg@10", "repeated@10", "new@10"]
means = {}
for name, model in models.items():
    scores = temporal_sets.evaluate(model, days["test"])
    means[name] = 100 * scores[columns].mean()
pd.DataFrame(means).T.astype(float).round(1)

# %% [markdown]
# Counting wins. Our six epochs are few, but trained to the end the networks reach an NDCG@10 of only {{ ended["full"]:.1f }} and
# {{ ended["informed"]:.1f }} (means of five seeds). And no list finds the new places.
#
# ## Shopping baskets
#
# *DC* is one of the data sets of Yu et al.: baskets from a retailer. The last basket of each customer is to be predicted, and
# training has never met the customers of the test set. Below are means over five seeds and {{ facts.n:,.0f }} customers. The last
# column is the difference to *personal, then popular* in NDCG@10, in points, with 95 % intervals over people and seeds.

# %% tags=["hide-input"]
# @title Table: shopping baskets
results = read_results("temporal_sets")
LABELS = {
    ("popular", "full"): "popular",
    ("personal", "own"): "personal frequency",
    ("personal", "backoff"): "personal, then popular",
    ("dnntsp", "full"): "DNNTSP",
    ("dnntsp", "informed"): "informed",
}
board = results.select(data="dc").groupby(["model", "variant"])
board = board[columns[:2]].mean().loc[list(LABELS)]
board = board.map("{:.1f}".format).set_axis(LABELS.values())
board["difference"] = ""
for name, variant in {"DNNTSP": "full", "informed": "informed"}.items():
    own = {"data": "dc", "model": "dnntsp", "variant": variant}
    mean, low, high = (
        results.mean("ndcg@10", group=group, **own)
        for group in ("lead", "lead low", "lead high")
    )
    board.loc[name, "difference"] = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
facts = results.select(group="facts", data="dc").iloc[0]
ended = results.select(data="city days", model="dnntsp")
ended = ended.groupby("variant")["ndcg@10"].mean()
board

# %% [markdown]
# *Personal frequency* stops after the few elements of a history; filling up its list gains much, so a fair baseline does it. By
# NDCG@10, DNNTSP is behind that rule, and the informed network draws level. Others found it hard to beat, too
# ([Li et al., 2023](https://arxiv.org/abs/2109.14233); [Hu et al., 2020](https://arxiv.org/abs/2006.00556)). (Two settings were
# changed after we had seen test scores, which may flatter the networks: [Evidence: the relatives](evidence_relatives.ipynb).)
#
# ## What to remember
#
# - A causal mask is 0 for the present and the past and $-\infty$ for the future. Test it by changing the future.
# - DNNTSP does not see whether an element was there unless it had company.
# - Beyond the history it has one list for everybody.
# - Count what a person took, then fill up with what everybody takes: no network here is distinctly above that by NDCG@10.
#
# ## Exercises
#
# **Exercise 1** (quick). Six elements, all scores different. The next set has two elements, ranked first and fourth. What are
# recall, NDCG and the **personal hit ratio** at 3? (The last is the share of sets of which at least one element is found.)

# %% tags=["try"]
yours = ...  # for example [0.1, 0.2, 0.3]
check.exercise("18.1", yours)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
# One of two is among the first three. Its gain, 1 at rank one, is divided by
# what both could give: ranks one and two.
gain, ideal = 1.0, 1 + 1 / math.log2(3)
check.exercise("18.1", [1 / 2, gain / ideal, 1.0])

# %% [markdown]
# **Exercise 2** (medium). The aggregation of equation (18.4) does not normalise its weights. Show that the same states given
# twice double its vector, and that with weights from a softmax over time the vector would stay the same. Which would you want for
# a shop?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
twice = torch.cat([z, z], 1)  # our person's states, (N, 2 T, D)
longer = aggregation(twice, torch.tensor([14]))
longer /= aggregation(z, torch.tensor([7]))
print(f"unnormalised: {longer.mean():.3f}")
soft = [(aggregation.weigh(s).softmax(1) * s).sum(1) for s in (z, twice)]
print(f"softmax: {(soft[1] / soft[0]).mean():.3f}")
# A shop wants to know how often, so the sum is right once presence is known.
# But the sum also grows without bounds.

# %% [markdown]
# **Next:** [Ten improvements](19_improvements.ipynb), and what becomes of them when they are measured.
