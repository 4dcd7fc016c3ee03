# %% [markdown]
# # Side by side
#
# A table that compares two models is a list of claims. Here each of them is tested.
#
# *You will be able to* take a comparison of two architectures apart, row by row, and say of each row whether it is true,
# true under a condition, or false. *You need* [The whole model](09_model.ipynb), [the
# summarizer](16_summarizer.ipynb) and, for the swapped parts, [Ablations](14_ablations.ipynb). *It takes* twenty
# minutes to read and about half a minute to run.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% tags=["hide-input"]
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch
from wherenext import city, side_by_side
from wherenext.comparison import compare
from wherenext.figures import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    INK,
    MUTED,
    PAPER,
    TRUTH,
    show,
)
from wherenext.results import read_results
from wherenext.summaries import write_diaries

from pgt import summarizer as summarizer
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig
from pgt.improvements import RecurrentEncoder
from pgt.look import story
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer, log_mixture
from pgt.summarizer import (
    PAD,
    AdditiveAttention,
    TextBatch,
    masked_softmax,
    one_bias,
    renormalised_softmax,
    text_batch,
)
from pgt.windows import prepare

torch.set_num_threads(1)
town = city.load()
data = prepare(town.visits, protocol="exact")
NAMES = ("side_by_side", "improvements", "ablations")
measured, swapped, ablations = (read_results(name) for name in NAMES)
for results in (measured, swapped, ablations):
    minutes = results.header["seconds"] / 60
    print(f"{results.header['command']}: {minutes:.0f} minutes")

# %% [markdown]
# PGT has a parent: the pointer-generator of [See et al. (2017)](https://arxiv.org/abs/1704.04368), which
# [chapter 16](16_summarizer.ipynb) builds. [The original
# specification](https://where-next-book.github.io/where-next/book/errata.html) of PGT puts the two next to each other in
# tables, and gives reasons for what was changed. Here every row gets a verdict, with a line of code behind it:
#
# - *true*: it holds as it stands;
# - *if*: it holds under a condition that the row leaves out (what counts as a condition is our reading);
# - *false*: what we measure contradicts it.
#
# Tables, diagrams and steps have the names and numbers of the documents. A row is named after its claim. Its cells hold
# what the documents say, or what we found. Where a table describes parts, we print only what is false;
# where it gives reasons ("why …"), also what holds under a condition. *The count* has all rows. Which of these claims will fall: *no unknown places*, *parallel*, *faster*, *an LSTM has gradient issues*, *attention
# weights make it interpretable*, *no decoder needed*?
#
# Here are both models at the documents' sizes (for PGT those of their DIY data set). PGT gets the places and people of
# our town:

# %%
torch.manual_seed(0)
original = summarizer.PointerGenerator(summarizer.DOCUMENT).eval()
sizes = {
    "n_locations": data.vocabulary.n_locations,
    "n_users": data.vocabulary.n_users,
}
presets = {
    name: ModelConfig(**sizes, **PRESETS[name.lower()].model)
    for name in ("DIY", "GeoLife")
}
ours = PointerGeneratorTransformer(presets["DIY"]).eval()
trained, _ = load_model(shipped("city"))  # the package's weights

# %% tags=["hide-input"]
ERRATA = "https://where-next-book.github.io/where-next/book/errata.html"
ledger = []  # of dicts, one a row
HEADS = {
    "why a Transformer": ("BiLSTM", "Transformer"),
    "why no decoder": ("with decoder", "without"),
}


def section(title):
    """What judges the rows of a table, and keeps them for the count."""

    def judge(row, holds, there="", here="", note="", condition=False):
        verdict = "false" if not holds else "if" if condition else "true"
        keys = ("table", "row", "there", "here", "verdict", "note")
        cells = (title, row, there, here, verdict, note)
        ledger.append(dict(zip(keys, cells, strict=True)))

    return judge


def verdicts(title, shown=("false",)):
    """The rows of a table with these verdicts; of the others the names."""
    rows = [row for row in ledger if row["table"] == title]
    said = {"true": "True as they stand", "if": "True under a condition"}
    named = []
    for verdict in (v for v in said if v not in shown):
        names = [f"*{r['row']}*" for r in rows if r["verdict"] == verdict]
        named += [f"{said[verdict]}: {', '.join(names)}."] if names else []
    one, other = HEADS.get(title, ("summarizer", "PGT"))
    lines = [f"| row | {one} | {other} | verdict | |", "|---" * 5 + "|"]
    for r in rows:
        cells = [r["row"], r["there"], r["here"], f"**{r['verdict']}**"]
        if r["verdict"] in shown:
            lines.append(f"| {' | '.join(map(str, [*cells, r['note']]))} |")
    text = f"**{title}.** {' '.join(named)}\n\n"
    return Markdown(text + ("\n".join(lines) if lines[2:] else ""))


# %% [markdown]
# ## Two data flows
#
# Time runs downwards. What is in the frame happens again for every word.


# %% tags=["hide-input"]
FLOWS = {  # boxes, and arrows from box to box
    "summarizer": (
        [
            (0, 8, "words → one embedding", INK),
            (0, 7, "bidirectional LSTM", INK),
            (0, 6, "state reduction", INK),
            (0, 4.9, "LSTM cell", EXTRA),
            (-1.95, 3.9, "additive\nattention", COPIED),
            (1.95, 2.75, "vocabulary", GENERATED),
            (0, 2.75, "gate: to\ngenerate", GATE),
            (0, 1.5, "mixture over\nextended vocabulary", TRUTH),
            (0, 0.2, "beam search → words", INK),
        ],
        "01 12 23 34 35 36 45 46 47 57 67 78",
    ),
    "PGT": (
        [
            (0, 8, "visits → 7 embeddings", INK),
            (0, 7, "projection, norm,\nsinusoid", INK),
            (0, 6, "two Transformer layers", INK),
            (0, 4.9, "the last visit: context", EXTRA),
            (-1.95, 3.3, "dot-product\npointer", COPIED),
            (1.95, 3.3, "generator", GENERATED),
            (0, 3.3, "gate: to\ncopy", GATE),
            (0, 1.5, "mixture over\nall places", TRUTH),
            (0, 0.2, "list of places", INK),
        ],
        "01 12 23 34 35 36 47 57 67 78",
    ),
}


def arrow(axes, start, end, path="arc3"):
    look = {"arrowstyle": "->", "color": MUTED, "lw": 1.2}
    axes.annotate("", end, start, arrowprops=look | {"connectionstyle": path})


figure, panels = plt.subplots(1, 2, figsize=(7.4, 6.6))
for axes, (title, (boxes, arrows)) in zip(panels, FLOWS.items(), strict=True):
    for one, other in arrows.split():
        (x0, y0, *_), (x1, y1, *_) = boxes[int(one)], boxes[int(other)]
        aside = 0.9 if other == "7" else 0.25
        end = (x1 + aside * np.sign(x0 - x1), y1 + 0.36)
        arrow(axes, (x0, y0 - 0.36), end)
    for x, y, text, colour in boxes:
        width = 1.6 if text.startswith("gate") or x else 2.7
        look = {"boxstyle": "round,pad=0.04", "fc": PAPER, "ec": colour}
        corner = (x - width / 2, y - 0.31)
        axes.add_patch(FancyBboxPatch(corner, width, 0.62, lw=1.8, **look))
        axes.text(x, y, text, ha="center", va="center", fontsize=8)
    axes.set(title=title, xlim=(-3.1, 3.1), ylim=(-0.4, 8.6))
    axes.axis("off")
left, right = panels
frame = {"boxstyle": "round,pad=0.05", "fc": "none", "ec": MUTED, "ls": "--"}
left.add_patch(FancyBboxPatch((-2.85, 1.05), 5.7, 4.35, lw=1, **frame))
small = {"fontsize": 8, "color": MUTED}
left.annotate("once a word", (2.8, 5.55), ha="right", **small)
around = "angle,angleA=0,angleB=90,rad=6"  # what is encoded, to who attends
arrow(left, (-1.4, 7), (-2.3, 4.26), around)
arrow(right, (-1.4, 6), (-2.3, 3.66), around)
again = [1.4, 3.05, 3.05, 2.5], [1.5, 1.5, 4.9, 4.9]  # and round again
left.plot(*again, color=MUTED, lw=1.2)
arrow(left, (2.6, 4.9), (1.4, 4.9))
small["fontsize"] = 7
left.annotate("word, context", (2.15, 4.98), ha="center", **small)
show(
    figure,
    alt="Two columns of boxes. Left, the summarizer: words, one embedding, "
    "bidirectional LSTM, state reduction, then, once a word: LSTM cell, "
    "attention, gate and vocabulary, mixture, and back to the LSTM cell; at "
    "the end beam search. Right, PGT: visits, embeddings, projection, two "
    "Transformer layers, the last visit, pointer, generator and gate side by "
    "side, mixture, list of places; nothing goes back.",
    caption="Both data flows. Olive: what asks; blue: copies; orange: "
    "generates; purple: weighs the two; green: the prediction.",
)

# %% [markdown]
# They differ in how the input is encoded, and only the summarizer has a loop.
#
# ## A diary and a window
#
# [Chapter 9](09_model.ipynb) follows a window through PGT. Here one trip diary of our town goes through a small
# summarizer. What comes out of each part, and how often is it called?

# %%
diaries = write_diaries(town)
words = diaries.words(150)
texts = text_batch([diaries.test[0].pair], words)
small = summarizer.SummarizerConfig(len(words), 32, 64)
small = summarizer.PointerGenerator(small).eval()
THERE = {
    "embedding": "embedding",
    "encoder": "encoder",
    "reduce": "state reduction",
    "decoder.fuse": "input fusion",
    "decoder.cell": "LSTM cell",
    "decoder.attention": "context",
    "generate": "vocabulary",
    "gate": "gate",
}
walk = side_by_side.trace(small, texts, THERE)
walk

# %% tags=["hide-input"]
i = story(data.test)
window, pair = data.test.batch([i]), data.test.batch([i, i])
L, T = texts.source.shape[1], texts.given.shape[1]
Markdown(
    f"The diary has {L} words and its summary {T} with the stop. The "
    "embedding is called once for each of the two, and the loop runs "
    f"{T} times, one word after the other. When the true words are "
    "given, no step waits for a word that the network wrote, so vocabulary "
    "and gate are computed once, for all words."
)

# %% tags=["hide-input"]
document = summarizer.DOCUMENT
B, L, T, E, H = 2, 12, 3, document.embedding, document.hidden
V, D = document.n_words, ours.config.d_model
source = torch.randint(4, V, (B, L))
length = torch.full((B,), L)
batch = TextBatch(source, source, length, *[source[:, :T]] * 2, ([], []))
there = side_by_side.trace(original, batch, THERE)
shapes = [(B, L, E), (B, L, 2 * H), (B, H), (B, E), (B, H)]
shapes += [(B, 2 * H), (B, T, V), (B, T, 1)]
fused = ours.embeddings.project.in_features

judge = section("data flow")
judge("shapes", there["out"].tolist() == shapes, f"{len(shapes)} steps", "",
      "those of PGT are in [chapter 9](09_model.ipynb)")  # fmt: skip
judge("feature fusion", fused == 2 * D + 5 * D // 4, "", f"{fused} numbers")
asked = original.decoder.attention.of_state.in_features
spoken = original.project.in_features
judge("attention sees (diagram)", asked == H, "output alone",
      note=f"it sees {asked} numbers, output and cell: only this gives the "
      "parameter count of [chapter 16](16_summarizer.ipynb)")  # fmt: skip
judge("vocabulary sees (step 3d)", spoken == H, "decoder state",
      note=f"it sees {spoken} numbers, output and context, as in the "
      "diagram")  # fmt: skip

with torch.no_grad():
    out, theirs = ours(pair), original(batch)
    probs = out.log_probs.exp()
    likely = out.log_probs > -16
    by_epsilon = ((probs + 1e-10).log() - out.log_probs)[likely].abs().max()
judge("logarithm", float(by_epsilon) < 0.01, "", "log(P + ε)",
      "the same while P is far above ε = 1e-10; our log-sum-exp needs no ε "
      f"([errata]({ERRATA}))", condition=True)  # fmt: skip
verdicts("data flow")

# %% [markdown]
# ## Input

# %% tags=["hide-input"]
known = data.vocabulary.n_known
first_unknown = 2 + known  # 0 is padding, 1 is "unknown"
unknown = 100 * np.mean(data.test.targets >= first_unknown)
widths = sorted({config.d_model for config in presets.values()})
wide = f"{widths[0]} to {widths[-1]}"
names = list(ours.embeddings.tables)
tables = len(names)
facts = len(set(names) - {"user", "position_from_end"})
in_range = E == 128 and widths[0] >= 64 and widths[-1] <= 128
padded = PAD == 1 and int(window.location.min()) > 0

judge = section("1 Input")
judge("input", facts > 1, "words", f"visits, {facts} facts each",
      "and position and person; the minute of the start is for other "
      "models")  # fmt: skip
judge("embedding", tables == 7, "1 table", f"{tables} tables")
judge("width", in_range, E, wide)
judge("vocabulary", 1000 <= known <= 2000, f"{V:,} words",
      f"{known:,} places", "the documents say about 1,000 to 2,000; it grows "
      "with the town, and with the time watched", condition=True)  # fmt: skip
judge("padding", padded, f"number {PAD}", "number 0")
judge("unknown words", unknown == 0, "extended vocabulary",
      "“all are known”", f"{unknown:.1f} % of the test targets are places "
      "that training has not seen")  # fmt: skip
verdicts("1 Input")

# %% [markdown]
# In the *code* every place has an id before training starts, those of the test days
# included. But the embedding of a place that only the test days show was never trained.

# %%
ranks = evaluate(trained, data.test)
ranks["right"] = 100 * gains(ranks)["acc@1"]
answer = {True: "yes", False: "no"}
by = [ranks.known.map(answer), ranks.in_window.map(answer)]
groups = ranks.groupby(by).right.agg(["size", "mean"])
groups["size"] *= 100 / len(ranks)
groups.index.names = ["known", "in the window"]
groups.rename(columns={"size": "windows (%)", "mean": "Acc@1 (%)"}).round(1)

# %% [markdown]
# PGT names some places that are unknown but in the window. It copies them, as the summarizer copies names that
# its vocabulary lacks. A place that appears after the ids were dealt out stays out of reach; [chapter 22](22_open_vocabulary.ipynb) says what can be
# done.
#
# ## Encoder

# %% tags=["hide-input"]
config = ModelConfig(**sizes)


def count(model, kind):
    return sum(isinstance(module, kind) for module in model.modules())


lstm = original.encoder.lstm
layers = sorted({c.n_layers for c in presets.values()})
heads = {name: c.n_heads for name, c in presets.items()}
heads_text = ", ".join(f"{n} ({k})" for k, n in heads.items())
norms = [count(model, torch.nn.LayerNorm) for model in (original, ours)]
gelus = [count(m, torch.nn.GELU) for m in (original, ours.encoder)]
ORDERS = ("sinusoid", "position_from_end", "recency", "position_bias")
sorts = sum(config.has(part) for part in ORDERS)
few_layers = lstm.num_layers == 1 and 2 <= layers[0] <= 3

judge = section("2 Encoder")
judge("kind", lstm.bidirectional, "BiLSTM", "Transformer")
judge("layers", few_layers, lstm.num_layers, layers[0])
judge("hidden size", H == 256, H, wide, "in each direction")
judge("output", 2 * H == 512, 2 * H, wide)
judge("heads", 4 in heads.values(), "none", heads_text,
      "four for one data set, two for the other", condition=True)  # fmt: skip
judge("position", config.has("sinusoid"), "in the recurrence", "sinusoid",
      f"one of {sorts} ways in which PGT gets the order",
      condition=True)  # fmt: skip
judge("normalisation", norms[0] == 0 < norms[1], norms[0],
      f"{norms[1]} LayerNorms", "one before each half of a layer, one after "
      "the fusion")  # fmt: skip
judge("activation", gelus == [0, layers[0]], "tanh, and three sigmoids",
      "GELU")  # fmt: skip
verdicts("2 Encoder")

# %% [markdown]
# > **Pitfall.** Take the sinusoid out, and the model does not fail ([chapter 14](14_ablations.ipynb)). Position from the
# > end, recency and the position bias tell the order, too.
#
# ## Where the parameters are
#
# The parts of the documents' summary table, and their numbers of parameters, with our town's places in PGT:

# %%
parts = pd.DataFrame(
    {
        "summarizer": side_by_side.parameters(original),
        "PGT": side_by_side.parameters(ours),
    }
)
totals = parts.sum()
parts.map("{:,}".format)

# %% tags=["hide-input"]
a, b = parts.summarizer, parts.PGT
lstms = [count(model, torch.nn.LSTM) for model in (original, ours)]
additive = count(original, AdditiveAttention) == 1
decoder = a["decoder"] + a["state reduction"]
beyond = sizes["n_locations"] > known
number = {k: (f"{a[k]:,}", f"{b[k]:,}") for k in parts.index}

judge = section("summary")
judge("embedding", tables > 1, *number["embedding"],
      "one table, several tables")  # fmt: skip
judge("encoder", lstms == [1, 0], *number["encoder"], "BiLSTM, Transformer")
judge("attention", additive, *number["attention"], "additive, dot product")
judge("decoder", b["decoder"] == 0, f"{decoder:,}", "none", "there, removed")
judge("gate", b["gate"] > a["gate"], *number["gate"], "linear, two layers")
judge("output", beyond, *number["output"], "extended vocabulary, fixed "
      "vocabulary; but the fixed one has ids for unknown places and copies "
      "them", condition=True)  # fmt: skip
display(verdicts("summary"))

ends = 100 * parts.loc[["embedding", "output"]].sum() / totals
Markdown(
    f"The summarizer is **{totals['summarizer'] / totals['PGT']:.0f}** times "
    "as large. Embedding and output, which grow with the number of words "
    f"or places, hold {ends['summarizer']:.0f} % of its parameters and "
    f"{ends['PGT']:.0f} % of PGT's."
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
# \text{summarizer:} \quad s_i &= v_\text{score}^\top \tanh(W_h h_i + W_d d_t + b_h) \\
# \text{PGT:} \quad s_i &= \frac{(W_q c + b_q) \cdot (W_k x_i + b_k)}{\sqrt{D}} + b_{p_i}
# \end{aligned} \tag{17.1}
# $$
#
# Each has a way to leave out padding; [chapter 16](16_summarizer.ipynb) says when the two differ.
#
# The documents put *coverage* and *position bias* beside each other. But the bias is a constant per position, and
# coverage is a memory of the words written so far. At the first word it is empty.

# %% tags=["hide-input"]
scores, padding = torch.randn(4, 9), torch.arange(9) >= 5
masks = masked_softmax, renormalised_softmax
alike = torch.allclose(*[mask(scores, padding) for mask in masks])
far = scores.masked_fill(padding, 120.0)  # padding with a high score
lost = renormalised_softmax(far, padding).isnan().any()

covering = original.with_coverage().eval()
with torch.no_grad():
    weights = covering.decoder.attention.of_coverage
    torch.nn.init.normal_(weights, std=10)  # so that coverage matters
    covered, plain = covering(batch), original(batch)
change = (covered.attention - plain.attention).abs().amax((0, 2))  # (T,)

# %% tags=["hide-input"]
additive, query = original.decoder.attention, ours.pointer.query
as_written = additive.of_state.in_features == 2 * H and query.in_features == D
equal = bool(alike and lost)

judge = section("4 Attention")
judge("kind", additive.v.ndim == 1, "additive", "scaled dot product")
judge("formula", as_written, "$v \\cdot \\tanh(\\dots)$",
      "$q \\cdot k_i / \\sqrt{D}$", "the summarizer's state is output and "
      "cell together; PGT's bias is the document's fourth row")  # fmt: skip
judge("masking", equal, "softmax, then mask", "mask, then softmax",
      "equal, until padding scores a hundred higher than any word",
      condition=True)  # fmt: skip
judge("against repetition", change[0] == 0 < change[1], "coverage",
      "position bias", "no counterparts: at the first word coverage does "
      "nothing, and PGT's answer is a first word",
      condition=True)  # fmt: skip
verdicts("4 Attention")

# %% [markdown]
# ## Gate
#
# In the summarizer the gate is the weight of *generating*, $p_\text{gen}$; in PGT it is the weight of *copying*, $g$:
#
# $$
# \begin{aligned}
# P(\ell) &= p_\text{gen}\, P_\text{gen}(\ell) + (1 - p_\text{gen})\, P_\text{ptr}(\ell) \\
# &= g\, P_\text{ptr}(\ell) + (1 - g)\, P_\text{gen}(\ell), \qquad g = 1 - p_\text{gen}.
# \end{aligned} \tag{17.2}
# $$
#
# We run one example through both programs:

# %%
with torch.no_grad():
    out = trained(window)
logit = torch.logit(out.gate)
pointed, generated = out.pointer_log_probs, out.generator_log_probs
by_ours = log_mixture(logit, pointed, generated).exp()

places = window.location
given = (generated.exp(), out.pointer_attention, places, 0)  # no extra words
by_theirs = summarizer.mixture(1 - out.gate, *given)
wrong = summarizer.mixture(out.gate, *given)
same = float((by_ours - by_theirs).abs().max())
swapped_gate = float((by_ours - wrong).abs().max())
print(f"g = {float(out.gate):.3f}; largest difference {same:.0e}")
print(f"with the gate read the wrong way round {swapped_gate:.2f}")

# %% tags=["hide-input"]
evidence = original.gate.in_features, ours.gate[0].in_features
documented = evidence == (4 * H + E, D)
two_layers = count(ours.gate, torch.nn.Linear) == 2

judge = section("5 Gate")
judge("input", documented, f"{evidence[0]:,} numbers",
      f"{evidence[1]} numbers", "context, both states and the fused input; "
      "the context alone")  # fmt: skip
judge("computation", two_layers, "one linear layer", "two layers")
judge("mixture", same < 1e-5, "$p_\\text{gen}$", "$g$",
      "the same sum, with the opposite meaning")  # fmt: skip
verdicts("5 Gate")

# %% [markdown]
# ## Decoder and output
#
# The documents set *beam search* against *argmax*. A beam search that ends after one word keeps the words with the
# highest probabilities: a sorted list, whose first entry is the argmax.

# %% tags=["hide-input"]
with torch.no_grad():
    log_probs = trained(data.test.batch(np.arange(200))).log_probs
beam = log_probs.topk(4).indices  # a beam of four, one word long
argmax_agrees = bool((beam[:, 0] == log_probs.argmax(1)).all())
reduced = original.reduce(torch.randn(5, 2 * H), torch.randn(5, 2 * H))[0]
calls = int(walk.loc["LSTM cell", "calls"])
steps_agree = document.max_summary == 100 and calls == texts.given.shape[1]
taught = texts.given.shape == texts.target.shape
judge = section("3 Decoder")
judge("kind", b["decoder"] == 0, "LSTM", "none")
judge("steps", steps_agree, f"up to {document.max_summary}", 1,
      f"{calls} for the diary above")  # fmt: skip
judge("first state", bool((reduced >= 0).all()), "reduced from the encoder",
      "none", "after a ReLU: no negative numbers")  # fmt: skip
judge("teacher forcing", taught, "yes", "none",
      "one answer has no previous answer")  # fmt: skip
judge("search", argmax_agrees, f"beam of {document.beam}", "argmax",
      "at one step they find the same")  # fmt: skip
display(verdicts("3 Decoder"))

places = sizes["n_locations"]
fixed = log_probs.shape[1] == places
again = torch.log_softmax(log_probs, 1) - log_probs
copied = ranks[~ranks.known & ranks.in_window].right.mean()
judge = section("6 Output")
judge("vocabulary", 900 <= places <= 2200,  # "~1,000-2,000", a tenth off
      f"{V:,} and lent words", f"{places:,}", f"the {known:,} places that "
      "training knows, ids reserved for the others, and two special ids; "
      "the documents say about 1,000 to 2,000, but "
      f"their parameter table implies 20,000 ([erratum 5]({ERRATA}))",
      condition=True)  # fmt: skip
judge("extended", fixed, "yes", "“no”", "fixed, but the exact protocol "
      "reserves ids: of the unknown places in the window its first answer "
      f"gets {copied:.0f} % right", condition=copied > 0)  # fmt: skip
judge("last operation", float(again.abs().max()) < 1e-4, "beam search",
      "“log-softmax”, argmax", "in effect: there is no log-softmax, and one "
      "would change nothing: the answer is the log of a distribution",
      condition=True)  # fmt: skip
judge("length", log_probs.ndim == 2, f"up to {document.max_summary}", 1)
verdicts("6 Output")

# %% [markdown]
# ## Why a Transformer?
#
# The documents say that a BiLSTM is *sequential*, O(n). A Transformer, they say, is *parallel*, O(1), trains *faster*, and
# attends *directly* where the LSTM has *gradient issues*.
#
# O(1) is true of the **depth**, the number of steps that must wait for each other. An LSTM needs one for each visit,
# a Transformer one for each layer. The **work**,
# counted in multiplications, grows faster for the Transformer. A graphics card has to wait for the depth; a single
# processor core has to do all the work. We measured a step of training through one BiLSTM layer, as the summarizer has,
# and through two Transformer layers, as PGT has. The table gives Transformer / BiLSTM, in work and in time, by the
# number of windows in a batch (blank: not measured):

# %%
steps = measured.rows.query("table == 'encoder'").pivot_table(
    "milliseconds", ["length", "batch"], "model"
).rename(index=int)
ratio = steps.transformer / steps.bilstm
cost = ratio.unstack("batch").add_prefix("time, batch of ")
work = [
    [side_by_side.work(kind, n, config) for n in cost.index]
    for kind in ("transformer", "bilstm")
]
cost.insert(0, "work", np.divide(*work))
cost = cost.rename_axis(index="visits", columns=None).round(1)
cost.astype(object).where(cost.notna(), "")

# %% tags=["hide-input"]
WINDOW = f"one core of a {measured.header['device'].upper()}"
Markdown(
    f"**On {WINDOW} the Transformer is the slower one**, in "
    f"{(ratio > 1).sum()} of {len(ratio)} cases. Layer by layer (time "
    f"/ {config.n_layers}) it is slower in {(ratio > config.n_layers).sum()} "
    "cases."
)

# %% [markdown]
# And *gradient issues*? How strongly does the last visit's encoding depend on each visit, before any training? At each visit an LSTM
# multiplies its memory by numbers between 0 and 1, its *forget gate*. PyTorch starts the gate half open; TensorFlow, and with it the
# summarizer, opens it further by a bias of one. We try both.


# %%
def with_open_gate(config):
    """The recurrent encoder, with the forget bias of the summarizer's."""
    encoder = RecurrentEncoder(config)
    one_bias(encoder.lstm)
    return encoder


side_by_side.ENCODERS["open gate"] = with_open_gate
KINDS = {
    "bilstm": ("BiLSTM", GENERATED),
    "open gate": ("BiLSTM, forget bias 1", EXTRA),
    "transformer": ("Transformer", COPIED),
}
reaches = {kind: side_by_side.reach(kind, 18, config) for kind in KINDS}
back = {kind: float(reaches[kind][0]) for kind in KINDS}  # the oldest visit

# %% tags=["hide-input"]
figure, axes = plt.subplots(figsize=(7.0, 3.0))
for kind, (name, colour) in KINDS.items():
    look = {"color": colour, "marker": "o", "label": name}
    axes.plot(range(18, 0, -1), reaches[kind], **look)
axes.set(yscale="log", ylabel="gradient, last visit = 1")
axes.set(xlabel="position from the end (1 = last visit)")
axes.set_xticks([1, 5, 10, 15, 18])
axes.legend(fontsize=8)
said = ", ".join(f"{KINDS[kind][0]} {x:.1e}" for kind, x in back.items())
show(
    figure,
    alt="Gradient of the last visit's encoding by each visit, falling with "
    "age in a BiLSTM and flat in a Transformer. At the oldest of 18 visits: "
    f"{said}.",
    caption="How strongly the last visit's encoding depends on each visit, "
    "before training. One draw of the weights each.",
)

# %% tags=["hide-input"]
times = {k: back["transformer"] / back[k] for k in ("bilstm", "open gate")}
flatter = reaches["transformer"][::-1] > reaches["bilstm"][::-1]
hundreds = float(f"{times['bilstm']:.1g}")
start = int(flatter.argmax()) + 1  # the first position from the end
Markdown(
    "**How fast an LSTM forgets depends on its start.** From the oldest of "
    f"18 visits, the Transformer gets about {hundreds:.0f} times the "
    "gradient of the BiLSTM, but only "
    f"{times['open gate']:.0f} times that of a BiLSTM whose forget gate "
    "starts with a bias of one. Nearer to the end than position "
    f"{start}, the plain BiLSTM passes on more. Here are whole trainings on "
    "our town; the next section explains the last three models. (All "
    "have the package's default sizes; the BiLSTM in PGT has PyTorch's "
    "start.)"
)

# %%
train_rows = measured.select(table="training")
MODELS = {
    ("pgt", "full"): "PGT",
    ("pgt", "with BiLSTM"): "PGT with a BiLSTM",
    ("pgt", "with decoder"): "PGT with a decoder",
    ("summarizer", "full"): "summarizer on windows",
    ("summarizer", "no decoder"): "summarizer without its decoder",
}
heads = {
    "acc@1": "Acc@1 (%)",
    "acc@10": "Acc@10 (%)",
    "parameters": "parameters",
    "epochs": "epochs",
    "cpu_seconds": "seconds",
}
trainings = train_rows.groupby(["model", "variant"])[list(heads)].mean()
trainings = trainings.loc[list(MODELS)].set_axis(MODELS.values())
trainings["seconds an epoch"] = trainings.cpu_seconds / trainings.epochs
shown = trainings.round(1).rename(columns=heads)
shown["parameters"] = trainings.parameters.map("{:,.0f}".format)
shown.rename_axis("mean of three seeds")

# %% tags=["hide-input"]
PLAIN = {"model": "improved", "variant": "plain"}
SWAPS = {
    "bilstm": "BiLSTM encoder",
    "additive": "additive attention",
    "coverage": "memory of attention",
    "causal": "looks back only",
}
some = {v: {"model": "improved", "variant": v} for v in SWAPS}


def changes_of(metric):
    """By data set the change with each part; people and seeds drawn again."""
    about = {"metric": metric, "draws": 4000}
    return {
        n: compare(swapped, some, PLAIN, data=n.lower(), **about).table()
        for n in ("city", "GeoLife")
    }


def change_of(found, what):
    """A mean change with its simultaneous interval."""
    row = found.loc[what]
    return f"{row['mean']:+z.2f} [{row.low_all:+z.2f}, {row.high_all:+z.2f}]"


# %% tags=["hide-input"]
changes, at_ten = changes_of("acc@1"), changes_of("acc@10")
plain_pgt = trainings.loc["PGT"]
bilstm = trainings.loc["PGT with a BiLSTM"]
decoded = trainings.loc["PGT with a decoder"]
pace = "seconds an epoch"
spent = [f"{m.cpu_seconds:.0f} s, {m[pace]:.1f} an epoch"
         for m in (bilstm, plain_pgt)]  # fmt: skip
slower = plain_pgt[pace] > bilstm[pace]
faster = plain_pgt.cpu_seconds < bilstm.cpu_seconds
by_seed = train_rows.pivot(index="seed", columns=["model", "variant"])
seconds = by_seed["cpu_seconds"]["pgt"]
first = int((seconds["full"] < seconds["with BiLSTM"]).sum())
short = 100 * np.mean((data.test.lengths >= 5) & (data.test.lengths <= 50))
worse = all(found["mean"]["bilstm"] < 0 for found in changes.values())
clear = [f"Acc@{k} on {n}" for k, of in ((1, changes), (10, at_ten))
         for n, e in of.items() if e.high_all["bilstm"] < 0]  # fmt: skip
against = [f"Acc@{k} on {n}" for k, of in ((1, changes), (10, at_ten))
           for n, e in of.items() if e.low_all["bilstm"] > 0]  # fmt: skip
with_bilstm, with_ten = (
    "; ".join(f"{name} {change_of(e, 'bilstm')}" for name, e in of.items())
    for of in (changes, at_ten)
)

# %% tags=["hide-input"]
judge = section("why a Transformer")
judge("parallel", True, "depth grows with $L$", "depth is constant",
      "depth, not work: that grows with $L^2$", condition=True)  # fmt: skip
judge("far visits", min(times.values()) > 1,
      f"{back['bilstm']:.1e}, or {back['open gate']:.1e}",
      f"{back['transformer']:.1e}", "gradient from the oldest of 18 visits, "
      "before training, for two starts of the LSTM",
      condition=min(times.values()) < 10)  # fmt: skip
judge("training speed", faster, *spent,
      f"PGT ends first in {first} of {len(seconds)} seeds; its epoch is "
      f"{'slower' if slower else 'faster'}. On {WINDOW}",
      condition=slower or first < len(seconds))  # fmt: skip
judge("interpretable", theirs.attention.numel() > 0,
      "attention weights as well", "attention weights",
      "a pointer has them with either encoder, and whether they explain is "
      "in doubt ([chapter 13](13_attention_on_maps.ipynb))",
      condition=True)  # fmt: skip
judge("short sequences", short > 50, "", f"{short:.0f} % have 5 to 50 visits",
      "of the test windows")  # fmt: skip
judge("more accurate", worse, with_bilstm, "", "implied, not in the "
      "documents. Change of Acc@1 when PGT gets a BiLSTM, in points, five "
      "seeds, intervals as in *The summarizer's parts in PGT*. Change of "
      f"Acc@10: {with_ten}. The Transformer is clearly ahead in "
      f"{', '.join(clear) or 'none'}, clearly behind in "
      f"{', '.join(against) or 'none'}",
      condition=len(clear) < 4)  # fmt: skip
verdicts("why a Transformer", shown=("if", "false"))

# %% [markdown]
# > **Note.** A claim about speed needs a machine, a length and a batch size. Exercise 3
# > measures yours.
#
# ## Why no decoder?
#
# "A classification, not a generation task. A decoder adds unnecessary complexity." The test is to add one. In *PGT with
# a decoder* the encoded last visit starts the summarizer's LSTM; the LSTM attends to all visits and makes the
# context for pointer, generator and gate. In the *summarizer on windows*, places are the words, and the summary has one
# word; without its decoder, the reduced last state of the encoder takes the decoder's place.

# %% tags=["hide-input"]
acc = by_seed["acc@1"]
worth = {  # by seed
    "PGT": acc["pgt"]["with decoder"] - acc["pgt"]["full"],
    "the summarizer on windows": acc["summarizer"]["full"]
    - acc["summarizer"]["no decoder"],
}
said = [
    f"{gain.mean():+.1f} points in {name} (seeds: "
    f"{gain.min():+.1f} to {gain.max():+.1f})"
    for name, gain in worth.items()
]
Markdown(
    "**A decoder does not help.** Adding one changes Acc@1 (taken before "
    f"rounding) by {' and by '.join(said)}."
)

# %% tags=["hide-input"]
gain = worth["PGT"]
more = 100 * (decoded.parameters / plain_pgt.parameters - 1)
no_gain = gain.mean() < 2 * gain.std() / len(gain) ** 0.5
one_row = trained(window).log_probs.shape[0] == len(window)

judge = section("why no decoder")
judge("task", log_probs.ndim == 2, "many words", "one place")
judge("output", one_row, "as long as it likes", "fixed")
judge("teaching", texts.given.shape[1] > 1, "needs the true previous word",
      "direct", "until somebody asks for two places",
      condition=True)  # fmt: skip
judge("inference", argmax_agrees, "beam search", "argmax")
judge("unnecessary", no_gain,
      f"{gain.mean():+.1f} points, {more:+.0f} % parameters", "",
      "for one step of decoder in PGT; three seeds on our town",
      condition=True)  # fmt: skip
verdicts("why no decoder", shown=("if", "false"))

# %% [markdown]
# ## Why several embeddings?
#
# "*When* is as important as *what*." Two measurements test it: the ablations of [chapter 14](14_ablations.ipynb),
# and the kernel of [chapter 4](04_baselines.ipynb), with its clock and without. We read the claim strictly: the clock
# should add as much to the kernel's accuracy as the kernel reaches without it.

# %%
CITY = {"data": "city", "protocol": "exact", "model": "pgt"}
full = CITY | {"variant": "full"}
WITHOUT = {"no_time": "no hour", "no_weekday": "no weekday"}
cuts = {
    name: ablations.difference(CITY | {"variant": v}, full)
    for v, name in WITHOUT.items()
}
kernel = ContextKernel().fit(data.train).choose(data.valid)
timed, timeless = (
    100 * np.mean(gains(evaluate(one, data.test))["acc@1"])
    for one in (kernel, replace(kernel, clock=0.0))
)
print(f"kernel: {timed:.1f} % Acc@1; without its clock {timeless:.1f} %")
signed = [(f"{m:+.1f}", f"{low:+.1f} to {high:+.1f}")
          for m, low, high in cuts.values()]  # fmt: skip
columns = ["PGT, change of Acc@1, points", "95 % interval"]
pd.DataFrame(signed, index=list(cuts), columns=columns)

# %% tags=["hide-input"]
only_places = trainings.loc["summarizer on windows"]
lost = [f"{name}: {mean:+.1f}" for name, (mean, _, _) in cuts.items()]
ahead = plain_pgt["acc@1"] > only_places["acc@1"]

judge = section("why several embeddings")
judge("information", tables == 7, "words", "place, person, time")
judge("semantics", ahead, f"Acc@1 {only_places['acc@1']:.1f} %, places alone",
      f"{plain_pgt['acc@1']:.1f} %", "accuracy is compared; the models "
      "differ in more than their inputs", condition=True)  # fmt: skip
judge("when is as important as what", timed - timeless >= timeless, "",
      "; ".join(lost), "changes of Acc@1, points. The kernel keeps "
      f"{timeless:.1f} of its {timed:.1f} % without its clock")  # fmt: skip
verdicts("why several embeddings", shown=("if", "false"))

# %% [markdown]
# **Taking the hour out of PGT costs nothing that we can measure.** [Chapter 20](20_contextual_pointer.ipynb) asks why
# the kernel is right more often than PGT.
#
# ## Why position from the end?
#
# "Recent visits are more predictive than older ones." How often is the next place that of
# the last visit, of the one before, and so on?

# %%
everything = data.test.batch(np.arange(len(data.test)))
same = everything.location == everything.target[:, None]  # (B, L)
at = everything.position_from_end  # (B, L)
returns = {p: 100 * float(same[at == p].float().mean()) for p in range(1, 18)}
returns = pd.Series(returns, name="share")
returns = returns.rename_axis("position from the end")
older = returns.loc[3:]
trend = float(np.corrcoef(returns.index, returns)[0, 1])
between = f"{older.min():.0f} to {older.max():.0f} %"

# %% tags=["hide-input"]
counted = window.position_from_end[0].tolist()
judge = section("why position from the end")
judge("counting", counted[-1] == 1, "", f"{counted[:3]} … {counted[-2:]}",
      "1 is the last visit")  # fmt: skip
judge("recent is predictive", trend < -0.5, "",
      f"{returns[1]:.0f} %, {returns[2]:.0f} %, then {between}",
      "on our town, from the last visit backwards")  # fmt: skip
verdicts("why position from the end", shown=("if", "false"))

# %% [markdown]
# Few people go on to the place where they already are, so the last visit has a low share. (Each share counts only
# windows with so many visits.) The rule that moves the people does weigh recent visits more
# ([chapter 12](12_position_bias.ipynb)). The verdict is about these shares, which do not show it.

# %% [markdown]
# ## The summarizer's parts in PGT
#
# What does PGT lose with the summarizer's encoder, its attention, or its memory of what was attended to?
# (For the memory, `CoveragePointer` first lets each earlier visit ask as if it were the last, and adds up their
# attention.) And what if no visit may attend to later ones? The table has the change of Acc@1 in points, mean of the
# five seeds of [chapter 19](19_improvements.ipynb). The 95 % intervals, over people and seeds, are widened until
# all four of a column hold at once:

# %% tags=["hide-input"]
cells = {n: [change_of(e, v) for v in SWAPS] for n, e in changes.items()}
pd.DataFrame(cells, pd.Index(SWAPS.values(), name="PGT with"))

# %% [markdown]
# Where an interval contains zero, these data cannot say whether the part matters.

# %% [markdown]
# ## The count

# %%
rows = pd.DataFrame(ledger)
verdict = pd.Categorical(rows.verdict, ["true", "if", "false"])
by_table = pd.crosstab(rows.table, verdict)
by_table.rename_axis(columns="verdict")

# %% tags=["hide-input"]
tally = by_table.sum()
wrong = rows[rows.verdict == "false"]
falsified = [f"*{r.row}* in “{r.table}”" for r in wrong.itertuples()]
why = rows.table.str.startswith("why")
plain = rows.verdict.eq("true").groupby(why).agg(["sum", "size"])
QUIZ = {
    "no unknown places": "unknown words",
    "parallel": "parallel",
    "faster": "training speed",
    "an LSTM has gradient issues": "far visits",
    "attention weights make it interpretable": "interpretable",
    "no decoder needed": "unnecessary",
}
found = rows.set_index("row").verdict
asked = {}  # claims by verdict
for claim, row in QUIZ.items():
    asked.setdefault(found[row], []).append(f"*{claim}*")
asked = [f"**{v}**: {', '.join(of)}" for v, of in asked.items()]
Markdown(
    f"Of {len(ledger)} rows **{tally['true']}** are true, **{tally['if']}** "
    "hold under a condition that is not written down, and "
    f"**{tally['false']}** are false: {'; '.join(falsified)}. Of "
    f"{plain['size'][False]} rows that describe code, "
    f"{plain['sum'][False]} hold as they stand; of {plain['size'][True]} "
    f"that give a reason, {plain['sum'][True]}. This is a tally, not a "
    "measurement.\n\n"
    f"The claims named at the start: {'; '.join(asked)}."
)

# %% [markdown]
# All rows, with the cells that were compared ([one page](https://where-next-book.github.io/where-next/book/documents.html)
# says which code and which chapter answer each):

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show all rows", "code_prompt_hide": "Hide all rows"}
for title in by_table.index:
    display(verdicts(title, shown=("true", "if", "false")))

# %% [markdown]
# ## What to remember
#
# - Both models copy, generate and mix. Their gates have opposite meanings: $g = 1 - p_\text{gen}$.
# - *Parallel* is about depth, not about work.
# - An untrained LSTM hands on little of old visits. How little depends on its forget gate.
# - *All locations known* is false. PGT can copy a place that training never showed, as long as the place has an id.
# - Believe a row of a comparison only after you have seen the measurement that could have made it false.
#
# ## Exercises
#
# **Exercise 1** (quick). A colleague reads $p_\text{gen} = 0.9$ off the summarizer's figure and concludes that the
# network copies nine words in ten. What is wrong? Which share of the probability comes from copying in the summarizer,
# and which would it be in PGT with a gate of $g = 0.9$?

# %% tags=["try"]
from wherenext.exercises import check

in_summarizer, in_pgt = ..., ...  # shares, 0 to 1
check.exercise("17.1", [in_summarizer, in_pgt])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("17.1", [1 - 0.9, 0.9])
# p_gen weighs generating, so nine tenths come from the vocabulary. g = 0.9
# would mean what the colleague says, or nearly: a gate is a weight, not a
# count.

# %% [markdown]
# **Exercise 2** (medium). From which length on does a Transformer of *one* layer do more work than a BiLSTM with
# $D/2$ units in each direction, if the feed-forward network is $2D$ wide? Work it out with pencil, then check it with
# `side_by_side.work`.

# %% tags=["try"]
from_visits = ...  # the smallest number at which it does more
check.exercise("17.2", from_visits)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# A BiLSTM layer: 2 directions, 4 gates, D / 2 units that see D + D / 2
# numbers: 6 D² a visit. A Transformer layer: 4 D² for the projections,
# 2 L D for the attention, 4 D² for the feed-forward network.
# 8 D² + 2 L D is larger than 6 D² at every length: from one visit on.
check.exercise("17.2", 1)
one_layer = ModelConfig(**sizes, n_layers=1)
for n in (1, 18, 400):
    more, less = (
        side_by_side.work(kind, n, one_layer)
        for kind in ("transformer", "bilstm")
    )
    print(f"{n} visits: {more:,} against {less:,}")
    assert more > less

# %% [markdown]
# **Exercise 3** (longer). Time both encoders on your machine, for 18 and 200 visits and 16 windows, and print the
# ratio. If you have a graphics card, move encoder and input there. Which encoder is faster?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
for n_visits in (18, 200):
    spent = {}
    for kind in ("bilstm", "transformer"):
        step = side_by_side.encoder_step(kind, n_visits, 16, config)
        spent[kind] = side_by_side.seconds(step, repeats=3)
    times = spent["transformer"] / spent["bilstm"]
    print(f"{n_visits} visits: Transformer / BiLSTM {times:.1f}")
# `seconds` counts processor time; for a graphics card use
# `time.perf_counter` and `torch.cuda.synchronize`. The ratio differs from
# machine to machine, and so from the table.

# %% [markdown]
# **Exercise 4** (project). "Until somebody asks for two places." Predict the next *two* places in two ways: once
# with PGT asked twice, its first answer appended to the window; once with a PGT that is trained on the place after
# next. Which is right more often about the second place, and why is it not enough to append a place?

# %% [markdown]
# <details class="solution"><summary>Solution 4</summary>
#
# Keep the windows and change only the answer: take `data.train.batch(rows)` and `replace` its `target` by the location
# one row after the target's, `data.train.features[0, data.train.target[rows] + 2]` (column 0 is padding). Leave out
# rows where there is no such visit or it belongs to somebody else. A subclass of `Windows` that overrides `batch` in
# this way can be given to `fit`. Compare Acc@1 of the second place.
#
# To append a visit you need more than its place: a time of arrival, a weekday and a duration. None of them is predicted,
# so you have to invent them, and the errors add up.
#
# </details>

# %% [markdown]
# **Next:** [Temporal sets](18_temporal_sets.ipynb), a cousin that predicts several things at once.
