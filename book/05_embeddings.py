# %% [markdown]
# # Embeddings
#
# Introductions often say that coffee shops end up near coffee shops. We test that, and here it fails.
#
# *You will be able to* turn a window of visits into a matrix of numbers, write every step of it by hand,
# name the off-by-one errors that hide there, and test whether an embedding has *meaning* before you say so.
# *You need* [Windows](03_windows.ipynb) and PyTorch's indexing. *It takes* twenty-five minutes to read and
# less than a minute to run, with or without a GPU.

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
import copy
import itertools

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn
from wherenext import city
from wherenext.exercises import check

from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.metrics import evaluate, summarize
from pgt.windows import prepare

# %%
town = city.load()
places = town.places.set_index("location_id")
data = prepare(town.visits, protocol="exact")
i = story(data.test)
batch = data.test.batch([i])  # B = 1 window of L visits
seen = data.test.visits_of(i)
L = len(seen)
where = places.name[seen.location_id].to_numpy()
table = pd.DataFrame({"place": where})
table["from"] = seen.started_at.dt.strftime("%a %H:%M").to_numpy()
table["to"] = seen.finished_at.dt.strftime("%H:%M").to_numpy()
table

# %% [markdown]
# Part II follows this window. A rule picked it (`pgt.look.story`): it is short enough to print, with a
# handful of places, one of which is the true next one. By the end of Part II you will have computed every number
# that leads from the window to a prediction. A network multiplies and adds, but nobody can multiply a "café". So
# the first task is to give every visit a vector.

# %% tags=["hide-input"]
from wherenext.architecture import architecture

architecture(
    "embeddings",
    "projection",
    caption="You are here: facts become vectors. The muted parts belong to "
    "other chapters; a box leads to the chapter that builds it.",
)

# %% [markdown]
# ## A row of a matrix
#
# Number the locations $0, 1, \dots, V-1$. The plainest vector for location $\ell$ is **one-hot**: all zeros
# but for a one at index $\ell$. Call it $e_\ell$. Feed it to a linear layer with matrix $E$ of $V$ rows and $D$ columns:
#
# $$
# e_\ell^\top E = E_{\ell,:} \tag{5.1}
# $$
#
# The zeros erase every row but one, so the product *is* row $\ell$. Nobody has to multiply; a look-up is enough.

# %%
torch.manual_seed(0)
V, D = data.vocabulary.n_locations, 64
E = torch.randn(V, D)
one_hot = torch.zeros(L, V)
one_hot[torch.arange(L), batch.location[0]] = 1  # (L, V)
assert torch.equal(one_hot @ E, E[batch.location[0]])  # (L, D), to the bit
print(f"product: {L * V * D:,} multiplications; look-up: {L * D:,} copies")

# %% [markdown]
# `nn.Embedding` is that look-up with the matrix as a parameter. Two consequences are easy to miss.
#
# - The same place has the same vector at every visit. Even before training, two visits to one café share this
#   vector, and two visits to different ones do not.
# - Learning is local. The gradient of row $\ell$ is the sum of the gradients at the visits to $\ell$. A place
#   that is not in the batch gets none. A place that training never shows gets none, ever.
#
# Row 0 belongs to padding. `padding_idx=0` does two things: the row starts at zero, and its gradient is thrown
# away. Compare with a table that lacks it, on a batch with padding:

# %%
mates = data.test.batch([i, *range(40, 47)])  # (8, L), padded to the longest
gradients = {}
for padding in (None, 0):
    table = nn.Embedding(V, D, padding_idx=padding)
    with torch.no_grad():
        table.weight.copy_(E)
    (table(mates.location) ** 2).sum().backward()  # a loss that sees padding
    gradients[padding] = table.weight.grad.norm(dim=1)  # (V,)
rows = {
    "padding": 0,
    "first visit's place": int(batch.location[0, 0]),
    "second visit's place": int(batch.location[0, 1]),
    "a place not in the batch": V - 1,
}
norms = pd.DataFrame(gradients).loc[list(rows.values())].astype(float)
norms.columns = ["row 0 like all others", "row 0 for padding"]
norms.set_axis(list(rows)).rename_axis("length of the gradient").round(1)

# %% [markdown]
# Look only at which lengths are zero; how large the others are does not matter here.
#
# > **Pitfall.** `padding_idx` freezes row 0 at whatever value it *has*. The line with `copy_` put random
# > numbers into it, and there they stay: the gradient that could repair them is zero. The same happens when
# > an initialisation such as `nn.init.normal_(table.weight)` runs over the finished table. Zero the row
# > again.
#
# ## Seven questions about a visit
#
# Where? Who? At what time of day? On which weekday? How many days ago? For how long? How many visits ago?
# Each question gets its own table. The answers must be whole numbers from 1, since 0 is padding. Errors hide
# here, so let us make the numbers ourselves.

# %%
clock = seen.started_at.dt
days = clock.tz_localize(None).dt.normalize()
days_ago = (days.iloc[-1] - days).dt.days.to_numpy()
minute = (clock.hour * 60 + clock.minute).to_numpy()
stay = (seen.finished_at - seen.started_at).dt.total_seconds().to_numpy()
half_hours = (stay // 60 // 30).astype(int)
indices = pd.DataFrame(
    {
        "location": data.vocabulary.encode_locations(seen.location_id),
        "user": data.vocabulary.encode_users(seen.user_id),
        "time": 1 + minute // 15,  # 1 .. 96
        "weekday": 1 + clock.day_of_week.to_numpy(),  # 1 = Monday
        "recency": 1 + np.minimum(days_ago, 7),  # 1 .. 8
        "duration": 1 + np.minimum(half_hours, 99),  # 1 .. 100
        "position_from_end": np.arange(L, 0, -1),  # L .. 1
    }
)
for name in indices.columns.drop(["user", "recency"]):
    assert (indices[name].to_numpy() == getattr(batch, name)[0].numpy()).all()

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
from wherenext.figures import COPIED, GENERATED, INK, MUTED, TRUTH, show

fig, ax = plt.subplots(figsize=(7.4, 3.0))
top = indices.max().clip(lower=1).to_numpy()
for x, row in enumerate(indices.to_numpy()):
    for y, value in enumerate(row):
        look = {
            "color": COPIED,
            "alpha": 0.05 + 0.4 * value / top[y],
            "lw": 0,
        }
        ax.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, **look))
        ax.text(x, y, value, ha="center", va="center", fontsize=8, color=INK)
ax.set(xlim=(-0.5, L - 0.5), ylim=(6.5, -0.5))
ax.set(xticks=range(L), xticklabels=range(1, L + 1), yticks=range(7))
ax.set_yticklabels([name.replace("_", " ") for name in indices])
ax.set_xlabel("visit, oldest first")
ax.grid(visible=False)
show(
    fig,
    alt=f"A matrix of whole numbers, seven rows by {L} visits: location, "
    "user, time, weekday, recency, duration and position from the end. The "
    "user row is constant; recency and position count down to 1.",
    caption="The window as the network receives it. Each row is coloured by "
    "its own maximum.",
)

# %% [markdown]
# A visit is seven integers, nothing else: no name, no map, no coordinates.
#
# ## Off by one
#
# The conventions deserve a second look, because the design documents of this model
# ([the original specification](https://where-next-book.github.io/where-next/book/errata.html)) contradict each
# other: one counts from 0 where another counts from 1. What if one forgets the `+ 1`? Nothing crashes.
# Some visits become padding in one of their seven answers, that is, a zero vector that never learns:

# %%
features = ("location", "user", "time", "weekday", "duration")
values = data.train.features[:5, 1:].numpy()  # (5, N)
columns = dict(zip(features, values, strict=True))
lost = {
    "time": "00:00 to 00:14",
    "weekday": "Mondays",
    "duration": "stays under 30 minutes",
}
rows = {}
for name, text in lost.items():
    ones = columns[name] == 1
    rows[name] = {"turned into padding": text, "training visits": ones.sum()}
    rows[name]["of all training visits, %"] = round(100 * ones.mean(), 2)
pd.DataFrame.from_dict(rows, orient="index").rename_axis("forgotten in")

# %% [markdown]
# The same slip is harmless in one column and grave in another, depending on the data. (A zero in the last
# row only means that nobody *recorded* short stays. A data set with five-minute stops would lose them all.) This is what
# the package does:
#
# | answer | here | because |
# |---|---|---|
# | time | `1 + minute // 15` | else midnight is padding |
# | duration | `1 + minutes // 30`, capped at 100 | else short stays are padding |
# | recency | 1 = same day … 8 = seven days and more | else the visits of the last day are padding |
# | position from end | L … 1 | else the *last* visit is padding |
# | position of the oldest visit | up to `max_len`, not `max_len - 1` | else the two oldest visits of a full window share a row |
#
# (`max_len` is the number of visits that the model reads at most. Of a longer window it keeps the newest.)
#
# One zero is there on purpose. A person whom training has not seen has user 0, and therefore a zero vector: the
# embedding then describes nobody in particular.
#
# > **Note.** Recency here counts back from the *last visit*, so it gives away nothing about the target. The documents
# > count back from the target's day. That tells the model a little about the future, and is the option
# > `target_time="day"`.
#
# ## Side by side
#
# Location and person get wide rows of $D$ numbers; the five others get $D/4$, since there is less to say.

# %%
model, vocabulary = load_model(shipped("city"))
model.eval()
D, NARROW = model.config.d_model, model.config.d_model // 4
n_rows = {"location": V, "user": vocabulary.n_users, "time": 97, "weekday": 8}
n_rows |= {"recency": 9, "duration": 101}
n_rows["position_from_end"] = model.config.max_len + 1
sizes = {
    name: (n, D if name in ("location", "user") else NARROW)
    for name, n in n_rows.items()
}
shapes = pd.DataFrame(sizes, index=["rows", "width"]).T
shapes["numbers"] = shapes["rows"] * shapes["width"]
shapes["output (B, L, ·)"] = [f"(1, {L}, {w})" for w in shapes["width"]]
total = shapes.numbers.sum()
print(f"{shapes.width.sum()} numbers a visit, {total:,} in all tables")
shapes.rename(lambda name: name.replace("_", " "))

# %% [markdown]
# Now our own module. The comments carry the shapes.


# %%
class MyEmbeddings(nn.Module):
    def __init__(self, sizes, d):
        super().__init__()
        self.order = list(sizes)  # see the pitfall below
        self.tables = nn.ParameterDict()
        for name, size in sizes.items():
            self.tables[name] = nn.Parameter(torch.randn(size))
        wide = sum(width for _, width in sizes.values())
        self.matrix = nn.Parameter(torch.randn(wide, d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.scale = nn.Parameter(torch.ones(d))
        self.shift = nn.Parameter(torch.zeros(d))

    def concatenate(self, index):
        """Indices (B, L) by name -> (B, L, 208)."""
        vectors = [self.tables[name][index[name]] for name in self.order]
        return torch.cat(vectors, dim=-1)

    def forward(self, index):
        x = self.concatenate(index) @ self.matrix + self.bias  # (B, L, D)
        return layer_norm(x, self.scale, self.shift)  # (B, L, D)


# %%
def as_indices(batch):
    """The seven (B, L) index tensors of a batch."""
    steps = torch.arange(batch.location.shape[1])
    inside = steps < batch.length[:, None]  # (B, L)
    return {
        "location": batch.location,
        "user": batch.user[:, None].expand(inside.shape),
        "time": batch.time,
        "weekday": batch.weekday,
        "recency": (1 + batch.days_ago.clamp(max=7)) * inside,
        "duration": batch.duration,
        "position_from_end": (batch.length[:, None] - steps) * inside,
    }


for name, tensor in as_indices(batch).items():
    assert (tensor[0].numpy() == indices[name].to_numpy()).all(), name

# %% [markdown]
# We come to `layer_norm` below. First copy the package's trained weights into our module, so
# that the pictures show a model that has learned something. (Row 0 comes along, and is zero.)

# %%
mine, theirs = MyEmbeddings(sizes, D), model.embeddings
with torch.no_grad():
    for name, table in theirs.tables.items():
        mine.tables[name].copy_(table.weight)
        assert (mine.tables[name][0] == 0).all()
    mine.matrix.copy_(theirs.project.weight.T)  # nn.Linear keeps (out, in)
    mine.bias.copy_(theirs.project.bias)
    mine.scale.copy_(theirs.norm.weight)
    mine.shift.copy_(theirs.norm.bias)
wide = mine.concatenate(as_indices(batch)).detach()  # (1, L, 208)

# %% tags=["hide-input"]
edges = np.cumsum([0, *shapes.width])
said = [name.replace("_", " ") for name in sizes]
fig, ax = plt.subplots(figsize=(7.4, 3.2))
look = {"cmap": "RdBu", "vmin": -2.5, "vmax": 2.5, "aspect": "auto"}
image = ax.imshow(wide[0], interpolation="nearest", **look)
for at in edges[1:-1]:
    ax.axvline(at - 0.5, color=INK, lw=1.5)
middle = (edges[1:] + edges[:-1]) / 2
ax.set_xticks(middle, said, fontsize=8, rotation=30, ha="right")
letters = [chr(65 + k) for k in pd.factorize(seen.location_id)[0]]
ax.set_yticks(range(L), letters, fontsize=8)
ax.set_ylabel("visit, by its place")
ax.grid(visible=False)
fig.colorbar(image, label="value", shrink=0.8)
show(
    fig,
    alt=f"A colour image of {L} rows and {shapes.width.sum()} columns in "
    "seven bands. Rows of the same place are equal in the location band; "
    "the user band is the same in all rows.",
    caption="The concatenated vectors. Rows with the same letter are the "
    "same place: their first band is the same barcode.",
)

# %% [markdown]
# > **Pitfall.** Our first version looped over `self.tables` itself, and its bands were in another order
# > than the package's. The reason: `nn.ParameterDict`, given a plain dictionary, *sorts* its names, while
# > `nn.ModuleDict` keeps them as they come. Every shape still fitted, the weights loaded, and the result
# > was wrong. The assertion in the next section found it.
#
# ## Concatenate and project, or project and add?
#
# A linear layer squeezes the long vector to $D$ numbers. Cut its matrix $W$ at the seams of the bands, into
# blocks $W_1, \dots, W_7$. Then
#
# $$
# [x_1, x_2, \dots, x_7]\, W + b \;=\; x_1 W_1 + x_2 W_2 + \dots + x_7 W_7 + b . \tag{5.2}
# $$
#
# Concatenating and then projecting equals projecting each part and adding the results. Both can represent the same
# functions.

# %%
edges = np.cumsum([0, *shapes.width])
blocks = [mine.matrix[a:b] for a, b in itertools.pairwise(edges)]
index, parts = as_indices(batch), []
with torch.no_grad():
    for name, block in zip(sizes, blocks, strict=True):
        parts.append(mine.tables[name][index[name]] @ block)  # (1, L, D)
    parts = torch.stack(parts)  # (7, 1, L, D)
    both = wide @ mine.matrix + mine.bias
    assert torch.allclose(parts.sum(0) + mine.bias, both, atol=1e-5)
differs = parts[:, 0] - parts[:, 0].mean(1, keepdim=True)  # (7, L, D)
share = differs.square().sum(-1).mean(1)  # (7,)

# %% [markdown]
# It also means that a table and its block can be folded into one table of $D$ columns once training is
# over. And the sum lets us ask how much each answer contributes. An answer that does not vary within the window, like
# the person, moves all visits alike, so the code subtracts the mean over visits first.

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6.8, 2.7))
percent = (100 * share / share.sum()).numpy()
ax.barh(said, percent, color=COPIED, height=0.66)
text = {"textcoords": "offset points", "va": "center"}
for y, value in enumerate(percent):
    ax.annotate(f"{value:.0f}", (value, y), (4, 0), **text)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set_xlabel("share of what differs between visits (% of squared length)")
order = percent.argsort()[::-1]
ranked = ", ".join(f"{said[k]} {percent[k]:.0f} per cent" for k in order)
show(
    fig,
    alt="Bars: share of each part in the differences between the window's "
    f"visits. In descending order: {ranked}.",
    caption="What tells the visits of this window apart? The person cannot: "
    "it is the same at all of them.",
)

# %% [markdown]
# ## LayerNorm by hand
#
# The projected vectors may be long or short. **LayerNorm** ([Ba et al., 2016](https://arxiv.org/abs/1607.06450)) brings
# each visit's vector to mean 0 and variance 1 over its own $D$ numbers, then lets each coordinate choose a
# scale and a shift:
#
# $$
# \begin{aligned}
# \text{LN}(x) &= \text{scale} \odot \frac{x - \mu}{\sqrt{v + 10^{-5}}} + \text{shift}, \\
# \mu &= \frac1D \sum_k x_k, \quad v = \frac1D \sum_k (x_k - \mu)^2 .
# \end{aligned} \tag{5.3}
# $$
#
# (The $10^{-5}$ prevents a division by zero.) LayerNorm never looks at other visits or other windows. So neither the
# rest of the batch nor padding can disturb it.


# %%
def layer_norm(x, scale, shift, eps=1e-5):
    mean = x.mean(-1, keepdim=True)  # (B, L, 1)
    variance = (x - mean).square().mean(-1, keepdim=True)  # divided by D
    return scale * (x - mean) / torch.sqrt(variance + eps) + shift


scale, shift = mine.scale, mine.shift
theirs = nn.functional.layer_norm(both, (D,), scale, shift)
assert torch.allclose(layer_norm(both, scale, shift), theirs, atol=1e-6)
centred = both - both.mean(-1, keepdim=True)
wrong = scale * centred / both.std(-1, keepdim=True) + shift
ratio = ((wrong - shift) / (theirs - shift)).median()
expected = (63 / 64) ** 0.5
print(f"with x.std(), {ratio:.4f} times as long; √(63/64) = {expected:.4f}")

# %% [markdown]
# > **Pitfall.** `torch.std` divides by $D - 1$. LayerNorm divides by $D$. The difference is so small that
# > everything trains and nothing warns; only an equality test with a tight tolerance finds it.
#
# ## The same function
#
# Does our module compute the same function as the package? Compare on many windows, with padding, in 32 and in 64
# bits.

# %%
many = data.test.batch(np.arange(0, len(data.test), 20))  # (B, L)
for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    ours = copy.deepcopy(mine).to(dtype)
    package = copy.deepcopy(model.embeddings).to(dtype)
    with torch.no_grad():
        yours, expected = ours(as_indices(many)), package(many)  # (B, L, D)
    gap = ((yours - expected).abs().max() / expected.abs().max()).item()
    assert gap <= tolerance
    print(f"{dtype}: largest difference {gap:.1e} of the largest number")
share_padding = 100 * many.padding.float().mean()
print(f"padding: {share_padding:.0f} % of {tuple(many.location.shape)}")

# %% [markdown]
# ## Do coffee shops cluster?
#
# Similar places should end up close together, coffee shops near coffee shops. We wanted to show you a picture of
# that. First look at each place's nearest neighbour, by cosine,
# $\cos(x, x') = x^\top x' / (\lVert x\rVert \lVert x'\rVert)$, for places with at least five training visits.

# %%
count = data.train.visits.location_id.value_counts()
often = count.index[count >= 5].to_numpy()  # (P,)
ids = data.vocabulary.encode_locations(pd.Series(often))
vectors = mine.tables["location"].detach()[torch.tensor(ids)]
vectors = nn.functional.normalize(vectors, dim=1)  # (P, D)
cosine = vectors @ vectors.T  # (P, P)
cosine.fill_diagonal_(-1)
best = cosine.max(1)
name, kind = places.name[often].to_numpy(), places.kind[often].to_numpy()
nearest = best.indices.numpy()
table = pd.DataFrame({"place": name, "kind": kind})
table["nearest"], table["its kind"] = name[nearest], kind[nearest]
table["cosine"] = best.values.numpy().astype(float).round(2)
table[kind == "food"].head(8).set_index("place")

# %% [markdown]
# With enough good will one finds a story for some of these rows. So test it. How often do a place and its nearest
# neighbour share a kind, a district or a visitor? Chance alone gives more than zero: half the town might be
# restaurants. To measure chance, shuffle the places' *vectors* among the places and count again, 300 times. The column
# *p* of the table is the share of shuffles that do at least as well as the real vectors. (The real arrangement is counted
# as one more shuffle, so *p* is never zero.) If it is tiny, chance is no explanation.

# %%
district = places.district[often].to_numpy()
by_place = data.train.visits.groupby("location_id").user_id
who = by_place.agg(set)[often].to_numpy()
met = np.array([[bool(a & b) for b in who] for a in who])  # (P, P)
equal = {
    "a kind": kind[:, None] == kind,
    "a district": district[:, None] == district,
    "a visitor": met,
}


def neighbour_test(cosine, among=slice(None), draws=300):
    among = np.arange(len(cosine))[among]  # which of the places
    cosine = cosine[among][:, among]
    nearest, rng = cosine.argmax(1).numpy(), np.random.default_rng(0)
    P, rows = len(nearest), {}
    for name, same in equal.items():
        same = same[np.ix_(among, among)]
        perms = [rng.permutation(P) for _ in range(draws)]
        null = np.array([same[p, p[nearest]].mean() for p in perms])
        observed = same[np.arange(P), nearest].mean()
        top = np.quantile(null, 0.975)
        p_value = (1 + (null >= observed).sum()) / (1 + draws)
        shares = np.array([observed, null.mean(), top])
        rows[name] = [*(100 * shares).round(1), p_value.round(3)]
    heads = ["shared, %", "by chance, %", "chance, 97.5th percentile, %", "p"]
    return pd.DataFrame(rows, index=heads).T


# %%
visits_of = count[often].to_numpy()
tested = neighbour_test(cosine)
tested_busy = neighbour_test(cosine, visits_of >= 20)
both_tests = {f"{len(often)} places with 5 visits or more": tested}
both_tests[f"the {(visits_of >= 20).sum()} with 20 or more"] = tested_busy
pd.concat(both_tests)


# %% tags=["hide-input"]
def verdict(table, level):
    found = [name for name in table.index if table.p[name] < level]
    return ", ".join(f"{name} (p = {table.p[name]:.2f})" for name in found)


hints = verdict(tested_busy, 0.1) or "nothing"
generator = torch.Generator().manual_seed(1)
random_vectors = torch.randn(len(often), D, generator=generator)
random_vectors = nn.functional.normalize(random_vectors, dim=1)
between = (random_vectors @ random_vectors.T).fill_diagonal_(-1)
random_best = between.max(1).values.mean()
found = verdict(tested, 0.01) or "no more often than by chance"
Markdown(
    f"Of the {len(often)} places, nearest neighbours are alike **{found}**, "
    "at the one-per-cent level. Their mean cosine is "
    f"{best.values.mean():.2f}; for as many *random* vectors of {D} numbers "
    f"it is {random_best:.2f}. With so many places, something is always "
    f"near. For the {(visits_of >= 20).sum()} busiest places there is a weak "
    f"sign that neighbours share {hints}"
    + ("." if "kind" in hints else "; there is none that they share a kind.")
)

# %% tags=["hide-input"]
centred = vectors - vectors.mean(0)
_, strength, axes_ = torch.linalg.svd(centred, full_matrices=False)
flat = (centred @ axes_[:2].T).numpy()  # (P, 2)
chance = torch.linalg.svdvals(random_vectors - random_vectors.mean(0))
powers = strength.square(), chance.square()
held = [100 * float(power[:2].sum() / power.sum()) for power in powers]
fig, ax = plt.subplots(figsize=(6.6, 4.2))
marks = {
    "food": ("o", COPIED),
    "home": ("s", TRUTH),
    "work": ("^", GENERATED),
}
rest = ~np.isin(kind, list(marks))
ax.plot(*flat[rest].T, ".", color=MUTED, alpha=0.6, label="other kinds")
for name, (marker, colour) in marks.items():
    ax.plot(*flat[kind == name].T, marker, color=colour, ms=5, label=name)
ax.set_xlabel("first principal component")
ax.set_ylabel("second principal component")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
show(
    fig,
    alt=f"Scatter of {len(often)} places on the first two principal "
    "components, marked by kind. The two components hold "
    f"{held[0]:.0f} per cent of the variance (random ones: {held[1]:.0f}).",
    caption="Trained location embeddings, flattened. The two directions "
    f"of the largest spread hold {held[0]:.0f} % of the variance (random "
    f"vectors: {held[1]:.0f} %), so do not read clusters into them.",
)

# %% [markdown]
# ## What is the location embedding for, then?
#
# An experiment says more than a picture. Operate on the trained model: shuffle the vectors among places, so
# that each place carries another one's vector. Do it among the often visited places, then among these only between
# places of one kind, such as homes with homes, and then among all others. If the vector of a place said "I am a
# home" and nothing else, swapping homes would be harmless. Finally, give all places the same vector. Score the
# model after each operation. One shuffle may be lucky, so we take means of five.

# %%
visited = data.train.features[0, 1:].numpy()
times = np.bincount(visited, minlength=V)  # (V,) training visits
all_kinds = places.kind.reindex(data.vocabulary.locations).to_numpy()
group = np.r_[["padding", "unknown"], all_kinds]  # (V,)


def operated(source):
    """Acc@1 after giving each location l the vector of source[l]."""
    patient = copy.deepcopy(model)
    with torch.no_grad():
        weight = patient.embeddings.tables["location"].weight
        weight.copy_(weight[torch.from_numpy(source)])
    ranks = evaluate(patient, data.test, batch_size=128)
    return summarize(ranks, ["all"])["acc@1"].iloc[0]


def shuffled_within(sets, seed):
    source, rng = np.arange(V), np.random.default_rng(seed)
    for members in sets:
        source[members] = rng.permutation(members)
    return source


# %%
real = np.arange(V) >= 2
busy = np.flatnonzero(real & (times >= 20))
others = np.flatnonzero(real & (times < 20))
by_kind = [busy[group[busy] == k] for k in np.unique(group[busy])]
operations = {
    "shuffled among places with 20 visits or more": [busy],
    "  only between places of one kind": by_kind,
    "shuffled among the others": [others],
}
before, loss, rows = operated(np.arange(V)), {}, {}
for name, sets in operations.items():
    sources = [shuffled_within(sets, seed) for seed in range(5)]
    lost = [before - operated(source) for source in sources]
    moved = np.mean([(source != np.arange(V)).sum() for source in sources])
    loss[name] = np.mean(lost)
    rows[name] = [moved, np.mean(lost), np.std(lost, ddof=1)]
lost = before - operated(np.where(real, 2, 0))
rows["one vector for all places"] = [real.sum(), lost, np.nan]
heads = ["places with another vector", "points of Acc@1 lost", "± sd"]
pd.DataFrame(rows, index=heads).T.round(1).astype(object).fillna("–")

# %% tags=["hide-input"]
often_only, one_kind, rest = loss.values()
everywhere, swapped = (row[0] for row in list(rows.values())[:2])
Markdown(
    f"Untouched, the model has {before:.1f} %. Shuffling the {len(busy)} "
    f"places with twenty training visits or more "
    f"costs {often_only:.1f} points. Swapping them only within a kind, such "
    f"as homes with homes, still costs {one_kind:.1f}. (The first shuffle "
    f"moves {everywhere:.0f} of them, the second {swapped:.0f}.) Shuffling "
    f"the {len(others):,} others costs {rest:.1f}."
)

# %% [markdown]
# So the model does use the vectors, although their neighbours show little. Most of the loss sits in the often visited
# places. For the others, one random vector serves nearly as well as another.
#
# The loss that stays when homes are swapped with homes is not about "I am a home". It is about *which*
# home. Our explanation: random vectors in 64 dimensions are nearly orthogonal, like name tags in different handwriting.
# Training teaches the layers *behind* the table to read the tags that come by often: this one, on a Monday morning,
# is followed by that one. The geometry of the table shows little of what these layers know.
#
# The last row of the table takes away even the tags: inside the network all places are one. After a shuffle the model
# still saw that two visits went to the same place; now it does not. It can still predict, because the pointer
# ([chapter 7](07_pointer.ipynb)) adds up its weights by the true ids.
#
# > **Note.** The claim of clusters is about geometry, so it has to pass a test of geometry. With millions
# > of visits it may pass; the test is the same. What a model *uses* is another question, and needs an
# > operation on the model.
#
# ## Is midnight near midnight?
#
# The table of times has only 96 rows besides padding, and those of daytime get many visits each. So they had a better
# chance to learn than places. For times it is obvious what a good geometry would be. Rows 96 (23:45) and 1 (00:00) are neighbours in the world. Are they neighbours in the
# table?

# %%
hours = mine.tables["time"].detach()[1:]
hours = nn.functional.normalize(hours, dim=1)  # (96, D / 4)
alike = (hours @ hours.T).numpy()  # (96, 96)
turned = [np.roll(alike, -k, axis=1) for k in range(96)]
lag = np.array([np.diag(part).mean() for part in turned])  # k quarters apart
rng = np.random.default_rng(0)
shuffled = [rng.permutation(96) for _ in range(500)]
null = np.array([alike[p, np.roll(p, 1)].mean() for p in shuffled])

# %% tags=["hide-input"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
left.imshow(alike, cmap="RdBu", vmin=-1, vmax=1, extent=(0, 24, 24, 0))
ticks = range(0, 25, 6)
left.set(xlabel="hour", ylabel="hour", xticks=ticks, yticks=ticks)
left.set_title("Cosine of two times")
left.grid(visible=False)
right.plot(np.arange(1, 49) / 4, lag[1:49], ".-", color=INK)
low, high = np.quantile(null, [0.025, 0.975])
right.axhspan(low, high, color=MUTED, alpha=0.25)
right.set(xlabel="hours apart, around the clock", ylabel="mean cosine")
right.set_title("By distance in time")
show(
    fig,
    alt="Left, cosines between the 96 time embeddings. Right, their mean by "
    f"distance in time; neighbours have {lag[1]:.2f}, and shuffled times "
    f"between {low:.2f} and {high:.2f}.",
    caption="The table of times. Grey: where 95 % of the means lie when the "
    "96 times are shuffled.",
)

# %% tags=["hide-input"]
p = (1 + (null >= lag[1]).sum()) / (1 + len(null))  # as for the places
yes = (
    "So neighbouring times are a little alike: training has discovered some "
    "of the clock, where there are visits."
)
no = (
    "So midnight is no exception: **on average, we cannot tell neighbouring "
    "times from shuffled ones**"
    + (", though there is a weak sign." if p < 0.1 else ".")
)
Markdown(
    f"23:45 and 00:00 have cosine **{alike[95, 0]:.2f}**. Times a quarter "
    f"of an hour apart have {lag[1]:.2f} on average (p = {p:.2f}). "
    + (yes if p < 0.025 else no)
)

# %% [markdown]
# A table is free to learn the clock, and equally free not to: 09:15 and 09:30 have rows of their own.
# If you know a geometry, as with clocks, you can build it in; exercise 3 does.
#
# ## What to remember
#
# - An embedding is a row of a matrix. Equal ids have equal vectors, and only rows that occur learn.
# - Index 0 is padding, or a person who is not in training. Every other answer starts at 1, and forgetting that crashes
#   nothing.
# - Concatenate-and-project equals project-and-add. LayerNorm looks at one visit only, and divides by $D$.
# - "Similar places are close" is a hypothesis. Test it against shuffled vectors before you draw it.
# - What a table looks like and what the model does with it are two questions. To answer the second, change the
#   table and score the model.
#
# ## Exercises
#
# **Exercise 1** (quick). The design documents count 1.3 million location parameters at $D = 64$, and say
# elsewhere that there are one to two thousand locations. How many locations would 1.3 million be? And how many
# numbers does our module have?

# %% tags=["try"]
# ours: from the shapes in `sizes`, the projection and LayerNorm
locations, total = ..., ...
check.exercise("5.1", [locations, total])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
tables = sum(rows * width for rows, width in sizes.values())
total = tables + 208 * D + D + 2 * D
counted = sum(p.numel() for p in model.embeddings.parameters())
check.same(total, counted, name="parameters")
check.exercise("5.1", [1.3e6 / 64, total])
print(
    f"1.3 million / 64 = {1.3e6 / 64:,.0f} locations; ours: {total:,} numbers"
)
# The two statements cannot both hold: an erratum of the documents.

# %% [markdown]
# **Exercise 2** (medium). Write the gradient of a look-up yourself: given ids $(B, L)$ and the gradient of
# the output $(B, L, D)$, return the gradient of the table $(V, D)$, with padding thrown away.


# %% tags=["try"]
def table_gradient(ids, upstream):
    """(B, L) ids, (B, L, D) gradient of the output -> (V, D)."""
    return ...


def by_autograd(ids, upstream):
    table = nn.Embedding(V, upstream.shape[-1], padding_idx=0)
    table(ids).backward(upstream)
    return table.weight.grad


g = torch.Generator().manual_seed(3)
up = torch.randn(*mates.location.shape, 5, generator=g)
cases = [(mates.location, up), (batch.location, up[:1, :L])]
check.function(table_gradient, by_autograd, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def table_gradient(ids, upstream):
    out = torch.zeros(V, upstream.shape[-1])
    out = out.index_add(0, ids.flatten(), upstream.flatten(0, 1))
    out[0] = 0
    return out


check.function(table_gradient, by_autograd, *cases)

# %% [markdown]
# **Exercise 3** (longer). Build a time embedding that cannot help being a circle: sines and cosines of the
# time of day for 1, 2, … `K` turns a day. Show that the cosine of two times depends only on how far apart
# they are, around the clock, and find that function by trigonometry.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
turn = torch.arange(96, dtype=torch.float64) / 96  # (96,)


def circle(K):
    angle = 2 * torch.pi * turn[:, None] * torch.arange(1, K + 1)  # (96, K)
    return torch.cat([angle.sin(), angle.cos()], dim=1) / K**0.5  # (96, 2 K)


def cosines(K):
    return circle(K) @ circle(K).T


def by_trigonometry(K):
    """cos a cos b + sin a sin b = cos(a - b), averaged over the K turns."""
    apart = turn[:, None] - turn  # (96, 96)
    angle = 2 * torch.pi * apart[..., None] * torch.arange(1, K + 1)
    return angle.cos().mean(-1)


check.function(cosines, by_trigonometry, (1,), (4,), (8,))
print(f"23:45 and 00:00: {float(cosines(8)[95, 0]):.2f}")
# To use it: replace the time table by circle(8), followed by the block of the
# projection. Whether it predicts better is a question for three seeds of
# training, not for the picture.

# %% [markdown]
# **Exercise 4** (project). Is our neighbour test able to find clusters at all? Give it vectors that ought
# to have them: for each place, the share of its training visits in each hour and of each length. Does it find
# kind, district or visitors in them?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
visits = data.train.visits
hour = visits.started_at.dt.hour.rename("at")
stay = (visits.finished_at - visits.started_at).dt.total_seconds() // 3600
stay = stay.clip(upper=11).rename("at")
by_hour = pd.crosstab(visits.location_id, hour).add_prefix("hour ")
by_stay = pd.crosstab(visits.location_id, stay).add_prefix("stay ")
profile = pd.concat([by_hour, by_stay], axis=1).loc[often]
profile = profile.to_numpy(dtype=float)  # (P, 24 + 12)
profile = np.sqrt(profile / profile.sum(1, keepdims=True))
with_profile = torch.from_numpy(profile @ profile.T).fill_diagonal_(-1)
neighbour_test(with_profile)
# The kind: hours and lengths of stay know something of what a place is for,
# and nothing of where it is. So the test can find clusters, and its "no"
# above means something.

# %% [markdown]
# **Next:** [Position and encoder](06_position_and_encoder.ipynb), where the visits begin to look at each other.
