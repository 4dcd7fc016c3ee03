# %% [markdown]
# # Side by side
#
# PGT has a parent that wrote summaries, the pointer-generator of [chapter 16](16_summarizer.ipynb). What did the child change,
# and why? Here are five reasons as one reads them, some of them in PGT's
# [design documents](https://where-next-book.github.io/where-next/book/documents.html). Which do you believe?
#
# 1. *Every place is known, so PGT needs no way to copy an unknown one.*
# 2. *A Transformer works in parallel, so it has less to do.*
# 3. *A Transformer trains faster than an LSTM.*
# 4. *An LSTM forgets old visits.*
# 5. *PGT needs no decoder.*
#
# *You will be able to* compare two pointer-generators part by part, and say of a reason for a design what measurement could
# prove it wrong. *You need* [The whole model](09_model.ipynb), [the summarizer](16_summarizer.ipynb) and
# [Ablations](14_ablations.ipynb). *It takes* twenty minutes to read and about a minute to run.
#
# > **In one sentence.** PGT keeps one equation, copy or generate and mix, and changes nearly every part around it. In the
# > simulated town, putting the old encoder back makes PGT's first guess worse; so does the old decoder, with each of three
# > seeds.

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
import pandas as pd
import seaborn as sns
import torch
from matplotlib import pyplot as plt
from wherenext import city, figures, side_by_side
from wherenext.comparison import compare
from wherenext.exercises import check
from wherenext.figures import flowchart, show
from wherenext.reach import reach
from wherenext.relatives import summarizer
from wherenext.results import read_results
from wherenext.walkthrough import story

from pgt.checkpoint import load_model, shipped
from pgt.config import ModelConfig
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
torch.set_num_threads(1)
data = prepare(city.load().visits, protocol="exact")
sizes = data.vocabulary.n_locations, data.vocabulary.n_users
config = ModelConfig(*sizes)  # PGT, with the package's default sizes

# %% [markdown]
# ## Part by part
#
# The parent ([See et al., 2017](https://arxiv.org/abs/1704.04368)) is made of *LSTMs*, which read step by step. On the left of
# Figure 17.1 two of them read a text. A third, the *decoder* ([chapter 16](16_summarizer.ipynb) calls it the writer), writes
# its summary. Each word goes back into it (the dashed arrow), and it looks at the text again. On the right PGT reads all
# visits at once, and the last one asks once.

# %% tags=["hide-input"]
# @title Figure 17.1: both data flows
COPIED, GENERATED, TRUTH = figures.COPIED, figures.GENERATED, figures.TRUTH
EXTRA, GATE, INK = figures.EXTRA, figures.GATE, figures.INK
FLOWS = {  # name: x, y, colour, and where its arrows lead
    "summarizer": {
        "words, one embedding": (0, 8, INK, "two LSTMs, from both ends"),
        "two LSTMs, from both ends": (0, 7, INK, "first state", "attention"),
        "first state": (1, 6, INK, "decoder"),
        "decoder": (1, 5, EXTRA, "attention", "state, context"),
        "attention": (-2.2, 4, COPIED, "state, context", "mixture"),
        "state, context": (1, 4, INK, "vocabulary", "gate"),
        "vocabulary": (2.3, 2.8, GENERATED, "mixture"),
        "gate": (0.3, 2.8, GATE, "mixture"),
        "mixture": (0.3, 1.4, TRUTH, "the next word"),
        "the next word": (0.3, 0.4, INK, "decoder"),
    },
    "PGT": {
        "visits, seven embeddings": (0, 8, INK, "projection, sinusoid"),
        "projection, sinusoid": (0, 7, INK, "Transformer layers"),
        "Transformer layers": (0, 6, INK, "the last visit", "pointer"),
        "the last visit": (1, 5, EXTRA, "pointer", "generator", "gate"),
        "pointer": (-2.4, 3.3, COPIED, "mixture"),
        "generator": (2.4, 3.3, GENERATED, "mixture"),
        "gate": (0.3, 3.3, GATE, "mixture"),
        "mixture": (0.3, 1.4, TRUTH, "one list of places"),
        "one list of places": (0.3, 0.4, INK),
    },
}
figure, panels = plt.subplots(1, 2, figsize=(7.4, 5.0))
for axes, (title, boxes) in zip(panels, FLOWS.items(), strict=True):
    flowchart(axes, boxes)
    axes.set_title(title)
show(
    figure,
    alt="Left, the summarizer: words, LSTMs, decoder, attention, gate and "
    "vocabulary, mixture, next word, and back to the decoder. Right, PGT: "
    "visits, Transformer, last visit, pointer, gate, generator, mixture.",
    caption="Both data flows, simplified: the summarizer's gate sees the "
    "decoder's input, too; the context also goes back. Olive: asks; blue: "
    "copies; orange: generates; purple: weighs both; green: the prediction.",
)

# %% [markdown]
# The sizes in the table are those of the paper and of our town's PGT.
#
# | | the summarizer | PGT |
# |---|---|---|
# | encoder | 1 layer of LSTMs, 256 numbers each way | 2 Transformer layers with 4 heads |
# | decoder | an LSTM, output and memory with 256 numbers each | none |
# | what asks | output and memory, 512 numbers, at each word | the last visit, 64 numbers, once |
# | attention | additive; coverage says where it has looked | scaled dot product, plus a position bias |
# | gate is | 1 layer; weight of *generating* | 2 layers; weight of *copying* |
# | unknown name | has an id while its text is read, in the extended vocabulary ([chapter 16](16_summarizer.ipynb)) | has an id (exact protocol) or is "unknown" (published; [chapter 3](03_windows.ipynb)) |
#
# ([The evidence](evidence_relatives.ipynb) has seven more rows.)
#
# One thing agrees: the mixture, equations (8.4) and (16.1). Only the gates are opposite: the summarizer's $p_\text{gen}$
# weighs generating, PGT's $g$ copying, so $g = 1 - p_\text{gen}$. Let both programs mix one window of trained PGT:

# %%
trained, _ = load_model(shipped("city"))  # the package's weights
window = data.test.batch([story(data.test)])  # the one of Part II
with torch.no_grad():
    out = trained(window)
ours = out.log_probs.exp()  # what PGT predicts
generated = out.generator_log_probs.exp()
# 0: no ids are lent to unknown words.
given = (generated, out.pointer_attention, window.location, 0)
theirs = summarizer.mixture(1 - out.gate, *given)  # 1 - g: generating
wrong = summarizer.mixture(out.gate, *given)  # the wrong way round
print(f"largest difference {(ours - theirs).abs().max():.0e}")
print(f"with the wrong gate {(ours - wrong).abs().max():.2f}")

# %% [markdown]
# With $1 - g$ the summarizer's program gives PGT's own probabilities. With $g$ as it is, probabilities are wrong by up to the
# second number.
#
# ## 1. Are all places known?
#
# *Every place is known, so PGT needs no way to copy an unknown one.* Known means seen in training. (By the exact protocol an
# unknown place has an id all the same, so it can be copied.) This is false if some
# targets of the test days are not known, and PGT gets them right by copying.

# %%
ranks = evaluate(trained, data.test)
ranks["right"] = gains(ranks)["acc@1"]  # 1: right at once
groups = ranks.groupby(["known", "in_window"]).right
groups = groups.agg(windows="size", right="sum")
groups.index = ["neither", "the window only", "training only", "both"]
groups["Acc@1 (%)"] = 100 * groups.right / groups.windows
share = 100 * groups.windows / len(ranks)
unknown, away = share.iloc[:2].sum(), share["training only"]
copied = groups["Acc@1 (%)"]["the window only"]
groups.astype({"right": int}).round(1).rename_axis(columns="target is in")

# %% [markdown]
# The upper two rows, {{ unknown:.0f }} % of all targets, are not known. And PGT has a way to copy those in the window, its
# pointer: it is right in {{ copied:.0f }} % of them. Both halves fail. **Sentence 1 is false.**
#
# Another {{ away:.0f }} % are places that training did show, outside the window (*training only*): the generator's own task,
# and PGT's first guess is never right there ([chapter 14](14_ablations.ipynb)).
#
# ## 2. Less to do?
#
# *A Transformer works in parallel, so it has less to do.* *Parallel* is about **depth**, the number of steps that must wait
# for each other: an LSTM needs one for each visit, a Transformer one for each layer. *Less to do* is about **work**, the
# multiplications in products of matrices. The sentence is false if the Transformer has more of them.
#
# PGT's encoder has two Transformer layers. Its rival is a *BiLSTM*: one LSTM reads from each end, each with
# $D/2$ numbers. For a window of $L$ visits, the multiplications a visit are
#
# - BiLSTM: two directions with four gates each. A gate multiplies a visit ($D$ numbers) and the output before ($D/2$) to get
#   $D/2$ numbers. That is $2 \cdot 4 \cdot \tfrac32 D \cdot \tfrac12 D = 6D^2$, whatever $L$ is.
# - *One* Transformer layer: $4D^2$ for query, key, value and output, $4D^2$ for a feed-forward network with $2D$ hidden
#   numbers, and $2LD$ to look at all visits.
#
# So even one layer has more to do. The table divides PGT's *two* layers by the BiLSTM. In a window of 18 visits, with $D =
# 64$, they have $2\,(8 + 2 \cdot 18 / 64) / 6$ times as much to do, which is 2.9. Time is that of a training step of the
# encoder alone, on one core, with 16 windows.

# %%
measured = read_results("side_by_side")
steps = measured.rows.query("table == 'encoder' and batch == 16")
steps = steps[steps.length.isin([5, 18, 100, 400])]
steps = steps.astype({"length": int}).pivot_table(
    "milliseconds", "length", "model"
)
cost = (steps["transformer"] / steps["bilstm"]).to_frame("time")
of = side_by_side.work
work = [of("transformer", n, config) / of("bilstm", n, config)
        for n in cost.index]
cost.insert(0, "work", work)
cost.round(1).rename_axis(None).rename_axis(columns="visits")

# %% [markdown]
# The Transformer has more work at every length: **sentence 2 is false.** It takes longer, too. (Why its time grows faster than
# its work, we did not measure.) But on one core parallel steps
# cannot pay; on a GPU they may.
#
# ## 3. Faster to train?
#
# *A Transformer trains faster than an LSTM.* A step takes longer, as we have just seen. But how many steps does it take? We
# trained PGT, and PGT with a BiLSTM as encoder, on our town and one core. The sentence is true here if PGT takes fewer seconds
# with every seed, false if with none, and open in between.

# %%
rows = measured.select(table="training")
runs = rows.groupby(["model", "variant"])
MODELS = {"full": "PGT", "with BiLSTM": "PGT with a BiLSTM"}
spent = runs[["epochs", "cpu_seconds"]].agg(
    lambda own: ", ".join(f"{n:.0f}" for n in own)
)
spent = spent.loc["pgt"].loc[list(MODELS)].rename(MODELS)
spent.columns = ["epochs", "seconds"]
spent.rename_axis(None).rename_axis(columns="three seeds")

# %% [markdown]
# Compare *seconds*, seed by seed. PGT takes fewer with two of the three, where it stops after far fewer epochs. **Sentence 3
# stays open**, the more so as one core cannot show what parallel steps bring.
#
# ## 4. Does an LSTM forget?
#
# *An LSTM forgets old visits.* How much does the last visit's encoding depend on each visit before it? The sentence is false
# if old ones count as much as recent ones.
#
# At each visit an LSTM multiplies its memory by numbers between 0 and 1, its **forget gate**: 1 keeps, 0 forgets. In PyTorch
# it starts near one half, so that after a few visits little is left. But a bias can open the gate (a bias of 1 to
# {{ gate_at[0]:.2f }}, of 4 to {{ gate_at[1]:.2f }}), and so can training. (Only the LSTM that reads forwards counts here: at
# the last visit, the other has read nothing else yet.)
#
# We measure dependence by a gradient: if one visit's vector moves a little, how far does the last visit's encoding move? Each
# of the 18 last visits gets its share of 100 %. On the left of Figure 17.2 the networks are untrained; for one of them you
# choose the bias of the forget gate. On the right are PGT's encoder and the BiLSTM in its place, trained.
#
# First one window, by hand. A gradient needs a single number, so the encoding is added up with random weights.

# %%
torch.manual_seed(0)
x = trained.embeddings(window).detach().requires_grad_()  # (1, L, D)
encoded, _ = trained.encoder(x, window.padding)
one = (encoded[0, -1] * torch.randn(x.shape[-1])).sum()  # the last visit's
(slope,) = torch.autograd.grad(one, x)  # (1, L, D)
moves = slope[0].norm(dim=-1).flip(0)  # the last visit first
print("shares, %:", *(100 * moves / moves.sum()).round().int().tolist())

# %% [markdown]
# `reach` does so for all test windows, and takes the mean.

# %%
forget_bias = 1.0  # @param {type:"slider", min:0, max:4, step:0.5}


# %%
def untrained(encoder):
    """PGT with this encoder, its weights drawn and nothing learned."""
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(config)
    model.encoder = encoder
    return model


gate_at = torch.tensor([1.0, 4.0]).sigmoid()
opened = side_by_side.encoder_of("bilstm", config)
summarizer.one_bias(opened.lstm)  # all biases 0, that of the forget gate 1
for name, numbers in opened.lstm.named_parameters():
    if "bias_ih" in name:  # a gate has two biases; the 1 is in this one
        numbers.data *= forget_bias  # the 1 becomes your number

# %% tags=["hide-input"]
# @title Figure 17.2: on which visits the last one's encoding depends
ENCODERS = {
    "BiLSTM": side_by_side.encoder_of("bilstm", config),
    "Transformer": side_by_side.encoder_of("transformer", config),
    f"BiLSTM, forget bias {forget_bias:g}": opened,
}
before = pd.DataFrame({"encoder": list(ENCODERS), "trained": False})
before["share"] = [
    100 * reach(untrained(e), data.test).numpy() for e in ENCODERS.values()
]
before["back"] = [range(1, 19)] * len(before)
after = read_results("reach").rows
after = after[after.trained.astype(bool)]
both = pd.concat([before.explode(["share", "back"]), after])
both = both.astype({"share": float, "back": int, "trained": bool})
figure, panels = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for axes, trained_too in zip(panels, (False, True), strict=True):
    some = both[both.trained == trained_too]
    how = {"hue": "encoder", "hue_order": ENCODERS, "errorbar": ("pi", 100)}
    sns.lineplot(some, x="back", y="share", ax=axes, **how)
    axes.set(title="trained" if trained_too else "untrained", yscale="log")
    axes.set(xlabel="position from the end (1 = last)", xticks=[1, 6, 12, 18])
panels[0].set_ylabel("share of the dependence (%)")
panels[0].get_legend().set_title("")
panels[1].get_legend().remove()
kept = after.groupby(["encoder", "back"])["share"].mean().unstack(0)
show(
    figure,
    alt="Two panels of curves over the position from the end. A BiLSTM falls "
    "steeply untrained and less steeply trained; a Transformer is level but "
    "for the last visit.",
    caption="Means over the test windows with 18 visits or more. Trained: "
    "three seeds; bands from the lowest to the highest.",
)

# %% [markdown]
# The trained BiLSTM depends on the last visit but one by {{ kept["BiLSTM"][2]:.0f }} %, and on the eighteenth by
# {{ kept["BiLSTM"][18]:.1f }} %. The curve falls all the way, with each of three seeds: **sentence 4 holds** for this LSTM,
# trained here. Training made the curve flatter, about as flat as a forget bias of one makes it from the start.
#
# The Transformer forgets nothing: its curve is level before the last visit, as attention reaches every visit in one step. But
# most of its encoding is the last visit itself (the axis is logarithmic), and each other visit gets
# {{ kept["Transformer"][2]:.0f }} %. On each of the eight visits before the last,
# the LSTM depends *more*, with every seed.
#
# > **Try it.** Raise the forget bias to 4. Does this LSTM still forget?
#
# <details class="solution"><summary>What we saw</summary>
#
# Hardly: its curve is nearly as level as the Transformer's, and higher. An LSTM *can* keep; trained here, it did not.
#
# </details>
#
# ## 5. No decoder?
#
# *PGT needs no decoder.* This is false if a decoder makes PGT better. So we put the parent's decoder into PGT and train it
# anew. In PGT the last visit's encoding asks the pointer, the generator and the gate. Now another vector asks. It is made in
# three steps:
#
# 1. The decoder's LSTM starts from the last visit's encoding. It makes one step, on a learned vector, since no word came
#    before.
# 2. The LSTM's output asks an attention over the encoded visits. Their mean, so weighted, is the context.
# 3. Output and context, side by side, ask the pointer, the generator and the gate. (In the parent one attention makes the
#    context and copies, too. Here the pointer copies, as before.)

# %% tags=["hide-input"]
# @title Table: without a decoder, and with it: Acc@1 (%) in the town, by seed
seeds = rows.pivot_table("acc@1", "seed", ["model", "variant"])
seeds = seeds.loc[rows.seed.unique()]  # in the order of the table above
parent = seeds["summarizer"].mean()
both = seeds["pgt"][["full", "with decoder"]].T.round(1)
both.columns = ["first seed", "second", "third"]
both.index = ["PGT", "PGT with a decoder"]
both

# %% [markdown]
# With a decoder, PGT is worse with each of three seeds. Can its parent do without one, too? We let it read the town's windows
# as texts in which each visit is a word, and write one word, the next place. Its Acc@1 is {{ parent["full"]:.1f }} % with its
# decoder, and {{ parent["no decoder"]:.1f }} % if the encoder's last state asks in its place. **Nothing speaks against
# sentence 5**, in one town and with three seeds.
#
# | sentence | verdict | because |
# |---|---|---|
# | 1. All places are known. | false | some are not, and the pointer copies them |
# | 2. Parallel means less to do. | false | more work at every length |
# | 3. It trains faster. | open | with two of three seeds, by fewer epochs |
# | 4. An LSTM forgets old visits. | holds here | its dependence falls with every visit, trained, too |
# | 5. No decoder is needed. | nothing against it | with one, PGT is worse with each seed |
#
# ## And the other two parts?
#
# No sentence speaks of their accuracy, but they can be put back, too: the *BiLSTM* in place of the Transformer layers, and
# *additive attention* in the pointer, in place of the product. The table has PGT's own Acc@1, a mean of five seeds (others
# have other means: [chapter 4](04_baselines.ipynb) takes ten). Below it stands what each part changes, in points, with 95 %
# intervals over people and seeds (a little wider than in [chapter 14](14_ablations.ipynb), so that these and two more in the
# evidence hold at once).

# %% tags=["hide-input"]
# @title Table: PGT with one part of its parent
swapped = read_results("improvements")
# The last two stand in the evidence; the intervals hold for all four.
SWAPS = ["bilstm", "additive", "coverage", "causal"]
with_part = {v: {"model": "improved", "variant": v} for v in SWAPS}
plain = {"model": "improved", "variant": "plain"}
cells = {}
for name in ("city", "GeoLife"):
    where = {"data": name.lower(), "draws": 4000}
    changes = compare(swapped, with_part, plain, **where).table()
    cells[name] = [
        f"{row['mean']:+z.2f} [{row.low_all:+z.2f}, {row.high_all:+z.2f}]"
        for _, row in changes.iterrows()
    ]
    cells[name].insert(0, f"{swapped.mean(**plain, data=name.lower()):.1f} %")
table = pd.DataFrame(cells, ["PGT", *SWAPS]).iloc[:3]
table.index = ["PGT itself", "BiLSTM encoder", "additive attention"]
table.rename(columns={"city": "town"})

# %% [markdown]
# Only one interval leaves out zero: the old encoder lowers Acc@1 in the town. But with *ten* guesses it is
# ahead on GeoLife ([the evidence](evidence_relatives.ipynb)). For additive attention the intervals are too wide to tell.
#
# ## What to remember
#
# - Both models copy, generate and mix. Their gates have opposite meanings: $g = 1 - p_\text{gen}$.
# - Of the five reasons the first two are false, the third is open, the fourth holds here, and nothing speaks against the fifth.
#   ({{ unknown:.0f }} % of all targets are not known; *parallel* is about depth, not about work.)
# - An LSTM forgets gradually, and learns how fast: on the last visit but one it depends by {{ kept["BiLSTM"][2]:.0f }} %, on the
#   eighteenth by {{ kept["BiLSTM"][18]:.1f }} %. A Transformer reaches every visit in one step.
# - Ask of each reason for a design what measurement could prove it wrong, *before* you measure.
#
# ## Exercises
#
# **Exercise 1** (quick). A colleague sees a mean $p_\text{gen}$ of 0.9 in the summarizer and concludes: it copies nine
# words in ten. Which share of the probability comes from copying there, and which in PGT with $g = 0.9$?

# %% tags=["try"]
in_summarizer, in_pgt = ..., ...  # shares, 0 to 1
check.exercise("17.1", [in_summarizer, in_pgt])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
check.exercise("17.1", [1 - 0.9, 0.9])
# p_gen weighs generating. g = 0.9 would mean what the colleague says, or
# nearly: a gate is a weight, not a count.

# %% [markdown]
# **Exercise 2** (medium). A BiLSTM with $D/2$ units each way makes $6D^2$ multiplications a visit. Take the *attention* of one
# Transformer layer, without its feed-forward network: four projections, the scores, and the weighted means. From how many
# visits on does it make more, with $D = 64$?

# %% tags=["try"]
from_visits = ...  # the smallest number at which it does more
check.exercise("17.2", from_visits)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# With L visits attention makes, for each visit, 4 D² for the projections,
# L D for the scores and L D for the weighted mean. 4 D² + 2 L D is larger
# than 6 D² if L is larger than D.
check.exercise("17.2", 65)

# %% [markdown]
# **Exercise 3** (quick, on paper). A window has 36 visits, and $D = 64$. How many steps that must wait for each other does the
# BiLSTM need? And PGT's encoder? How many times as much work has PGT's encoder?

# %% tags=["try"]
bilstm, transformer, work = ..., ..., ...
check.exercise("17.3", [bilstm, transformer, work])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
work = 2 * (8 + 2 * 36 / 64) / 6  # two layers
check.exercise("17.3", [36, 2, work])
# The two directions run side by side. Depth is where a Transformer wins.

# %% [markdown]
# **Next:** [Sets over time](18_temporal_sets.ipynb), a cousin that predicts several things at once.
