# %% [markdown]
# # Open vocabulary
#
# Somebody starts a new job, in an office that training never showed. How can a model name it?
#
# *You will be able to* let a model name places that its training never showed, judge it on people whom it has never met,
# and let it say that somebody goes somewhere new. *You need*
# [The generator and the gate](08_generator_and_gate.ipynb) and the [Contextual pointer](20_contextual_pointer.ipynb).
# *It takes* a quarter of an hour to read and less than a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A pointer copies the *id* of a place and needs no row for it: its first guess names
# > {{ named_never:.0f }} % of the test targets that training never showed, it works nearly as well for people whom it has never
# > met, and for all that cannot be copied it needs one answer more, "somewhere new".

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
from pgt.maps import places_map
from pgt.metrics import evaluate, summarize
from pgt.train import fit
from pgt.vocabulary import UNKNOWN
from pgt.windows import prepare

town = city.load()
data = prepare(town.visits, protocol="exact")
vocabulary = data.vocabulary
# Smaller ids: padding, unknown, and the places of the training days.
new_from = vocabulary.n_known + 2
V = vocabulary.n_locations


# %% [markdown]
# Meet person 59 of the simulated town. The test days bring this person a new home, and a new office, Anchor & Olive Energy. The
# home is a known place, because others were there in the training days. At the new office nobody was; for now, *new* means this.

# %% tags=["hide-input"]
# @title Figure 22.1: the test days of person 59
visits = data.test.visits.query("split == 'test' and user_id == 59")
known = visits.location_id.isin(vocabulary.locations[: vocabulary.n_known])
since = np.where(known, "in training, by somebody", "only later")
places_map(
    located(visits.assign(visited=since), town),
    by="visited",
    ground=ground(town.base),
    alt="Map of the places of one person in the test days, known from "
    "training or not",
    caption="Places of person 59; the colour tells when anybody was first "
    "seen there. Largest: the new home; second: the new office; in the far "
    "east: the old office. Click a disc for its name.",
)

# %% [markdown]
# How many targets of the test windows are places that training never showed, and how many of *these* are in the window that
# comes with the question?

# %%
never = data.test.targets >= new_from
again = data.test.in_window[never]
print(f"{100 * never.mean():.1f} % of the targets were never in training")
print(f"{100 * again.mean():.1f} % of these are in their window")

# %% [markdown]
# The second share can be won: the person was there in the last days, and a model only has to be able to name the place. A
# softmax cannot: it needs a learned row for each place.
#
# ## Which answers are possible?
#
# The pointer-generator of [chapter 16](16_summarizer.ipynb) had the same problem: names in the news that its vocabulary
# did not hold. [See et al. (2017)](https://arxiv.org/abs/1704.04368) gave each *text* a vocabulary of its own. With
# $\mathcal{K}$ for the set of the known places, the answers to a window of $L$ visits to the places $l_i$ are
#
# $$
# \mathcal{A} = \mathcal{K} \cup \{ l_i : 1 \le i \le L \}, \tag{22.1}
# $$
#
# the **extended vocabulary**. The mixture of [chapter 8](08_generator_and_gate.ipynb) needs one small change: a bracket that is
# 1 inside $\mathcal{K}$ and 0 outside, where nothing is generated.
#
# $$
# P(\ell) = g \sum_{i:\, l_i = \ell} a_i + (1 - g)\, [\ell \in \mathcal{K}]\, P_\text{gen}(\ell),
# \qquad \ell \in \mathcal{A}. \tag{22.2}
# $$
#
# In code, a new place is an id from `new_from` on, and has no row.


# %%
def copied(attention, location, n_answers):
    """(B, L) weights of visits, (B, L) their ids -> (B, V)."""
    out = attention.new_zeros(len(location), n_answers)
    return out.scatter_add(1, location, attention)  # any id will do


def mixed(gate, attention, location, scores, n_answers):
    """Equation (22.2); only known places have scores: (B, new_from)."""
    scores = scores.clone()
    scores[:, :2] = -torch.inf  # padding and unknown are no answers
    generated = scores.new_zeros(len(scores), n_answers)  # (B, V)
    generated[:, : scores.shape[1]] = scores.softmax(1)
    pointer = copied(attention, location, n_answers)
    return gate[:, None] * pointer + (1 - gate[:, None]) * generated


# %% [markdown]
# Try it on a small example with four known places: home (id 2), the old office (3), the gym (4) and the bar (5). The window
# holds five visits, two of them to a new office, which gets the next free id, 6.
#
# **Change this.** Move the gate and run the cells down to the figure. *Home* overtakes the new office when the gate falls to
# one half; why?

# %%
gate = 0.7  # @param {type:"slider", min:0, max:1, step:0.05}

# %%
window = torch.tensor([[2, 6, 3, 2, 6]])
attention = torch.tensor([[0.05, 0.25, 0.10, 0.20, 0.40]])
scores = torch.tensor([[9.0, 9.0, 1.5, 1.0, 0.5, 0.0]])  # ids 0 to 5
answer = mixed(torch.tensor([gate]), attention, window, scores, 7)  # (1, 7)
pointed = gate * copied(attention, window, 7)

# %% tags=["hide-input"]
# @title Figure 22.2: copied and generated
table = {"location_id": ["home", "old office", "gym", "bar", "new office"]}
table |= {"copied": pointed[0, 2:], "generated": (answer - pointed)[0, 2:]}
table = pd.DataFrame(table).sort_values("copied", ascending=False)
axes = plots.mixture(table)
axes.set(xlim=(0, 0.7))
show(
    axes.figure,
    alt="Stacked bars for five places. Home and the old office have a copied "
    "and a generated part; gym and bar, which are not in the window, only a "
    "generated one; the new office only a copied one, and the longest bar.",
    caption="Four places with a row in the table, and one without.",
)

# %% [markdown]
# The new office wins, although the model has not a single weight for it.
#
# <details class="solution"><summary>Why does home overtake it?</summary>
#
# A new place has only its share of the gate. Home also has a generated part, which grows as the gate falls.
#
# </details>
#
# ## A name is only an id
#
# Until now PGT cheated a little, and the mistake was ours: places that only the test days show had rows, too. Such a row is
# never trained: to the encoder it is noise. (PGT can still name the place, for its pointer copies the id.)
#
# Equation (22.2) mends this. Keep the trained weights, let all new places share the row of *unknown*, and generate none of them:

# %%
closed, _ = load_model(shipped("city"))  # PGT, with a row for each place


class OpenPGT:
    """The same weights, but rows for known places only."""

    def scores(self, batch):
        """(B, V) log-probabilities, by equation (22.2)."""
        batch = batch.most_recent(closed.config.max_len)
        ids = batch.location
        seen = replace(batch, location=ids.where(ids < new_from, UNKNOWN))
        context, log_weights, _ = closed.encode(seen)
        gate = closed.gate_logit(context).sigmoid()
        scores = closed.generator(context)[:, :new_from]
        return mixed(gate, log_weights.exp(), ids, scores, V).log()


# %% [markdown]
# The pointer of [chapter 20](20_contextual_pointer.ipynb), trained here, has no generator, so $g = 1$, and no row for any place.
# Its answers are the places that it remembers.

# %%
full = pointer_variants.VARIANTS["full"]  # of chapter 20
lasting = pointer_variants.windows(data, full)
model, training = pointer_variants.build(full, data, seed=42)
fit(model, lasting.train, lasting.valid, training, progress=False)
models = {
    "PGT": (closed, data.test),
    "open PGT": (OpenPGT(), data.test),
    "contextual pointer": (model, lasting.test),
}

# %% [markdown]
# Give the new places other ids, at random. Nothing in the town has changed, so the first answer must be the same place under
# its other id. Is it?

# %% tags=["hide-input"]
# @title How many first answers change
dice = torch.Generator().manual_seed(0)
other = torch.arange(V)  # known ids stay
other[new_from:] = new_from + torch.randperm(V - new_from, generator=dice)


def renumbered(batch):
    """The batch with other ids; -1 means "not seen" and stays."""
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


for name, which in models.items():
    print(f"{name}: {changed(*which):.1f} % of the first answers change")

# %% [markdown]
# **An open vocabulary does not care what a place is called.** How often are the three right?

# %%
rows = {}
for name, (network, windows) in models.items():
    table = summarize(evaluate(network, windows), ["all", "known", "unknown"])
    rows[name] = table.set_index("group")["acc@1"]
rows = pd.DataFrame(rows).T.rename(columns={"unknown": "never in training"})
named_never = rows["never in training"]["contextual pointer"]
rows.round(1).rename_axis("Acc@1 (%), by target", axis=1)

# %% [markdown]
# Opened, PGT is right as often as before. It gains at known places and loses at new ones, and both may be luck: the 95 %
# intervals over people hold zero. (Nor was the row of *unknown* ever trained.)
#
# The pointer is ahead in all three columns for other reasons: it remembers more than PGT's week, and it is told how each visit
# relates to now. It names {{ named_never:.0f }} % of the targets that nobody visited in the training days. One of them is the
# new office of person 59. Each time that the person goes there from elsewhere, what does the pointer give to both offices?

# %% tags=["hide-input"]
# @title Figure 22.3: a new job
OFFICES = {"new office": "Anchor & Olive Energy"}
OFFICES["old office"] = "Saffron & Violet Publishing"
valid, test = (collect(model, w, 0) for w in (lasting.valid, lasting.test))
says = np.exp(test.log_probs)  # (N, V) by window and place
found = town.places.set_index("name").location_id
ids = vocabulary.encode_locations(found[list(OFFICES.values())])
is_at = data.test.visits.location_id.to_numpy()[data.test.target - 1]
there = is_at == found[OFFICES["new office"]]  # already
to_new = (test.users == 59) & (test.target == ids[0]) & ~there
gets = pd.DataFrame(says[to_new][:, ids], columns=list(OFFICES))
gets.index += 1
figure, axes = plt.subplots(figsize=(7.0, 3.0))
look = {"markers": True, "palette": [COPIED, MUTED], "ax": axes}
sns.lineplot(gets, **look)
axes.set(xlabel="way to the new office", ylabel="probability", ylim=(0, 1))
axes.set_xticks(gets.index)
show(
    figure,
    alt="Probability of two offices over twelve ways to the new one. "
    "The old office falls from almost one half to nearly nothing; the new "
    "one starts at zero and ends at about two thirds.",
    caption="The contextual pointer before person 59 goes to the new office.",
)

# %% [markdown]
# At first there is nothing to copy. Then there is more and more, and the old office fades. No weight of the model has changed.
#
# ## New people
#
# What works for new places should work for new people, of whom a service remembers nearly nothing. This is a **cold start**.
# Our pointer has no table of people and none of places. PGT has both; in its table of people a newcomer gets the row of zeros.
# For the test, people are cut into five folds. Models are trained on four, and then predict *every* visit of the people in the
# fifth.

# %% tags=["hide-input"]
# @title Figure 22.4: people whom training has never seen
newcomers = read_results("newcomers").rows
newcomers = newcomers[newcomers.seed.isna()]  # means over seeds
rows = newcomers[newcomers.variant == "new"]
rows = rows[rows.group.str[0].str.isdigit()]  # by visits so far
been = rows[rows.model == "contextual"]
been = been.assign(model="been there before", **{"acc@1": been.reach})
NAMES = {"contextual": "contextual pointer", "pgt": "PGT"}
NAMES |= {"kernel": "kernel", "most_frequent": "most frequent"}
lines = pd.concat([been, rows]).replace({"model": NAMES})
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
worth = worth.set_index(["data", "model"])["acc@1"]
show(
    fig,
    alt="Accuracy for new people by the number of their visits so far. All "
    "models rise; the share that could be copied lies far above.",
    caption="People whom training has never seen: right at the first guess, "
    "and, in green, the ceiling of all copying.",
)

# %% [markdown]
# In the long run all rise, the pointer and the kernel most. Over all visits, PGT does no better for newcomers than naming the
# most frequent place.
#
# What is it worth to have been in training? On the same test days, a pointer trained on these people's earlier days is ahead of
# one that was not by {{ worth["city", "contextual"]:.1f }} points in the town and by nothing on GeoLife; both 95 % intervals hold
# zero ([Evidence: newcomers](evidence_newcomers.ipynb)). PGT gains {{ worth["city", "pgt"]:.1f }} and
# {{ worth["geolife", "pgt"]:.1f }}. **A pointer without names hardly gains from training on you.** All it needs is your past,
# which can be forgotten at any time without training anew.
#
# ## Somewhere new
#
# Back to person 59, before the first visit to the new office. The pointer cannot name the office, but it can *say so*. Give it
# one answer more, **somewhere new**. From here on *new* means new to the person, even if others have been there. Its
# probability comes from the logistic regression of [chapter 11](11_gate.ipynb), which now forecasts first visits; `recalibrated`
# fits the level and slope of this forecast on validation. The places share the rest.

# %%
# test, valid, says, to_new: from the folded cell of figure 22.3.
forecast = first_visits(data)  # learned from the training windows
new_on = {
    split: recalibrated(forecast["valid"], valid.new, forecast[split])
    for split in ("valid", "test")  # level and slope from valid
}


def with_new(part, new):
    """(N, V + 1) probabilities: places, and somewhere new."""
    places = np.exp(part.log_probs) * (1 - new)[:, None]
    return np.hstack([places, new[:, None]])


on_test = with_new(test, new_on["test"])
first_day = to_new.argmax()  # the first of these windows
best = says[first_day].argsort()[:-4:-1]  # the three likeliest places
shown = {
    "as it is": [*says[first_day, best], 0],
    "beside somewhere new": on_test[first_day, [*best, V]],
}
named = town.places.set_index("location_id").name[vocabulary.decode(best)]
shown = pd.DataFrame(shown, index=[*named, "somewhere new"])
(100 * shown).round(1).rename_axis("probability (%)", axis=1)

# %% [markdown]
# As it is, the old office (Saffron & Violet Publishing) and the old home (56 Rowan Close) come first, and every answer is wrong.
# Beside *somewhere new* each place gives up the same share. The first guess is still wrong, but the second is right.
#
# What probability does the likeliest *place* get over all test windows, and how often is it right?

# %% tags=["hide-input"]
# @title Table: the likeliest place, as it is and with somewhere new
said = {
    "probability of the likeliest place": says.max(1),
    "the same, beside somewhere new": on_test[:, :-1].max(1),
    "how often that place is right": says.argmax(1) == test.target,
}
said = pd.DataFrame(said)
kinds = {"all windows": said.mean(), "first visits": said[test.new].mean()}
kinds["others"] = said[~test.new].mean()
impossible = 100 * test.new.mean()  # targets of probability zero
new = new_on["test"]
print("The forecast of somewhere new, on average:", end=" ")
print(f"{new[test.new].mean():.0%} before first visits", end=", ")
print(f"{new[~test.new].mean():.0%} before others")
(100 * pd.DataFrame(kinds)).round(1).rename_axis("mean, %", axis=1)

# %% [markdown]
# The forecast says only somewhat more before first visits than before others. As it is, the model promises too much over all
# windows; with *somewhere new* too little, by nearly as much. The last column says why. Where it could be right, the pointer
# promised too little already, and the first visits, all misses, had hidden it.
#
# The gain is elsewhere: without *somewhere new* the truth had probability zero in {{ impossible:.0f }} % of the windows, and
# now in none.
#
# ## What to remember
#
# - The answers to a question are the known places and everything in the window. A place is copied by its id, and
#   needs no row.
# - A pointer without names predicts new people about as well as known ones.
# - Whoever copies must be able to say "somewhere new". When somebody goes there is hard to foretell.
#
# ## Exercises
#
# **Exercise 1** (quick). A model knows 1,000 places. A window holds twenty visits to seven places, three of which training
# never showed. How many answers does the question have? The gate is 0.6 and the new places have a quarter of the attention:
# how much probability do the three get together, and what is the most that they could get with this gate?

# %% tags=["try"]
answers, together, at_most = ..., ..., ...
check.exercise("22.1", [answers, together, at_most])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
answers, together = 1000 + 3, 0.6 * 0.25  # four are known anyway
check.exercise("22.1", [answers, together, 0.6])  # at most the gate

# %% [markdown]
# **Exercise 2** (medium). **Conformal prediction** ([Vovk et al., 2005](https://doi.org/10.1007/b106715); introduced by
# [Angelopoulos and Bates, 2023](https://doi.org/10.1561/2200000101)) makes sets of answers that are mostly right.
# Take the probability that the true answer of each validation window got, *somewhere new* included. Nine tenths of these are at
# or above some value $\Theta$. The set of another window keeps every answer whose probability is at least as large:
#
# $$
# \Gamma = \{ \ell : P(\ell) \ge \Theta \}. \tag{22.3}
# $$
#
# If windows stay alike, nine sets in ten hold the answer. Do the sets of the test windows keep this promise? How often do they
# hold the answer *by name*, as a place and not as *somewhere new*?

# %% tags=["try"]
on_valid = with_new(valid, new_on["valid"])  # (N, V + 1)
# valid.answer: the column of the truth, V where it is new.
own = on_valid[np.arange(len(valid.target)), valid.answer]
limit = ...  # Theta
kept = limit if limit is ... else (own >= limit).mean()
check.same(kept, 0.9, name="Theta", atol=0.001)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
at = int((len(own) + 1) / 10 + 1e-9)  # + 1 counts the new window
limit = np.sort(own)[at - 1]  # Theta: one tenth lies below
check.same((own >= limit).mean(), 0.9, name="Theta", atol=0.001)
held = on_test >= limit  # (N, V + 1) the sets
covered = held[np.arange(len(held)), test.answer]

sets = {"hold the answer (%)": 100 * covered.mean()}
sets["hold it by name (%)"] = 100 * (covered & ~test.new).mean()
sets["answers in a set"] = held.sum(1).mean()
sets["with somewhere new (%)"] = 100 * held[:, -1].mean()
pd.Series(sets).round(1).to_frame("sets")
# The promise is nearly kept, in part by an answer that names no place: hardly
# a set does without "somewhere new". It is a guarantee only if the windows
# could be shuffled with those of validation. Ours come later.

# %% [markdown]
# **Exercise 3** (project). For a newcomer's first visits a pointer has nothing to point at. Build a generator that knows the
# town: where do people go, at this hour, from a place of this kind? Mix it with the pointer.
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# Count in the training visits how often each place is entered in each hour from each `kind` of place. Add a little to every
# count, and divide by the sum of that hour and kind: a generator without a network. Let the gate be a curve over the number of
# visits so far, with the knots of the feature *age*, and train it with equation (22.2).
# Look at the column `known` of `read_results("newcomers").rows` first: such a generator could reach no more.
#
# </details>
#
# **Next:** [Real cities](23_real_cities.ipynb), where the visits are other people's, or yours.
