# %% [markdown]
# # Embeddings
#
# Introductions often say that coffee shops end up near coffee shops. Do they, in a model that was trained to predict visits?
#
# *You will be able to* turn a window of visits into a matrix of numbers, write every step of it by hand, and test
# whether an embedding has *meaning* before you say so. *You need* [Windows](03_windows.ipynb) and PyTorch's indexing.
# *It takes* fifteen minutes to read and less than a minute to run, with or without a GPU.
#
# > **In one sentence.** An embedding is a row of a matrix; the trained rows of places are nearly the random ones they began
# > as, so neighbours mean nothing, and yet the model needs the rows: shuffle those of busy places, and it loses
# > {{ lost_busy:.1f }} points of accuracy.

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
import copy

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from torch import nn
from wherenext import city
from wherenext.architecture import architecture
from wherenext.exercises import check
from wherenext.figures import INK, show
from wherenext.walkthrough import story

from pgt.checkpoint import load_model, read_tensors, shipped
from pgt.config import PRESETS
from pgt.metrics import evaluate, summarize
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
town = city.load()
places = town.places.set_index("location_id")
data = prepare(town.visits, protocol="exact")
i = story(data.test)
batch = data.test.batch([i])  # B = 1 window of L visits
seen = data.test.visits_of(i)
L = len(seen)
table = pd.DataFrame({"place": places.name[seen.location_id].to_numpy()})
table["from"] = seen.started_at.dt.strftime("%a %H:%M").to_numpy()
table["to"] = seen.finished_at.dt.strftime("%H:%M").to_numpy()
table

# %% [markdown]
# Part II of this book begins here and follows this window, the **story window**. By the end of Part II you will have
# computed every number that leads from it to a prediction: where the person goes next. A network multiplies and adds, but
# nobody can multiply a "café". So the first task is to give every visit a vector.

# %% tags=["hide-input"]
# @title Figure 5.1: where we are
caption = "You are here: facts become vectors. A box leads to its chapter."
architecture("embeddings", "projection", caption=caption)

# %% [markdown]
# ## A row of a matrix
#
# Number the ids of locations $0, 1, \dots, V-1$. The plainest vector for location $\ell$ is **one-hot**: all zeros
# but for a one at index $\ell$. Call it $e_\ell$. Feed it to a linear layer with matrix $E$ of $V$ rows and $D$
# columns:
#
# $$
# e_\ell^\top E = E_{\ell,:} \tag{5.1}
# $$
#
# The zeros erase every row but one, so the product *is* row $\ell$. Nobody has to multiply; a look-up is enough.

# %%
V, D = data.vocabulary.n_locations, 64
E = torch.randn(V, D)
one_hot = nn.functional.one_hot(batch.location[0], V).float()  # (L, V)
assert torch.equal(one_hot @ E, E[batch.location[0]])  # (L, D), to the bit
print(f"product: {L * V * D:,} multiplications; look-up: {L * D:,} copies")

# %% [markdown]
# `nn.Embedding` is that look-up with the matrix as a parameter. Two things follow.
#
# - The same place has the same vector at every visit, even before training.
# - Learning is local. The gradient of row $\ell$ is the sum of the gradients at the visits to $\ell$. A place
#   that is not in the batch gets none. A place that training never shows gets none, ever.
#
# Row 0 belongs to padding. `padding_idx=0` starts it at zero and throws its gradient away, so that it stays zero.
#
# ## Seven questions about a visit
#
# Where? Who? At what time of day? On which weekday? How many days ago? For how long? How many visits ago? Each question
# gets its own table of vectors. The answers must be whole numbers from 1, since 0 is padding. (One exception: a person whom
# training has not seen is user 0, whose zeros describe nobody.) So the *days ago* of [chapter 3](03_windows.ipynb), which
# begin at 0, become `recency`: one more, and at most 8. Location 1 is kept for
# "unknown", which the exact protocol never uses. From 2 on come the places of training, and behind them those that only later
# days show, whose rows are never trained. Look at the first two visits and the last.

# %%
clock = seen.started_at.dt
date = clock.tz_localize(None).dt.normalize()
days_ago = (date.iloc[-1] - date).dt.days.to_numpy()
minute = (clock.hour * 60 + clock.minute).to_numpy()
stay = (seen.finished_at - seen.started_at).dt.total_seconds().to_numpy()
ids = data.vocabulary.encode_locations(seen.location_id)
indices = pd.DataFrame({"location": ids})
indices["user"] = data.vocabulary.encode_users(seen.user_id)
indices["time"] = 1 + minute // 15  # 1 .. 96
indices["weekday"] = 1 + clock.day_of_week.to_numpy()  # 1 = Monday
indices["recency"] = 1 + np.minimum(days_ago, 7)  # 1 .. 8
indices["duration"] = 1 + np.minimum(stay // 1800, 99).astype(int)  # .. 100
indices["position_from_end"] = np.arange(L, 0, -1)  # L .. 1
indices.iloc[[0, 1, L - 1]].rename_axis("visit")

# %% [markdown]
# A visit is seven integers, nothing else: no name, no map, no coordinates.
#
# > **Pitfall.** Forget a `1 +`, and nothing crashes. In `weekday`, every Monday becomes padding: a zero vector that
# > never learns. In `position_from_end`, a count from 0 does so to the last visit, the most useful one.
#
# ## Side by side
#
# Location and person get wide rows of $D = 64$ numbers; the five others get $D/4 = 16$, since there is less to say. The
# seven rows of a visit, laid side by side, are 2 · 64 + 5 · 16 = 208 numbers.

# %%
model, vocabulary = load_model(shipped("city"))  # trained in chapter 10
# 96 quarters, 7 weekdays, 8 recencies, 100 durations; each and a row 0.
n_rows = [V, vocabulary.n_users, 97, 8, 9, 101, model.config.max_len + 1]
widths = [D, D] + 5 * [D // 4]
shapes = pd.DataFrame({"rows": n_rows, "width": widths}, indices.columns)
shapes["numbers"] = shapes["rows"] * shapes["width"]
sizes = shapes[["rows", "width"]].T.to_dict("list")  # name: [rows, width]
shapes.T

# %% [markdown]
# Now our own module, in two steps. First the tables, and their rows side by side:


# %%
class Tables(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.tables = nn.ParameterDict()
        for name, size in sizes.items():
            self.tables[name] = nn.Parameter(torch.randn(size))

    def concatenate(self, index):
        """Indices (B, L) by name -> (B, L, 208)."""
        vectors = [table[index[name]] for name, table in self.tables.items()]
        return torch.cat(vectors, dim=-1)


# %% [markdown]
# Then a matrix squeezes the long vector to $D$ numbers again. (`layer_norm` comes below.)


# %%
class MyEmbeddings(Tables):
    def __init__(self, sizes, d):
        super().__init__(sizes)
        wide = sum(width for _, width in sizes.values())  # 208
        self.matrix = nn.Parameter(torch.randn(wide, d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.scale = nn.Parameter(torch.ones(d))
        self.shift = nn.Parameter(torch.zeros(d))

    def forward(self, index):
        x = self.concatenate(index) @ self.matrix + self.bias  # (B, L, D)
        return layer_norm(x, self.scale, self.shift)  # (B, L, D)


# %% [markdown]
# Copy the package's trained weights into it. (Ours drew row 0 at random, like every row. The copy makes it zero.) The
# folded cell has two helpers:
# `as_indices(batch)` returns the seven index tensors by name, and `trained(ours, theirs)` copies the weights.


# %% tags=["hide-input"]
# @title Reading a batch, and copying the trained weights
def as_indices(batch):
    """The seven (B, L) index tensors of a batch."""
    index = {k: getattr(batch, k) for k in sizes if k != "recency"}
    index["user"] = batch.user[:, None].expand_as(batch.location)
    days = 1 + batch.days_ago.clamp(max=7)
    return index | {"recency": days.masked_fill(batch.padding, 0)}


for name, tensor in as_indices(batch).items():
    assert (tensor[0].numpy() == indices[name].to_numpy()).all(), name


@torch.no_grad()
def trained(ours, theirs):
    """Our module with the weights of the package's."""
    for name, layer in theirs.tables.items():
        ours.tables[name].copy_(layer.weight)
    ours.matrix.copy_(theirs.project.weight.T)  # nn.Linear keeps (out, in)
    ours.bias.copy_(theirs.project.bias)
    ours.scale.copy_(theirs.norm.weight)
    ours.shift.copy_(theirs.norm.bias)
    return ours


# %%
mine = trained(MyEmbeddings(sizes, D), model.embeddings)
wide = mine.concatenate(as_indices(batch)).detach()  # (1, L, 208)

# %% tags=["hide-input"]
# @title Figure 5.2: the vectors of the window, side by side
codes = pd.factorize(seen.location_id)[0]
by_place = np.argsort(codes, kind="stable")
letters = [chr(65 + k) for k in codes[by_place]]  # A: the first place
look = {"cmap": "RdBu", "robust": True, "cbar_kws": {"label": "number"}}
ax = sns.heatmap(wide[0][by_place], yticklabels=letters, center=0, **look)
ax.tick_params("y", rotation=0, labelsize=8)
ax.figure.set_size_inches(7.2, 2.3)
seams = np.cumsum([0, *widths])
ax.vlines(seams[1:-1], 0, L, color=INK, lw=1.5)
slant = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
ax.set_xticks((seams[1:] + seams[:-1]) / 2, list(sizes), **slant)
ax.set_ylabel("visit, by its place")
show(
    ax.figure,
    alt="A colour image, a row a visit, in seven bands. Rows of the same "
    "place are equal in the first band; the second is the same in all rows.",
    caption="The concatenated vectors, sorted by place. The same letter is "
    "the same place: the same first band. All rows have the same person.",
)

# %% [markdown]
# Equal places have equal stripes in the first band, and the person's stripes are the same in every row. Only the five narrow
# bands tell two visits to one place apart.
#
# Why does one matrix follow, and not one for each band? It is the same. Cut $W$ (`self.matrix`) at the seams of the bands,
# into blocks $W_1, \dots, W_7$. Then
#
# $$
# [x_1, \dots, x_7]\, W + b \;=\; x_1 W_1 + \dots + x_7 W_7 + b , \tag{5.2}
# $$
#
# so each part does get its own matrix, and the results are added.
#
# ## LayerNorm by hand
#
# The projected vectors may be long or short, and what follows should not depend on it. **LayerNorm**
# ([Ba et al., 2016](https://arxiv.org/abs/1607.06450)) brings each visit's vector to mean 0 and variance 1 over its own $D$
# numbers, then lets each coordinate choose a scale and a shift:
#
# $$
# \begin{aligned}
# \text{LN}(x) &= \text{scale} \odot \frac{x - \mu}{\sqrt{v + 10^{-5}}} + \text{shift}, \\
# \mu &= \frac1D \sum_k x_k, \quad v = \frac1D \sum_k (x_k - \mu)^2 .
# \end{aligned} \tag{5.3}
# $$
#
# Here $\odot$ multiplies number by number, and $10^{-5}$ avoids a division by zero. LayerNorm never looks at other visits.


# %%
def layer_norm(x, scale, shift, eps=1e-5):
    mean = x.mean(-1, keepdim=True)  # (B, L, 1)
    variance = (x - mean).square().mean(-1, keepdim=True)  # divided by D
    return scale * (x - mean) / torch.sqrt(variance + eps) + shift


# %% [markdown]
# With the same weights our module must compute the same as the package's.

# %%
many = data.test.batch(np.arange(0, len(data.test), 20))  # (B, L)
with torch.no_grad():
    ours, package = mine(as_indices(many)), model.embeddings(many)
assert torch.allclose(ours, package, atol=1e-5)  # (B, L, D)

# %% [markdown]
# ## Do coffee shops cluster?
#
# Similar places should end up close together, coffee shops near coffee shops. First look at each place's nearest neighbour, by
# the cosine of their vectors, among the places with at least `least` visits in training:

# %%
least = 5  # @param {type:"slider", min:2, max:20, step:1}

# %%
train = data.train.visits
# Of places with as many visits, the first visited comes first.
count = train.groupby("location_id", sort=False).size()
count = count.sort_values(ascending=False, kind="stable")
often = count.index[count >= least].to_numpy()  # (P,)
ids = data.vocabulary.encode_locations(pd.Series(often))
vectors = mine.tables["location"].detach()[torch.tensor(ids)]
vectors = nn.functional.normalize(vectors, dim=1)  # (P, D)
cosine = (vectors @ vectors.T).fill_diagonal_(-1)  # (P, P)
near = places.loc[often, ["name", "kind"]].reset_index(drop=True)
near["nearest"] = near.name.to_numpy()[cosine.argmax(1)]
near["its kind"] = near.kind.to_numpy()[cosine.argmax(1)]
food = near[near.kind == "food"].set_index("name").rename_axis("place")
food[["nearest", "its kind"]].head(4)

# %% [markdown]
# These are places to eat. With good will one finds a story for some of these rows. So test it. How often do a
# place and its nearest neighbour share a kind, a district or at least one visitor? To see what chance gives,
# shuffle the *vectors* among the places and count again, 300 times. Of all these orders and the real one, the column *p* is
# the share that does at least as well as the real one. The real one counts, so the smallest *p* is 1/301. If *p* is tiny,
# chance is no explanation.

# %%
pairs = {}  # (P, P) each, True where two places are alike
for column in ("kind", "district"):
    value = places[column][often].to_numpy()
    pairs[f"a {column}"] = value[:, None] == value
who = train.groupby("location_id").user_id.agg(set)[often]
pairs["a visitor"] = np.array([[bool(a & b) for b in who] for a in who])


# %% [markdown]
# Those are the pairs that are alike. Now count, with the real neighbours and with shuffled ones:


# %%
def neighbour_test(cosine, draws=300):
    nearest, rng = cosine.argmax(1).numpy(), np.random.default_rng(0)
    P, rows = len(nearest), {}
    for name, alike in pairs.items():
        shared = alike[np.arange(P), nearest].mean()
        orders = [rng.permutation(P) for _ in range(draws)]
        chance = np.array([alike[o, o[nearest]].mean() for o in orders])
        # The real arrangement counts as one shuffle: p is never zero.
        p = (1 + (chance >= shared).sum()) / (1 + draws)
        rows[name] = [100 * shared, 100 * chance.mean(), p]
    table = pd.DataFrame(rows, ["shared, %", "by chance, %", "p"]).T
    return table.round({"shared, %": 1, "by chance, %": 1, "p": 3})


# %%
shared = neighbour_test(cosine)
shared

# %% [markdown]
# **No.** Neighbours are alike no more often than by chance. And the test can find clusters where they are: describe each place
# by the hours and lengths of its visits instead (exercise 3), and {{ control.iloc[0, 0]:.0f }} % of the nearest neighbours
# share a kind, against {{ control.iloc[0, 1]:.0f }} % by chance.
#
# Perhaps places need more visits? In a notebook, move the slider to 20 and run the cells below it again. *A district* then
# comes out with a small *p*. But ask three questions at every stop of a slider, and chance alone may well give one.
#
# ## What are the vectors for, then?
#
# What a table looks like is one question. What the model does with it is another, and needs an operation: shuffle the
# vectors among places, and score the model. We do it three times:
#
# - among the busy places, with 20 training visits or more;
# - again, but only between busy places of one kind, homes with homes and shops with shops;
# - among all other places.
#
# If the vector of a place said "I am a home" and nothing else, swapping homes would be harmless. One shuffle may be lucky, so
# we take means of five, with their standard deviation (*sd*).


# %%
def accuracy(network):
    return summarize(evaluate(network, data.test), ["all"])["acc@1"].iloc[0]


def shuffled(sets, seed):
    """A copy in which the places of each set have traded their vectors."""
    source, rng = torch.arange(V), np.random.default_rng(seed)
    for members in sets:
        source[members] = torch.from_numpy(rng.permutation(members))
    patient = copy.deepcopy(model)
    weight = patient.embeddings.tables["location"].weight.data
    weight[:] = weight[source]
    return patient


# %% tags=["hide-input"]
# @title Table: what is lost by shuffling
known = list(data.vocabulary.locations)  # their ids begin at 2
visited = count.reindex(known).fillna(0).to_numpy()
busy, others = (2 + np.flatnonzero(w) for w in (visited >= 20, visited < 20))
kinds = places.kind[known].to_numpy()[busy - 2]
one_kind = [busy[kinds == k] for k in np.unique(kinds)]
operations = {
    "shuffled among places with 20 visits or more": [busy],
    "the same, only between places of one kind": one_kind,
    "shuffled among the others": [others],
}
before, lost = accuracy(model), {}
for name, sets in operations.items():
    trials = [before - accuracy(shuffled(sets, seed)) for seed in range(5)]
    lost[name] = np.mean(trials), np.std(trials, ddof=1)
(lost_busy, _), (lost_kind, _), _ = lost.values()
pd.DataFrame(lost, ["points of Acc@1 lost", "± sd"]).T.round(1)

# %% [markdown]
# Untouched, this model is right in {{ before:.1f }} % of the test windows. So it does use the vectors of the busy places,
# although their neighbours show little. For the others, one vector serves nearly as well as another.
#
# The {{ lost_kind:.1f }} points that are lost when places trade vectors only within their kind are not about "I am a home".
# They are about *which* home. How can vectors without meaning say that? They began at random. Build the model once more, with
# its seed, and measure how far training has moved the vectors of the busy places, and the matrix $W$ behind them (sizes are
# root mean squares).

# %%
torch.manual_seed(42)  # the seed of this model
newborn = PointerGeneratorTransformer(model.config)
parts = {"tables.location.weight": busy, "project.weight": slice(None)}
for part, rows in parts.items():  # the rows of busy places, and all of W
    pair = [one.embeddings.get_parameter(part) for one in (newborn, model)]
    start, now = (weight.detach()[rows] for weight in pair)
    size, move = (x.square().mean().sqrt() for x in (start, now - start))
    print(f"{part}: a number began at {size:.2f}, moved by {move:.3f}")

# %% [markdown]
# The vectors have hardly moved. What if we put the first ones back into the trained model? And how far could steps of the
# learning rate carry a number?

# %%
back = copy.deepcopy(model)  # trained, but with the first vectors
back.embeddings.tables["location"] = newborn.embeddings.tables["location"]
again = accuracy(back.eval())
print(f"Acc@1: all vectors put back {again:.1f} %, trained {before:.1f} %")
recipe = PRESETS["city"].training  # how this model was trained
epochs = read_tensors(shipped("city"))[1]["notes"]["epochs"]
steps = epochs * int(np.ceil(len(data.train) / recipe.batch_size))
reach = steps * recipe.learning_rate
print(f"{steps} steps of about {recipe.learning_rate}: {reach:.2f}")

# %% [markdown]
# Putting the vectors back costs nothing. Why did they move so little? At each step the optimiser,
# Adam ([chapter 10](10_training.ipynb)), moves a number by about the learning rate or less, however large its gradient. If all
# steps went one way, a number could move by about {{ reach:.1f }}. A typical one moved far less, which is little beside a
# start of size 1. The numbers of $W$ moved even less, but began much smaller, so $W$ has changed a lot.
#
# The vectors are **name tags in different handwriting**: random vectors in 64 dimensions are nearly orthogonal, so they are
# easy to tell apart. The layers *behind* the table learned to read the tags that come by often: this one, on a Monday morning,
# is followed by that one.
#
# ## What to remember
#
# - An embedding is a row of a matrix, and only rows that occur get a gradient.
# - 0 is padding, so answers start at 1. Forgetting that crashes nothing.
# - "Similar places are close" is a hypothesis. Test it against shuffled vectors before you draw it. Here it fails:
#   {{ shared.loc["a kind", "shared, %"]:.1f }} % of the nearest neighbours are of the same kind, by chance
#   {{ shared.loc["a kind", "by chance, %"]:.1f }} %.
# - To see what a model does with a table, change the table and score the model. Shuffled among busy places, it costs
#   {{ lost_busy:.1f }} points. The table is nearly as it began, and the layers behind it have learned to read it.
#
# Which packages spoil ids on the way into a table of rows:
# [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# **Exercise 1** (quick). A large city's location table with $D = 64$ has 1.3 million numbers. About how many locations is
# that? And how many numbers does our whole module have, with the projection and LayerNorm? (`shapes` lists its tables.)

# %% tags=["try"]
locations, total = ..., ...
check.exercise("5.1", [locations, total])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
total = shapes.numbers.sum() + 208 * D + D + 2 * D
check.exercise("5.1", [1.3e6 / 64, total])
print(f"{1.3e6 / 64:,.0f} locations; ours: {total:,} numbers")

# %% [markdown]
# **Exercise 2** (medium). Write the gradient of a look-up yourself: given ids $(B, L)$ and the gradient of
# the output $(B, L, D)$, return the gradient of the table $(V, D)$, with padding thrown away.


# %% tags=["try"]
def table_gradient(ids, upstream):
    """(B, L) ids, (B, L, D) gradient of the output -> (V, D)."""
    return ...


mates = data.test.batch([i, *range(40, 47)])  # padded to the longest
layer = nn.Embedding(V, 5, padding_idx=0)
upstream = torch.randn(*mates.location.shape, 5)
layer(mates.location).backward(upstream)
right = layer.weight.grad  # by PyTorch
check.function(table_gradient, lambda *_: right, (mates.location, upstream))


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def table_gradient(ids, upstream):
    out = torch.zeros(V, upstream.shape[-1])
    out = out.index_add(0, ids.flatten(), upstream.flatten(0, 1))
    out[0] = 0
    return out


check.function(table_gradient, lambda *_: right, (mates.location, upstream))

# %% [markdown]
# **Exercise 3** (project). Check that our neighbour test can find clusters. Give it vectors that ought to have them: for each
# place, the share of its training visits in each hour and of each length. Which does it find: kind, district or visitors?

# %% tags=["try"]
found = ...  # "a kind", "a district" or "a visitor"
check.exercise("5.3", found)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
hour = train.started_at.dt.hour.rename("at")
lasted = train.finished_at - train.started_at
stay = (lasted.dt.total_seconds() // 3600).clip(upper=11).rename("at")
profile = [pd.crosstab(train.location_id, part) for part in (hour, stay)]
profile = pd.concat(profile, axis=1).loc[often].to_numpy(dtype=float)
profile = np.sqrt(profile / profile.sum(1, keepdims=True))  # (P, 24 + 12)
with_profile = torch.from_numpy(profile @ profile.T).fill_diagonal_(-1)
control = neighbour_test(with_profile)
check.exercise("5.3", control["p"].idxmin())
control
# The kind: hours and lengths of stay know something of what a place is for,
# and nothing of where it is.

# %% [markdown]
# **Next:** [Position and encoder](06_position_and_encoder.ipynb), where the visits begin to look at each other.
