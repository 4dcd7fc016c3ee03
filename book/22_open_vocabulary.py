# %% [markdown]
# # Open vocabulary and a longer memory
#
# A café opened after the training had ended. How can a model name it?
#
# *You will be able to* let a model name places that its training never showed, give it a longer memory at a
# bounded cost, judge it on people it has never met, and let it say that somebody goes somewhere new. *You need*
# [The generator and the gate](08_generator_and_gate.ipynb) and the [Contextual pointer](20_contextual_pointer.ipynb).
# *It takes* twenty minutes to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A pointer copies the *number* of a place and needs no row for it: its first guess names
# > {{ named_never:.0f }} % of the test targets that training never showed, it works as well for people it has never met, and
# > for all that nobody can copy it needs one answer more, "somewhere new".

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

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.history import with_history
from pgt.maps import places_map
from pgt.metrics import evaluate, summarize
from pgt.train import fit
from pgt.windows import prepare

town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary = data.vocabulary
# Ids below K: padding, unknown, and the places of the training days.
K = vocabulary.n_known + 2
V = vocabulary.n_locations


# %% [markdown]
# People go to places where they have never been, and then they go there again. Here is where twenty people of the town go
# in the test days. Switch off the layer *in the training days* at the top right: what is left are places that the training
# could not show to anybody.

# %% tags=["hide-input"]
# @title Figure 22.1: places of the test days
visits = data.test.visits.query("split == 'test' and user_id < 20")
known = visits.location_id.isin(vocabulary.locations[: vocabulary.n_known])
since = np.where(known, "in the training days", "only later")
places_map(
    located(visits.assign(visited=since), town),
    by="visited",
    ground=ground(town.base),
    alt="Map of the places of the test days, known from training or not",
    caption="Places of twenty people; larger discs have more visits.",
)

# %%
never = data.test.targets >= K
again = data.test.in_window[never]
print(f"{100 * never.mean():.1f} % of the targets were never in training")
print(f"{100 * again.mean():.1f} % of these are in their window")

# %% [markdown]
# The second line shows what can be won: many of these places are not new *to the person*, because they are in the window. A
# model only has to be able to name them. A softmax over places cannot: it has one row for each place, and rows are learned.
#
# ## Which answers are possible?
#
# The pointer-generator of [chapter 16](16_summarizer.ipynb) had the same problem: names in the news that its vocabulary
# did not hold. [See et al. (2017)](https://arxiv.org/abs/1704.04368) gave each *text* a vocabulary of its own. With
# $\mathcal{K}$ for the places of the training days, the answers to a window of $L$ visits to the places $l_i$ are
#
# $$
# \mathcal{A} = \mathcal{K} \cup \{ l_i : 1 \le i \le L \}, \tag{22.1}
# $$
#
# the places that the generator knows and those in the window. This is the **extended
# vocabulary**. The mixture of [chapter 8](08_generator_and_gate.ipynb) needs one small change: a bracket that is 1 inside
# $\mathcal{K}$ and 0 outside, where nothing is generated.
#
# $$
# P(\ell) = g \sum_{i:\, l_i = \ell} a_i + (1 - g)\, [\ell \in \mathcal{K}]\, P_\text{gen}(\ell),
# \qquad \ell \in \mathcal{A}. \tag{22.2}
# $$
#
# In code, an id from $K$ on is only a number: no table has a row for it.


# %%
def copied(attention, location, n_answers):
    """(B, L) weights of visits, (B, L) their ids -> (B, V)."""
    out = attention.new_zeros(len(location), n_answers)
    return out.scatter_add(1, location, attention)  # any id will do


def mixed(gate, attention, location, scores, n_answers):
    """Equation (22.2); the generator has (B, K) scores."""
    scores = scores.clone()
    scores[:, :2] = -torch.inf  # padding and unknown are no answers
    generated = scores.new_zeros(len(scores), n_answers)  # (B, V)
    generated[:, : scores.shape[1]] = scores.softmax(1)  # 0 from K on
    pointer = copied(attention, location, n_answers)
    return gate[:, None] * pointer + (1 - gate[:, None]) * generated


# %% [markdown]
# Try it on a town with four known places, ids 2 to 5. The window holds five visits, two of them to a café that was not
# there when the model was trained. It gets the next free number, 6.
#
# **Change this.** Move the gate and run the two cells below. *Home* overtakes the café when the gate falls to one half; why?

# %%
gate = 0.7  # @param {type:"slider", min:0, max:1, step:0.05}

# %%
window = torch.tensor([[2, 6, 3, 2, 6]])
attention = torch.tensor([[0.05, 0.25, 0.10, 0.20, 0.40]])
scores = torch.tensor([[9.0, 9.0, 1.5, 1.0, 0.5, 0.0]])  # ids 0 to 5
answer = mixed(torch.tensor([gate]), attention, window, scores, 7)  # (1, 7)
pointed = gate * copied(attention, window, 7)
table = {"location_id": ["home", "office", "gym", "library", "new café"]}
table |= {"copied": pointed[0, 2:], "generated": (answer - pointed)[0, 2:]}
table = pd.DataFrame(table).sort_values("copied", ascending=False)
axes = plots.mixture(table)
axes.set(xlim=(0, 0.7))
show(
    axes.figure,
    alt="Stacked bars for five places. Home and office have a copied and a "
    "generated part; gym and library, which are not in the window, only a "
    "generated one; the new café only a copied one, and the longest bar.",
    caption="Four places with a row in the table, and one without.",
)

# %% [markdown]
# The café wins, although the model has not a single number about it. If a network embeds places, all new ones share one row,
# that of *unknown*; the pointer still knows *which* place it was. The package's model with an open vocabulary can have embeddings
# and a generator around its pointer. Then it must mix as we do; the folded cell checks it:

# %% tags=["hide-input"]
# @title Check: the package's model mixes as ours does
around = pointer_variants.VARIANTS["around"]  # PGT around a pointer
seen = pointer_variants.windows(data, around)
package, _ = pointer_variants.build(around, data, seed=1)
some = seen.test.batch(np.arange(0, len(seen.test), 8))
with torch.no_grad():
    out = package.eval()(some)
generator = out.generator_log_probs[:, :K]  # scores but for a constant
ours = mixed(out.gate, out.pointer_attention, some.location, generator, V)
check.same(ours, out.log_probs.exp(), name="the mixture")
table = package.embeddings.tables["location"]
print(f"{V} ids; rows in its table, of known places: {table.num_embeddings}")

# %% [markdown]
# ## A name is only a number
#
# Until now PGT cheated a little, and the mistake was ours. Every place had a row, also those that only the test days show. No
# label leaks, but tomorrow somebody goes to a place that has no row. And these rows are never trained, so a visit to such a place
# enters the encoder as a random vector.
#
# This noise can be detected. Give the new places other numbers, at random. Nothing in the town has changed, so the
# answer must be the same place under its other number. Is it? We ask PGT, and the pointer of
# [chapter 20](20_contextual_pointer.ipynb), trained here. It stands alone: no generator, so $g = 1$, and no row for any place.
# Its answers $\mathcal{A}$ are the places that it remembers.

# %%
full = pointer_variants.VARIANTS["full"]
lasting = pointer_variants.windows(data, full)
model, training = pointer_variants.build(full, data, seed=42)
fit(model, lasting.train, lasting.valid, training, progress=False)
closed, _ = load_model(shipped("city"))  # PGT

# %% tags=["hide-input"]
# @title How many first answers change
shuffle = torch.Generator().manual_seed(0)
other = torch.arange(V)  # known ids stay
other[K:] = K + torch.randperm(V - K, generator=shuffle)


def renumbered(batch):
    """The batch with other numbers; -1 means "not seen" and stays."""
    columns = ("location", "before", "two_before")
    ids = {n: getattr(batch, n) for n in columns if hasattr(batch, n)}
    new = {n: torch.where(x < 0, x, other[x]) for n, x in ids.items()}
    return replace(batch, **new)


@torch.no_grad()
def changed(model, windows):
    """Percent of windows whose first answer becomes another place."""
    count = 0
    for batch in windows.batches(512):
        before = model.scores(batch).argmax(1)
        after = model.scores(renumbered(batch))[:, other].argmax(1)
        count += int((before != after).sum())
    return 100 * count / len(windows)


models = {
    "PGT": (closed, data.test),
    "contextual pointer": (model, lasting.test),
}
for name, which in models.items():
    print(f"{name}: {changed(*which):.1f} % of the first answers change")

# %% [markdown]
# **An open vocabulary does not care what a place is called.** A closed one does, and it should not.
#
# And how often are the two right?

# %%
rows = {}
for name, (network, windows) in models.items():  # PGT and the pointer
    table = summarize(evaluate(network, windows), ["all", "known", "unknown"])
    rows[name] = table.set_index("group")["acc@1"]
rows = pd.DataFrame(rows).T.rename(columns={"unknown": "never in training"})
named_never = rows["never in training"]["contextual pointer"]
rows.round(1).rename_axis("Acc@1 (%), by target", axis=1)

# %% [markdown]
# The pointer is ahead in all three columns. It names {{ named_never:.0f }} % of the targets that nobody visited in the training
# days.
#
# ## A longer memory
#
# The pointer also remembers more than PGT's week. Why not give it everything? A whole past grows, and with it the time for each
# answer. So keep a fixed number of recent visits one by one. For each place that is only found further back, keep one line, its
# **summary**: the latest visit there, and how many visits it stands for. The number of summaries is limited, too.


# %%
def remembered(places, memory, older):
    """Rows to keep, oldest first, and the visits each row stands for."""
    start = max(len(places) - memory, 0)
    recent = list(range(start, len(places)))
    latest = {place: row for row, place in enumerate(places[:start])}
    for place in places[start:]:
        latest.pop(place, None)  # listed anyway
    kept = sorted(latest.values())[-older:] if older else []
    visits = [places[: row + 1].count(places[row]) for row in kept]
    return kept + recent, visits + [0] * len(recent)


# %%
places = ["gym", "gym", "home", "work", "home", "work"]
rows, stand_for = remembered(places, memory=2, older=100)
print("rows kept:", rows, "each stands for (0: itself):", stand_for)

# %% [markdown]
# Of six visits, counted from 0, the last two are kept one by one. They are to *home* and *work*, so only the gym needs a line,
# which stands for two visits.
#
# **Reach** is the share of targets that are among the candidates at all: the copy ceiling, for a longer memory.
# Accuracy is how many of all targets are then picked. Take the model that we have just trained, with a hundred visits
# and summaries, and test it with other memories.

# %% tags=["hide-input"]
# @title Table: reach and accuracy of five memories
def reach_of(windows):
    """Share of the targets that are among the candidates."""
    found = []
    for batch in windows.batches(512):
        found.append((batch.location == batch.target[:, None]).any(1))
    return float(torch.cat(found).float().mean())


sizes = {"seven days": (0, 0), "10 visits": (10, 0), "50 visits": (50, 0)}
sizes |= {"everything": (10**6, 0), "100 and summaries": (100, 100)}
costs = {}
for name, size in sizes.items():
    part = with_history(data, *size).test
    found = summarize(evaluate(model, part), ["all"])["acc@1"].item()
    costs[name] = part.lengths.mean(), 100 * reach_of(part), found
pd.DataFrame(costs, ["rows a window", "reach (%)", "Acc@1 (%)"]).T.round(1)

# %% [markdown]
# A hundred visits and at most a hundred summaries reach as much as a whole past, with a third of the rows. And
# **reach is not accuracy**: from fifty visits on, the reach still grows by several points and the first guess hardly gains.
# For some targets a longer memory even does harm (exercise 2).
#
# ## New people
#
# All people of the test windows have visits in the training days. A service has new people every day, and of them it
# remembers nearly nothing. This is a **cold start**. Our pointer has no table of people and none of places; PGT has both,
# and a newcomer gets the zeros of its padding row. For the test, people are cut into five folds. Models are trained on
# four, and then predict *every* visit of the people in the fifth.

# %% tags=["hide-input"]
# @title Figure 22.3: people whom training has never seen
newcomers = read_results("newcomers").rows
newcomers = newcomers[newcomers.seed.isna()]  # means over seeds
rows = newcomers[newcomers.variant == "new"]
rows = rows[rows.group.str[0].str.isdigit()]  # by visits so far
been = rows[rows.model == "contextual"]
been = been.assign(model="been there before", **{"acc@1": been.reach})
models = {"contextual": "contextual pointer", "pgt": "PGT"}
models |= {"kernel": "kernel", "most_frequent": "most frequent"}
lines = pd.concat([been, rows]).replace({"model": models})
look = {"hue": "model", "style": "model", "markers": True}
look["palette"] = [TRUTH, EXTRA, GENERATED, COPIED, MUTED]
fig, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True)
titles = {"city": "the town", "geolife": "GeoLife"}
for ax, (where, own) in zip(panels, lines.groupby("data"), strict=True):
    sns.lineplot(own, x="group", y="acc@1", ax=ax, **look)
    ax.legend().remove()  # one for both
    ax.set(title=titles[where], xlabel="", ylabel="share of targets (%)")
    ax.tick_params("x", rotation=50)
fig.supxlabel("visits that the person has made so far", fontsize=10)
fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
worth = newcomers[newcomers.variant == "seen - new"]
worth = worth.set_index(["data", "model"])
worth, low, high = worth["acc@1"], worth["low"], worth["high"]
show(
    fig,
    alt="Accuracy for new people by the number of their visits so far. All "
    "models rise; the share that could be copied lies far above.",
    caption="People whom training has never seen: right at the first guess, "
    "and, in green, the ceiling of all copying.",
)

# %% [markdown]
# Over all their visits, PGT does no better for new people than naming the most frequent place. What is it worth to have
# been in training? On the same test days, the pointer that has seen these people's earlier days gains {{ worth["city",
# "contextual"]:.1f }} points in the town (95 % interval {{ low["city", "contextual"]:.1f }} to {{ high["city",
# "contextual"]:.1f }}) and {{ worth["geolife", "contextual"]:.1f }} on GeoLife ({{ low["geolife", "contextual"]:.1f }} to
# {{ high["geolife", "contextual"]:.1f }}). PGT gains {{ worth["city", "pgt"]:.1f }} and {{ worth["geolife", "pgt"]:.1f }}
# ([Evidence: newcomers](evidence_newcomers.ipynb)). **A pointer without names hardly gains from training on you.** All it
# needs is your past, which can be forgotten at any time, without training anything anew.
#
# At the left end of the curves there is not much to copy, whatever the model. What could help there is knowledge of the
# town: work for a generator (exercise 3).
#
# ## Somewhere new
#
# A pointer cannot name a place where its person has never been. But it can learn to *say so*. Give it one answer more,
# **somewhere new**. Its probability comes from the logistic regression of [chapter 11](11_gate.ipynb), which
# counts a few things in the window and now forecasts first visits. The places share the rest. Take the likeliest *place* of each
# window: what probability does it get, and how often is it right?

# %% tags=["hide-input"]
# @title Table: the likeliest place, as it is and with somewhere new
valid, test = (collect(model, w, 0) for w in (lasting.valid, lasting.test))
forecast = first_visits(data)  # of the training windows
new_on = {
    split: recalibrated(forecast["valid"], valid.new, forecast[split])
    for split in ("valid", "test")  # level and slope from valid
}


def with_new(part, new):
    """(N, V + 1) probabilities: places, and somewhere new."""
    places = np.exp(part.log_probs) * (1 - new)[:, None]
    return np.hstack([places, new[:, None]])


on_valid = with_new(valid, new_on["valid"])
on_test = with_new(test, new_on["test"])
said = {
    "probability of the likeliest place": np.exp(test.log_probs).max(1),
    "the same, beside somewhere new": on_test[:, :-1].max(1),
    "how often that place is right": test.log_probs.argmax(1) == test.target,
}
said = pd.DataFrame(said).mean()
new = new_on["test"]
print("The forecast of somewhere new, on average:", end=" ")
print(f"{new[test.new].mean():.0%} before first visits", end=", ")
print(f"{new[~test.new].mean():.0%} before others")
(100 * said).round(1).to_frame("mean over the windows (%)")

# %% [markdown]
# The forecast knows little: it says hardly more before first visits than before others. As it is, the model promises too
# much; with *somewhere new* it promises too little, by nearly as much. What is gained is not a better number but an honest
# sum: the places shared 100 %, and now they share what *somewhere new* leaves. (A temperature ([Guo et al.,
# 2017](https://arxiv.org/abs/1706.04599)) could lower the first number, but the places would still share it all.)
#
# ## Sets that hold the answer
#
# Often a short list is enough, if we know how often it holds the right answer.
# **Conformal prediction** ([Vovk et al., 2005](https://doi.org/10.1007/b106715); for an introduction
# [Angelopoulos and Bates, 2023](https://doi.org/10.1561/2200000101)) makes such sets from any model. For each
# validation window, take the probability that the true answer got, *somewhere new* included. Nine tenths of these are at or above
# some value $\Theta$. For a new window, keep every answer whose probability is at least as large:
#
# $$
# \Gamma = \{ \ell : P(\ell) \ge \Theta \}. \tag{22.3}
# $$
#
# If a new window is like the old ones, its answer is in the set nine times in ten, however badly the model is
# calibrated. Choose another promise and watch how many answers it costs.

# %%
coverage = 0.9  # @param {type:"slider", min:0.5, max:0.95, step:0.05}

# %% tags=["hide-input"]
# @title Table: the sets
# on_valid, on_test: (N, V + 1) probabilities, somewhere new in the last
# column; answer: the column of the truth; new: whether that is the last.
own = np.sort(on_valid[np.arange(len(valid.target)), valid.answer])
# The + 1 counts the new window; 1e-9 guards against rounding.
at = int((len(own) + 1) * (1 - coverage) + 1e-9)
limit = own[at - 1]  # Theta
held = on_test >= limit  # (N, V + 1) the sets
covered = held[np.arange(len(held)), test.answer]

kept, by_name = 100 * covered.mean(), 100 * (covered & ~test.new).mean()
sets = {"hold the answer (%)": kept, "hold it by name (%)": by_name}
sets["answers in a set"] = held.sum(1).mean()
sets["with somewhere new (%)"] = 100 * held[:, -1].mean()
pd.Series(sets).round(1).to_frame("sets")

# %% [markdown]
# **The promise is nearly kept, and in part by an answer that names no place.** Asked for nine in ten, the sets hold the
# answer in {{ kept:.1f }} % of the windows, and by name in {{ by_name:.1f }} %. Look at the last row: at this promise
# hardly a set does without *somewhere new*. So count twice: what a set covers, and what it covers by name.
#
# > **Pitfall.** Nine in ten is a guarantee only if new windows could be shuffled with the old ones. Ours come later, and
# > people keep exploring.
#
# ## What to remember
#
# - The answers of a question are the known places and everything in the window. A place is copied by its number, and
#   needs no row.
# - With recent visits one by one and one line for each older place, a memory has a bounded cost. Its reach grows much more
#   than its accuracy.
# - A pointer without names predicts new people about as well as known ones.
# - Whoever copies must be able to say "somewhere new". With it, sets hold the answer nearly as often as they promise, but
#   by name much less often.
#
# ## Exercises
#
# **Exercise 1** (quick). A model knows 1,000 places. A window holds twenty visits to seven places, three of which training
# never showed. How many answers does the question have? The gate is 0.6 and the new places have a quarter of the attention:
# how much probability do the three get together, and what is the most they could get?

# %% tags=["try"]
answers, together, at_most = ..., ..., ...
check.exercise("22.1", [answers, together, at_most])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answers, together = 1000 + 3, 0.6 * 0.25  # four are known anyway
check.exercise("22.1", [answers, together, 0.6])  # at most the gate

# %% [markdown]
# **Exercise 2** (medium). Score the trained model on the town's test windows with seven days, a hundred visits, and
# everything, for targets that training never shows. Which memory is best for them, and why is it not the one with the
# largest reach?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
sizes["100 visits"] = (100, 0)
for name in ("seven days", "100 visits", "everything"):
    windows = with_history(data, *sizes[name]).test
    found = summarize(evaluate(model, windows), ["known", "unknown"])
    found = found.set_index("group")["acc@1"]
    never_seen = f"never in training {found['unknown']:.1f} %"
    print(f"{name}: known {found['known']:.1f} %, {never_seen}")
# What training never shows is recent. Nearly every older visit that the
# memory adds is to another place, and takes weight from it.

# %% [markdown]
# **Exercise 3** (project). Help the newcomers. For the first few visits a pointer has nothing to point at. Build a generator
# that knows the town: where do people go, at this hour, from a place of this kind? Mix it with the pointer.
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Count, over the training visits of all people, how often a place is entered in each hour, with a little added to every
# count, and divide by the hour's sum. That is a generator without a network. Let the gate be a curve over the number of
# visits so far, with the knots of the feature *age*, and train it with equation (22.2). Judge it as in this chapter, on
# folds of people. Expect a gain in the first ten visits and none later. Look at the column `known` of
# `read_results("newcomers").rows` first: it is the most that such a generator could reach.
#
# </details>
#
# **Next:** [Real cities](23_real_cities.ipynb), where the visits are other people's, or yours.
