# %% [markdown]
# # Ten improvements
#
# *You will be able to* plug a proposed part into a model in an hour, say what it costs, and judge two dozen
# comparisons at once without fooling yourself. *You need* [The encoder](06_position_and_encoder.ipynb),
# [Training](10_training.ipynb) and [Ablations](14_ablations.ipynb). *It takes* fifty minutes to read and about half a
# minute to run, where a GPU makes no difference; making its results again takes some hours on one processor core.

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
import torch.nn.functional as F
from IPython.display import Markdown, display
from matplotlib import pyplot as plt

from pgt import city
from pgt.analysis.results import read_results
from pgt.checkpoint import load_model, shipped
from pgt.config import ModelConfig, WindowConfig
from pgt.improvements.claims import CLAIMS
from pgt.improvements.registry import IMPROVEMENTS, improved
from pgt.viz.figures import COPIED, EXTRA, GENERATED, INK, MUTED, TRUTH, show
from pgt.windows import prepare

torch.set_num_threads(1)
data = prepare(city.load().visits, protocol="exact")
sizes = {"n_locations": data.vocabulary.n_locations, "n_users": data.vocabulary.n_users}
results, uneven = read_results("improvements"), read_results("imbalance")
print(results.header["command"], uneven.header["command"], sep="\n")

# %% [markdown]
# One of the design documents is called *improvements*. It looks at the data, goes through the literature, and
# proposes ten changes to the model, most with a few lines of code. Five of them should definitely be made, three more
# *carefully*, with an eye on the budget, and a short list at the end says what to avoid. Not one of the proposals comes
# with a measurement.
#
# That is how most models grow. Somebody reads that gated feed-forward networks are better, puts one in, and keeps it
# if the next run goes well. Here we do it the slow way: all of them, one at a time, five seeds each, on the simulated
# city and on GeoLife, beside the model as it is and beside the kernel, which beats it on GeoLife and, on average, on
# the city.
#
# ## The proposals

# %%
proposals = {
    n: claim for n, claim in CLAIMS.items() if claim.source not in ("", "original", "sets")
}
with pd.option_context("display.max_colwidth", None):
    display(
        pd.DataFrame(
            {
                name: {"proposal": claim.source, "what": claim.title, "claim": claim.says}
                for name, claim in proposals.items()
            }
        ).T
    )

# %% [markdown]
# Before you go on, bet. Which three would you put in first? (Exercise 1 settles your bets.)
#
# In the package each of them is a small part with an entry in `IMPROVEMENTS`. `improved` builds the model of [chapter
# 9](09_model.ipynb) and exchanges a part of it, which starts with the old part's weights wherever it has them. So with
# one seed the models begin alike in all that they share; only four layers draw other numbers. We take the proposals by
# the place where they act, from the attention to the last layer, and keep the document's numbers.

# %%
batch = data.test.batch(np.arange(64))
for names in [("plain",), ("geglu",), ("geglu", "relative_bias")]:
    torch.manual_seed(0)
    model = improved(ModelConfig(**sizes), data.train, *names).eval()
    with torch.no_grad():
        total = model(batch).log_probs.exp().sum(1)
    assert torch.allclose(total, torch.ones(64), atol=1e-4)
    print(f"{' + '.join(names):24s} {model.n_parameters():,} parameters")

# %% [markdown]
# ## What the data are like
#
# The document starts from the data: windows of eighteen visits on average and fourteen to sixteen in the median, and
# an extreme imbalance. One location "appears 17,949 times", the design document says, and many only once; the most
# frequent target 783 times. Short sequences and rare classes are its reasons for several of the proposals. Are
# they true?

# %%
lengths = uneven.rows[uneven.rows.table == "lengths"].set_index(["data", "split"])
display(lengths[["n", "mean", "median", "low", "high"]].astype(float).round(1))
ours = data.train.lengths
assert lengths["mean"]["city", "train"] == round(float(ours.mean()), 3)
counted = uneven.rows[uneven.rows.table == "uneven"].set_index(["data", "of"])
whole = ["n", "locations", "top", "once", "never"]
counted[whole].astype(int).join(counted.top_tenth.astype(float).round(1))

# %% tags=["hide-input"]
top = uneven.rows[uneven.rows.table == "top"].set_index("data").loc["geolife"]
here = counted.loc["geolife"].astype(dict.fromkeys(whole, float))
exact = here.top["in windows"] == 17_949 and here.top["targets"] == 783
Markdown(
    (
        "The document counted right, to the last digit. "
        if exact
        else "The document counted something else. "
    )
    + f"On GeoLife windows have {lengths['mean']['geolife', 'all']:.1f} visits on average, "
    f"{lengths['median']['geolife', 'all']:.0f} "
    "in the median. But *what* did it count? A visit stands in every window whose target is within a "
    "week of it. The location with "
    f"{top['in windows']:,.0f} appearances was visited **{top['visits']:.0f} times**: each visit was "
    f"counted {top['in windows'] / top['visits']:.0f} times. "
    f"And it is not even the location that was visited most, which has {here.top['visits']:.0f}. Seen "
    "once in windows are only "
    f"{here.once['in windows']:.0f} locations, visited once are {here.once['visits']:.0f} of "
    f"{here.locations['visits']:.0f}."
)

# %%
ranked = uneven.rows[uneven.rows.table == "rank"].astype({"rank": int, "count": int})
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
marks = {
    "in windows": ("o", GENERATED, "-"),
    "visits": ("s", COPIED, "--"),
    "targets": ("^", TRUTH, ":"),
}
for axes, name in zip(panels, ("city", "geolife"), strict=True):
    for of, (mark, colour, line) in marks.items():
        one = ranked[(ranked.data == name) & (ranked.of == of) & (ranked["count"] > 0)]
        axes.loglog(one["rank"], one["count"], line, marker=mark, ms=4, color=colour, label=of)
    axes.set(title=name, xlabel="rank of the location")
panels[0].set_ylabel("times in training")
panels[0].legend()
show(
    fig,
    alt="Counts of locations by rank, on logarithmic axes, for city and GeoLife. Three nearly parallel "
    "falling lines: the count in "
    "windows lies an order of magnitude above visits and targets, which nearly coincide.",
    caption="How often the locations occur in training, most frequent first, counted in three ways.",
)

# %% [markdown]
# The lines are parallel, and that is the point. Imbalance as a *ratio* is real, and it is the same however one
# counts. What changes is how much evidence there is: a rare location with a hundred appearances in windows has been
# visited half a dozen times. The network gets to see the same few visits again and again.
#
# The document's other three observations, that people repeat their transitions, that the hour matters, and that
# people differ, are as true as can be: chapters [1](01_where_next.ipynb) and [4](04_baselines.ipynb) measured them.
# What is true of the data is not yet of use to the model, though, as [chapter 14](14_ablations.ipynb) found when it
# took the hour and the person away.
#
# > **Pitfall.** Overlapping windows are not independent examples. Frequencies, and sample sizes, belong to visits.
# > The document's limits for "rare" and "frequent", a hundred and a thousand appearances, sound like a lot of data.
#
# ## Which visit may look at which
#
# **1. Relative position bias.** The encoder adds a sinusoid to each visit, so its positions are *absolute*: third in
# the window, fourth in the window. What should matter is how far apart two visits are. [Raffel et al.
# (2020)](https://arxiv.org/abs/1910.10683) add a learned number to each attention score that depends on the distance
# alone:
#
# $$
# s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}} + \mathcal{B}_{j-i}, \tag{19.1}
# $$
#
# one table $\mathcal{B}$ for each head. (Their model, T5, lets far distances share an entry, since texts are long.
# Ours are not, and every distance up to 32 has its own.)


# %%
def relative_bias(table, n):
    """(2 R + 1, H) numbers -> (H, L, L), what is added to each score."""
    reach = len(table) // 2
    steps = torch.arange(n)
    apart = (steps - steps[:, None]).clamp(-reach, reach)  # j - i
    return table[apart + reach].permute(2, 0, 1)


torch.manual_seed(0)
model = improved(ModelConfig(**sizes), data.train, "relative_bias")
part = model.encoder.layers[0].attention
torch.nn.init.normal_(part.table)
none = torch.zeros(1, 18, dtype=torch.bool)  # a window of 18 visits without padding
assert torch.equal(relative_bias(part.table, 18), part.bias(none)[0])

# %% [markdown]
# **To avoid: RoPE.** [Su et al. (2021)](https://arxiv.org/abs/2104.09864) reach the same end without a table. Turn
# query and key by an angle that grows with the position. Their product then only knows the difference:
#
# $$
# (M_i\, q_i) \cdot (M_j\, k_j) = q_i \cdot (M_{j-i}\, k_j), \tag{19.2}
# $$
#
# with the rotations $M_k$ of [chapter 6](06_position_and_encoder.ipynb). The document advises against it: RoPE is for
# long sequences, ours are short. That is a strange reason, since nothing in the equation asks for length.
#
# **8. A bias to recent and first visits.** The last few visits matter most, says the document, and so does the first,
# the *starting point*. Six learned numbers for each head say how much, wherever the looking visit stands.

# %%
torch.manual_seed(1)
first = improved(ModelConfig(**sizes), data.train, "recent_and_first").encoder.layers[0].attention
turned = improved(ModelConfig(**sizes), data.train, "rope").encoder.layers[0].attention
with torch.no_grad():
    same = torch.ones(1, 1, 18, 16)  # one and the same vector everywhere
    rotated = turned.turn(same)
    by_angle = (rotated @ rotated.transpose(-2, -1))[0, 0] / 16
    pictures = {
        "relative bias": relative_bias(part.table, 18)[0],
        "RoPE, equal vectors": by_angle,
        "recent and first": first.bias(none)[0, 0].expand(18, 18),
    }
    causal = torch.full((18, 18), 1.0).tril()  # chapter 18's
pictures["causal"] = causal
fig, panels = plt.subplots(1, 4, figsize=(7.4, 2.4), sharey=True)
for axes, (title, picture) in zip(panels, pictures.items(), strict=True):
    axes.imshow(picture, cmap="cividis")
    axes.set(xlabel="visit looked at")
    axes.set_title(title, fontsize=9)
    axes.grid(False)
panels[0].set_ylabel("visit that looks")
show(
    fig,
    alt="Four square patterns over pairs of eighteen visits. Relative bias: random stripes along the "
    "diagonals. RoPE: a bright diagonal that "
    "fades evenly to both sides. Recent and first: bright columns at the first and the last five "
    "visits. Causal: the lower left triangle.",
    caption="What the four do to the attention scores, from dark to bright. Relative bias (first head, random weights to show "
    "its shape) and recent and first: what is added. RoPE: the product of equal vectors. Causal: bright is allowed, dark is −∞.",
)

# %% [markdown]
# Constant along the diagonals, constant along the columns: two ideas of what a position is. The fourth pattern, in
# which no visit may look ahead, belongs to the temporal sets of [chapter 18](18_temporal_sets.ipynb). It rides along
# in the experiment, as three parts of the summarizer of [chapter 17](17_side_by_side.ipynb) do.
#
# ## Inside a layer
#
# **2. GeGLU.** [Shazeer (2020)](https://arxiv.org/abs/2002.05202) replaces the hidden layer of the feed-forward
# network by a product of two, of which one is a gate:
#
# $$
# \text{GeGLU}(x) = W_3 \big( W_1 x \odot \text{GELU}(W_2 x) \big). \tag{19.3}
# $$
#
# "Increases effective parameters without increasing model size", the document says, and prints a layer with hidden
# width $4 D$ and two matrices into it. Count.


# %%
def counted_parameters(d, hidden, gated):
    """Of a feed-forward network with biases."""
    return d * hidden * (3 if gated else 2) + hidden * (2 if gated else 1) + d


D, width = 64, ModelConfig(**sizes).d_feedforward
pd.Series(
    {
        "plain, hidden 4 D": counted_parameters(D, 4 * D, False),
        "GeGLU as the document prints it, hidden 4 D": counted_parameters(D, 4 * D, True),
        "plain, as in our model": counted_parameters(D, width, False),
        "GeGLU in the package, two thirds as wide": counted_parameters(
            D, round(width * 2 / 3), True
        ),
    },
    name="parameters of one layer",
).to_frame()

# %% [markdown]
# As printed the model grows by half a feed-forward network a layer. The paper keeps the size by making the hidden
# layer a third narrower, and so do we: otherwise the experiment would test size.
#
# **3. Pre-norm.** "Critical", the document calls it: "Current baseline uses POST-LN (wrong!)". It does not. The model is pre-norm in the other documents, in the code they print, and here (number 9 of the errata at the
# end of the book). So the improvement had been made before it was proposed, and what we can measure is the way back:
# a model with the normalisation after each addition, as [Xiong et al. (2020)](https://arxiv.org/abs/2002.04745)
# describe it. [Chapter 6](06_position_and_encoder.ipynb) looked at the gradients of both, and with two layers found
# little to choose.
#
# **7. Experts.** Some visits are habit, others are exploration; let each have a feed-forward network of its own, and
# a router decide:
#
# $$
# h(x) = \sum_k \pi_k(x)\, h_k(x), \qquad \sum_k \pi_k(x) = 1 . \tag{19.4}
# $$
#
# "Lightweight" is the document's word. A mixture of experts is light where most experts are *not computed* ([Shazeer
# et al., 2017](https://arxiv.org/abs/1701.06538)). In the sum above all of them are, at every visit, and all are
# stored.
#
# Does the router find habit and exploration? Train one for a few epochs, with relative bias beside it to have a look at
# that as well, and ask it.

# %%
from dataclasses import replace

from pgt.config import CITY
from pgt.train import fit

torch.manual_seed(1)
model = improved(ModelConfig(**sizes), data.train, "relative_bias", "experts")
history = fit(
    model,
    data.train,
    data.valid,
    replace(CITY, seed=1, max_epochs=4, warmup_epochs=2),
    progress=False,
)
routed = []
heard = model.encoder.layers[-1].feedforward.register_forward_pre_hook(
    lambda experts, inputs: routed.append(experts.shares(inputs[0]))
)
with torch.no_grad():
    order = [(model(b), b)[1] for b in data.test.batches(512)]
heard.remove()
shares = torch.cat(
    [s[torch.arange(len(b)), b.length - 1] for s, b in zip(routed, order, strict=True)]
)
inside = torch.from_numpy(data.test.in_window)[torch.cat([b.index for b in order])]  # the targets
history.table()[["train_loss", "valid_loss", "valid_acc@1"]].round(2)

# %%
bias = torch.stack([layer.attention.table.detach() for layer in model.encoder.layers])  # (N, 65, H)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
distance = torch.arange(-12, 13)
for n, style in enumerate(("-", "--")):
    curves = bias[n, 32 + distance]
    left.plot(distance, curves, style, color=(COPIED, GENERATED)[n], lw=1.2)
    left.plot([], [], style, color=(COPIED, GENERATED)[n], label=f"layer {n + 1}, each head")
left.set(
    xlabel="distance (visits; negative: earlier)", ylabel="learned bias", title="relative bias"
)
left.legend(fontsize=8)
at = np.arange(shares.shape[1])
means = [shares[inside == flag].mean(0).numpy() for flag in (True, False)]
right.bar(at - 0.2, means[0], 0.38, color=COPIED, label="target in the window")
right.bar(
    at + 0.2,
    means[1],
    0.38,
    color=GENERATED,
    hatch="///",
    edgecolor="white",
    lw=0,
    label="target elsewhere",
)
right.set(
    xlabel="expert", ylabel="mean share", title="router, last visit", xticks=at, ylim=(0, None)
)
right.legend(fontsize=8)
largest = float(np.abs(means[0] - means[1]).max())
show(
    fig,
    alt=f"Left: learned biases over distance, eight lines between {bias.min():.2f} and {bias.max():.2f}. "
    "Right: mean shares of four experts for windows whose target is in "
    f"the window and for others; the largest difference is {largest:.2f}.",
    caption="After four epochs on the city. Left: what the heads add by distance. Right: how the router "
    "shares the last visit between its four experts.",
)

# %% tags=["hide-input"]
from pgt.analysis.calibration import auc

signal = max(max(auc(shares[:, k], ~inside), auc(-shares[:, k], ~inside)) for k in range(4))
reach = float(bias.abs().max())
Markdown(
    f"The biases have started at zero and have come to {reach:.2f} nats at most, a factor of "
    f"{math.exp(reach):.2f} in a weight: after these four epochs the encoder has hardly begun to use them. "
    "The most telling expert separates windows whose target is elsewhere from the others with an AUC "
    f"of {signal:.2f} (half is chance; the gate of "
    "[chapter 11](11_gate.ipynb) is the part that is *made* for this). Nobody told the router what "
    "the experts are for. It shares the visits out in some way, and "
    "*habit* and *exploration* are names that we would like to read into it."
)

# %% [markdown]
# ## What goes in
#
# **4. Multi-scale time.** A quarter of an hour is a row of a table, and no row knows its neighbours. Add waves, which
# do. With $\omega_k$ for $k$ turns in 24 hours,
#
# $$
# x = W \big[\, \text{row of the hour} ;\ \sin(\omega_k \cdot \text{time}) ;\ \cos(\omega_k \cdot \text{time}) \,\big], \qquad k = 1, \ldots, 4, \tag{19.5}
# $$
#
# and the same with one wave for the weekday. How alike are two times of day before any training?

# %%
torch.manual_seed(0)
with torch.no_grad():
    waves = improved(ModelConfig(**sizes), data.train, "multi_scale_time").embeddings.tables["time"]
    table = improved(ModelConfig(**sizes), data.train).embeddings.tables["time"]
    quarters = torch.arange(1, 97)
    fig, axes = plt.subplots(figsize=(7.0, 3.0))
    turns = 2 * math.pi * quarters[:, None] * torch.arange(1, 5) / 96
    alone = torch.cat([turns.sin(), turns.cos()], 1)  # (96, 8)
    for name, vectors, colour, style in (
        ("a table", table(quarters[None])[0], MUTED, ":"),
        ("hour and waves", waves(quarters[None])[0], COPIED, "-"),
        ("the waves alone", alone, EXTRA, "--"),
    ):
        vectors = F.normalize(vectors, dim=-1)
        around = [torch.diagonal(vectors @ vectors.roll(-s, 0).T).mean() for s in range(-48, 49)]
        axes.plot(np.arange(-48, 49) / 4, around, style, color=colour, label=name)
axes.set(xlabel="hours apart, around the clock", ylabel="mean cosine", xticks=range(-12, 13, 3))
axes.legend()
show(
    fig,
    alt="Mean cosine similarity of two times of day against the hours between them, before training. A "
    "table: one at zero and nothing elsewhere. Hour and waves: a narrow peak around zero and ripples. The waves alone: a "
    "broad peak that falls to zero between two and three hours away, and ripples.",
    caption="How alike two times of day are before training, averaged over the day.",
)

# %% [markdown]
# Most of the solid peak is the hour that two quarters share. The waves know neighbours well, but at first they speak more
# quietly than the row of the hour beside them.

# %% [markdown]
# **5. Frequency-adaptive embeddings.** Not every location needs a vector of the same width. Split the locations into
# three groups by their count, give each a table and a matrix to bring it to $D$:
#
# $$
# x = W_1 E_{\ell,:} \ \text{(frequent)}, \qquad W_2 E_{\ell,:} \ \text{(medium)}, \qquad W_3 E_{\ell,:} \ \text{(rare)}. \tag{19.6}
# $$
#
# Who gets the wide table? The document cites [Baevski and Auli (2019)](https://arxiv.org/abs/1809.10853) for giving
# *rare* locations more capacity. The paper does the opposite: frequent words get more, rare words less, to keep them
# from overfitting. Both directions are in the experiment, as `adaptive_embeddings` (the paper's) and
# `adaptive_reversed` (the document's).

# %%
from pgt.improvements.embeddings import FREQUENT, MEDIUM, occurrences

times = occurrences(data.train)[2:]
groups = [(times > FREQUENT), (times >= MEDIUM) & (times <= FREQUENT), times < MEDIUM]
torch.manual_seed(0)
rows = {
    name: [
        t.weight.shape[1]
        for t in improved(ModelConfig(**sizes), data.train, name)
        .embeddings.tables["location"]
        .tables
    ]
    for name in ("adaptive_embeddings", "adaptive_reversed")
}
pd.DataFrame(
    {
        "locations": [int(g.sum()) for g in groups],
        "share of what windows show (%)": [
            round(float(100 * times[g].sum() / times.sum()), 1) for g in groups
        ],
    }
    | rows,
    index=["frequent", "medium", "rare or never seen"],
)

# %% [markdown]
# **6. Cross-attention between modalities.** Person, location and time are different things; do not put them side by
# side, let the location *ask* the others. One attention for the person, one for the times. The second is a change.
# The first is not, as two lines show. There is one person in a window, so there is one key, and a softmax over one
# score is
#
# $$
# \frac{e^{s_i}}{e^{s_i}} = 1, \tag{19.7}
# $$
#
# whatever the location asks. Attention with one key is a linear layer with a long name.

# %%
torch.manual_seed(0)
crossed = improved(ModelConfig(**sizes), data.train, "cross_attention").eval().embeddings
with torch.no_grad():
    person = crossed.tables["user"](batch.user)[:, None]  # (B, 1, D)
    places = crossed.tables["location"](batch.location)  # (B, L, D)
    answer, weights = crossed.to_person(places, person, person)
assert (weights == 1).all() and torch.allclose(answer, answer[:, :1].expand_as(answer), atol=1e-6)
print("Every location gets the same answer about the person.")

# %% [markdown]
# ## What is asked of it
#
# **9. The loss.** Three proposals at once. The *focal loss* of [Lin et al. (2017)](https://arxiv.org/abs/1708.02002)
# turns down what the model knows already,
#
# $$
# \mathcal{L} = -\big(1 - P(\ell^*)\big)^{\Omega} \log P(\ell^*), \tag{19.8}
# $$
#
# with the focus $\Omega = 2$. The *class-balanced loss* divides each window's loss by how often its target is one,
#
# $$
# \mathcal{L} = -\frac{\text{windows}}{\text{locations} \cdot \text{count}(\ell^*)} \log P(\ell^*), \tag{19.9}
# $$
#
# so that every location has the same say. And *label smoothing* ([Szegedy et al.,
# 2016](https://arxiv.org/abs/1512.00567)) is in the model already, at $\varepsilon = 0.03$: we take it out, and we
# take more of it.

# %%
p = torch.linspace(0.005, 0.995, 199, requires_grad=True)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
for focus, colour, style in ((0, MUTED, ":"), (1, EXTRA, "--"), (2, COPIED, "-")):
    loss = -((1 - p) ** focus) * p.log()
    (slope,) = torch.autograd.grad(loss.sum(), p)
    pull = (-slope * p * (1 - p)).detach()  # on the logit of the target
    left.plot(p.detach(), loss.detach(), style, color=colour, label=f"Ω = {focus}")
    right.plot(p.detach(), pull, style, color=colour)
left.set(xlabel="probability of the target", ylabel="loss (nats)", ylim=(0, 4))
right.set(xlabel="probability of the target", ylabel="pull on its logit", ylim=(0, None))
left.legend()
peak = float(p.detach()[pull.argmax()])
show(
    fig,
    alt="Left: focal losses fall faster to zero than cross-entropy as the target's probability rises. "
    "Right: the pull on the logit. For cross-entropy a straight line from one to zero; with focus 2 "
    f"a curve that has its largest value at a probability of {peak:.2f} and is nearly flat at zero beyond 0.8.",
    caption="The focal loss, and how hard it pulls at the score of the target. Ω = 0 is the cross-entropy.",
)

# %%
targets = torch.from_numpy(data.train.targets)
often = torch.bincount(targets, minlength=sizes["n_locations"])
weight = len(targets) / ((often > 0).sum() * often[targets])
once, most = weight[often[targets] == 1], weight[often[targets] == often.max()]
pd.DataFrame(
    {
        "windows": [len(once), len(most)],
        "weight of each": [float(once[0]), float(most[0])],
        "share of the weight (%)": [100 * float(w.sum() / weight.sum()) for w in (once, most)],
    },
    index=["targets that occur once", "the most frequent target"],
).round(2)

# %% [markdown]
# Look at the last column. A balanced loss is an opinion about what is worth knowing, and Acc@1 has another one: it
# counts windows. What the loss takes from the few it should give to the many. So let every *location* have the same
# say: Acc@1 of each target location first, then the mean over locations.

# %%
from pgt.metrics import gains

(source,) = (s for s in results.header["data"] if s["name"] == "city")
config = WindowConfig(protocol="exact", anchor=source.get("anchor", "target_day"))
asked = prepare(city.load().visits, config=config)              # the windows of the results file
times_target = np.bincount(asked.train.targets, minlength=sizes["n_locations"])
rare = (times_target[asked.test.targets] >= 1) & (times_target[asked.test.targets] <= 5)


def by_location(variant):
    """Means over seeds, in percent: windows, locations, and windows with a rare target."""
    found = []
    for run in results.ranks(model="improved", variant=variant, data="city"):
        hit = 100 * gains(run)["acc@1"].to_numpy()
        each = pd.Series(hit).groupby(asked.test.targets).mean()
        found.append([hit.mean(), each.mean(), hit[rare].mean()])
    return np.mean(found, axis=0)


columns = ["over windows", "over locations", "targets seen 1 to 5 times"]
fair = pd.DataFrame({v: by_location(v) for v in ("plain", "focal", "balanced")}, index=columns)
fair.T.round(1)

# %% tags=["hide-input"]
gain = fair["balanced"] - fair["plain"]
Markdown(
    f"Acc@1 on the city, five seeds. Against the plain loss the balanced one changes the mean over locations by "
    f"{gain['over locations']:+.1f} points and that of rare targets by {gain['targets seen 1 to 5 times']:+.1f}. "
    + (
        "It fails by its own standard too: it does not buy the rare with the frequent, it loses both."
        if gain.iloc[1:].max() < 0
        else "Some of what it takes from the frequent does reach the rare."
    )
)

# %% [markdown]
# **To avoid: depth, and copies.** Two more warnings close the document. Very deep models: "4 layers is probably
# optimal for this data size". So the claim is that four are better than our two, and that can be tested. And heavy
# data augmentation, since it shifts the distribution. Ours is not heavy. Every training window comes a second time
# without a random share of its oldest visits; it is the same question, asked of somebody with a shorter memory. An
# epoch then has twice as many steps. Validation and test windows are left alone.
#
# ## The last layer
#
# **10. The output.** "Simple linear layer (too simple!)", says the document of the generator. It proposes four heads
# whose scores are mixed, a mixture of softmaxes, an adaptive softmax, and a temperature. The case for mixtures is
# that of [Yang et al. (2018)](https://arxiv.org/abs/1711.03953). The log-probability of location $\ell$ under one
# softmax is $G_\ell \cdot c + b_\ell$ minus a constant of the context: write one row for each context, and the matrix
# has rank $D + 2$ at most, a dimension for the bias and one for the constant. (Below each row's mean is taken out
# first, and one of the two goes with it.) If the truth has a higher rank, no weights can say it. A mixture of
# softmaxes,
#
# $$
# P_\text{gen}(\ell) = \sum_k \pi_k\, \frac{e^{G_\ell \cdot c_k}}{\sum_{\ell'} e^{G_{\ell'} \cdot c_k}}, \tag{19.10}
# $$
#
# can, because the logarithm of a sum is not linear. Measure it: the rank of the log-probabilities in the test
# windows.


# %%
def rank_of(log_probs, tolerance=1e-6):
    """Numerical rank of (N, V) log-probabilities, without the constant of each row."""
    centred = log_probs.double() - log_probs.double().mean(1, keepdim=True)
    values = torch.linalg.svdvals(centred)
    return int((values > tolerance * values[0]).sum())


trained = load_model(shipped("city"))[0].double()
seen = data.test.batch(np.arange(0, len(data.test), 7))
ranks = {}
with torch.no_grad():
    out = trained(seen)
    ranks["the trained model: generator alone"] = rank_of(out.generator_log_probs)
    ranks["the trained model: prediction"] = rank_of(out.log_probs)
    for name in ("many_heads", "mixture_of_softmaxes"):
        torch.manual_seed(0)
        fresh = improved(ModelConfig(**sizes), data.train, name).eval().double()
        torch.nn.init.normal_(fresh.embeddings.tables["location"].weight, std=3.0)
        ranks[f"{CLAIMS[name].title}, untrained: generator"] = rank_of(
            fresh(seen).generator_log_probs
        )
pd.Series(ranks, name=f"rank of {len(seen)} × {sizes['n_locations']} log-probabilities").to_frame()

# %% [markdown]
# The second line is the surprise. *The model was a mixture of softmaxes from the beginning*: one over the visits of
# the window, one over the vocabulary, weighed by the gate. Its predictions have as high a rank as there are windows
# to tell apart. The bottleneck that the mixture is meant to open has a hole in it already, and the hole is called
# pointer.
#
# The four heads are another matter. As printed each is a full layer over all locations: their weighted sum could have
# a rank near four times that of one, and would break the document's own budget (below). Four heads of a quarter of the
# rank cost about what one head costs, and the third line shows the price. So the verdict below is on heads that fit the
# budget, not on those that the document prints.
#
# An *adaptive softmax* ([Grave et al., 2017](https://arxiv.org/abs/1609.04309)) is made for speed with hundreds of
# thousands of words; it scores rare locations in fewer dimensions. And a *temperature* is for calibration: fitted
# after the training, on the prediction as a whole, it changes no ranking and so no accuracy ([chapter
# 21](22_open_vocabulary.ipynb) fits one). Here it is learned with the rest, in the generator only.
#
# ## Where the parameters go
#
# All this must fit into half a million parameters, says the document, and allocates them: 111k for embeddings, 250k
# for an encoder of four layers, 110k for the output, and 30k for improvements. Add them up, and they are a thousand
# over the budget. Do they fit the model? 110k for some 1,190 locations means vectors of about 93 numbers. Of the
# documents' two sizes the larger one has 96.

# %%
from pgt.config import PRESETS

KNOWN = {"n_locations": 1187, "n_users": 46}  # GeoLife, published protocol


def spent(model):
    """Parameters by part, in thousands."""
    parts = {"location table": model.embeddings.tables["location"], "other tables": model.embeddings, "encoder": model.encoder,
             "pointer": model.pointer, "output layer": model.generator, "gate": model.gate}  # fmt: skip
    size = {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
    size["projection"] = sum(
        p.numel() for n, p in model.embeddings.named_parameters() if not n.startswith("tables")
    )
    size["other tables"] -= size["location table"] + size["projection"]
    return pd.Series(size) / 1000


big = {**PRESETS["geolife"].model, "target_time": "unknown"}
budget = pd.DataFrame(
    {
        "documents' GeoLife size, 2 layers": spent(
            improved(ModelConfig(**KNOWN, **big), data.train)
        ),
        "the same, 4 layers": spent(
            improved(ModelConfig(**KNOWN, **{**big, "n_layers": 4}), data.train)
        ),
        "package's default, published": spent(improved(ModelConfig(**KNOWN), data.train)),
        "package's default, exact": spent(
            improved(ModelConfig(n_locations=2050, n_users=46), data.train)
        ),
    }
)
budget.loc["together"] = budget.sum()
budget.round(1)

# %% tags=["hide-input"]
four, own = budget["the same, 4 layers"], budget["package's default, exact"]
Markdown(
    f"With four layers of that size the model has {four['together']:.0f} thousand parameters, "
    f"**{four['together'] - 500:+.0f} thousand** against the budget and before any improvement. The "
    f"encoder takes {four['encoder']:.0f}, not 250. "
    f"Forgotten are the projection of the seven embeddings ({four['projection']:.0f}) and the pointer "
    f"({four['pointer']:.0f}); the person takes {46 * 96 / 1000:.1f}, not 1. The allocation "
    "describes no model that the documents print. With the package's default settings PGT "
    f"stays below: {own['together']:.0f} thousand with {2050:,} locations. "
    "Four full output layers, as the document prints them, "
    f"would add {3 * own['output layer']:.0f} to that, and break the budget alone."
)

# %% [markdown]
# And the variants? Each was built at the size of the data it was trained on. The results file has kept its count.

# %%
notes = pd.DataFrame(results.header["runs"]).T
notes = notes[notes.parameters.notna()] if "parameters" in notes else notes
keys = notes.index.to_series().str.extract(r"^(\w+)/improved-(\w+)-unknown-(-?\d+)$")
cost = notes.assign(data=keys[0], variant=keys[1]).astype(
    {"parameters": float, "seconds": float, "epochs": float}
)
cost = cost.groupby(["data", "variant"])[["parameters", "seconds", "epochs"]].mean().unstack("data")
size = cost["parameters"].reindex(list(IMPROVEMENTS)).dropna()
extra = (size - size.loc["plain"]).rename(columns=lambda c: f"more than plain, {c}")
assert size.to_numpy().max() < 500_000
size.join(extra).astype(int).map("{:,}".format)

# %%
at = np.arange(len(size))
fig, axes = plt.subplots(figsize=(7.0, 0.24 * len(size) + 0.9))
axes.barh(
    at, size["geolife_exact"] / 1000, color=[INK if n == "plain" else MUTED for n in size.index]
)
axes.axvline(500, color=GENERATED, ls="--")
axes.annotate(
    "budget", (500, -0.4), (-4, 6), textcoords="offset points", color=GENERATED, ha="right"
)
axes.set_yticks(at, [CLAIMS[n].title for n in size.index], fontsize=8)
axes.set(xlabel="parameters on GeoLife (thousands)", ylim=(len(size) - 0.4, -1.2))
axes.grid(axis="y", visible=False)
heaviest, lightest = size["geolife_exact"].idxmax(), size["geolife_exact"].idxmin()
show(
    fig,
    alt="Bars of the parameters of each variant; all stay below 500 thousand. Most has "
    f"'{CLAIMS[heaviest].title}' with {size['geolife_exact'].max() / 1000:.0f}, least "
    f"'{CLAIMS[lightest].title}' with {size['geolife_exact'].min() / 1000:.0f} thousand.",
    caption="Parameters of every variant at the size of GeoLife, exact protocol. Dashed: the document's "
    "budget.",
)

# %% tags=["hide-input"]
share = 100 * extra["more than plain, geolife_exact"] / size["geolife_exact"]["plain"]
Markdown(
    "All fit, but to fit under a ceiling is not to have the same size: on GeoLife the experts have "
    f"{share['experts']:+.0f} % and adaptive embeddings {share['adaptive_embeddings']:+.0f} % of the plain model's parameters."
)

# %% [markdown]
# ## What we measured
#
# Every variant was trained five times on each data set, under the exact protocol, with the seeds, the windows and the
# settings of the plain model. *No* variant was tuned. That is one way to be fair, and it has a side: the one setting was
# made for the plain model, and if it favours anybody, then that one. What ten tries are worth we know for the plain
# model only ([chapter 23](23_real_cities.ipynb)). The kernel has no training to tune; its numbers are
# chosen on the validation windows, as in [chapter 4](04_baselines.ipynb).

# %% tags=["hide-input"]
from pgt.baselines import ContextKernel

tuned = read_results("geolife_exact")
grid = math.prod(len(values) for values in ContextKernel.GRID.values())
searched = read_results("tuning").rows
tries = searched[searched.model == "pgt"].variant.nunique()
rate = {s["name"]: s["training"]["learning_rate"] for s in results.header["data"]}["geolife"]
as_documented = rate == PRESETS["geolife"].training.learning_rate     # else the package's default settings
lift = tuned.difference({"model": "pgt", "variant": "tuned"}, {"model": "pgt", "variant": "default"})
n_runs = len(notes)
Markdown(
    f"{n_runs} trainings, {results.header['seconds'] / 3600:.1f} hours on a "
    f"{results.header['device'].upper()}. The kernel was chosen from {grid} settings of four of its five numbers, a "
    "variant from one. "
    "On GeoLife the plain model has "
    + ("the documents' own settings." if as_documented else "the package's default settings, and all windows of this "
       "table still go back from the target's day: it waits to be computed again.")
    + f" Would a search help? Settings chosen from {tries} for the plain model, with no new part at all, "
    f"change the Acc@1 of the default settings on GeoLife by {lift[0]:+.1f} points [{lift[1]:+.1f}, {lift[2]:+.1f}]."
)

# %% [markdown]
# Change of Acc@1 against the plain model, with intervals as in [chapter 14](14_ablations.ipynb): people are drawn
# with replacement, since windows of one person are alike, and seeds are drawn too, in pairs, since both models of a
# pair saw the same shuffling. All variants are drawn *together*, which we shall need.
#
# > **Note.** Five seeds, drawn again and again, have a fifth less variance than five new seeds would, since a sample is
# > nearest to its own mean. Take an interval that just misses zero with that in mind.

# %%
from pgt.analysis.comparison import compare, verdict

PLAIN = {"model": "improved", "variant": "plain"}
KERNEL = {"model": "kernel"}
tested = [name for name in IMPROVEMENTS if name != "plain"]
chosen = {name: {"model": "improved", "variant": name} for name in tested}
DATA = {"city": {"data": "city"}, "GeoLife": {"data": "geolife"}}
changes = {
    name: compare(results, chosen, PLAIN, draws=4000, **where) for name, where in DATA.items()
}
kernel = {
    name: compare(results, {"kernel": KERNEL}, PLAIN, **where).table().iloc[0]
    for name, where in DATA.items()
}
level = {name: results.mean(**PLAIN, **where) for name, where in DATA.items()}
table = pd.concat(
    {name: one.table()[["mean", "low", "high"]] for name, one in changes.items()}, axis=1
)
table.round(1)

# %% tags=["hide-input"]
apart = [v for v in tested if v not in proposals or v == "temperature"]  # not judged below
listed = [*(v for v in tested if v not in apart), *apart]
rows = np.arange(len(listed)) + np.isin(listed, apart) * 0.7
fig, panels = plt.subplots(1, 2, figsize=(7.4, 0.34 * len(listed) + 1.5), sharey=True)
EDGE = (-4.0, 9.0)
for axes, (name, one) in zip(panels, changes.items(), strict=True):
    found = one.table().loc[listed]
    axes.axvspan(kernel[name].low, min(kernel[name].high, EDGE[1]), color=EXTRA, alpha=0.15, lw=0)
    axes.axvline(kernel[name]["mean"], color=EXTRA, ls="--", lw=1.4, label="kernel, 95 % interval")
    axes.axvline(0, color=MUTED, lw=1)
    axes.hlines(rows, found.low_all, found.high_all, color=COPIED, lw=0.8, label="for all at once")
    axes.hlines(rows, found.low, found.high, color=COPIED, lw=2.6, label="95 % interval")
    axes.plot(found["mean"], rows, "o", color=COPIED, ms=4)
    for at, seeds in zip(rows, one.seeds[[tested.index(v) for v in listed]], strict=True):
        axes.plot(seeds, [at + 0.3] * len(seeds), "|", color=MUTED, ms=4)
    axes.set_xlim(*EDGE)
    for at, mean in zip(rows, found["mean"], strict=True):
        if mean < EDGE[0]:
            axes.annotate(
                f"← −{-mean:.1f}", (EDGE[0], at), (4, 6), textcoords="offset points", fontsize=8
            )
    axes.set_title(f"{name}, plain {level[name]:.1f} %", fontsize=10)
    axes.grid(axis="y", visible=False)
panels[0].set_yticks(rows, [CLAIMS[n].title for n in listed], fontsize=8)
panels[0].set_ylim(rows[-1] + 0.7, -0.6)
fig.supxlabel("change of Acc@1 against the plain model (points)", fontsize=10)
fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=8)
beyond = {n: [v for v in tested if one.table().low[v] > 0] for n, one in changes.items()}
show(
    fig,
    alt="Forest plot of all variants against the plain model, with the kernel as a line. "
    + " ".join(
        f"{n}: {len(v)} of {len(tested)} intervals lie above zero; the kernel is "
        f"{kernel[n]['mean']:+.1f} points from plain."
        for n, v in beyond.items()
    ),
    caption="What each proposal changes. Thick lines: 95 % intervals over people and seeds, each for itself; "
    "thin lines: intervals that hold for all variants at once; ticks: single seeds. Arrows: the mean "
    "lies outside the picture. Dashed: the kernel, with its interval as a band. The rows below the gap belong to other chapters or "
    "to calibration, and get no verdict here.",
)

# %% tags=["hide-input"]
names_of = lambda some: ", ".join(CLAIMS[v].title for v in some) or "none"  # noqa: E731
below = {n: [v for v in tested if one.table().high[v] < 0] for n, one in changes.items()}
EARLY = ["focal", "balanced", "no_smoothing", "many_heads", "mixture_of_softmaxes"]
Markdown(
    " ".join(
        f"**{n}.** Better than plain, each interval for itself: {names_of(beyond[n])}. Worse: "
        f"{names_of(below[n])}."
        for n in changes
    )
    + "\n\nOne thing to know about losses and outputs. Training stops by what it watches, which is Acc@1 on the "
    "city and the cross-entropy on GeoLife, for every variant. The best epoch on GeoLife came after "
    + ", ".join(
        f"{cost['epochs']['geolife_exact'][v]:.0f} ({CLAIMS[v].title})" for v in ("plain", *EARLY)
    )
    + " epochs on average; the warm-up of the learning rate lasts five. Those that were stopped inside it lose on GeoLife by "
    "their idea and by the stopping together. The city, which stops by Acc@1, is the cleaner test for them."
)

# %% [markdown]
# ## Two dozen comparisons
#
# Do not write that down yet. Each interval misses the truth one time in twenty. We have two panels of them. If every
# proposal were worthless, and a die were put in its place, how many intervals would miss zero by luck?
#
# The resamples answer. Move each variant's draws so that their mean is zero: a world in which nothing helps, with
# just the noise of ours. All variants of a draw share their people, their seeds, and the runs of the plain model, so
# lucky draws are lucky for many at once.

# %%
fig, axes = plt.subplots(figsize=(7.0, 3.0))
bins = np.arange(0, 16) - 0.5
alarms = {name: one.false_alarms() for name, one in changes.items()}
for (name, count), colour, style in zip(
    alarms.items(), (COPIED, GENERATED), ("-", "--"), strict=True
):
    axes.hist(
        count.clip(max=14),
        bins=bins,
        weights=np.full(len(count), 100 / len(count)),
        histtype="step",
        lw=2,
        ls=style,
        color=colour,
        label=name,
    )
axes.set(
    xlabel=f"false alarms among {len(tested)} intervals, if nothing helped (14: or more)",
    ylabel="share of worlds (%)",
)
axes.legend()
some = {name: 100 * (count > 0).mean() for name, count in alarms.items()}
show(
    fig,
    alt="Histogram of the number of false alarms if no variant changed anything. At least one: "
    + ", ".join(f"{name} {share:.0f} %" for name, share in some.items())
    + " of the worlds; a long tail to the right.",
    caption="How many of the intervals would miss zero by luck alone.",
)

# %% tags=["hide-input"]
Markdown(
    "In a world in which nothing helps, at least one effect would be found in "
    + " and ".join(f"**{share:.0f} %** of all tables for {name}" for name, share in some.items())
    + f". On average it would be {alarms['city'].mean():.1f} in each: one in twenty, for that is what "
    "the intervals promise. They do not promise that a *column* of them is right."
    + "\n\n"
    + "Nor is the number of rows on one side of zero a count of votes. "
    + " ".join(
        f"On {name} {int((one.mean > 0).sum())} of {len(tested)} changes are positive; if nothing "
        "helped, as many or more would be in "
        f"{100 * ((one.deviations > 0).sum(0) >= (one.mean > 0).sum()).mean():.0f} % of the worlds."
        for name, one in changes.items()
    )
    + " All rows are differences to the same five runs of the plain model. If these were a little "
    "unlucky, everything looks like an improvement."
)

# %% [markdown]
# There is a remedy. Widen all intervals by one factor until, in ninety-five of a hundred draws, *all* of them hold.
# Such **simultaneous intervals** may be read as a column. They are the thin lines of the forest. The factor comes
# from the draws, after [Westfall and Young (1993)](https://www.wiley.com/en-us/Resampling-Based+Multiple+Testing%3A+Examples+and+Methods+for+p-Value+Adjustment-p-9780471557616),
# so it knows that the variants share their luck. Bonferroni's rule only counts the variants, and divides what an
# interval may err by their number.


# %%
def widening(one):
    """Standard errors to each side, in four ways."""
    normal = np.random.default_rng(0).multivariate_normal(
        np.zeros(len(tested)), np.corrcoef(one.draws), size=20_000
    )
    counted = torch.special.ndtri(torch.tensor(1 - 0.025 / len(tested)))
    return {
        "one interval": 1.96,
        "all at once, from the draws": np.quantile(np.abs(one.deviations).max(0), 0.95),
        "all at once, were the draws normal": np.quantile(np.abs(normal).max(1), 0.95),
        "all at once, by counting (Bonferroni)": float(counted),
    }


draws = changes["GeoLife"]
factors = pd.DataFrame({name: widening(one) for name, one in changes.items()})
factors.round(2)

# %% [markdown]
# Shared luck makes the factor smaller than Bonferroni's, as the third row shows. And still ours is larger: Bonferroni's
# number believes in the normal distribution, and a few people and five seeds, drawn again and again, stray further than
# that.
#
# > **Pitfall.** The number of comparisons is not the number of rows that end up in the table. It is the number that
# > were *made*: every variant, seed, size and data set that somebody looked at before choosing what to show. Those
# > who read the winner alone cannot correct for it. So all our rows are here, with the ones that went nowhere.
#
# ## A verdict per claim
#
# The rule is code (`pgt.analysis.comparison`) and knows no names. A claim says *better*, *worse* or *no help*. It is
# *confirmed* if the simultaneous interval lies on the claimed side of zero and *contradicted* if it lies on the other. If
# zero is inside, size decides: an interval that leaves out one point in the claimed direction says *not confirmed*, there
# is no effect of a point; one that does not leave it out says *cannot tell*. "No help" is confirmed if a gain of one point is
# left out, and contradicted by a gain. Each data set has a verdict of its own: what helps in one city need not
# help in the other, and neither has a veto. All claims are judged by Acc@1, though some
# speak of stability or confidence first; that is our choice, not the document's. ([Chapter 14](14_ablations.ipynb) used
# the same words with another rule, since there the documents gave numbers.)

# %%
WORSE, NO_HELP = {"post_norm", "no_smoothing", "augmented"}, {"rope"}
judged = [name for name in proposals if name != "temperature"]
ends = {name: one.table() for name, one in changes.items()}
claims = {}
for variant in judged:
    expected = -1 if variant in WORSE else 0 if variant in NO_HELP else 1
    words = {n: verdict(e.low_all[variant], e.high_all[variant], expected) for n, e in ends.items()}
    sizes_of = {
        f"{n} (points)": f"{e['mean'][variant]:+.1f} [{e.low_all[variant]:+.1f}, {e.high_all[variant]:+.1f}]"
        for n, e in ends.items()
    }
    says = {1: "better", 0: "no help", -1: "worse"}[expected]
    claims[CLAIMS[variant].title] = (
        {"proposal": CLAIMS[variant].source, "claim": says} | sizes_of | words
    )
claims = pd.DataFrame(claims).T
with pd.option_context("display.max_colwidth", None):
    display(claims)

# %% tags=["hide-input"]
WORDS = ("confirmed", "not confirmed", "contradicted", "cannot tell")
wide = {n: ((e.high_all - e.low_all) / 2)[judged].median() for n, e in ends.items()}
Markdown(
    f"Of {len(claims)} claims: "
    + "; ".join(
        f"on {name} " + ", ".join(f"**{int((claims[name] == word).sum())} {word}**" for word in WORDS)
        for name in ends
    )
    + ". Much of this was decided before the first run. A verdict about one point needs intervals that reach less than a "
    "point to either side, and half of ours reach further than "
    + " and ".join(f"{half:.1f} points on {name}" for name, half in wide.items())
    + ". With intervals read one by one the count of improvements would be "
    + " and ".join(f"{len([v for v in beyond[n] if v in judged])} on {n}" for n in changes)
    + "."
)

# %% [markdown]
# "Cannot tell" is not a polite "no". With a few dozen people on either data set a point of Acc@1 is hard to see. But
# the proposals were made for data of this size, and whoever reports a gain of a point on it from one seed has not
# seen it either.
#
# One claim cannot be judged by accuracy. A *temperature* promises calibration. (So does label smoothing, whose rows
# above tell of accuracy only.) For that the files of [chapter 22](22_open_vocabulary.ipynb) have what we need: the
# calibration error of PGT on the test windows, as it is and with a temperature fitted on the validation windows.

# %%
confidence = read_results("confidence").rows
calibrated = confidence[
    (confidence.table == "calibration") & (confidence.model == "pgt") & (confidence.split == "test")
]
errors = calibrated.pivot_table(
    index=["data", "protocol", "seed"], columns="stage", values="error", aggfunc="first"
)
errors = 100 * errors[["as is", "temperature"]].astype(float)
errors.groupby(["data", "protocol"]).agg(["mean", "count"]).round(1)

# %% tags=["hide-input"]
fell = int((errors["temperature"] < errors["as is"]).sum())
Markdown(
    f"The error fell in {fell} of {len(errors)} runs. Before, it was between {errors['as is'].min():.1f} and "
    f"{errors['as is'].max():.1f} points of probability, {errors['as is'].mean():.1f} on average; after, between "
    f"{errors['temperature'].min():.1f} and {errors['temperature'].max():.1f}, {errors['temperature'].mean():.1f} on average. "
    "A temperature helps where a run was far too sure, and may harm where it was not. [Chapter 22](22_open_vocabulary.ipynb) "
    "shows what it cannot see at all: targets that are new."
)

# %% [markdown]
# ## The list as a whole, and the best of the lot
#
# Five things should *definitely* be done: pre-norm (it was), GeGLU, relative positions, multi-scale time, and a focal
# or balanced loss. If each of them helps a little, do they help together?

# %%
FIVE = ["relative_bias", "geglu", "multi_scale_time", "focal"]
together = {
    name: {
        "sum of the single changes": e["mean"][FIVE].sum(),
        "all of them together": e["mean"]["all_five"],
        "from": e.low["all_five"],
        "to": e.high["all_five"],
    }
    for name, e in ends.items()
}
pd.DataFrame(together).T.round(1)

# %% [markdown]
# And if you had to choose one? The honest way is to choose on the *validation* windows and to look at the test
# windows once. The other way is to pick the winner of the forest plot. Its lead is part effect and part luck, and the
# luck stays behind.

# %%
best = {}
for name, where in DATA.items():
    kept = results.select(split="valid", model="improved", **where)
    valid = kept.groupby("variant", observed=True)["acc@1"].mean()
    test = ends[name]["mean"]
    by_valid = (valid[tested] - valid["plain"]).idxmax()
    best[name] = {
        "chosen on validation": CLAIMS[by_valid].title,
        "its lead there": f"{valid[by_valid] - valid['plain']:+.1f}",
        "its lead on test": f"{test[by_valid]:+.1f}",
        "winner on test": CLAIMS[test.idxmax()].title,
        "its lead": f"{test.max():+.1f}",
        "its lead on validation": f"{valid[test.idxmax()] - valid['plain']:+.1f}",
    }
pd.DataFrame(best)

# %% tags=["hide-input"]
Markdown(
    " ".join(
        f"**{name}.** The winner on test, *{row['winner on test']}*, leads there by {row['its lead']} and on validation by "
        f"{row['its lead on validation']}; what validation would have chosen, *{row['chosen on validation']}*, leads on test "
        f"by {row['its lead on test']}."
        for name, row in best.items()
    )
)

# %% [markdown]
# ## Against the rule with five numbers
#
# All this is about a model that a kernel beats, on GeoLife at least. Does any proposal close the gap? Each variant minus the kernel, and
# beside them the contextual pointer of [chapter 20](20_contextual_pointer.ipynb), which looks at the same seven days
# and gets nothing but *relations*.

# %%
behind = {
    name: compare(results, chosen, KERNEL, draws=4000, **where) for name, where in DATA.items()
}
gaps = pd.concat({n: b.table()[["mean", "low_all", "high_all"]] for n, b in behind.items()}, axis=1)
gaps.index = [CLAIMS[v].title for v in gaps.index]
gaps.sort_values(("GeoLife", "mean"), ascending=False).head(6).round(1)

# %%
from pgt.viz.plots import bars

pointer = read_results("beyond")
WINDOW = {"model": "contextual", "variant": "window", "target_time": "unknown", "protocol": "exact"}
back = {source.get("anchor", "target_day") for file in (results, pointer) for source in file.header["data"]
        if (source["name"], source["protocol"]) == ("geolife", "exact")}       # what windows go back from
winner = ends["GeoLife"]["mean"].idxmax()
values = {
    "PGT": level["GeoLife"],
    f"PGT, the best of {len(tested)} on test": results.mean(**chosen[winner], data="geolife"),
    "kernel": results.mean(**KERNEL, data="geolife"),
    "contextual pointer, seven days": pointer.mean(**WINDOW, data="geolife"),
}
spans = [results.interval(**PLAIN, data="geolife"), results.interval(**chosen[winner], data="geolife"),
         results.interval(**KERNEL, data="geolife"), pointer.interval(**WINDOW, data="geolife")]  # fmt: skip
bars(
    values,
    intervals=dict(zip(values, spans, strict=True)),
    highlight=["contextual pointer, seven days"],
    xlabel="Acc@1 on GeoLife, exact protocol (%)",
    alt="Bars of Acc@1 on GeoLife with wide intervals: "
    + ", ".join(f"{n} {v:.1f}" for n, v in values.items())
    + " per cent.",
    caption=f"Mean over five seeds, 95 % intervals over people and seeds. The second bar is '{CLAIMS[winner].title}', "
    "picked for being highest on these very windows."
    + (" The last bar is on windows that go back from the last visit, the others go back from the target's day."
       if len(back) > 1 else ""),
)

# %% tags=["hide-input"]
above = {n: [v for v in tested if b.table()["mean"][v] > 0] for n, b in behind.items()}
sure = {n: [v for v in tested if b.table().low_all[v] > 0] for n, b in behind.items()}
closed = {n: 100 * ends[n]["mean"].max() / kernel[n]["mean"] for n in ends if kernel[n]["mean"] > 0}
Markdown(
    " ".join(
        f"**{n}.** {len(above[n])} of {len(tested)} variants are above the kernel on average, "
        f"{len(sure[n])} beyond doubt."
        + (
            f" The best closes {closed[n]:.0f} % of the gap between PGT and the kernel."
            if n in closed
            else ""
        )
        for n in behind
    )
)

# %% [markdown]
# Look at what the proposals have in common. They change how the same inputs are embedded, mixed, weighed or scored.
# The kernel has something that no layer here is given: how far the hour of a past visit is from *now*, as one number.
# Gating, experts, heads and more layers are ways to compute with what is there. The gap was in what is there.
#
# ## Summary
#
# - A proposal is a claim about data. Count what it counts: visits, not their copies in overlapping windows.
# - Read the source that is cited. One proposal says the opposite of its paper; one improves a model that had been
#   improved; one attends to a single key.
# - Every change can be made to fit into half a million parameters. That is not yet the same size: experts have a good
#   quarter more, adaptive embeddings a quarter less.
# - One interval may be read alone. A column of intervals needs to be widened until it may be read as a column, and
#   the verdicts above are those of the column.
# - What closed the gap to the kernel was not on the list.
#
# ## Exercises
#
# **Exercise 1** (quick). Settle your bets: write the three names down and see how they did, on both data sets, beside
# three names drawn at random.

# %%
MY_BETS = ["relative_bias", "geglu", "focal"]  # three of the document's; put yours here
table.loc[MY_BETS].round(1)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
rng = np.random.default_rng(0)
for name, e in ends.items():
    means = e["mean"][judged].to_numpy()
    three = np.stack([rng.choice(means, 3, replace=False) for _ in range(2000)]).mean(1)
    five = e["mean"][FIVE].mean()
    print(
        f"{name}: three at random {three.mean():+.1f} on average (nine in ten between "
        f"{np.quantile(three, 0.05):+.1f} and "
        f"{np.quantile(three, 0.95):+.1f}; median {np.median(three):+.1f}, since one loss pulls the mean down); "
        f"the document's own bets, four of its five, {five:+.1f}"
    )

# %% [markdown]
# **Exercise 2** (medium). A layer of the document's `LightweightMoE` with four experts replaces a feed-forward
# network of width $F$. Write its number of parameters as a formula in $D$, $F$ and the number of experts, and check
# it. How wide may each expert be if the layer is to cost what the plain one costs?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def of_experts(d, hidden, n):
    """The experts with their biases, and the router."""
    return n * counted_parameters(d, hidden, False) + d * n + n


layer = improved(ModelConfig(**sizes), data.train, "experts").encoder.layers[0].feedforward
assert of_experts(D, width, 4) == sum(p.numel() for p in layer.parameters())
widths = [w for w in range(1, width) if of_experts(D, w, 4) <= counted_parameters(D, width, False)]
print(
    f"four experts of width {width}: {of_experts(D, width, 4):,}; at the plain cost each may have "
    f"{widths[-1]} hidden units"
)

# %% [markdown]
# **Exercise 3** (longer). How many people would be needed to see an effect of one point on GeoLife, in one comparison
# and in a column of all, so that the interval is one point to each side? (An effect of just that size is then found half
# of the time.) Assume that the interval shrinks with the square root of the number of people.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
people = next(iter(results.ranks(**KERNEL, data="geolife"))).user_id.nunique()
error = draws.draws.std(1)  # standard error of each variant's change
needed = {
    name: int(np.ceil(people * np.median((factor * error / 1.0) ** 2)))
    for name, factor in zip(("one", "a column"), factors["GeoLife"].iloc[:2], strict=True)
}
print(
    f"GeoLife has {people} people. For the median variant, {needed['one']:,} for one comparison and "
    f"{needed['a column']:,} for a column of {len(tested)}; to find the effect four times in five, twice as many."
)

# %% [markdown]
# **Exercise 4** (project). No variant was tuned. Give one of them, say `relative_bias`, three learning rates on the
# city, choose by validation with one seed, and train the plain model at the same three. Does the order of the two
# change when both are tuned?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
RUN = False  # True trains six models: about three minutes


def accuracy(variant, rate):
    """Validation and test Acc@1 after training at this learning rate."""
    from pgt.metrics import evaluate, gains

    torch.manual_seed(1)
    model = improved(ModelConfig(**sizes), data.train, variant)
    training = replace(CITY, seed=1, learning_rate=rate)
    fit(model, data.train, data.valid, training, progress=False)
    return [100 * gains(evaluate(model, part))["acc@1"].mean() for part in (data.valid, data.test)]


if RUN:
    for variant in ("plain", "relative_bias"):
        print(
            variant,
            {
                rate: np.round(accuracy(variant, rate), 1).tolist()
                for rate in (3e-4, 6.5e-4, 1.3e-3)
            },
        )
else:
    print("Each model is chosen by its first number and judged by its second.")

# %% [markdown]
# **Next:** [Contextual pointer](20_contextual_pointer.ipynb), which gets what was not on the list.
