# %% [markdown]
# # Evidence: the relatives
#
# What stands behind [The original: a summarizer](16_summarizer.ipynb), [Side by side](17_side_by_side.ipynb) and
# [Sets over time](18_temporal_sets.ipynb): all rows of their measurements, and the intervals.

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
# @title Imports and results
from collections import Counter

import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from wherenext import city, side_by_side
from wherenext.comparison import compare
from wherenext.figures import COPIED, GENERATED, MUTED, show
from wherenext.relatives.improvements import improved
from wherenext.relatives.summarizer import masked_softmax, renormalised_softmax
from wherenext.relatives.temporal_sets import (
    HALF_LIVES,
    KS,
    MEASURES,
    VARIANTS,
    Personal,
    chosen,
    daily_places,
    evaluate,
)
from wherenext.results import read_results
from wherenext.summaries import (
    SENTENCES,
    first_is_longest,
    sentence,
    write_diaries,
)
from wherenext.walkthrough import story

from pgt.checkpoint import load_model, shipped
from pgt.config import ModelConfig
from pgt.windows import prepare

torch.set_num_threads(1)
town = city.load()
summaries = read_results("summarizer")
swapped = read_results("improvements")
baskets = read_results("temporal_sets")

# %% [markdown]
# ## Summaries: all rows
#
# With the weights of the chapter's network, the package's `PointerGenerator` has the same loss. The table has the mean over
# three seeds and their standard deviation; with Adagrad, the optimizer of the paper, one seed and the same few
# steps. *Trained longer* is five times as many. *First words* is a rule that prints the beginning of the diary. **ROUGE**
# ([Lin, 2004](https://aclanthology.org/W04-1013)) counts the words (1), pairs of words (2) or words in the same order (L) that
# two summaries share, divided by their mean length. *Names right* is the share of words outside the
# vocabulary that are right, *triples repeated* the share of three-word sequences that the summary has already used, *all
# right* the share of summaries without a mistake. ROUGE hardly notices a mistake.

# %% tags=["hide-input"]
# @title Scores of summaries
columns = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "unknown_right": "names right",
    "repeated_3": "triples repeated",
    "exact": "all right",
}
rows = summaries.rows.assign(search=summaries.rows.search.fillna("none"))
rows["what"] = rows.what.replace({"reference": "the true summary"})


def spread(values):
    """Mean over seeds, and their standard deviation if there are several."""
    mean = f"{values.mean():.1f}"
    return mean if len(values) == 1 else f"{mean} ± {values.std():.1f}"


by_model = rows.groupby(["what", "search"], sort=False)[list(columns)]
by_model.agg(spread).rename(columns=columns)

# %% [markdown]
# Sequences of words that a summary repeats, in %, greedy:

# %% tags=["hide-input"]
# @title Repeated sequences, by their length
POINTER, COVERED = "pointer-generator", "pointer-generator, coverage"
greedy = rows[rows.search != "beam"].groupby("what").mean(numeric_only=True)
lengths = {f"repeated_{n}": f"{n} words" for n in (1, 2, 3, 4)}
lengths["repeated_1"] = "1 word"
among = [POINTER, COVERED, "the true summary"]
greedy.loc[among, list(lengths)].rename(columns=lengths).round(1)

# %% [markdown]
# Coverage adds a penalty to the loss (exercise 2 of the chapter), and in equation (16.3) $w_C C_i^t$ inside the $\tanh$. It
# lowers these numbers a little; but each of the four sentences is right less often on average, and ROUGE-2 falls with each seed.
# Our guess: coverage also penalizes what does no harm, such as the full stops at which words that are generated look. Whether
# fewer summaries name a *place* twice depends on the seed:

# %% tags=["hide-input"]
# @title A place comes twice, % of summaries, by seed
by_seed = rows[rows.search == "greedy"].pivot_table("place_twice", "what", "seed")
by_seed = by_seed.loc[[POINTER, COVERED]].round(1).rename_axis(None)
by_seed.set_axis(["first seed", "second", "third"], axis=1)

# %% [markdown]
# Beam search follows several drafts at once. Here it changes little.
#
# ## Summaries: sentence by sentence
#
# How often is each sentence right as a whole? The tables have the mean of three seeds, with the lowest and the highest in
# brackets. *No pointer* knows all words of training. Beside the networks stands *a rule*. For the first and the fourth sentence
# it is the most frequent sentence of training. For the second and the third it is given the places and which of them are new, and
# takes the first place of the diary for the longest stay. So its third sentence is right just when its second is.

# %% tags=["hide-input"]
# @title Sentences that are right as a whole, in %
diaries = write_diaries(town)
learned = diaries.words()
names = [sentence(d.summary, SENTENCES.index("mostly")) for d in diaries.test]
never = np.array([any(word not in learned for word in name) for name in names])
n_never = sum(never)
n_people = len({diaries.test[k].user_id for k in np.flatnonzero(never)})


first = 100 * np.array([first_is_longest(d) for d in diaries.test])
by_rule = {"mostly": first.mean(), "also": first.mean()}
by_rule |= {"mostly_met": first[~never].mean(), "mostly_never": first[never].mean()}
for name in ("days", "errands"):
    k = SENTENCES.index(name)
    told = [" ".join(sentence(d.summary, k)) for d in diaries.train]
    asked = [" ".join(sentence(d.summary, k)) for d in diaries.test]
    ((usual, _),) = Counter(told).most_common(1)
    by_rule[name] = 100 * np.mean([text == usual for text in asked])
heads = {
    "days": "first: how many days, how full, new",
    "mostly": "second: the longest stay",
    "mostly_met": "second, its name met",
    "mostly_never": "second, its name never met",
    "also": "third: the other places",
    "errands": "fourth: count of errands",
    "exact": "the whole summary",
}
ALL, LONGER = "sequence to sequence, all words", ", trained longer"
single = rows[rows.search != "beam"]
of_met = (len(never) * single.mostly - n_never * single.mostly_never) / (len(never) - n_never)
seeds = single.assign(mostly_met=of_met).groupby("what")[list(heads)]
low, means, high = seeds.min(), seeds.mean(), seeds.max()


def beside_the_rule(models):
    """Mean, lowest and highest of the seeds, and what the rule gets."""
    table = pd.DataFrame(index=list(heads))
    for what, head in models.items():
        three = zip(means.loc[what], low.loc[what], high.loc[what], strict=True)
        table[head] = [f"{m:.0f} ({a:.0f} to {b:.0f})" for m, a, b in three]
    table["a rule"] = [f"{by_rule[name]:.0f}" if name in by_rule else "" for name in heads]
    return table.rename(heads)


beside_the_rule({ALL: "no pointer", POINTER: "pointer", COVERED: "pointer, coverage"})

# %% [markdown]
# The same without coverage, after {{ summaries.header["longer"] }} times as many steps:

# %% tags=["hide-input"]
# @title The same, trained longer
beside_the_rule({ALL + LONGER: "no pointer", POINTER + LONGER: "pointer"})

# %% [markdown]
# - **Training longer** makes the pointer's lead smaller where names are met, but does not close it. Where the name is never met,
#   it stays. At whole summaries the lead grows.
# - **Names never met** are right a little more often than others. Do not read them as easier to copy: only {{ n_never }}
#   diaries of {{ n_people }} people have one, and theirs are easier. The rule is right in
#   {{ by_rule["mostly_never"]:.0f }} % of them, and in {{ by_rule["mostly_met"]:.0f }} % of the others.
# - **Lists take longer than single places.** At the third sentence the rule beats the network with a pointer, until that is
#   trained longer.
# - **Where nothing can be copied,** the pointer buys nothing at first: errands are right about as often without it.

# %% [markdown]
# ## Mask before the softmax, or after it
#
# The code of the original takes the softmax over everything, sets padding to zero, and divides by what is left. PGT, and the
# package's summarizer, put $-\infty$ at padding first. With $m_i$ for 1 at a word and 0 at padding, both are the same:
#
# $$
# \frac{m_i\, e^{s_i} / \sum_j e^{s_j}}{\sum_j m_j\, e^{s_j} / \sum_j e^{s_j}}
# = \frac{m_i\, e^{s_i}}{\sum_j m_j\, e^{s_j}} .
# $$
#
# Equal on paper is not equal in a computer. If padding scores about a hundred above every word, the first softmax leaves
# nothing for the words, and masking last divides zero by zero:

# %% tags=["hide-input"]
# @title Two words and padding with a high score
padding = torch.tensor([False, False, True])
orders = {"mask first": masked_softmax, "mask last": renormalised_softmax}
cells = {}
for high in (0.0, 200.0):
    scores = torch.tensor([0.0, 1.0, high])
    for name, rule in orders.items():
        shares = rule(scores, padding).numpy().round(2)
        said = "not a number" if np.isnan(shares).any() else str(shares)
        cells[name, f"padding scores {high:.0f}"] = said
pd.Series(cells, name="weights").unstack().rename_axis(None)

# %% [markdown]
# ## Part by part: seven more rows
#
# They belong to the table of [Side by side](17_side_by_side.ipynb). The summarizer's *context* is the weighted sum that its
# attention makes.
#
# | | the summarizer | PGT |
# |---|---|---|
# | reads | at most 400 words | a week's visits, and who made them |
# | answers | at most 100 words | 1 list of places |
# | embedding | 1 table, 128 numbers a word | 7 tables, 208 numbers, projected to 64 |
# | order | in the recurrence | sinusoid, position from the end, days ago, position bias |
# | generator sees | output and context, 768 numbers | the last visit's encoding, 64 numbers |
# | gate sees | these, cell and input, 1,152 numbers | the last visit's encoding, 64 numbers |
# | knows | 50,000 words | the places of the training days |
#
# ## Both encoders: work and time
#
# PGT's encoder, two Transformer layers, divided by one layer of a BiLSTM: 2 means twice as much. *Work* counts
# multiplications; masks and softmax, which a Transformer does for every *pair* of visits, are left out. *Time* is that of a
# training step, on one core. Each call has a fixed cost, which counts in a small batch.

# %% tags=["hide-input"]
# @title Transformer / BiLSTM, by visits and batch
measured = read_results("side_by_side").rows.query("table == 'encoder'")
measured = measured.astype({"length": int, "batch": int})
steps = measured.pivot_table("milliseconds", "length", ["model", "batch"])
cost = steps["transformer"] / steps["bilstm"]
cost.columns = [f"time, batch of {size}" for size in cost]
sizes = ModelConfig(n_locations=9, n_users=2)  # work depends on neither
work = [
    side_by_side.work("transformer", n, sizes)
    / side_by_side.work("bilstm", n, sizes)
    for n in cost.index
]
cost.insert(0, "work", work)
cost.map("{:.1f}".format).replace("nan", "").rename_axis("visits")

# %% [markdown]
# The Transformer is the slower one in every cell. (Where none is given, none was measured.)
#
# ## The parent's parts in PGT
#
# The table of [Side by side](17_side_by_side.ipynb), with ten guesses beside the first: the change in points, mean of five
# seeds, with 95 % intervals over people and seeds, widened until all four of a column hold at once. *Coverage*: each earlier
# visit asks the pointer, too, and what all of them gave to a visit, times a learned number, joins its score. *Looks back
# only* is a causal mask in the encoder.

# %% tags=["hide-input"]
# @title PGT with one part of the summarizer
SWAPS = {
    "BiLSTM encoder": "bilstm",
    "additive attention": "additive",
    "coverage": "coverage",
    "looks back only": "causal",
}
with_part = {n: {"model": "improved", "variant": v} for n, v in SWAPS.items()}
plain = {"model": "improved", "variant": "plain"}
cells = {}
for name in ("city", "GeoLife"):
    for metric in ("Acc@1", "Acc@10"):
        where = {"data": name.lower(), "metric": metric.lower()}
        found = compare(swapped, with_part, plain, draws=4000, **where).table()
        cells[name, metric] = [
            f"{row['mean']:+z.2f} [{row.low_all:+z.2f}, {row.high_all:+z.2f}]"
            for _, row in found.iterrows()
        ]
pd.DataFrame(cells, pd.Index(SWAPS, name="PGT with"))

# %% [markdown]
# The BiLSTM is clearly behind at the first guess in the town, and clearly ahead with ten guesses on GeoLife.
#
# A causal mask takes nothing from what PGT reads. Gate, generator and the pointer's query read the last visit, and the last
# row of the mask is all zeros. In the first layer only the earlier visits change. With the shipped weights on one window:

# %% tags=["hide-input"]
# @title First layer, with a causal mask and without
data = prepare(town.visits, protocol="exact")
shipped_pgt, _ = load_model(shipped("city"))
causal = improved(shipped_pgt.config, data.train, "causal")
causal.load_state_dict(shipped_pgt.state_dict())
window = data.test.batch([story(data.test)])
with torch.inference_mode():
    free, masked = (
        model.eval()(window).self_attention[0][0].mean(0)
        for model in (shipped_pgt, causal)
    )
later = 100 * float(free.triu(1).sum() / len(free))
print("last row the same:", torch.allclose(free[-1], masked[-1]))
print(f"without the mask, {later:.0f} % of the attention goes to later visits")

# %% [markdown]
# ## Are recent visits more predictive?
#
# That is a reason given for counting positions from the end. How often is the next place that of the last visit, of the one
# before, and so on, in % of the test windows that have so many visits?

# %% tags=["hide-input"]
# @title Share of windows whose target is the place at a position
everything = data.test.batch(np.arange(len(data.test)))
same = everything.location == everything.target[:, None]  # (B, L)
at = everything.position_from_end  # (B, L)
shares = [100 * float(same[at == p].float().mean()) for p in range(1, 13)]
shares = pd.DataFrame([shares], ["%"], range(1, 13)).round(0).astype(int)
shares.rename_axis(columns="position from the end")

# %% [markdown]
# Few people go on to the place where they already are, so the last visit has the lowest share. From the third on the shares
# hardly fall. (The rule that moves the people does weigh recent visits more: [chapter 12](12_position_bias.ipynb).)
#
# ## Sets over time: the counts look ahead
#
# DNNTSP's mask hides later sets, but the counts of equation (18.1) run over the whole history. So a state knows a little of
# later sets all the same. Here that is harmless, since all of the history lies before the set to be predicted. If every
# state were trained to predict the set after its own, the counts would contain that set already: a leak.
#
# ## Sets over time: should old sets count less?
#
# With `Personal(half_life=…)`, a set that lies one half-life further back counts half as much. Here the half-life is chosen
# on the town's validation days, and the test days are scored:

# %% tags=["hide-input"]
# @title Personal, then popular, with a half-life
days = daily_places(town.visits, days=7)
fading = chosen(days["train"], days["valid"])
before, after = (
    evaluate(rule.fit(days["train"]), days["test"])["ndcg@10"].mean()
    for rule in (Personal(), fading)
)
print(f"half-life, in sets: {fading.half_life}, of {HALF_LIVES}")
print(f"change of NDCG@10: {100 * (after - before):+.2f} points")

# %% [markdown]
# Its lead on the validation days was too small to trust.
#
# ## Baskets: longer lists, and the paper's figures
#
# Means over five seeds, on DC (Dunnhumby-Carbo): 42,905 baskets of 9,010 people, with 217 products. The people tested are
# others than those trained on. The file is in [the paper's repository](https://github.com/yule-BUAA/DNNTSP); we keep only
# scores. (It is as the network's authors prepared it. Their [later script](https://github.com/yule-BUAA/CTTSP) drops rare
# products, which leaves more baskets with a single element.) To measure again, set the environment variable `PGT_DC` to the
# file's path. *Personal frequency* stops after the few elements of a history. Others found counting hard to beat, too
# ([Li et al., 2023](https://arxiv.org/abs/2109.14233); [Hu et al., 2020](https://arxiv.org/abs/2006.00556)).

# %% tags=["hide-input"]
# @title Recall, NDCG and hit ratio
dc = baskets.rows.query("data == 'dc' and split == 'test'")
there = baskets.rows.query("data == 'city days' and split == 'test'")
LABELS = {
    ("popular", "full"): "popular",
    ("personal", "own"): "personal frequency",
    ("personal", "backoff"): "personal, then popular",
    ("dnntsp", "full"): "DNNTSP",
    ("dnntsp", "informed"): "informed",
}
metrics = [f"{name}@{k}" for k in KS for name in MEASURES]
means = dc[dc.group == "all"].groupby(["model", "variant"])[metrics].mean()
board = means.loc[list(LABELS)].set_axis(LABELS.values())
paper = {  # at ten, from the paper's table of results
    "PersonalTOP, the paper's (not verified)": (41.04, 31.74, 50.31),
    "DNNTSP, the paper's (not verified)": (46.15, 32.60, 56.24),
}
paper = pd.DataFrame(paper, index=metrics[:3]).T
pd.concat([board.iloc[:, :3], paper]).round(2)

# %% tags=["hide-input"]
# @title Lists of 20, 30 and 40
board.iloc[:, 3:].T.round(1)

# %% [markdown]
# The two rows of the paper are *not verified*. They come from notes, we could not check them against [Yu et al.
# (2020)](https://arxiv.org/abs/2006.11483), and nothing here rests on them. One check speaks for them: the same notes have
# the paper's row for global popularity, 16.18, 8.80 and 22.74, which is our row *popular* to the last digit. Their
# *PersonalTOP* should equal our *personal frequency*. It is higher, and we cannot explain this.
#
# Two settings, the learning rate and the patience, were changed after we had seen test scores. All variants share the final
# learning rate, that of the authors' code, so the comparison among networks stands. But the test set is no longer untouched,
# and the choice may flatter the networks against counting. The patience of five is ours: the authors train a fixed number of
# epochs.
#
# If the paper's row of DNNTSP is right, more than half of the gap between ours and counting is our rebuilding.
#
# ## Baskets: each part taken out, or told more
#
# | network | how it differs from DNNTSP |
# |---|---|
# | no graph | an element does not see its company |
# | no attention | sets do not look at each other |
# | no time | no attention, and the mean over sets instead of the weighted sum |
# | no gate | an element that was seen is scored from the history alone |
# | mean heads | heads are averaged, not put side by side |
# | presence | knows which sets an element was in |
# | informed | knows that, and how long ago it was |

# %% tags=["hide-input"]
# @title Figure 1: NDCG@10 against personal, then popular


def lead(variant, group="lead", metric="ndcg@10", rows=dc):
    """A difference in points, and the ends of its interval."""
    own = rows[(rows.model == "dnntsp") & (rows.variant == variant)]
    own = own.set_index("group")[metric]
    return own[group], own[f"{group} low"], own[f"{group} high"]


def label(variant):
    """The network's name here."""
    return "DNNTSP" if variant == "full" else variant.replace("_", " ")


figure, axes = plt.subplots(figsize=(7.0, 1.2 + 0.42 * len(VARIANTS)))
for y, variant in enumerate(VARIANTS):
    mean, low, high = lead(variant)
    knowing = variant in ("informed", "presence")
    colour = COPIED if knowing else GENERATED
    axes.hlines(y, low, high, color=colour)
    axes.plot(mean, y, "o" if knowing else "D", color=colour)
axes.axvline(0, color=MUTED, lw=1)
axes.set_yticks(range(len(VARIANTS)), map(label, VARIANTS))
axes.invert_yaxis()
axes.set_xlabel("NDCG@10 against personal, then popular (points)")
show(
    figure,
    alt="Differences to counting for eight networks, with intervals. Those "
    "of two networks that know presence hold zero, the others lie below.",
    caption="DC baskets: mean and 95 % interval over people and seeds. "
    "Dots: networks that know which elements were in each set.",
)

# %% tags=["hide-input"]
# @title Each variant against DNNTSP


def in_points(mean, low, high):
    return f"{mean:+z.1f} [{low:+z.1f}, {high:+z.1f}]"


READING = {True: "better", False: "worse"}
compared = {}
for v in list(VARIANTS)[1:]:
    mean, low, high = lead(v, "gain")
    word = "open" if low <= 0 <= high else READING[mean > 0]
    compared[label(v)] = [in_points(mean, low, high), word]
heads = ["NDCG@10 against DNNTSP, points", "the variant is"]
pd.DataFrame(compared, index=heads).T

# %% [markdown]
# *Open*: the interval holds zero. These are seven comparisons without a correction: do not build on one near zero. Without time
# and with the mean of heads it is better, so these parts may cost something, too. Presence alone gains as much as *informed*:
# its age adds nothing that we can see. Where a part can be taken out without loss, ask whether it had anything to work with: a
# graph has nothing to join where sets have one element, and a weight over time has nothing to weigh where an element's vectors
# are equal.
#
# With twenty to forty guesses *informed* is above counting in some measures. But the nearest end of an interval lies close
# to zero, and nine measures were tried:

# %% tags=["hide-input"]
# @title Informed against counting, longer lists
found = {m: in_points(*lead("informed", metric=m)) for m in metrics[3:]}
pd.Series(found, name="points").to_frame()

# %% [markdown]
# ## Where sets have company
#
# Most baskets hold a single element. The city's days more often have several places. Three networks on both, five seeds, in
# points of NDCG@10, and in the last column of recall@10:

# %% tags=["hide-input"]
# @title Two data sets
compared = {}
for where, rows in {"baskets": dc, "city's days": there}.items():
    for v in ("full", "presence", "informed"):
        gains = [
            "" if v == "full" else in_points(*lead(v, "gain", m, rows))
            for m in ("ndcg@10", "recall@10")
        ]
        compared[where, label(v)] = [in_points(*lead(v, rows=rows)), *gains]
heads = ["against counting", "against DNNTSP", "recall, DNNTSP"]
compared = pd.DataFrame(compared, index=heads).T
alone = [rows[rows.group == "facts"].alone.iloc[0] for rows in (dc, there)]
lone_baskets, lone_days = alone
compared.rename_axis(["points", "network"])

# %% [markdown]
# Of the baskets {{ lone_baskets:.0f }} % hold a single element, of the city's days {{ lone_days:.0f }} %. Knowing which places
# were there helps less on the city's days, as one would expect if lone elements were the trouble. But the two data sets differ
# in more than that. And only on baskets are the networks that know presence level with counting. On the city's days *informed*
# gains more than presence alone, but the intervals overlap, so we cannot say whether the age helped; by recall neither gains
# anything that we can measure. (An end printed as +0.0 in these two columns lies just below zero.) Most of these days have
# edges, and we left out neither graph nor attention there, so they may matter.
#
# **What costs DNNTSP its points in the city?** After short runs on these test days had suggested it, we trained there without
# the gate, too, and with both: told the presence, and without the gate. Five seeds each, in points of NDCG@10. (The first two
# were trained anew, so they differ by a tenth or two from those above.) Without the gate most of the gap is gone, and told the
# presence, too, the network is level by recall:

# %% tags=["hide-input"]
# @title The city's days: the blind spot, the gate, and both
in_city = read_results("temporal_sets_town").rows.query("split == 'test'")
compared = {}
for v in ("full", "presence", "no_gate", "presence_no_gate"):
    gain = "" if v == "full" else in_points(*lead(v, "gain", rows=in_city))
    by_recall = in_points(*lead(v, metric="recall@10", rows=in_city))
    compared[label(v)] = [in_points(*lead(v, rows=in_city)), gain, by_recall]
heads = ["against counting", "against DNNTSP", "recall, counting"]
pd.DataFrame(compared, index=heads).T.rename_axis("network")
