# %% [markdown]
# # Evidence: windows and encoder
#
# Counts behind [Windows](03_windows.ipynb): what the two ways of counting days change, what
# history across the splits would add, and what batches of similar length save. And one measurement
# for [Position and encoder](06_position_and_encoder.ipynb): the gradient in pre-norm and
# post-norm.

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
# @title Imports and data
import numpy as np
import pandas as pd
import torch
from torch import nn
from wherenext import city
from wherenext.results import read_results

from pgt.config import WindowConfig
from pgt.windows import prepare

town = city.load()
WAYS = {
    "from the target's day": "target_day",
    "from the last visit": "last_visit",
}

# %% [markdown]
# ## From the target's day, or from the last visit
#
# A window by equation (3.2) goes back from the day of the last visit, and so reaches further back
# than one by equation (3.1). So more of them hold three visits. But the person's first day must
# now lie seven days before the *last visit*, which costs some windows.

# %% tags=["hide-input"]
# @title Windows of the simulated town, by the day from which they go back
data = {
    way: prepare(
        town.visits, config=WindowConfig(protocol="published", anchor=anchor)
    )
    for way, anchor in WAYS.items()
}
counts = {
    way: {name: len(getattr(of, name)) for name in ("train", "valid", "test")}
    for way, of in data.items()
}
pd.DataFrame(counts).rename_axis("windows")

# %% [markdown]
# ## What it is worth to know the target's day
#
# One model, once with the target's day among its features and once without, on the same GeoLife
# windows of the published protocol and from the same seeds. Acc@1 is the share of windows in which
# the first guess is right; the interval resamples people and seeds
# ([Baselines](04_baselines.ipynb) explains it). Both rows are of windows by equation (3.1), which
# give away part of the same day. So the difference is only what the feature adds to that leak.

# %% tags=["hide-input"]
# @title The same model with and without the target's day
full = {"model": "pgt", "variant": "full"}
published = read_results("geolife_published")
knows, blind_to = (full | {"target_time": t} for t in ("day", "unknown"))
gain, low, high = published.difference(knows, blind_to)
accuracy = {
    "knows the target's day": f"{published.mean(**knows):.1f}",
    "does not know it": f"{published.mean(**blind_to):.1f}",
    "difference, 95 % interval": f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]",
}
column = "Acc@1, % (GeoLife, published)"
pd.Series(accuracy).rename(column).to_frame()

# %% [markdown]
# ## History across the splits
#
# Windows inside splits throw away the first week of test, although the days before it *are* the
# past and an honest model could see them. Let the history of test windows reach back into valid.
# The new targets are closer to training, so fewer of them are unknown, and their places are more
# often in the window. It is another test set, and its scores could not stand beside published
# ones.

# %% tags=["hide-input"]
# @title Test windows whose history may reach back into valid
whole = town.visits.assign(split="train")
reaching = prepare(
    whole, config=WindowConfig(protocol="published", anchor="target_day")
).train
is_test = town.visits.split.to_numpy()[reaching.target] == "test"
row = town.visits.groupby("split").cumcount().to_numpy()  # in its split
old = np.isin(row[reaching.target], data["from the target's day"].test.target)
places = town.visits.location_id.to_numpy()[reaching.target]
known = town.visits.location_id[town.visits.split == "train"].unique()
rows = {}
for name, chosen in (("inside the split", old), ("only across", ~old)):
    part = is_test & chosen
    rows[name] = {
        "test windows": part.sum(),
        "in the window, %": 100 * reaching.in_window[part].mean(),
        "unknown targets, %": 100 * (~np.isin(places[part], known)).mean(),
    }
pd.DataFrame(rows).T.astype({"test windows": int}).round(1)

# %% [markdown]
# ## Batches of similar length
#
# Every seat of a row is compared with every other, so the work of attention grows with the
# *square* of a batch's width. The windows are shuffled, then sorted by length within pools of a
# few batches of 128. The widest window of many random ones is wide, so random batches get worse
# with their size. Sorted ones notice only when a batch spans many lengths even after sorting.

# %% tags=["hide-input"]
# @title Padding, and the work of attention
length = data["from the target's day"].train.lengths
order = np.random.default_rng(0).permutation(len(length))


def padded(size, pool):
    """Share of seats that are padding, and seats squared."""
    seats, work, step = 0, 0, max(pool, 1) * size
    for start in range(0, len(order), step):
        part = length[order[start : start + step]]
        part = np.sort(part) if pool else part
        for k in range(0, len(part), size):
            batch = part[k : k + size]
            seats += len(batch) * batch.max()
            work += len(batch) * int(batch.max()) ** 2
    return 100 * (1 - length.sum() / seats), work


plans = {"random": 0}
plans |= {f"sorted in pools of {pool} batches": pool for pool in (4, 32)}
cost = {plan: padded(128, pool) for plan, pool in plans.items()}
heads = ["padding, %", "attention's work, random = 1"]
cost = pd.DataFrame(cost, index=heads).T
cost[heads[1]] /= cost[heads[1]]["random"]
cost.round({heads[0]: 1, heads[1]: 2})

# %% tags=["hide-input"]
# @title Padding by the size of a batch
rows = {}
for size in (16, 64, 128, 512):
    rows[size] = {"random, %": padded(size, 0)[0]}
    rows[size]["in pools of 32, %"] = padded(size, 32)[0]
pd.DataFrame(rows).T.rename_axis("batch size").round(1)

# %% [markdown]
# ## Pre-norm and post-norm
#
# Stacks of `nn.TransformerEncoderLayer` at initialisation, with random vectors and a random loss;
# means of two seeds. The gradient of the visit vectors at the bottom, before the first layer, is
# compared with that at the top, after the last.
#
# In post-norm its norm does not vanish: the side roads through $h$ in equation (6.4) make up for
# what the direct road loses. Its *direction* is lost, much faster than in pre-norm. With two
# layers, as in our model, the two kinds are close.

# %% tags=["hide-input"]
# @title The gradient at the bottom of a stack, compared with the top
D = 64


def at_start(depth, pre_norm, seed):
    torch.manual_seed(seed)
    start = nn.functional.layer_norm(torch.randn(64, 12, D), (D,))
    h = [start.requires_grad_()]
    options = {"batch_first": True, "norm_first": pre_norm}
    shape = (D, 4, 128, 0.0, "gelu")
    stack = range(depth)
    layers = [nn.TransformerEncoderLayer(*shape, **options) for _ in stack]
    for p in nn.ModuleList(layers).parameters():
        if p.ndim == 2:  # as the original Transformer begins
            nn.init.xavier_uniform_(p)
    for layer in layers:
        h.append(layer(h[-1]))
        h[-1].retain_grad()
    top = nn.functional.layer_norm(h[-1], (D,))[:, -1]
    logits = top @ torch.randn(D, 100) / D**0.5
    nn.functional.cross_entropy(logits, torch.randint(100, (64,))).backward()
    below, above = h[0].grad, h[-1].grad
    kept = nn.functional.cosine_similarity(below[:, -1], above[:, -1])
    return (below.norm() / above.norm()).item(), kept.mean().item()


rows = {}
for depth in (2, 6, 12):
    for kind, pre in (("pre-norm", True), ("post-norm", False)):
        runs = [at_start(depth, pre, seed) for seed in range(2)]
        rows[f"{depth} layers, {kind}"] = np.mean(runs, axis=0)
ends = ["gradient norm, bottom / top", "cosine, bottom and top"]
pd.DataFrame(rows, index=ends).T.round(2)
