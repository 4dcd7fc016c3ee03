# %% [markdown]
# # Side by side
#
# *You will be able to* take a comparison of two architectures apart, row by row, and say of each row whether it is true,
# true under a condition, or false. *You need* [The whole model](09_model.ipynb), [the
# summarizer](16_summarizer.ipynb) and, for the swapped parts, [Ablations](14_ablations.ipynb). *It takes* half an
# hour to read and about twenty seconds to run; making its own results again takes about ten minutes on one
# processor core; those of the swapped parts, shared with [chapter 19](19_improvements.ipynb), three and a half hours.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% tags=["hide-input"]
from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from pgt import city
from pgt.analysis.comparison import compare
from pgt.analysis.results import read_results
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig
from pgt.improvements.layers import RecurrentEncoder
from pgt.look import story
from pgt.metrics import evaluate, gains
from pgt.mixture import log_mixture
from pgt.model import PointerGeneratorTransformer
from pgt.relatives import side_by_side
from pgt.relatives.summarizer import model as summarizer
from pgt.relatives.summarizer.diaries import write_diaries
from pgt.relatives.summarizer.parts import (
    AdditiveAttention,
    masked_softmax,
    one_bias,
    renormalised_softmax,
)
from pgt.relatives.summarizer.words import PAD, TextBatch, text_batch
from pgt.viz.figures import COPIED, EXTRA, GATE, GENERATED, INK, MUTED, PAPER, TRUTH, show
from pgt.windows import prepare

torch.set_num_threads(1)
town = city.load()
data = prepare(town.visits, protocol="exact")
measured, swapped = read_results("side_by_side"), read_results("improvements")
print(measured.header["command"], swapped.header["command"], sep="\n")

# %% [markdown]
# PGT has a parent. The pointer-generator of [See et al. (2017)](https://arxiv.org/abs/1704.04368) reads a news
# article and writes its summary, word by word, copying some words and generating others.
# [Chapter 16](16_summarizer.ipynb) builds it. One of the design documents puts the two models next to each other:
# thirty rows in six tables, two data flows, drawings, and four reasons for what was changed.
#
# Such a table is the most read part of any paper, and the least tested. "Parallel." "Faster." "No decoder needed."
# Each cell sounds like a fact, and there is no cell for *how do we know*. This chapter adds it. Every row gets
# one of three verdicts:
#
# - *true*: it holds as it stands;
# - *if*: it holds under a condition that the row leaves out;
# - *false*: what we measure contradicts it.
#
# Behind every verdict is a line of code. What counts as a condition is our reading, and some lines can hardly fail,
# since our summarizer was built after the same description.
#
# Before you read on, mark the rows that you expect to fall: *no unknown places*, *parallel*, *faster*, *gradient
# issues*, *attention weights make it interpretable*, *no decoder needed*.
#
# ## Both models, at the documents' sizes

# %%
torch.manual_seed(0)
sizes = {"n_locations": data.vocabulary.n_locations, "n_users": data.vocabulary.n_users}
original = summarizer.PointerGenerator(summarizer.DOCUMENT).eval()
presets = {"DIY": ModelConfig(**sizes, **PRESETS["diy"].model), "GeoLife": ModelConfig(**sizes, **PRESETS["geolife"].model)}
ours = PointerGeneratorTransformer(presets["DIY"]).eval()
trained, _ = load_model(shipped("city"))  # the package's weights
print(summarizer.DOCUMENT, presets["DIY"], sep="\n")

# %% [markdown]
# Rows are collected as they are judged, so that we can count them at the end.

# %% tags=["hide-input"]
ledger = []  # (table, row, verdict)


def judge(holds, condition=False):
    """The verdict of a row: whether it holds, and if so whether only under a condition."""
    return "false" if not holds else "if" if condition else "true"


def table(title, rows, first="row", heads=("summarizer", "PGT")):
    """Show rows of (one, the other, verdict, remark or condition), and keep their verdicts."""
    lines = [f"| {first} | {heads[0]} | {heads[1]} | verdict | |", "|---|---|---|---|---|"]
    for name, (there, here, verdict, remark) in rows.items():
        ledger.append((title, name, verdict))
        lines.append(f"| {name} | {there} | {here} | **{verdict}** | {remark} |")
    return Markdown("\n".join(lines))


# %% [markdown]
# ## Two data flows
#
# First the whole picture. Time runs downwards. What is drawn side by side happens side by side; what is in the
# frame happens again for every word.


# %% tags=["hide-input"]
def box(axes, at, text, colour, width=2.5, height=0.62):
    x, y = at
    patch = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0.04",
                           fc=PAPER, ec=colour, lw=1.8)  # fmt: skip
    axes.add_patch(patch)
    axes.text(x, y, text, ha="center", va="center", fontsize=8)


def arrow(axes, start, end, path="arc3"):
    look = {"arrowstyle": "->", "color": MUTED, "lw": 1.2, "connectionstyle": path}
    axes.annotate("", end, start, arrowprops=look)


figure, panels = plt.subplots(1, 2, figsize=(7.4, 6.6))
FLOWS = [
    ("summarizer", [
        ((0, 8), "words → one embedding", INK), ((0, 7), "bidirectional LSTM", INK),
        ((0, 6), "state reduction", INK), ((0, 4.9), "LSTM cell", EXTRA),
        ((-1.95, 3.9), "additive\nattention", COPIED), ((1.95, 2.75), "vocabulary", GENERATED),
        ((0, 2.75), "gate: to\ngenerate", GATE), ((0, 1.5), "mixture over\nextended vocabulary", TRUTH),
        ((0, 0.2), "beam search → words", INK),
    ], [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 5), (4, 6), (4, 7), (5, 7), (6, 7), (7, 8)]),
    ("PGT", [
        ((0, 8), "visits → 7 embeddings", INK), ((0, 7), "projection, norm,\nsinusoid", INK),
        ((0, 6), "two Transformer layers", INK), ((0, 4.9), "the last visit: context", EXTRA),
        ((-1.95, 3.3), "dot-product\npointer", COPIED), ((1.95, 3.3), "generator", GENERATED),
        ((0, 3.3), "gate: to\ncopy", GATE), ((0, 1.5), "mixture over\nall places", TRUTH),
        ((0, 0.2), "list of places", INK),
    ], [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 7), (5, 7), (6, 7), (7, 8)]),
]  # fmt: skip
for axes, (title, boxes, arrows) in zip(panels, FLOWS, strict=True):
    for one, other in arrows:
        (x0, y0), (x1, y1) = boxes[one][0], boxes[other][0]
        aside = 0.9 if boxes[other][1].startswith("mixture") else 0.25
        arrow(axes, (x0, y0 - 0.36), (x1 + aside * np.sign(x0 - x1), y1 + 0.36))
    for at, text, colour in boxes:
        box(axes, at, text, colour, width=1.6 if text.startswith("gate") or at[0] else 2.7)
    axes.set(title=title, xlim=(-3.1, 3.1), ylim=(-0.4, 8.6))
    axes.axis("off")
frame = FancyBboxPatch(
    (-2.85, 1.05), 5.7, 4.35, boxstyle="round,pad=0.05", fc="none", ec=MUTED, ls="--", lw=1
)
panels[0].add_patch(frame)
panels[0].annotate("once a word", (2.8, 5.55), ha="right", fontsize=8, color=MUTED)
DOWN, RIGHT = 90, 0  # what is encoded goes down to whoever attends, on the left
arrow(panels[0], (-1.4, 7), (-2.3, 4.26), f"angle,angleA={RIGHT},angleB={DOWN},rad=6")
arrow(panels[1], (-1.4, 6), (-2.3, 3.66), f"angle,angleA={RIGHT},angleB={DOWN},rad=6")
panels[0].plot([1.4, 3.05, 3.05, 2.5], [1.5, 1.5, 4.9, 4.9], color=MUTED, lw=1.2)  # and round again
arrow(panels[0], (2.6, 4.9), (1.4, 4.9))
panels[0].annotate("word, context", (2.15, 4.98), ha="center", fontsize=7, color=MUTED)
show(
    figure,
    alt="Two columns of boxes. Left, the summarizer: words, one embedding, bidirectional LSTM, state reduction, then, once "
    "a word: LSTM cell, additive attention to the encoded words, gate and vocabulary, mixture, and back to the LSTM cell; at the end "
    "beam search. Right, PGT: visits, seven embeddings, projection, two Transformer layers, the last visit, then pointer to the "
    "encoded visits, generator and gate side by side, mixture, list of places; nothing goes back.",
    caption="Both data flows. Blue: copies; orange: generates; purple: weighs the two; green: the prediction.",
)

# %% [markdown]
# The lower halves are nearly the same picture. Both copy, both generate, both mix. What differs is how the input
# gets there, and that the left one goes round.
#
# ## A diary and a window
#
# Now with numbers in it. One trip diary of a person of our town goes through a small summarizer, and one window
# through PGT. Hooks on the modules write down what comes out of each, and how often it is asked.

# %%
diaries = write_diaries(town)
words = diaries.words(150)
diary = diaries.test[0]
texts = text_batch([diary.pair], words)
small = summarizer.PointerGenerator(summarizer.SummarizerConfig(len(words), 32, 64)).eval()
PARTS_THERE = {
    "embedding": "embedding", "encoder": "encoder", "reduce": "state reduction",
    "decoder.fuse": "input fusion", "decoder.cell": "LSTM cell", "decoder.attention": "context",
    "decoder": "decoder state", "project": "projection", "generate": "vocabulary", "gate": "gate",
}  # fmt: skip
walk = side_by_side.trace(small, texts, PARTS_THERE)
print(" ".join(diary.source[:24]), "…\n→", " ".join(diary.summary))
walk

# %%
i = story(data.test)
window = data.test.batch([i])
PARTS_HERE = {
    "embeddings.project": "fusion", "embeddings": "embeddings", "encoder": "encoder",
    "pointer": "pointer", "generator": "generator", "gate": "gate",
}  # fmt: skip
side_by_side.trace(ours, window, PARTS_HERE)

# %% tags=["hide-input"]
L, T = texts.source.shape[1], texts.given.shape[1]
Markdown(
    f"The diary has {L} words and its summary {T} with the stop, so each part of the decoder was asked {T} times, one after the "
    "other. Vocabulary and gate hand nothing on, so with a teacher they are asked once, for all words together. "
    f"The window has {window.location.shape[1]} visits, and every part of PGT was asked once."
)

# %% [markdown]
# The documents write the same walk down with letters. At their own sizes, with a batch of random words, do the
# shapes agree?

# %%
B, L, T, E, H = 2, 12, 3, summarizer.DOCUMENT.embedding, summarizer.DOCUMENT.hidden
V, D = summarizer.DOCUMENT.n_words, ours.config.d_model
source = torch.randint(4, V, (B, L))
batch = TextBatch(source, source, torch.full((B,), L), source[:, :T], source[:, :T], ([], []))
there = side_by_side.trace(original, batch, PARTS_THERE)["out"]
EXPECTED_THERE = {  # what the documents give each step, for one word where it is done once a word
    "embedding": (B, L, E), "encoder": (B, L, 2 * H), "state reduction": (B, H),
    "input fusion": (B, E), "LSTM cell": (B, H), "context": (B, 2 * H), "vocabulary": (B, T, V),
    "gate": (B, T, 1),
}  # fmt: skip
pair = data.test.batch([i, i])
n = pair.location.shape[1]
here = side_by_side.trace(ours, pair, PARTS_HERE)["out"]
EXPECTED_HERE = {
    "fusion": (B, n, D), "embeddings": (B, n, D), "encoder": (B, n, D), "pointer": (B, n),
    "generator": (B, sizes["n_locations"]), "gate": (B, 1),
}  # fmt: skip
print(
    ours.embeddings.project.in_features, "numbers are fused;", "2 D + 5 D / 4 =", 2 * D + 5 * D // 4
)

# %% tags=["hide-input"]
flow = {
    f"{name} (summarizer)": (there[name], "", judge(there[name] == expected), "")
    for name, expected in EXPECTED_THERE.items()
} | {
    f"{name} (PGT)": ("", here[name], judge(here[name] == expected), "")
    for name, expected in EXPECTED_HERE.items()
}
with torch.no_grad():
    out, theirs = ours(pair), original(batch)
    mixed = original.distribution(theirs, batch)
likely = out.log_probs > -16
by_epsilon = ((out.log_probs.exp() + 1e-10).log() - out.log_probs)[likely]
flow |= {
    "attention sees (diagram)": (
        "output alone",
        "",
        judge(original.decoder.attention.of_state.in_features == H),
        f"{original.decoder.attention.of_state.in_features} numbers, output and cell: only so the count of "
        "[chapter 16](16_summarizer.ipynb) comes out",
    ),
    "vocabulary sees (step 3d)": (
        "decoder state",
        "",
        judge(original.project.in_features == H),
        f"{original.project.in_features} numbers, state and context; the diagram has it right",
    ),
    "final distribution": (
        tuple(mixed.shape),
        tuple(out.log_probs.shape),
        judge(
            bool(
                torch.allclose(mixed.sum(-1), torch.ones(()))
                and torch.allclose(out.log_probs.exp().sum(-1), torch.ones(()))
            )
        ),
        "both sum to one",
    ),
    "last valid position": (
        "",
        "length − 1",
        judge(bool(out.pointer_attention.shape == (B, n))),
        "the context of [chapter 7](07_pointer.ipynb)",
    ),
    "logarithm": (
        "",
        "of a mixture",
        judge(float(by_epsilon.abs().max()) < 0.01, True),
        "the documents add ε = 1e-10; here log-sum-exp needs none (see the errata)",
    ),
}
table("data flow", flow, "step")

# %% [markdown]
# All shapes hold. But two statements about what a part *sees* do not, and no shape that leaves the part tells.
#
# ## Input
#
# Six rows. The interesting one is the last: *no unknown words can occur, all locations are known*.

# %%
known = data.vocabulary.n_known
unknown = 100 * np.mean(data.test.targets >= 2 + known)  # 0 is padding, 1 is "unknown"
per_visit = [f.name for f in fields(window) if getattr(window, f.name).ndim == 2]
facts = [name for name in ours.embeddings.tables if name not in ("user", "position_from_end")]
print("a batch has:", *per_visit)
print("PGT reads: ", *ours.embeddings.tables)

# %% tags=["hide-input"]
widths = sorted({config.d_model for config in presets.values()})
tables = len(ours.embeddings.tables)
table(
    "1 Input",
    {
        "input": (
            "words",
            f"visits, {len(facts)} facts each",
            judge(len(facts) > 1),
            "and position and person; the minute of the start is for other models",
        ),
        "embedding": ("1 table", f"{tables} tables", judge(tables == 7), ""),
        "width": (
            E,
            f"{widths[0]} to {widths[-1]}",
            judge(E == 128 and widths[0] >= 64 and widths[-1] <= 128),
            "",
        ),
        "vocabulary": (
            f"{V:,} words",
            f"{known:,} places",
            judge(1000 <= known <= 2000, True),
            "it grows with the town, and with the time that is watched",
        ),
        "padding": (
            f"number {PAD}",
            "number 0",
            judge(PAD == 1 and int(window.location.min()) > 0),
            "",
        ),
        "unknown words": (
            "extended vocabulary",
            "“all are known”",
            judge(unknown == 0),
            f"{unknown:.1f} % of the test targets are places that training has not seen",
        ),
    },
)

# %% [markdown]
# The last row is false, and not by a hair. It would be true of a closed world, in which nobody ever goes anywhere
# new. People do ([chapter 1](01_where_next.ipynb)). What the row may mean is that the *code* gives every place an
# id before training starts, those of the test days included. Having an id and being known are two things. Such a
# place has a row in the embedding table that was never trained.

# %%
ranks = evaluate(trained, data.test)
groups = pd.DataFrame(
    {
        "windows (%)": 100 * ranks.groupby(["known", "in_window"]).size() / len(ranks),
        "Acc@1 (%)": 100
        * pd.Series(gains(ranks)["acc@1"]).groupby([ranks.known, ranks.in_window]).mean(),
    }
)
groups.index = pd.MultiIndex.from_tuples(
    [tuple("yes" if x else "no" for x in pair) for pair in groups.index],
    names=["known", "in the window"],
)
groups.round(1)

# %% [markdown]
# Read the row of places that are not known and in the window: PGT names some of them. It cannot generate them in any
# useful way, so it copies them, as the summarizer copies names that its vocabulary lacks. The scatter of
# [chapter 7](07_pointer.ipynb) goes over ids. Places that have an id but were never trained can therefore be copied:
# half of an **extended vocabulary**. A place without an id cannot. The row of places that are neither known nor in
# the window is out of reach for both models; [chapter 22](22_open_vocabulary.ipynb) says what can be done.
#
# ## Encoder


# %%
def order_matters(encoder, width):
    """The largest change of the last visit's encoding when the others are turned round."""
    torch.manual_seed(0)
    x = torch.randn(1, 9, width)
    turned = torch.cat([x[:, :8].flip(1), x[:, 8:]], 1)
    none = torch.zeros(1, 9, dtype=torch.bool)
    with torch.no_grad():
        return float((encoder(x, none)[0] - encoder(turned, none)[0])[:, -1].abs().max())


config = ModelConfig(**sizes)
bare = ModelConfig(**sizes, without=("sinusoid",))
order = {
    "BiLSTM": order_matters(side_by_side.encoder_of("bilstm", config).eval(), config.d_model),
    "Transformer with sinusoid": order_matters(side_by_side.encoder_of("transformer", config).eval(), config.d_model),
    "Transformer without": order_matters(side_by_side.encoder_of("transformer", bare).eval(), config.d_model),
}  # fmt: skip
pd.Series(order, name="largest change").map("{:.1e}".format).to_frame()


# %% tags=["hide-input"]
def count(model, kind):
    return sum(isinstance(module, kind) for module in model.modules())


layers = sorted({c.n_layers for c in presets.values()})
heads = {name: c.n_heads for name, c in presets.items()}
norms = count(original, torch.nn.LayerNorm), count(ours, torch.nn.LayerNorm)
gelus = count(original, torch.nn.GELU), count(ours.encoder, torch.nn.GELU)
sorts = sum(
    config.has(part) for part in ("sinusoid", "position_from_end", "recency", "position_bias")
)
table(
    "2 Encoder",
    {
        "kind": ("BiLSTM", "Transformer", judge(original.encoder.lstm.bidirectional), ""),
        "layers": (
            original.encoder.lstm.num_layers,
            layers[0],
            judge(original.encoder.lstm.num_layers == 1 and 2 <= layers[0] <= 3),
            "",
        ),
        "hidden size": (
            original.encoder.lstm.hidden_size,
            f"{widths[0]} to {widths[-1]}",
            judge(H == 256),
            "in each direction",
        ),
        "output": (2 * H, f"{widths[0]} to {widths[-1]}", judge(2 * H == 512), ""),
        "heads": (
            "none",
            ", ".join(f"{n} ({k})" for k, n in heads.items()),
            judge(4 in heads.values(), True),
            "four for one data set, two for the other",
        ),
        "position": (
            "in the recurrence",
            "sinusoid",
            judge(order["Transformer without"] < 1e-5 < order["BiLSTM"], True),
            f"one of {sorts} ways in which PGT gets the order",
        ),
        "normalisation": (
            norms[0],
            f"{norms[1]} LayerNorms",
            judge(norms[0] == 0 < norms[1]),
            "one before each half of a layer, one after the fusion",
        ),
        "activation": ("tanh, and three sigmoids", "GELU", judge(gelus == (0, layers[0])), ""),
    },
)

# %% [markdown]
# > **Pitfall.** "Position: sinusoidal" invites an experiment: take the sinusoid out and watch the model fail. It
# > does not ([chapter 14](14_ablations.ipynb)). Position from the end, recency and the position bias say nearly the
# > same three more times.
#
# ## Where the parameters are
#
# The documents list the parts in a summary table. Here they are with their weight.

# %%
parts = pd.DataFrame(
    {
        "summarizer": side_by_side.parameters(original),
        "PGT": side_by_side.parameters(ours),
    }
)
totals = parts.sum()

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(7.4, 3.6))
at = np.arange(len(parts))
LOOK = (("summarizer", GENERATED, "///", -0.2), ("PGT", COPIED, None, 0.2))
for name, colour, hatch, shift in LOOK:
    axes.barh(at + shift, parts[name], 0.38, color=colour, hatch=hatch,
              edgecolor="white", lw=0, label=name)  # fmt: skip
    for y, n_parameters in zip(at + shift, parts[name], strict=True):
        label = f"{n_parameters:,}" if n_parameters else "none"
        axes.annotate(label, (max(n_parameters, 500), y), (4, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip
axes.set(
    xscale="log",
    yticks=at,
    yticklabels=parts.index,
    xlabel="parameters (logarithmic)",
    xlim=(500, 4e8),
)
axes.invert_yaxis()
axes.legend(loc="center right")
show(
    figure,
    alt=f"Bars of the parameters of seven parts on a logarithmic scale; summarizer {totals['summarizer']:,} in all, PGT {totals['PGT']:,}. "
    "Embedding and output are the largest parts of both; PGT has no state reduction and no decoder.",
    caption="Parameters by part, at the documents' sizes and our town's vocabulary.",
)

# %% tags=["hide-input"]
ends = 100 * parts.loc[["embedding", "output"]].sum() / totals
rest = parts.drop(["embedding", "output"]).sum()
table("summary", {
    "embedding": (f"{parts.summarizer['embedding']:,}", f"{parts.PGT['embedding']:,}", judge(tables > 1), "one table, several tables"),
    "encoder": (f"{parts.summarizer['encoder']:,}", f"{parts.PGT['encoder']:,}", judge(count(original, torch.nn.LSTM) == 1 and count(ours, torch.nn.LSTM) == 0), "BiLSTM, Transformer"),
    "attention": (f"{parts.summarizer['attention']:,}", f"{parts.PGT['attention']:,}", judge(count(original, AdditiveAttention) == 1), "additive, dot product"),
    "decoder": (f"{parts.summarizer['decoder'] + parts.summarizer['state reduction']:,}", "none", judge(parts.PGT["decoder"] == 0), "there, removed"),
    "gate": (f"{parts.summarizer['gate']:,}", f"{parts.PGT['gate']:,}", judge(parts.PGT["gate"] > parts.summarizer["gate"]), "linear, two layers"),
    "output": (f"{parts.summarizer['output']:,}", f"{parts.PGT['output']:,}", judge(sizes["n_locations"] > known, True), "the fixed vocabulary still copies what it has an id for"),
}, "component")  # fmt: skip

# %% tags=["hide-input"]
Markdown(
    f"The summarizer is **{totals['summarizer'] / totals['PGT']:.0f}** times as large. Most of that is not architecture: "
    f"{ends['summarizer']:.0f} % of its parameters, and {ends['PGT']:.0f} % of PGT's, are in the two ends, whose tables have a row for each "
    f"word or place. What is between them has {rest['summarizer']:,.0f} and {rest['PGT']:,.0f}: the summarizer is "
    f"{H // D} to {2 * H // D} times as wide, and a linear layer grows with the square of its width."
)

# %% [markdown]
# ## Attention
#
# The summarizer scores word $i$ by a small network that sees the states $h_i$ of the encoder and the state $d_t$ of
# the decoder ([Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473)); PGT multiplies a query, made from its
# context $c$, and a key, made from the encoded visit $x_i$:
#
# $$
# \begin{aligned}
# \text{summarizer:} \quad s_i &= w_h^\top \tanh(W_h h_i + W_d d_t + b_h) \\
# \text{PGT:} \quad s_i &= \frac{(W_q c + b_q) \cdot (W_k x_i + b_k)}{\sqrt{D}} + b_{p_i}
# \end{aligned} \tag{17.1}
# $$
#
# Each has a way to leave out padding, and on paper they are one and the same: [chapter 16](16_summarizer.ipynb),
# equation (16.4), which also shows where the computer parts them. A $\tanh$ keeps the summarizer's scores within the
# sum of the sizes of $w_h$, so for a score that high its weights would have to grow a good deal.

# %%
torch.manual_seed(1)
scores = torch.randn(4, 9)
padding = torch.arange(9) >= torch.tensor([[9], [5], [3], [1]])
ours_masked = masked_softmax(scores, padding)
theirs_masked = renormalised_softmax(scores, padding)
far = scores.masked_fill(padding, 120.0)  # padding that happens to have a high score
bound = float(original.decoder.attention.v.detach().abs().sum())
print("largest difference:", f"{float((ours_masked - theirs_masked).abs().max()):.0e}")
print(f"before training, scores lie within {-bound:.1f} and {bound:.1f}")

# %% [markdown]
# The fourth row puts *coverage* and *position bias* beside each other. They are no counterparts. The bias is a
# constant per position. Coverage is a memory: it adds up the attention over all words that were written so far and
# makes the model go elsewhere. At the first word that memory is empty.

# %%
covering = original.with_coverage().eval()
with torch.no_grad():
    torch.nn.init.normal_(covering.decoder.attention.of_coverage, std=10)  # it matters
    covered, plain = covering(batch), original(batch)
change = (covered.attention - plain.attention).abs().amax((0, 2))  # (T,) by word
print("change of the attention by coverage, word by word:", [f"{x:.0e}" for x in change.tolist()])

# %% tags=["hide-input"]
lost = renormalised_softmax(far, padding).isnan().any()
additive = original.decoder.attention
table(
    "4 Attention",
    {
        "kind": ("additive", "scaled dot product", judge(additive.v.ndim == 1), ""),
        "formula": (
            "$v \\cdot \\tanh(\\dots)$",
            "$q \\cdot k_i / \\sqrt{D}$",
            judge(additive.of_state.in_features == 2 * H and ours.pointer.query.in_features == D),
            "the summarizer's state is output and cell together; PGT's bias is the document's fourth row",
        ),
        "masking": (
            "softmax, then mask",
            "mask, then softmax",
            judge(bool(torch.allclose(ours_masked, theirs_masked)) and bool(lost), True),
            f"equal, until padding scores a hundred higher than any word; before training nothing exceeds {bound:.0f}",
        ),
        "against repetition": (
            "coverage",
            "position bias",
            judge(float(change[0]) == 0, True),
            "no counterparts: at the first word coverage does nothing, and PGT's answer is a first word",
        ),
    },
)

# %% [markdown]
# ## Gate
#
# Here is the trap that costs most time when one moves between the two papers. Both have a number between zero and
# one. In the summarizer it is the weight of *generating*, $p_\text{gen}$. In PGT it is the weight of *copying*,
# $g$. So
#
# $$
# \begin{aligned}
# P(\ell) &= p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen})\, P_\text{ptr}(\ell) \\
# &= g\, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell), \qquad g = 1 - p_\text{gen}.
# \end{aligned} \tag{17.2}
# $$
#
# One example through both codes:

# %%
with torch.no_grad():
    out = trained(window)
by_ours = log_mixture(torch.logit(out.gate), out.pointer_log_probs, out.generator_log_probs).exp()
by_theirs = summarizer.mixture(
    1 - out.gate, out.generator_log_probs.exp(), out.pointer_attention, window.location, 0
)
wrong = summarizer.mixture(
    out.gate, out.generator_log_probs.exp(), out.pointer_attention, window.location, 0
)
same = float((by_ours - by_theirs).abs().max())
print(
    f"g = {float(out.gate):.3f}; difference {same:.0e}; with the gate read the wrong way round {float((by_ours - wrong).abs().max()):.2f}"
)

# %% tags=["hide-input"]
evidence = original.gate.in_features, ours.gate[0].in_features
table(
    "5 Gate",
    {
        "input": (
            f"{evidence[0]:,} numbers",
            f"{evidence[1]} numbers",
            judge(evidence[0] == 4 * H + E and evidence[1] == D),
            "context, both states and the fused input; the context alone",
        ),
        "computation": (
            "one linear layer",
            "two layers",
            judge(count(ours.gate, torch.nn.Linear) == 2),
            "",
        ),
        "mixture": (
            "$p_\\text{gen}$",
            "$g$",
            judge(same < 1e-5),
            "the same sum, with the opposite meaning",
        ),
    },
)

# %% [markdown]
# ## Decoder and output
#
# PGT has no decoder. Its answer is one place, so there is nothing to unroll, nothing to teach by force, and no
# beam. A beam search that ends after one word keeps the words with the highest probabilities: a sorted list, whose
# first entry is the argmax. Acc@5 and Acc@10 have read that list all along.

# %%
with torch.no_grad():
    log_probs = trained(data.test.batch(np.arange(200))).log_probs
beam = log_probs.topk(4).indices  # a beam of four, one word long
argmax_agrees = bool((beam[:, 0] == log_probs.argmax(1)).all())
reduced = original.reduce(torch.randn(5, 2 * H), torch.randn(5, 2 * H))
print(argmax_agrees, bool((reduced[0] >= 0).all()))

# %% tags=["hide-input"]
unknown_window = ranks[~ranks.known & ranks.in_window]
copied_unknown = 100 * gains(unknown_window)["acc@1"].mean()
doc = summarizer.DOCUMENT
display(
    table(
        "3 Decoder",
        {
            "kind": ("LSTM", "none", judge(parts.PGT["decoder"] == 0), ""),
            "steps": (
                f"up to {doc.max_summary}",
                1,
                judge(
                    doc.max_summary == 100
                    and int(walk.loc["LSTM cell", "calls"]) == texts.given.shape[1]
                ),
                f"{walk.loc['LSTM cell', 'calls']} for the diary above",
            ),
            "first state": (
                "reduced from the encoder",
                "none",
                judge(bool((reduced[0] >= 0).all())),
                "after a ReLU: no negative numbers",
            ),
            "teacher forcing": (
                "yes",
                "none",
                judge(texts.given.shape == texts.target.shape),
                "one answer has no previous answer",
            ),
            "search": (
                f"beam of {doc.beam}",
                "argmax",
                judge(argmax_agrees),
                "at one step they find the same",
            ),
        },
    )
)
table(
    "6 Output",
    {
        "vocabulary": (
            f"{doc.n_words:,} and lent words",
            f"{sizes['n_locations']:,}",
            judge(
                900 <= sizes["n_locations"] <= 2200, True
            ),  # "~1,000-2,000", a tenth off either end
            "our town's; the documents' own parameter table implies 20,000 ([erratum 5](errata.md))",
        ),
        "extended": (
            "yes",
            "“no”",
            judge(log_probs.shape[1] == sizes["n_locations"], copied_unknown > 0),
            f"fixed, but the exact protocol reserves ids: of the unknown places in the window it names {copied_unknown:.0f} % at once",
        ),
        "last operation": (
            "beam search",
            "“log-softmax”, argmax",
            judge(float(torch.log_softmax(log_probs, 1).sub(log_probs).abs().max()) < 1e-4, True),
            "in effect: there is no log-softmax, and one would change nothing, since a log-distribution it is already",
        ),
        "length": (f"up to {doc.max_summary}", 1, judge(log_probs.ndim == 2), ""),
    },
)

# %% [markdown]
# ## Why a Transformer?
#
# Here the documents stop describing and start arguing. A BiLSTM is *sequential*, O(n); a Transformer is *parallel*,
# O(1), trains *faster*, and attends *directly* where the LSTM has *gradient issues*. All that, it says, suits
# sequences of 5 to 50 visits.
#
# O(1) is true of one thing: how many steps must wait for each other, the **depth**. The **work** is another matter,
# and grows faster for the Transformer than for the LSTM.

# %%
lengths = np.array([5, 10, 18, 50, 100, 200, 400])
complexity = pd.DataFrame({
    (what, kind): [function(kind, int(n), config) for n in lengths]
    for what, function in (("depth", side_by_side.depth), ("work", side_by_side.work))
    for kind in ("bilstm", "transformer")
}, index=pd.Index(lengths, name="visits"))  # fmt: skip
complexity[("work", "ratio")] = (complexity["work"].transformer / complexity["work"].bilstm).round(
    1
)
complexity

# %% [markdown]
# A device with thousands of units waits for depth. One processor core does the work. So which encoder is faster
# depends on the machine, the length, and how many windows there are at once. We measured a step of training,
# forward and backward, through either encoder alone: one BiLSTM layer against the two Transformer layers that PGT
# has.

# %%
steps = measured.rows.query("table == 'encoder'").pivot_table(
    "milliseconds", ["batch", "length"], "model"
)
ratio = steps.transformer / steps.bilstm
typical = ratio.loc[(16, 18)]

# %% tags=["hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.5))
NAMES = {"bilstm": "BiLSTM", "transformer": "Transformer"}
for kind, colour, style in (("bilstm", GENERATED, "--"), ("transformer", COPIED, "-")):
    for batch_size, width in ((1, 1), (16, 2.2)):
        line = steps.loc[batch_size, kind]
        left.plot(line.index, line, style, marker="o", ms=3, color=colour, lw=width,
                  label=f"{NAMES[kind]}, {batch_size}")  # fmt: skip
for batch_size, marker in zip(ratio.index.levels[0], "osD", strict=True):
    part = ratio.loc[batch_size]
    right.plot(part.index, part, marker=marker, ms=4, color=INK, lw=1 + 0.4 * (marker != "o"), ls={"o": ":", "s": "-", "D": "--"}[marker],
               label=f"{int(batch_size)} windows" if batch_size > 1 else "1 window")  # fmt: skip
right.axhline(1, color=MUTED, lw=1)
left.set(
    xscale="log",
    yscale="log",
    xlabel="visits in a window",
    ylabel="milliseconds a step",
    title="A step of training",
)
right.set(
    xscale="log",
    yscale="log",
    xlabel="visits in a window",
    ylabel="Transformer / BiLSTM",
    title="Ratio",
)
left.legend(fontsize=7, title="encoder, windows", title_fontsize=7)
right.legend(fontsize=7)
show(
    figure,
    alt=f"Left: time of a training step against length, for both encoders. Right: its ratio, {ratio.min():.1f} to {ratio.max():.1f}; "
    f"above one the Transformer is slower. At 18 visits and 16 windows it is {typical:.1f}.",
    caption=f"Processor time of a training step through one encoder of width {config.d_model}, on one core of a {measured.header['device'].upper()}. Above the grey line the Transformer is slower.",
)

# %% tags=["hide-input"]
slower = (ratio > 1).sum()
Markdown(
    f"On one core of a {measured.header['device'].upper()} the Transformer is the slower one in **{slower} of {len(ratio)}** cases; for 16 windows of 18 visits by a factor of "
    f"**{typical:.1f}**, while it does {complexity.loc[18, ('work', 'ratio')]:.1f} times the work. "
    f"The BiLSTM's time grows with the length; so does the Transformer's, and from 100 to 400 visits more steeply "
    f"(by {steps.loc[(16, 400), 'transformer'] / steps.loc[(16, 100), 'transformer']:.1f} against {steps.loc[(16, 400), 'bilstm'] / steps.loc[(16, 100), 'bilstm']:.1f})."
)

# %% [markdown]
# That was the encoder alone. A step of the whole model, at the documents' sizes: the summarizer with articles and summaries of
# full length, the same summarizer with texts as long as a window and summaries of one word, and PGT with windows.

# %%
whole = measured.rows.query("table == 'model'").set_index(["model", "variant"])
whole = whole[["parameters", "items", "length", "milliseconds"]].astype(
    {"parameters": int, "items": int, "length": int}
)
whole["milliseconds an item"] = whole.milliseconds / whole["items"]
whole.round(1)

# %% tags=["hide-input"]
article, text, visit_window = whole["milliseconds an item"]
Markdown(
    f"To learn from one article takes as long as to learn from **{article / visit_window:.0f}** windows "
    f"(one core of a {measured.header['device'].upper()}). With a text of the length of a window the factor is "
    f"{text / visit_window:.1f}. What made training fast is the task, and then the size; "
    "the kind of encoder comes last."
)

# %% [markdown]
# And *gradient issues*? We ask of an untrained encoder: how strongly does the last visit's encoding depend on each
# visit? The gradient tells. An LSTM hands on what its *forget gate* lets through, and that depends on how the gate
# starts. PyTorch starts it half open. TensorFlow, and with it the summarizer of
# [chapter 16](16_summarizer.ipynb), adds a bias of one, which opens it further. We try both.


# %%
def with_open_gate(config):
    """The recurrent encoder, with the forget bias of the summarizer's."""
    encoder = RecurrentEncoder(config)
    one_bias(encoder.lstm)
    return encoder


side_by_side.ENCODERS["open gate"] = with_open_gate
reaches = {
    (kind, n): side_by_side.reach(kind, n, config)
    for kind in ("bilstm", "open gate", "transformer")
    for n in (18, 100)
}
oldest = {key: float(curve[0]) for key, curve in reaches.items()}

# %% tags=["hide-input"]
figure, axes = plt.subplots()
KINDS = {
    "bilstm": ("BiLSTM", GENERATED),
    "open gate": ("BiLSTM, forget bias 1", EXTRA),
    "transformer": ("Transformer", COPIED),
}
for (kind, n), curve in reaches.items():
    name, colour = KINDS[kind]
    style = "-" if n == 18 else ":"
    axes.plot(np.arange(n, 0, -1), curve, color=colour, ls=style, label=f"{name}, {n} visits")
axes.set(
    xscale="log",
    yscale="log",
    ylim=(1e-12, 3),
    xlabel="position from the end (1 = last visit)",
    ylabel="gradient, last visit = 1",
)
axes.legend(fontsize=8)
show(
    figure,
    alt="Gradient of the last visit's encoding by each visit. The BiLSTM's falls steadily with age, "
    f"to {oldest['bilstm', 18]:.0e} at the oldest of 18 visits, with a forget bias of one to {oldest['open gate', 18]:.0e}; "
    f"the Transformer's is flat, {oldest['transformer', 18]:.0e} there.",
    caption="How far back the last visit can feel, before training. In a BiLSTM each visit of age hands on a part, the more the wider its forget gate is open; in the Transformer all old visits are alike. Curves that leave the picture go on falling.",
)

# %% tags=["hide-input"]
times = {kind: oldest["transformer", 18] / oldest[kind, 18] for kind in ("bilstm", "open gate")}
Markdown(
    f"From the oldest of 18 visits, the Transformer gets **{times['bilstm']:.0f}** times the gradient of the BiLSTM, "
    f"and **{times['open gate']:.0f}** times that of a BiLSTM whose forget gate starts with a bias of one."
)

# %% [markdown]
# So an LSTM forgets before it has learned anything, and the Transformer treats the oldest visit like the second last.
# How fast the LSTM forgets is a matter of its start. (In all results of this chapter that have a BiLSTM *in PGT*, it
# was trained from PyTorch's start; the summarizer on windows has the other.) But look at what the Transformer's
# flatness means: it has no idea of recency either, until it learns one. And a habit of forgetting is not the worst to
# start with, if recent visits are the ones that matter. Whether they do, and whether it hurts, is for the numbers to
# say.

# %%
train_rows = measured.select(table="training")
models = train_rows.assign(name=train_rows.model + ", " + train_rows.variant).groupby(
    "name", sort=False
)
trainings = models[["acc@1", "acc@10", "parameters", "best_epoch", "epochs", "cpu_seconds"]].mean()
trainings["seconds an epoch"] = trainings.cpu_seconds / trainings.epochs
shown = trainings.round(1).astype({"parameters": int})
shown.rename_axis("mean of three seeds").rename(
    columns={
        "acc@1": "Acc@1 (%)",
        "acc@10": "Acc@10 (%)",
        "best_epoch": "best epoch",
        "cpu_seconds": "seconds",
    }
)

# %% tags=["hide-input"]
bilstm, plain_pgt, decoded = (
    trainings.loc[f"pgt, {v}"] for v in ("with BiLSTM", "full", "with decoder")
)
WINDOW = f"{measured.header['device'].upper()}, one core"
PLAIN = {"model": "improved", "variant": "plain"}
SWAPS = {
    "bilstm": "BiLSTM encoder", "additive": "additive attention",
    "coverage": "memory of attention", "causal": "looks back only",
}  # fmt: skip
some = {v: {"model": "improved", "variant": v} for v in SWAPS}
changes = {  # the intervals of chapter 19: people and seeds are drawn again
    s["name"]: compare(swapped, some, PLAIN, draws=4000, data=s["name"]).table()
    for s in swapped.header["data"]
}
recurrent = {name: found.loc["bilstm"] for name, found in changes.items()}
short = 100 * np.mean((data.test.lengths >= 5) & (data.test.lengths <= 50))
table(
    "why a Transformer",
    {
        "parallel": (
            "depth grows with $L$",
            "depth is constant",
            judge(
                side_by_side.depth("transformer", 400, config)
                == side_by_side.depth("transformer", 5, config),
                True,
            ),
            "depth, not work: that grows with $L^2$",
        ),
        "far visits": (
            f"{oldest['bilstm', 18]:.0e}, or {oldest['open gate', 18]:.0e}",
            f"{oldest['transformer', 18]:.0e}",
            judge(min(times.values()) > 1, min(times.values()) < 10),
            "gradient from the oldest of 18 visits, before training; how fast an LSTM forgets depends on its start",
        ),
        "training speed": (
            f"{bilstm.cpu_seconds:.0f} s, {bilstm['seconds an epoch']:.1f} an epoch",
            f"{plain_pgt.cpu_seconds:.0f} s, {plain_pgt['seconds an epoch']:.1f} an epoch",
            judge(
                plain_pgt.cpu_seconds < bilstm.cpu_seconds,
                plain_pgt["seconds an epoch"] > bilstm["seconds an epoch"],
            ),
            f"to the end; an epoch is slower. All of PGT with either encoder, {WINDOW}",
        ),
        "interpretable": (
            "attention weights as well",
            "attention weights",
            judge(theirs.attention.numel() > 0, True),
            "of the encoders alone; and [chapter 13](13_attention_on_maps.ipynb) doubts that such weights explain",
        ),
        "short sequences": (
            "",
            f"{short:.0f} % have 5 to 50 visits",
            judge(short > 50),
            "of the test windows",
        ),
        "more accurate": (
            "; ".join(
                f"{k} {e['mean']:+.1f} [{e.low:+.1f}, {e.high:+.1f}]" for k, e in recurrent.items()
            ),
            "",
            judge(all(e.high < 0 for e in recurrent.values())),
            "points of Acc@1 with a BiLSTM, five seeds; the document implies it and gives no number",
        ),
    },
    heads=("BiLSTM", "Transformer"),
)

# %% [markdown]
# > **Note.** On a graphics card depth counts for more, and the row may turn round; we have not measured it, exercise 3
# > can. A claim about speed needs a machine, a length and a batch size, or it is not one.
#
# ## Why no decoder?
#
# "A classification, not a generation task. A decoder adds unnecessary complexity." The test is to add one.
# `WithDecoder` is PGT in which the encoded last visit starts the summarizer's LSTM, whose input means "begin". It attends
# to all visits, and hands its state to pointer, generator and gate. And the reverse: the summarizer reads windows
# as texts, places for words, and writes a summary of one word; with its decoder, and with the encoder's last state
# in its place.

# %%
PAIRS = {
    "PGT": (("pgt", "with decoder"), ("pgt", "full")),
    "summarizer on windows": (("summarizer", "full"), ("summarizer", "no decoder")),
}
acc = train_rows.set_index(["model", "variant", "seed"])["acc@1"].sort_index()
worth = {name: acc.loc[one].sub(acc.loc[other]) for name, (one, other) in PAIRS.items()}  # by seed

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(7.0, 2.4))
axes.axvline(0, color=MUTED, lw=1)
for y, (_, gain) in enumerate(worth.items()):
    axes.plot(gain, [y] * len(gain), "|", color=MUTED, ms=12, mew=2)
    axes.plot(gain.mean(), y, "o", color=COPIED)
axes.set(
    yticks=range(len(worth)),
    yticklabels=list(worth),
    ylim=(-0.6, 1.6),
    xlabel="Acc@1 with the decoder, minus without (points)",
)
show(
    figure,
    alt="What a decoder adds to either model, in points of Acc@1: "
    + "; ".join(
        f"{k} {v.mean():+.1f} on average, from {v.min():+.1f} to {v.max():+.1f}"
        for k, v in worth.items()
    )
    + ".",
    caption="What a decoder is worth when there is one word to write. Ticks: seeds; dots: their mean.",
)

# %% tags=["hide-input"]
gain = worth["PGT"]
more = 100 * (decoded.parameters / plain_pgt.parameters - 1)
table(
    "why no decoder",
    {
        "task": ("many words", "one place", judge(log_probs.ndim == 2), ""),
        "output": (
            "as long as it likes",
            "fixed",
            judge(trained(window).log_probs.shape[0] == len(window)),
            "",
        ),
        "teaching": (
            "needs the true previous word",
            "direct",
            judge(texts.given.shape[1] > 1, True),
            "until somebody asks for two places",
        ),
        "inference": ("beam search", "argmax", judge(argmax_agrees), ""),
        "unnecessary": (
            f"{gain.mean():+.1f} points, {more:+.0f} % parameters",
            "",
            judge(gain.mean() < 2 * gain.std() / len(gain) ** 0.5, True),
            "for one step of decoder in PGT; three seeds on our town",
        ),
    },
    heads=("with decoder", "without"),
)

# %% [markdown]
# ## Why several embeddings?
#
# "*When* is as important as *what*." The summarizer on windows sees *what* alone: places in their order, no clock,
# no person. It is not PGT without its clock, since everything else differs too. But it tells how far one gets. For
# a cleaner cut there are the ablations of [chapter 14](14_ablations.ipynb), on the windows that it names. And whether the hour
# says anything at all, we ask somebody who uses it: the kernel of [chapter 4](04_baselines.ipynb), with its clock and
# without.

# %%
ablations = read_results("ablations")
CITY = {"data": "city", "protocol": "exact", "model": "pgt"}
cuts = {v: ablations.difference(CITY | {"variant": v}, CITY | {"variant": "full"})
        for v in ("no_time", "no_weekday", "no_duration", "no_user")}  # fmt: skip
kernel = ContextKernel().fit(data.train).choose(data.valid)
timed, timeless = (
    100 * np.mean(gains(evaluate(one, data.test))["acc@1"])
    for one in (kernel, replace(kernel, clock=0.0))
)
print(f"the kernel: {timed:.1f} % Acc@1; without its clock {timeless:.1f} %")
pd.DataFrame(cuts, index=["points of Acc@1", "from", "to"]).T.round(1)

# %% tags=["hide-input"]
only_places = trainings.loc["summarizer, full"]
clock = [cuts[v] for v in ("no_time", "no_weekday")]
table(
    "why several embeddings",
    {
        "information": ("words", "place, person, time", judge(tables == 7), ""),
        "semantics": (
            f"Acc@1 {only_places['acc@1']:.1f} %, places alone",
            f"{plain_pgt['acc@1']:.1f} %",
            judge(plain_pgt["acc@1"] > only_places["acc@1"], True),
            "the models differ in more than that",
        ),
        "when is as important as what": (
            "",
            f"no hour: {clock[0][0]:+.1f}; no weekday: {clock[1][0]:+.1f}",
            judge(timed > timeless, not any(high < 0 for _, _, high in clock)),
            "points of Acc@1; true of the world ([chapter 4](04_baselines.ipynb)), not of what this model learns from it",
        ),
    },
)

# %% [markdown]
# The world agrees with the documents that *when* matters: take the clock from the kernel, and it gets worse. It is the
# *model* that makes little of it. That a cue is important
# and that an embedding of it helps are two claims. [Chapter 20](20_contextual_pointer.ipynb) is about the gap.
#
# ## Why position from the end?
#
# "Recent visits are more predictive than older ones." How often is the next place that of the last visit, of the
# one before, and so on?

# %%
returns = 100 * side_by_side.returns_by_position(data.test, upto=17)
figure, axes = plt.subplots(figsize=(7.0, 3.0))
axes.bar(returns.index, returns, color=TRUTH)
axes.set(
    xlabel="position from the end (1 = last visit)",
    ylabel="next place is this one (%)",
    xticks=returns.index,
)
show(
    figure,
    alt=f"Bars: the next place is that of the last visit in {returns[1]:.0f} % of the test windows, of the one before in {returns[2]:.0f} %, "
    f"of those from the third on in {returns[3:].min():.0f} to {returns[3:].max():.0f} %.",
    caption="How often each visit of the window was at the next place.",
)

# %% tags=["hide-input"]
counted = window.position_from_end[0].tolist()
older = returns.loc[3:]
trend = float(np.corrcoef(older.index, older)[0, 1])
table(
    "why position from the end",
    {
        "counting": (
            "",
            f"{counted[:3]} … {counted[-2:]}",
            judge(counted[-1] == 1),
            "1 is the last visit",
        ),
        "recent is predictive": (
            "",
            f"{returns[1]:.0f} %, {returns[2]:.0f} %, then {older.mean():.0f} % on average",
            judge(trend < -0.5),
            "on our town: one position stands out, the last visit but one (there and back); from the third on it is flat",
        ),
    },
)

# %% [markdown]
# ## The other's part
#
# Last, the parts themselves. What does PGT lose when it gets the summarizer's encoder, its attention, its memory of
# what was attended to, or may look only backwards as a decoder does? `pgt.improvements` plugs each into the same
# model; five seeds, two data sets. The memory needs a past, and a model of one step has none. So `CoveragePointer`
# lets the earlier visits of the window ask in turn, and adds up what they attended to. The runs are those of
# [chapter 19](19_improvements.ipynb), and so are the intervals: people are drawn again, and seeds.

# %% tags=["hide-input"]
figure, panels = plt.subplots(1, len(changes), figsize=(7.4, 2.8), sharey=True, squeeze=False)
for axes, (name, found) in zip(panels[0], changes.items(), strict=True):
    at = np.arange(len(SWAPS))
    axes.axvline(0, color=MUTED, lw=1)
    axes.hlines(at, found.low, found.high, color=COPIED, lw=2)
    axes.plot(found["mean"], at, "o", color=COPIED)
    axes.set(title=name, yticks=at, yticklabels=list(SWAPS.values()))
panels[0, 0].invert_yaxis()
figure.supxlabel("change of Acc@1 against plain PGT (points)", fontsize=10)
clear = {k: [SWAPS[v] for v in SWAPS if e.low[v] > 0 or e.high[v] < 0] for k, e in changes.items()}
show(
    figure,
    alt="Forest plot of four parts of the summarizer in PGT. Intervals that do not hold zero: "
    + "; ".join(f"{k}: {', '.join(v) or 'none'}" for k, v in clear.items())
    + ".",
    caption="PGT with a part of its parent. Mean over five seeds; lines: 95 % intervals over people and seeds.",
)

# %% tags=["hide-input"]
said = {
    name: (
        ", ".join(
            f"*{SWAPS[v]}* **{e['mean'][v]:+.1f}** points [{e.low[v]:+.1f}, {e.high[v]:+.1f}]"
            for v in SWAPS
            if SWAPS[v] in clear[name]
        )
        or "none"
    )
    for name, e in changes.items()
}
looks = ", ".join(
    f"{e['mean']['causal']:+.1f} [{e.low['causal']:+.1f}, {e.high['causal']:+.1f}] on {name}"
    for name, e in changes.items()
)
Markdown(
    "Intervals that leave out zero: "
    + "; ".join(f"on {name}, {what}" for name, what in said.items())
    + f". *{SWAPS['causal'].capitalize()}* changes {looks}. "
    "Where an interval holds zero, the parts can be exchanged without these data noticing."
)

# %% [markdown]
# ## The count

# %%
tally = Counter(verdict for _, _, verdict in ledger)
rows = pd.DataFrame(ledger, columns=["table", "row", "verdict"])
by_table = rows.groupby(["table", "verdict"], sort=False).size().unstack(fill_value=0)

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(7.4, 3.8))
left = np.zeros(len(by_table))
for verdict, colour, hatch in (
    ("true", TRUTH, None),
    ("if", EXTRA, "///"),
    ("false", GENERATED, "xxx"),
):
    values = by_table.get(verdict, pd.Series(0, by_table.index)).to_numpy()
    axes.barh(
        by_table.index,
        values,
        left=left,
        color=colour,
        hatch=hatch,
        edgecolor="white",
        lw=0,
        label=verdict,
    )
    left += values
axes.invert_yaxis()
axes.set(xlabel="rows", xticks=range(0, by_table.sum(axis=1).max() + 1, 5))
axes.legend(loc="lower right")
falsified = [f"{row} ({table_})" for table_, row, verdict in ledger if verdict == "false"]
show(
    figure,
    alt=f"Bars by table: {tally['true']} rows are true, {tally['if']} hold under a condition, {tally['false']} are false: {', '.join(falsified)}.",
    caption="All rows of the comparison and what became of them.",
)

# %% tags=["hide-input"]
Markdown(
    f"Of {len(ledger)} rows **{tally['true']}** are true, **{tally['if']}** hold under a condition that is not written down, and **{tally['false']}** are false: "
    + "; ".join(f"*{row}* in “{table_}”" for table_, row, verdict in ledger if verdict == "false")
    + "."
)

# %% [markdown]
# Look at *where* they are.

# %% tags=["hide-input"]
reasons = rows.table.str.startswith("why")
plainly = rows.verdict.eq("true").groupby(reasons).agg(["sum", "size"])
Markdown(
    f"Of {plainly.loc[False, 'size']} rows that describe code, {plainly.loc[False, 'sum']} hold as they stand; of "
    f"{plainly.loc[True, 'size']} that give a reason, {plainly.loc[True, 'sum']}. That is a tally and not a measurement, since "
    "what counts as a condition is our reading. But reasons fare worse than descriptions. Nobody runs a reason."
)

# %% [markdown]
#
# ## Summary
#
# - The two models share their lower half: copy, generate, mix. $g$ and $p_\text{gen}$ are the same number read from
#   opposite ends.
# - *Parallel* is about depth. On one core, at the length of our windows, the recurrent encoder is the fast one, step by
#   step. Trained to the end it is the slower one: it needs more epochs.
# - An untrained LSTM hands on little of old visits, how little depends on its forget gate; a Transformer hands on the
#   same of all. With a BiLSTM, PGT loses accuracy on our town, and more on GeoLife. One step of decoder does not help.
# - *All locations known* is false. PGT can copy a place that it never trained, as long as the place has an id: half of
#   an extended vocabulary.
# - A row of a comparison is worth as much as the measurement that could have made it false.
#
# ## Exercises
#
# **Exercise 1** (quick). A colleague reads $p_\text{gen} = 0.9$ off the summarizer's figure and concludes that the
# network copies nine words in ten. What is wrong, and what would the same sentence say with PGT's gate?

# %% [markdown]
# <details class="solution"><summary>Solution 1</summary>
#
# $p_\text{gen}$ weighs generating, so nine tenths of the probability come from the vocabulary. $g = 0.9$ would mean
# what the colleague says, or nearly: a gate is a weight and not a count. Which part a word came from is the
# responsibility of [chapter 8](08_generator_and_gate.ipynb), equation (8.7).
#
# </details>

# %% [markdown]
# **Exercise 2** (medium). From which length on does a Transformer of *one* layer do more work than a BiLSTM of the
# same width, if the feed-forward network is twice as wide as the model? Work it out with pencil, then check it with
# `side_by_side.work`.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# A BiLSTM layer: 2 directions, 4 gates, D / 2 units that see D + D / 2 numbers: 6 D² a visit.
# A Transformer layer: 4 D² for the projections, 2 L D for the attention, 4 D² for the feed-forward network.
# 8 D² + 2 L D is larger than 6 D² at every length: from one visit on.
one_layer = ModelConfig(**sizes, n_layers=1)
print(
    [
        side_by_side.work("transformer", n, one_layer) > side_by_side.work("bilstm", n, one_layer)
        for n in (1, 18, 400)
    ]
)

# %% [markdown]
# **Exercise 3** (longer). Time both encoders on your machine, for 18 and 200 visits and 16 windows, and print the
# ratio. If you have a graphics card, move encoder and input there. Where does the ratio turn?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
for n_visits in (18, 200):
    spent = {kind: side_by_side.seconds(side_by_side.encoder_step(kind, n_visits, 16, config), repeats=3)
             for kind in ("bilstm", "transformer")}  # fmt: skip
    print(
        n_visits, "visits: Transformer / BiLSTM", round(spent["transformer"] / spent["bilstm"], 1)
    )
# `seconds` counts processor time; for a graphics card use `time.perf_counter` and `torch.cuda.synchronize`.

# %% [markdown]
# **Exercise 4** (project). "Until somebody asks for two places." Predict the next *two* places in two ways: once
# with PGT asked twice, its first answer appended to the window; once with a PGT that is trained on the place after
# next. Which is right more often about the second place, and why is it not enough to append a place?

# %% [markdown]
# <details class="solution"><summary>Solution 4</summary>
#
# Keep the windows and change only the answer: take `data.train.batch(rows)` and `replace` its `target` by the location
# one row after the target's, `data.train.features[0, data.train.target[rows] + 2]` (column 0 is padding). Leave out
# rows where that visit belongs to somebody else. A subclass of `Windows` that overrides `batch` in this way can be given
# to `fit`. (`replace(data.train, target=data.train.target + 1)` looks right and is not: the window ends where its
# target begins, so it would grow by the visit that should be skipped.) Compare Acc@1 of the second place. To append a visit to a batch
# you need more than its place: a time of arrival, a weekday, a duration and the days that go by. None of them is
# predicted. A roll-out has to invent them, for instance as the most usual ones of that place, and its errors add
# up; the direct model answers one question and cannot say what comes in between. That is what a decoder would be
# for: an output that must be consistent with itself. The first place of a beam is then no longer the argmax.
#
# </details>

# %% [markdown]
# ## Where did each claim go?
#
# The book was made from design documents. Three of them are comparisons, proposals and a method: *original and
# proposed*, *improvements*, and *temporal dependency*. Here is each of their sections and rows, with the code that
# answers it and the section of the book that shows it.

# %% tags=["hide-input"]
from pgt.exercises.sources_map import DOCUMENTS, as_markdown, read_map

entries = read_map()
for document, title in DOCUMENTS.items():
    display(Markdown(f"### {title}\n\n" + as_markdown(entries, document)))

# %% [markdown]
# **Next:** [Temporal sets](18_temporal_sets.ipynb), a cousin that predicts several things at once.
