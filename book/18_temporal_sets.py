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
# > of this chapter does not beat; it hardly sees whether a thing was in a set at all, and mending that brings it level only
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
# network, DNNTSP, and then ask it to beat a count.

# %% tags=["hide-input"]
# @title Figure 18.1: DNNTSP
figure, axes = plt.subplots(figsize=(7.0, 3.4))
COPIED, GENERATED = figures.COPIED, figures.GENERATED
INK, GATE, TRUTH = figures.INK, figures.GATE, figures.TRUTH
ATTENTION, SUM = "masked self-attention", "weighted sum over time"
PARTS = {  # name: x, y, colour, and where its arrows lead
    "history of sets": (0, 5, INK, "weighted GCN"),
    "table of all elements": (2.6, 5, GENERATED, "weighted GCN", "gate"),
    "weighted GCN": (0, 4, COPIED, ATTENTION),
    ATTENTION: (0, 3, COPIED, SUM),
    SUM: (0, 2, COPIED, "gate"),
    "gate": (1.3, 1, GATE, "a score for every element"),
    "a score for every element": (1.3, 0, TRUTH),
}
flowchart(axes, PARTS)
show(
    figure,
    alt="Boxes from top to bottom: history of sets, weighted GCN, masked "
    "self-attention, weighted sum. The sum and a table of all elements meet "
    "in a gate, which gives a score for every element.",
    caption="DNNTSP. Blue: from a person's own history. Orange: the same for "
    "everybody. Purple weighs the two, green is the prediction.",
)

# %% [markdown]
# ## A history is a table of ones and zeros
#
# The input is somebody's sets in order of time, with a row for each **element** that occurs: a place, or a product. Nothing else
# goes into the models of this chapter. Here are one person's last seven active days (days
# with visits), and in green what the next day brought.

# %% tags=["hide-input"]
# @title Figure 18.2: a history of sets
i = int((days["test"].length == 7).nonzero()[3])
one = days["test"].batch([i])
names = town.places.set_index("location_id").name
ids = sorted(town.visits.location_id.unique())
elements = one.elements[0].tolist()
rows = [names[ids[e]] for e in elements]
past = [f"−{7 - t}" for t in range(7)]
grid = pd.DataFrame(one.present[0].int(), index=rows, columns=past)
goal = set(one.target[0].tolist())
grid["next"] = [2 * (e in goal) for e in elements]
axes = plt.figure(figsize=(7.0, 2.4)).gca()
look = {"cbar": False, "linewidths": 2, "linecolor": figures.PAPER}
colours = [figures.PAPER, COPIED, TRUTH]
sns.heatmap(grid, cmap=colours, vmax=2, ax=axes, **look)
axes.set(xlabel="active day", ylabel="")
show(
    axes.figure,
    alt="A grid of places by days, marked where a place was visited.",
    caption="One person's history, a row for each place.",
)

# %% [markdown]
# ## The weighted GCN: who goes with whom
#
# Bread and butter in one basket say something about each other. DNNTSP draws a **co-occurrence graph** for every set. Elements
# of the set are joined, more strongly if they were together more often in the whole history. Every element is also joined to
# itself, in every set, whether it is in the set or not. For elements $\ell$ and $\ell'$ and set $i$,
#
# $$
# \mathcal{G}_{\ell\ell'}^{i} = \frac{1}{\mathcal{N}} \begin{cases}
# \text{sets with both} & \text{if } \ell \ne \ell' \text{ are in set } i, \\
# 1 & \text{if } \ell = \ell', \\ 0 & \text{otherwise.} \end{cases} \tag{18.1}
# $$
#
# "Sets with both" is their number in the whole history, and $\mathcal{N}$ is the largest number that the brace gives anywhere in
# it. (If bread and butter were together in two sets, and no pair more often, $\mathcal{N}$ is 2, their edge is 1 in these two sets,
# and every element's edge to itself is ½ in all.) Every
# element starts with a vector, its row in the table of all elements. A graph convolution (GCN) lets each element add up its
# neighbours' vectors with these weights. The sum goes through a linear layer, batch normalisation (each number gets mean 0 and
# variance 1 over the batch) and a ReLU. In the code $U$ counts people, $N$ elements and $T$ sets; vectors have the width $D$.


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
# Look at the case $\ell = \ell'$ again. Every element is joined to itself in *every* set. So the only sign that an element was in
# a set is an edge to another one, and an element that is always alone leaves no trace of *when* it was there. Take two people
# whose sets hold one element each. One took 3, 5, 5, 5, 5 and the other 3, 3, 3, 3, 5. In both histories each
# element is joined to itself alone, five times: the graphs are the same, and so are the scores, which should differ.
#
# Beside DNNTSP we ask *informed*, the same network with a small remedy of ours: in the sets that an element was in, it adds to
# the element's vector a learned vector that says "here", and another for how many sets ago that was. Both networks are untrained,
# so what counts is *whether* scores differ.

# %%
torch.manual_seed(0)
two = {}
for name in ("full", "informed"):
    config = temporal_sets.SetConfig(9, **temporal_sets.VARIANTS[name])
    two[name] = temporal_sets.SetPredictor(config).eval()
long_ago = [[3], [5], [5], [5], [5]]
just_now = [[3], [3], [3], [3], [5]]
# Histories, next sets, how many elements there are.
one, other = (
    temporal_sets.padded([sets], [[5]], 9) for sets in (long_ago, just_now)
)
with torch.inference_mode():
    full, more = ((net(one) - net(other)).abs() for net in two.values())
print("DNNTSP, same scores:", not full.any())
print(f"informed, scores differ by up to {more.max():.4f}")

# %% [markdown]
# DNNTSP cannot tell the two apart. Is that rare? In the shopping baskets below, {{ alone:.0f }} % of the sets hold a
# single element.
#
# ## Looking back: masked self-attention
#
# The graph has given each row, that is each element of a person, a vector at each time. Now the vectors of one row look at
# each other, but only backwards: the state of a set shall come from that set and earlier ones. As in
# [chapter 6](06_position_and_encoder.ipynb), the attention of a head is
#
# $$
# \begin{aligned}
# A &= \operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d}} + \mathcal{M}\Big), \\
# \text{output} &= A\, (X W_V),
# \end{aligned} \tag{18.2}
# $$
#
# where $X$ holds the vectors of one row, one for each set, and $d$ is the width of a head. With the **causal mask**
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
        """(rows, T, D) -> (rows, T, D); a row is one person's element."""
        rows, T, D = x.shape
        heads = self.project(x).view(rows, T, 3, self.heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # (rows, heads, T, d) each
        scores = q @ k.transpose(-2, -1) / math.sqrt(D / self.heads)
        a = (scores + mask(T, ahead)).softmax(-1)  # (rows, heads, T, T)
        return (a @ v).transpose(1, 2).reshape(rows, T, D)


# %% [markdown]
# A mask the wrong way round need not crash. So test it by what it promises: change the last two sets of five, and see which
# states notice.

# %%
ahead = 0  # @param {type:"slider", min:0, max:4, step:1}

# %%
torch.manual_seed(18)
attention = MaskedSelfAttention(16, heads=4)
x = torch.randn(1, 5, 16)
changed = x.clone()
changed[:, 3:] += 1  # another future
with torch.no_grad():
    moved = (attention(changed, ahead) - attention(x, ahead)).abs().mean(-1)
print("change of each state:", moved[0].numpy().round(2))

# %% [markdown]
# The first three states stay as they were. Padding stands at the end of a history, so the mask hides it, too. In the whole
# network a state knows a little of later sets all the same: the counts of equation (18.1) run over the whole history. Here that
# is harmless, since all of it lies before the set to be predicted. If every state were trained to predict the set after its own,
# the counts would contain that set already: a leak.
#
# > **Try it.** Set `ahead` to 1. The third state changes, and nothing warns.
#
# ## The weighted aggregation
#
# Take one element, and let $\mathcal{Z}_i$ be its output at set $i$. A learned vector $w_\text{agg}$ gives each set a
# weight, and the weighted outputs are added up:
#
# $$
# \mathcal{C} = \sum_i \big(w_\text{agg} \cdot \mathcal{Z}_i\big)\, \mathcal{Z}_i . \tag{18.4}
# $$
#
# The weights are not normalised, and may be negative. Histories differ in length, so padding gets the weight zero.


# %%
class WeightedAggregation(nn.Module):
    def __init__(self, D):
        super().__init__()
        self.weigh = nn.Linear(D, 1, bias=False)  # w_agg

    def forward(self, z, length):
        """(rows, T, D) states, (rows,) sets of each -> (rows, D)."""
        real = torch.arange(z.shape[1]) < length[:, None]  # (rows, T)
        return (self.weigh(z) * real[..., None] * z).sum(1)


# %% [markdown]
# ## What was not seen: the gate
#
# Now every element of the history has a vector $\mathcal{C}_\ell$ of its own. Every element of the shop, seen or not, also has
# a row in the table $E$, the same for everybody. A learned vector $w_\text{out}$ and a number $b$ turn either into a score. An
# element that was seen gets a mixture of the two (first line). Its gate is one learned number $\alpha_\ell$, the same for
# everybody, and nothing keeps it between 0 and 1. One that was not seen has only the table (second line):
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


# %% [markdown]
# That was the last part. The whole network calls them one after the other, the graph convolution twice:


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
        c = self.aggregation(self.attention(rows), length).view(U, N, -1)
        return self.fusion(self.table.weight, batch.elements, c)


# %% [markdown]
# Read equation (18.5) once more. For an element that was not seen, nothing in it depends on the person. **Beyond your own
# history, DNNTSP recommends one list, the same for everybody.** It is a pointer and a generator without a context.
#
# That also tells us what to compare with: *count what this person took, and fill up with what everybody takes*. In the tables
# this rule is called *personal, then popular*.
#
# ## The city's days
#
# First the city: predict the next active day from up to seven before, each person's days split in order of time. The package
# has the same network (`SetPredictor`), faster, since it leaves out the zeros. We train it and its informed sister for six
# epochs.
#
# With several right answers, NDCG adds up what equation (4.1) gives for each, and divides by what a perfect list would get
# for a set of $n$ elements:
#
# $$
# \text{NDCG@}k = \frac{\sum_{r \le k} [\text{rank } r \text{ is in the set}] \,/ \log_2(r + 1)}
# {\sum_{r \le \min(k,\, n)} 1 / \log_2(r + 1)} . \tag{18.6}
# $$
#
# Printed is NDCG@10 on the validation days, epoch by epoch.

# %%
scores, networks = {}, {}
training = temporal_sets.SetTraining(epochs=6, learning_rate=3e-3)
for name, variant in {"DNNTSP": "full", "informed": "informed"}.items():
    torch.manual_seed(training.seed)
    config = temporal_sets.SetConfig(
        days["train"].n_elements, **temporal_sets.VARIANTS[variant]
    )
    net = networks[name] = temporal_sets.SetPredictor(config)
    history = temporal_sets.fit(net, days["train"], days["valid"], training)
    print(name, " ".join(f"{100 * row['ndcg@10']:.1f}" for row in history))
    scores[name] = temporal_sets.evaluate(net, days["test"])

# %% [markdown]
# With these weights our own network, built above, must give the same scores as the package's:

# %% tags=["hide-input"]
# @title Check: with the trained weights, our network gives the same scores
trained = networks["DNNTSP"].state_dict().values()
ours = DNNTSP(days["train"].n_elements).eval()
ours.load_state_dict(dict(zip(ours.state_dict(), trained, strict=True)))
some = days["test"].batch(range(0, len(days["test"]), 9))
with torch.inference_mode():  # raises an error if they differ
    torch.testing.assert_close(ours(some), networks["DNNTSP"](some))
print(f"{len(some)} histories: our network gives the same scores")

# %% [markdown]
# Beside NDCG, *recall* is the share of the next set that is among the first guesses. `repeated` and `new` are the recall of
# places in the history and of all others.

# %%
rules = {
    "popular": temporal_sets.Popular(),
    "personal, then popular": temporal_sets.Personal(),
}
for name, rule in rules.items():
    rule.fit(days["train"])
    scores[name] = temporal_sets.evaluate(rule, days["test"])
columns = ["recall@10", "ndcg@10", "repeated@10", "new@10"]
means = {name: 100 * part[columns].mean() for name, part in scores.items()}
pd.DataFrame(means).T.astype(float).round(1)

# %% [markdown]
# Counting wins. Six epochs are few, but trained to the end the networks reach an NDCG@10 of only {{ ended["full"]:.1f }} and
# {{ ended["informed"]:.1f }} (means of five seeds). Sight is not all: *informed* sees what was in a set, and loses, too. And no
# list finds the new places.
#
# ## Shopping baskets
#
# *DC* is one of the data sets of Yu et al.: baskets from a retailer. The last
# basket of each customer is to be predicted, and training has never met the customers of the test set. Below are means over five
# seeds and {{ customers:,.0f }} customers. The last column is the difference to *personal, then popular* in NDCG@10, in points,
# with 95 % intervals over people and seeds.

# %% tags=["hide-input"]
# @title Table: shopping baskets
results = read_results("temporal_sets")
dc = results.rows.query("data == 'dc' and split == 'test'")
LABELS = {
    ("popular", "full"): "popular",
    ("personal", "own"): "personal frequency",
    ("personal", "backoff"): "personal, then popular",
    ("dnntsp", "full"): "DNNTSP",
    ("dnntsp", "informed"): "informed",
}
means = dc[dc.group == "all"].groupby(["model", "variant"])[columns[:2]]
board = means.mean().loc[list(LABELS)].set_axis(LABELS.values())
facts = results.select(group="facts", data="dc").iloc[0]
ended = results.select(group="all", data="city days", split="test")
ended = ended.query("model == 'dnntsp'").groupby("variant")["ndcg@10"].mean()
alone, customers = facts.alone, facts.n
board = board.map("{:.1f}".format).assign(difference="")
for name in ("DNNTSP", "informed"):
    variant = "full" if name == "DNNTSP" else name
    own = dc[(dc.model == "dnntsp") & (dc.variant == variant)]
    lead = own.set_index("group")["ndcg@10"]
    mean, low, high = lead[["lead", "lead low", "lead high"]]
    board.loc[name, "difference"] = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
board

# %% [markdown]
# *Personal frequency* stops after the few elements of a history. Filling up its list costs nothing and gains much, so a fair
# baseline does it. By NDCG@10, DNNTSP is behind that rule, and the informed network draws level. Others found this rule hard to
# beat, too ([Li et al., 2023](https://arxiv.org/abs/2109.14233); [Hu et al., 2020](https://arxiv.org/abs/2006.00556)). (Learning
# rate and patience were changed after we had seen test scores, which may flatter the networks:
# [Evidence: the relatives](evidence_relatives.ipynb).)
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
aggregation, once = WeightedAggregation(16), torch.randn(1, 4, 16)
twice = torch.cat([once, once], 1)  # (1, 8, D)
with torch.inference_mode():
    long = aggregation(twice, torch.tensor([8]))
    short = aggregation(once, torch.tensor([4]))
    print("unnormalised:", round(float((long / short).mean()), 3))
    weights = [aggregation.weigh(z).softmax(1) for z in (once, twice)]
    soft = [(weights[0] * once).sum(1), (weights[1] * twice).sum(1)]
print("softmax:", round(float((soft[1] / soft[0]).mean()), 3))
# A shop wants to know how often, so the sum is right once presence is known.
# But the sum also grows without bounds.

# %% [markdown]
# **Exercise 3** (longer). Let old sets count less: with `Personal(half_life=…)`, a set that lies one half-life further back
# counts half as much. Choose the half-life on the city's validation days, then score the test days. Did it help?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
fading = temporal_sets.chosen(days["train"], days["valid"])
before = scores["personal, then popular"]["ndcg@10"]
after = temporal_sets.evaluate(fading, days["test"])["ndcg@10"]
gained = 100 * (after - before).mean()
lives = f"{fading.half_life} of {temporal_sets.HALF_LIVES}"
print(f"half-life {lives}: {gained:+.2f} points of NDCG@10")
# Its lead on the validation days was too small to trust.

# %% [markdown]
# **Next:** [Ten improvements](19_improvements.ipynb), and what becomes of them when they are measured.
