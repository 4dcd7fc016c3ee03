# %% [markdown]
# # Open vocabulary
#
# Somebody starts a new job, in an office that training never showed. The pointer of [chapter 7](07_pointer.ipynb) could copy
# such a place, but only because we had given it an id and a row before training. How can a model name a place that has
# neither?
#
# *You will be able to* let a model name places that training never showed, judge it on people whom it has never met,
# and let it say "somewhere new". *You need*
# [The generator and the gate](08_generator_and_gate.ipynb) and the [Contextual pointer](20_contextual_pointer.ipynb).
# *It takes* fifteen minutes to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A pointer copies the *id* of a place and needs no learned row for it, so it can name places that
# > training never showed. Before the first visit, a forecast at its side says how likely "somewhere new" is.

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

# %% [markdown]
# The test days bring person 59 of the simulated town a new home, and a new office, Anchor & Olive Energy. We need two words:
#
# | a place is | if |
# |---|---|
# | **unseen** (so far: unknown) | nobody visited it in the training days; otherwise it is *known* |
# | **new** | *this person* has not been there before |
#
# The home is new to person 59, but known: others were there in the training days. The office is new and unseen.

# %% tags=["hide-input"]
# @title Imports
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from wherenext import city, pointer_variants
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, MUTED, TRUTH, show
from wherenext.ground import ground, located
from wherenext.predictions import collect, recalibrated
from wherenext.results import read_results
from wherenext.window_features import first_visits

from pgt import maps, plots
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.metrics import (
    evaluate,
    interval,
    percentile_interval,
    resampled_means,
    summarize,
)
from pgt.train import fit
from pgt.vocabulary import UNKNOWN
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary = data.vocabulary
# Ids of padding and unknown come first, then known places, then unseen ones.
unseen_from = vocabulary.n_known + 2
V = vocabulary.n_locations

# %% tags=["hide-input"]
# @title Figure 22.1: the test days of person 59
visits = data.test.visits.query("split == 'test' and user_id == 59")
known = visits.location_id.isin(vocabulary.locations[: vocabulary.n_known])
seen = np.where(known, "known", "unseen")
visits = located(visits.assign(visited=seen), town)
CALLED = {"56 Rowan Close": "old home", "119 Gosling Row": "new home"}
OFFICES = ["Anchor & Olive Energy", "Saffron & Violet Publishing"]
CALLED |= dict(zip(OFFICES, ["new office", "old office"], strict=True))
land = ground(town.base, names=False)["features"]
below = visits.groupby("name")[["lon", "lat"]].first() - [0, 0.0025]
for name, label in CALLED.items():
    at = {"type": "Point", "coordinates": [*below.loc[name]]}
    land.append({"properties": {"name": label}, "geometry": at})
maps.places_map(
    visits,
    by="visited",
    ground={"features": land},
    alt="Map of one person's places in the test days, known or unseen",
    caption="Places of person 59 in the test days. Larger disc: more visits.",
)

# %% [markdown]
# What share of the targets is unseen, and what share of *these* is in the window?

# %%
unseen = data.test.targets >= unseen_from
in_week = 100 * data.test.in_window[unseen].mean()
print(f"{100 * unseen.mean():.1f} % of the targets are unseen places")
print(f"{in_week:.1f} % of these are in the window")

# %% [markdown]
# Those in the window can be copied. The generator has learned nothing to name them by: its softmax needs a learned row for
# each place.
#
# ## Which answers are possible?
#
# Say four places are known: home, the old office, the gym and the bar. The window holds home, the new office, the old office,
# home, the new office. Then five answers are possible: the four known places, and the new office.
#
# In general the answers are the known places, $\mathcal{K}$, and all places $l_i$ of the window's $L$ visits. This is the
# **extended vocabulary** of [See et al. (2017)](https://arxiv.org/abs/1704.04368), whose summarizer
# ([chapter 16](16_summarizer.ipynb)) copies words of a text.
#
# $$
# \mathcal{A} = \mathcal{K} \cup \{ l_i : 1 \le i \le L \} \tag{22.1}
# $$
#
# The mixture of [chapter 8](08_generator_and_gate.ipynb), with gate $g$ and attention $a_i$, needs one change: $P_\text{gen}$
# is now a softmax over $\mathcal{K}$ alone. Outside $\mathcal{K}$ the bracket is 0, so that no unseen place is generated;
# inside it is 1.
#
# $$
# P(\ell) = g \sum_{i:\, l_i = \ell} a_i + (1 - g)\, [\ell \in \mathcal{K}]\, P_\text{gen}(\ell),
# \quad \ell \in \mathcal{A}. \tag{22.2}
# $$
#
# Say the five visits have the attention 0.05, 0.25, 0.10, 0.20 and 0.40, and the gate is 0.7. Then the new office gets
# $0.7 \cdot (0.25 + 0.40) = 0.455$ by copying, and nothing by generating. In code:


# %%
def copied(attention, location, n_answers):
    """(B, L) weights of visits, (B, L) their ids -> (B, V)."""
    out = attention.new_zeros(len(location), n_answers)
    return out.scatter_add(1, location, attention)  # any id will do


def mixed(gate, attention, location, scores, n_answers):
    """Equation (22.2); only known places have scores."""
    scores = scores.clone()
    scores[:, :2] = -torch.inf  # padding and unknown are no answers
    generated = scores.new_zeros(len(scores), n_answers)  # (B, V)
    generated[:, : scores.shape[1]] = scores.softmax(1)
    pointer = copied(attention, location, n_answers)
    return gate[:, None] * pointer + (1 - gate[:, None]) * generated


# %% [markdown]
# Now our five places. The known ones have the ids 2 to 5, the new office the next free id, 6.
#
# **Change this.** Move the gate and run the cells down to the figure. At one half *home* is ahead, for it is also generated.

# %%
gate = 0.7  # @param {type:"slider", min:0, max:1, step:0.05}

# %%
window = torch.tensor([[2, 6, 3, 2, 6]])
attention = torch.tensor([[0.05, 0.25, 0.10, 0.20, 0.40]])
# Ids 0 to 5; 0 and 1 are no answers, however high their scores.
scores = torch.tensor([[9.0, 9.0, 1.5, 1.0, 0.5, 0.0]])
answer = mixed(torch.tensor([gate]), attention, window, scores, 7)  # (1, 7)
pointed = gate * copied(attention, window, 7)

# %% tags=["hide-input"]
# @title Figure 22.2: copied and generated
table = {"location_id": ["home", "old office", "gym", "bar", "new office"]}
table |= {"copied": pointed[0, 2:], "generated": (answer - pointed)[0, 2:]}
table = pd.DataFrame(table).sort_values("copied", ascending=False)
axes = plots.mixture(table)
axes.set_xlim(0, 0.7)  # room for every gate
show(
    axes.figure,
    alt="Stacked bars; that of the new office is longest, and all copied.",
    caption="Four places with a row in the table, and one without.",
)

# %% [markdown]
# The new office wins without a single learned number of its own.
#
# ## PGT, opened
#
# The PGT of the earlier chapters has a row for every place of the town, also for the unseen ones. Its pointer can copy these,
# but nothing that is built tomorrow. We open it, and train nothing anew:
#
# | for an unseen place | PGT | open PGT |
# |---|---|---|
# | the encoder sees | a row of its own, random, never trained | one row for all of them, just as random |
# | the generator gives it | a low score: in training it never was the answer | nothing |
# | the pointer copies | its id | its id |
# | if it is built tomorrow | it has no id: no answer | it gets the next free id, and can be copied |

# %%
closed, _ = load_model(shipped("city"))  # PGT, with a row for each place


class OpenPGT:
    """The same weights, but rows for known places only."""

    def scores(self, batch):
        """(B, V) log-probabilities, by equation (22.2)."""
        batch = batch.most_recent(closed.config.max_len)
        ids = batch.location
        seen = replace(batch, location=ids.where(ids < unseen_from, UNKNOWN))
        # Context (B, D); attention (B, L), as in chapter 9.
        context, log_weights, _ = closed.encode(seen)
        gate = closed.gate_logit(context).sigmoid()
        scores = closed.generator(context)[:, :unseen_from]  # K only
        return mixed(gate, log_weights.exp(), ids, scores, V).log()


# %% [markdown]
# The [contextual pointer](20_contextual_pointer.ipynb) needs no opening. It has no generator and no row for any place, so it
# names only places of the person's past. We train it. And there is a rule that copies by id, too: the context kernel of
# [chapter 4](04_baselines.ipynb), with its numbers chosen on the validation windows.

# %%
kernel = ContextKernel().fit(data.train).choose(data.valid)
full = pointer_variants.VARIANTS["full"]  # of chapter 20
lasting = pointer_variants.windows(data, full)
model, training = pointer_variants.build(full, data, seed=42)
fit(model, lasting.train, lasting.valid, training, progress=False)
models = {
    "context kernel": (kernel, data.test),
    "PGT": (closed, data.test),
    "open PGT": (OpenPGT(), data.test),
    "contextual pointer": (model, lasting.test),
}

# %% [markdown]
# How often is each right?

# %%
ranks = {name: evaluate(*pair) for name, pair in models.items()}
groups = {"all": "all", "known": "known", "unknown": "unseen"}
right = {k: summarize(v, groups)["acc@1"].values for k, v in ranks.items()}
low, high = interval(ranks["open PGT"], against=ranks["PGT"], group="unknown")
right = pd.DataFrame(right, groups.values()).T
right.round(1).rename_axis("Acc@1 (%), by target", axis=1)

# %% [markdown]
# Over all targets, open PGT is right as often as before. What it loses at
# unseen places may be luck: the 95 % interval of this change, over people, goes from {{ low:.1f }} to {{ high:.1f }} points.
#
# And by how much is the contextual pointer ahead of PGT, and of the kernel? Again as 95 % intervals, over people:

# %%
ours, lead = ranks["contextual pointer"], {}
for rival in ("PGT", "context kernel"):
    for group, name in groups.items():
        ends = interval(ours, against=ranks[rival], group=group)
        lead[f"{name}, minus {rival}"] = ends
lead = pd.DataFrame(lead, ["low", "high"]).T
lead.round(1).rename_axis("contextual pointer at (points)", axis=1)

# %% [markdown]
# The contextual pointer is clearly ahead of PGT over all targets and at known places; at unseen ones the interval holds zero.
# **At unseen places five numbers do as well:** the kernel is right in {{ right.loc["context kernel", "unseen"]:.1f }} %, the
# contextual pointer in {{ right.loc["contextual pointer", "unseen"]:.1f }} %. The contextual pointer's lead over the kernel is
# at known places. (Both networks are of one seed. The kernel and PGT see a week.)
#
# The contextual pointer remembers a hundred visits, and summaries of older ones. So how many of the unseen targets can it
# copy?

# %%
# What it says about every place. It has a row for none (n_known=0).
parts = lasting.valid, lasting.test
valid, test = (collect(model, part, n_known=0) for part in parts)
in_memory = 100 * (~test.new[unseen]).mean()  # new: not in its memory
print(f"{in_memory:.1f} % of the unseen targets are in its memory")

# %% [markdown]
# From a week, it was {{ in_week:.0f }} %. And it is told how each visit relates to now.
#
# What does it give to both offices of person 59 before each visit to the new one that did not already start there?

# %% tags=["hide-input"]
# @title Figure 22.3: a new job
says = np.exp(test.log_probs)  # (N, V) by window and place
found = town.places.set_index("name").location_id[OFFICES]
ids = vocabulary.encode_locations(found)
is_at = data.test.visits.location_id.to_numpy()[data.test.target - 1]
there = is_at == found.iloc[0]  # already
to_new = (test.users == 59) & (test.target == ids[0]) & ~there
gets = pd.DataFrame(says[to_new][:, ids], None, ["new office", "old office"])
gets.index = (gets.index + 1).rename("visit to the new office, no.")
axes = sns.lineplot(gets, markers=True, palette=[COPIED, MUTED])
axes.set(xticks=gets.index, ylim=(0, 1), ylabel="probability")
show(
    axes.figure,
    alt="Twelve visits: the old office's curve falls, the new one's rises.",
    caption="The contextual pointer before person 59 goes to the new office.",
)

# %% [markdown]
# At first there is nothing to copy. Then there are more and more visits to copy, while no weight changes. (The curve also
# follows the hour, and where the person is.)
#
# ## Newcomers
#
# What works for unseen places should work for **newcomers**, people whom training has never met (a **cold start**). The
# contextual pointer has no table of people. PGT has one, and gives each newcomer its padding row, all zeros.
#
# People are cut into five folds. Models train on the training days of four folds. Then they predict every visit of the people
# of the fifth, on all days, each person's first visit excepted.
#
# Here is one such fold, with the usual test windows. All days of its people are called *test*, and the test days of the others
# are left out:

# %%
people = np.sort(town.visits.user_id.unique())
fold = np.random.default_rng(0).permutation(len(people)) % 5
is_new = town.visits.user_id.isin(people[fold == 0])
split = town.visits.split.mask(is_new, "test")  # all days of the fifth
kept = town.visits.assign(split=split)[is_new | (split != "test")]
others_only = prepare(kept, protocol="exact")
asked = pointer_variants.windows(others_only, full)
stranger, training = pointer_variants.build(full, others_only, seed=42)
fit(stranger, asked.train, asked.valid, training, progress=False)
met_never = evaluate(stranger, asked.test)
hits, n_new = summarize(met_never)["acc@1"][0], met_never.user_id.nunique()
print(f"{n_new} newcomers, {len(met_never)} windows: {hits:.1f} % right")

# %% [markdown]
# The figure counts all five folds, by how many visits the newcomer has made so far, and adds PGT and two rules that copy.
# They do not see the same past: PGT sees a week, the rules a hundred visits, and the contextual pointer summaries of older
# ones, too. So a lead over PGT may come from the longer past.

# %% tags=["hide-input"]
# @title Figure 22.4: newcomers
# Rows without a seed are means over seeds.
newcomers = read_results("newcomers").rows.query("seed.isna()")
rows = newcomers.query("variant == 'new'")
rows = rows[rows.group.str[0].str.isdigit()]  # by visits so far
been = rows[rows.model == "contextual"].assign(model="ever been there")
been["acc@1"], been["low"], been["high"] = been.reach, None, None
NAMES = {"contextual": "contextual pointer (100 visits, summaries)"}
NAMES |= {"pgt": "PGT (a week)", "kernel": "context kernel (100 visits)"}
NAMES |= {"most_frequent": "most frequent place (100 visits)"}
late = ["21-50", "51-100", "101-200", "200+"]
late = rows[rows.group.isin(late)].set_index(["data", "group", "model"])
late = late["acc@1"].unstack()
behind = late.contextual - late.kernel
nearest, farthest = behind.min(), behind.max()
few = rows[rows.group == "1-2"].groupby("data").n.first().astype(int)
few = few[["city", "geolife"]].to_list()
lines = pd.concat([been, rows]).replace({"model": NAMES})
look = {"hue": "model", "style": "model", "markers": True}
look |= {"palette": [TRUTH, COPIED, GENERATED, EXTRA, MUTED], "dashes": False}
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
titles = {"city": "the town", "geolife": "GeoLife"}
for ax, (where, own) in zip(panels, lines.groupby("data"), strict=True):
    sns.lineplot(own, x="group", y="acc@1", ax=ax, **look)
    each = own.groupby("model", sort=False)
    for (_, one), colour in zip(each, look["palette"], strict=True):
        ends = one.low.astype(float), one.high.astype(float)
        ax.fill_between(one.group, *ends, color=colour, alpha=0.12, lw=0)
    ax.legend().remove()  # one for both
    ax.set(title=titles[where], xlabel="visits so far", ylabel="targets (%)")
    ax.tick_params("x", rotation=50)
names = ax.get_legend_handles_labels()
fig.legend(*names, loc="outside upper center", ncols=2)
show(
    fig,
    alt="Four models on newcomers; the ceiling of copying is far above.",
    caption="Newcomers: right at the first guess, and, in green, the ceiling "
    "of all copying. In brackets: what a model sees of the past. Means over "
    "seeds, with 95 % intervals over people and seeds. The first points rest "
    f"on {few[0]} windows of the town and {few[1]} of GeoLife.",
)

# %% [markdown]
# After one or two visits there is little to copy, and on GeoLife PGT is even ahead. From then on the contextual pointer leads,
# on GeoLife by little at first. The kernel needs more visits: from 21 on it is second, {{ nearest:.1f }} to
# {{ farthest:.1f }} points behind. PGT, with its week, is nowhere clearly ahead of the most frequent place of a hundred visits.
#
# What does a model gain from having met you? We train it twice and compare on the usual test windows: *met* is trained on
# everybody's earlier days, yours too; *not met*, on those of the other folds. How much more often is *met* right?

# %% tags=["hide-input"]
# @title Table: what a model gains from training on these people
worth = newcomers.query("variant == 'seen - new'")
names = worth.model.map(NAMES).str.split(" (", regex=False).str[0]
worth.index = names + ", " + worth.data.map(titles)
worth = worth[["acc@1", "low", "high"]].sort_index(ascending=False)
heads = ["Acc@1: met minus not met (points)", "low", "high"]
of_town = worth.loc["contextual pointer, the town"]
of_real = worth.loc["contextual pointer, GeoLife"]
worth.round(2).set_axis(heads, axis=1)

# %% [markdown]
# **The contextual pointer hardly gains from training on you.** On GeoLife nothing that we can see (the 95 % interval goes from
# {{ of_real["low"]:.1f }} to {{ of_real["high"]:.1f }}); in the town at most about a point ({{ of_town["acc@1"]:.1f }},
# interval {{ of_town["low"]:.1f }} to {{ of_town["high"]:.1f }}). PGT's intervals lie above zero. (*Not
# met* also had a fifth fewer people to learn from, so not all of PGT's gain need come from having met you:
# [Evidence: newcomers](evidence_newcomers.ipynb).)
#
# ## Somewhere new
#
# Before the first visit to the new office, the contextual pointer cannot name it. But we can give it one more answer,
# **somewhere new**: any place where this person has not been. How likely that is, a forecast says.
#
# Say the pointer gives home $0.5$, the old office $0.3$ and the gym $0.2$. *Somewhere new* is forecast with $0.25$. The places
# share the other $0.75$: home gets $0.75 \cdot 0.5 = 0.375$, the others $0.225$ and $0.15$. *Somewhere new* stands second.


# %%
def with_new(places, new):
    """(N, V) places, (N,) forecasts -> (N, V + 1), last: somewhere new."""
    return np.hstack([places * (1 - new)[:, None], new[:, None]])


# %% [markdown]
# The forecast is made by the logistic regression of [chapter 11](11_gate.ipynb). As there, it is told who the person is, the
# hour, and a few counts of the past. It learns first visits from the training windows. Then two numbers of that chapter,
# *stretch*, which multiplies its log-odds, and *level*, which is added to them, correct them on the validation windows.

# %%
likely = first_visits(data)  # learned from the training windows
new_valid, new = (  # level and stretch from valid
    recalibrated(likely["valid"], valid.new, x) for x in likely.values()
)
on_test = with_new(says, new)
constant = 100 * valid.new.mean()  # % that are first visits

# %% [markdown]
# This is before person 59's first visit to the new office:

# %% tags=["hide-input"]
# @title Table: before the first visit
first_day = to_new.argmax()  # the first of these windows
best = says[first_day].argsort()[:-4:-1]  # the three likeliest places
named = town.places.set_index("location_id").name[vocabulary.decode(best)]
shown = pd.DataFrame(index=[*named.replace(CALLED)])
shown["without somewhere new"] = says[first_day, best]
shown["with it"] = on_test[first_day, best]
shown.loc["somewhere new"] = 0, new[first_day]
shown = shown.astype(float).sort_values("with it", ascending=False)
(100 * shown).round(1).rename_axis("probability (%)", axis=1)

# %% [markdown]
# Without *somewhere new* every answer is wrong, and the old office comes first. With it, the second answer is right. But that
# needs no forecast. A *constant*, the share of first visits in the validation windows ({{ constant:.0f }} %), would
# stand second here too. What does the forecast add?
#
# We compare them over all test windows. The first column counts how often the right place is among the first three answers.
# The second also counts *somewhere new* among these three, where it is right. The third is the mean loss, $-\log P$ of the
# truth.

# %% tags=["hide-input"]
# @title Table: all test windows, without and with somewhere new
actual = 100 * test.new.mean()
before, others = (100 * new[w].mean() for w in (test.new, ~test.new))
offered = {"never": 0 * new, "constant": 0 * new + constant / 100}
offered["forecast"] = new
losses, said_in_three = {}, {}
for name, chance in offered.items():
    table = with_new(says, chance)
    # test.answer: the column of the truth, the last if it is new
    own = table[np.arange(len(table)), test.answer]
    three = (table > own[:, None]).sum(1) < 3
    share = [round(100 * x.mean(), 1) for x in (three & ~test.new, three)]
    losses[name] = -torch.tensor(own).log().numpy()  # inf where own is 0
    offered[name] = *share, losses[name].mean()
    said_in_three[name] = 100 * ((table > table[:, -1:]).sum(1) < 3).mean()
saved = losses["constant"] - losses["forecast"]
mean_saved = saved.mean()
worth_it = percentile_interval(resampled_means(saved[None], test.users))
heads = ["place in first three (%)", "or somewhere new, rightly (%)"]
heads += ["mean loss"]
pd.DataFrame(offered, heads).T.rename_axis("somewhere new", axis=1).round(2)

# %% [markdown]
# In {{ actual:.1f }} % of the windows the truth is new to its person. If *somewhere new* is never said, it has probability
# zero there, and the mean loss is infinite. **A constant is enough to end that:** the loss is
# {{ offered["constant"][2]:.2f }}. *Somewhere new* is then among the first three in
# {{ said_in_three["constant"]:.2f }} % of the windows, so it is right before almost every first visit. The second column
# therefore cannot tell who knows when. And *somewhere new* names no place, and here and there it drives the right one out.
#
# The forecast brings the loss to {{ offered["forecast"][2]:.2f }}, and hardly changes the first three. It is weak: it saves
# {{ mean_saved:.3f }} of the loss (95 % interval over people {{ worth_it[0]:.3f }} to {{ worth_it[1]:.3f }}), and on average
# says {{ before:.0f }} % before first visits, and {{ others:.0f }} % before others.
#
# ## What to remember
#
# - A place is copied by its id, and needs no row. So open PGT can name known places and all of the window; the contextual
#   pointer, the places of a person's past. Of unseen targets open PGT names {{ right.loc["open PGT", "unseen"]:.0f }} % first,
#   the contextual pointer {{ right.loc["contextual pointer", "unseen"]:.0f }} %, and the five numbers of the kernel
#   {{ right.loc["context kernel", "unseen"]:.0f }} %.
# - With the same past, a pointer without rows predicts newcomers about as well as people whom training has met.
# - Whoever copies must be able to say "somewhere new". When to say it is hard to foretell.
#
# ## Exercises
#
# **Exercise 1** (quick). A model knows 1,000 places. A window holds twenty visits to seven places, three of which are
# unseen. How many answers are there? The gate is 0.6 and the unseen places have a quarter of the attention: how much
# probability do they get together, and how much at most with this gate?

# %% tags=["try"]
answers, together, at_most = ..., ..., ...
check.exercise("22.1", [answers, together, at_most])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answers, together = 1000 + 3, 0.6 * 0.25  # four are known anyway
check.exercise("22.1", [answers, together, 0.6])  # at most the gate

# %% [markdown]
# **Exercise 2** (medium). **Conformal prediction** ([Vovk et al., 2005](https://doi.org/10.1007/b106715); [Angelopoulos and
# Bates, 2023](https://doi.org/10.1561/2200000101)) gives sets of answers. Take the probability that each validation window
# gave to its true answer. Nine tenths of these reach some value $\Theta$. The set of another window keeps every answer that
# does:
#
# $$
# \Gamma = \{ \ell : P(\ell) \ge \Theta \}. \tag{22.3}
# $$
#
# If windows stay alike, nine sets in ten hold the answer. Do those of the test windows? How often do they hold it *by name*?

# %% tags=["try"]
on_valid = with_new(np.exp(valid.log_probs), new_valid)  # (N, V + 1)
# new_valid (N,): the forecast of each validation window, as `new` of test
# valid.answer (N,): the column of its truth, the last if that is new
own = on_valid[np.arange(len(on_valid)), valid.answer]  # (N,)
theta = ...
# Of the test windows, in percent: on_test (N, V + 1), test.answer (N,).
held, by_name = ..., ...  # sets with the answer; with it as a place
check.exercise("22.2", [held, by_name])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
theta = np.sort(own)[len(own) // 10]  # one tenth lies below
within = on_test >= theta  # (N, V + 1) the sets
covered = within[np.arange(len(within)), test.answer]
sets = [100 * x.mean() for x in (covered, covered & ~test.new)]
check.exercise("22.2", sets)
heads = ["hold the answer (%)", "hold it by name (%)", "answers in a set"]
pd.Series([*sets, within.sum(1).mean()], heads).round(1).to_frame("sets")

# %% [markdown]
# <details class="solution"><summary>What we saw</summary>
#
# Of the sets, {{ sets[0]:.1f }} % hold the answer: the promise of nine in ten is nearly kept, but
# only {{ sets[1]:.1f }} % hold it by name. The rest of these hold it as *somewhere new*. The promise is sure only if the test
# windows could be shuffled with those of validation.
#
# </details>

# %% [markdown]
# **Exercise 3** (quick, on paper). The pointer gives the office 0.6, home 0.3 and the café 0.1. From which forecast on is
# *somewhere new* the second answer? And from which on the first?

# %% tags=["try"]
second, first = ..., ...
check.exercise("22.3", [second, first])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
# It must exceed what its rival keeps: p > (1 - p) q, so p > q / (1 + q).
check.exercise("22.3", [0.3 / 1.3, 0.6 / 1.6])

# %% [markdown]
# **Next:** [Real cities](23_real_cities.ipynb), where the visits are other people's, or yours.
