# %% [markdown]
# # Trained on nobody
#
# The networks of this model have never seen a visit of a real person. It still says where people in Beijing and New York go
# next, and, given a file of your own visits, where you go.
#
# *You will be able to* take a trained model to a city that it has never seen, say why that works, and judge how good it is,
# whom it spares and where it fails. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and
# [Real cities](23_real_cities.ipynb). *It takes* ten minutes to read and about half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** Two networks that learned from people who do not exist, four fixed rules, and eight weights fitted
# > to each table's past are right with the first guess in {{ hits["GeoLife"][OURS]:.1f }} % on GeoLife and
# > {{ hits["New York"][OURS]:.1f }} % in New York: level with a rule that was fitted to these very people and sees the same
# > hundred visits, and behind a pointer that was trained on them ({{ hits["GeoLife"][THEIRS]:.1f }} and
# > {{ hits["New York"][THEIRS]:.1f }} %).

# %% tags=["hide-input"]
# @title Setup: install the package (Colab)
try:
    import pgt
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from wherenext import city, figures
from wherenext.exercises import check
from wherenext.figures import flowchart, show
from wherenext.ground import ground, located
from wherenext.results import read_results

import pgt
from pgt.maps import places_map

# %% [markdown]
# ## Two lines
#
# **Change this.** Write the name of a file with visits between the quotation marks: the `Timeline.json` that a phone exports,
# or a table with a person, a place and a start in each row. (On Colab, drop it into *Files* on the left first.) Left empty, it
# stands for our simulated town.

# %%
file = ""  # @param {type:"string"}

# %%
town = city.load()
visits = pgt.read_visits(file) if file else located(town.visits, town)
if "name" not in visits:  # of the places
    visits["name"] = visits.location_id.astype(str)
person = visits.user_id.iloc[0] if file else 5
mine = visits[visits.user_id == person]

# %% [markdown]
# The model itself needs two lines. `pretrained` opens a small file that comes with the package, and `predict` takes any
# table of visits.

# %%
model = pgt.NextLocation.pretrained()
guesses = model.predict(visits, top=3)

names = visits.drop_duplicates("location_id").set_index("location_id").name
one = guesses[guesses.user_id == person].set_index("rank")
one = one.assign(place=one.location_id.map(names))
rest = 1 - one.probability.sum() - one.somewhere_new.iloc[0]
print(f"left for the person's other places: {rest:.2f}")
one[["place", "probability", "somewhere_new"]].round(2)

# %% [markdown]
# The guesses are places where the person has been. `somewhere_new` belongs to the person: the probability of all places
# together where they have *not* been. It is the share of new places among their latest fifty visits, drawn towards the mean of
# made-up worlds.

# %% tags=["hide-input"]
# @title Figure 24.1: one person's places, and the likeliest next ones
if {"lon", "lat"} <= set(visits.columns):  # else there is nothing to draw
    drawn = places_map(
        mine,
        guesses[guesses.user_id == person],
        ground=None if file else ground(town.base),
        alt="Map of one person's places, with the likeliest next ones",
        caption="Discs: where the person has been. Rings: the places of the "
        "table above; click one for its name.",
    )
    display(drawn)

# %% [markdown]
# ## Why it can travel
#
# PGT has a row of numbers for every place and every person. Take it to another city, and these rows mean nothing. The
# contextual pointer has no such rows. It scores each past visit by how it *relates* to now: how long ago, at
# which hour, after which place, how often.
#
# So names cannot matter. Give every place and every person another name, and look at the answer again.

# %%
rng = np.random.default_rng(0)
numbers, _ = pd.factorize(visits.location_id)  # 0, 1, 2, ... by place
people, _ = pd.factorize(visits.user_id, sort=True)  # and by person
other = visits.assign(
    location_id=rng.permutation(10**6)[numbers],
    user_id=people + 1000,
)
again = model.predict(other, top=3)
check.same(again.probability, guesses.probability, name="the probabilities")

# %% [markdown]
# ## Made-up worlds
#
# A model that knows no names can learn from people who do not exist. Its networks are *prior-fitted*
# ([Müller et al., 2022](https://arxiv.org/abs/2112.10510)): trained on tasks that are drawn at random, they answer a new task
# in one pass. Here the tasks are people of made-up towns.
#
# Each town draws its habits around those of Larkmere, our simulated town: how curious people are, how much the clock matters,
# how long a habit lasts. And each is *recorded* in its own way: as a diary, as a diary with holes, or as check-ins, which have
# no end time.
#
# What must such a world have? Take one thing away from all of them and train again. On GeoLife accuracy falls most, by far,
# without the clock; in New York, where [the rule ignores the clock](23_real_cities.ipynb), without new places. The variety of
# habits is worth a point or less ([Evidence](evidence_newcomers.ipynb) has the bars).
#
# ## What is in the file
#
# Two networks: one has learned from all worlds, the other only from diaries, which say how long a visit lasted. (On check-ins
# it speaks, too, and the weights decide how much it counts.) Beside them stand four kernels of [chapter 4](04_baselines.ipynb)
# with fixed numbers: one that looks for *came from here* in a long memory, one led by the clock, one led by *came from here*
# with a little clock, and one with a short memory that only counts. And two bare facts of each place: the person is *here*
# now, or was here just *before*.

# %% tags=["hide-input"]
# @title Figure 24.2: from visits to an answer
COPIED, GATE, TRUTH = figures.COPIED, figures.GATE, figures.TRUTH
EXTRA, INK = figures.EXTRA, figures.INK
NETWORKS, KERNELS = "two networks\n(made-up worlds)", "four kernels\n(fixed)"
FACTS = "two facts\n(here, before)"
POOL = "weighted sum of logarithms\n(eight weights)"
NEW = "share of new places\namong the latest visits"
PAST = "past visits of\nthe whole table"
PLACES = "the person's places\n(they share the rest)"
BOXES = {  # name: x, y, colour, and where its arrows lead
    "visits of one person": (1.5, 3, INK, NETWORKS, KERNELS, FACTS, NEW),
    NETWORKS: (-1.9, 2, COPIED, POOL),
    KERNELS: (0, 2, COPIED, POOL),
    FACTS: (1.7, 2, COPIED, POOL),
    NEW: (4.2, 2, EXTRA, "somewhere new"),
    POOL: (0, 1, GATE, PLACES),
    PAST: (2.7, 1, INK, POOL),
    "somewhere new": (4.2, 0, TRUTH, PLACES),
    PLACES: (0, 0, TRUTH),
}
figure, axes = plt.subplots(figsize=(7.2, 3.7))
flowchart(axes, BOXES)
show(
    figure,
    alt="Boxes from top to bottom. One person's visits lead to two networks, "
    "four kernels and two facts, and these to a weighted sum of logarithms, "
    "whose weights come from past visits of the whole table. "
    "Beside them the share of new places among the latest visits gives the "
    "probability of somewhere new; the person's places share the rest.",
    caption="Blue: opinions, the same for every table. Purple: the eight "
    "weights, fitted to a table's past. Olive: an estimate of its own. "
    "Green: the answer.",
)

# %% [markdown]
# How do so many opinions become one? Add up their logarithms, each with a weight of its own, and let the probabilities of
# the person's places sum to one again.
#
# $$
# \begin{aligned}
# \log P(\ell) ={}& \sum_k w_k \log P_k(\ell) + w_\text{here}\,[\ell = \text{here}] \\
# &+ w_\text{before}\,[\ell = \text{before}] + \text{constant} .
# \end{aligned} \tag{24.1}
# $$
#
# $P_k$ are the six opinions of networks and kernels; a bracket is 1 if what it says is true, and 0 if not. This is a
# **log-linear pool** ([Genest and Zidek, 1986](https://doi.org/10.1214/ss/1177013825)). Two opinions about three places:

# %%
opinions = np.array([[0.60, 0.30, 0.10], [0.20, 0.70, 0.10]])  # (K, V)
weights = np.array([0.5, 0.5])  # may be negative, need not sum to one
pool = np.exp(weights @ np.log(opinions))  # (V,)
pool /= pool.sum()
said = pd.DataFrame([*opinions, pool], columns=["home", "work", "gym"])
said.set_axis(["one", "two", "pool"]).round(2)

# %% [markdown]
# A weight of zero ignores an opinion, a large one sharpens it, and a negative weight on *here* says that people do not stay
# where they are. **Fitted to a new table are these eight weights alone**: those under which its past visits are likeliest. (The
# share of new places is only counted.) `predict` does that in seconds.
#
# ## How good is it?
#
# Here the model stands beside models that were fitted to these people. Before you look: how far behind is it? No model is told
# when the next visit begins. (New York has the published protocol, the others the exact one.)
#
# > **Note.** No real visit trained the networks, but some choices looked at real people. The kernels and their numbers were
# > chosen on made-up worlds and on validation windows of real cities, these two among them. An earlier family of worlds was
# > scored on the test windows of both. Larkmere's statistics were once tuned to resemble GeoLife's. So New York is the cleaner
# > test. Larkmere is home, since the worlds are drawn around it: do not count it.

# %% tags=["hide-input"]
# @title Table: first guesses in three cities
# In the file "predictor" is this model, "zero-shot" its scores, with five
# trainings of the networks; "minus" has what it is ahead of others.
nobody = read_results("nobody").rows
mean = nobody[nobody.seed.isna() & (nobody.group == "all")]  # over seeds
mean = mean.set_index(["table", "model", "data"])["acc@1"]
mean = mean.sort_index()
CITY = {"geolife": "GeoLife", "new york": "New York", "city": "Larkmere"}
FILES = {"geolife": "geolife_exact", "new york": "last_visit", "city": "city"}
OURS, THEIRS = "trained on nobody", "contextual pointer, trained there"
FITTED = {"PGT, trained there": "pgt", "kernel, fitted there": "kernel"}
POINTER = {"geolife": ("beyond", {"data": "geolife", "protocol": "exact"})}
POINTER["city"] = ("beyond", {"data": "city"})
POINTER["new york"] = ("last_visit", {})
rule, bare = mean["minus", "kernel_memory"], mean["minus", "no networks"]
minus = nobody[nobody.table == "minus"].set_index(["model", "data"])
from_, to = minus.loc[("no networks", "new york"), ["low", "high"]]

hits = {}
for data, where in CITY.items():
    fitted = {"variant": "full", "target_time": "unknown"}
    hits[where] = {
        label: read_results(FILES[data]).mean(model=name, **fitted)
        for label, name in FITTED.items()
    }
    ours = mean["zero-shot", "predictor", data]
    hits[where]["kernel, 100 visits, fitted there"] = ours - rule[data]
    source, which = POINTER[data]
    pointer = read_results(source).mean(model="contextual", **fitted, **which)
    hits[where][THEIRS] = pointer
    hits[where][OURS] = ours
fitted["variant"] = "tuned"
tuned = read_results("geolife_exact").mean(model="pgt", **fitted)
scores = pd.DataFrame(hits).round(1).rename_axis("Acc@1 (%)")
scores = scores.rename(columns={"Larkmere": "Larkmere (home)"})
scores.insert(0, "past it sees", "100 visits and summaries")
scores.loc[list(FITTED), "past it sees"] = "a week"
scores.loc["kernel, 100 visits, fitted there", "past it sees"] = "100 visits"
fits = {"PGT": "all weights", "kernel": "5 numbers"}
fits |= {"contextual": "all weights", "trained": "8 weights"}
first = scores.index.str.extract(r"^(\w+)")[0]
scores.insert(1, "fits there", first.map(fits).to_numpy())
scores

# %% [markdown]
# Compare like with nearly like. The kernel with a hundred visits had its five numbers chosen on these people, by us; the model
# fits its eight weights to their past by itself. Against that kernel the model
# has {{ rule["geolife"]:+.1f }} points on GeoLife and {{ rule["new york"]:+.1f }} in New York (before rounding); neither can be
# told from zero. The contextual pointer, trained on these people, is ahead in both. **In these two cities one file replaces a
# rule that was fitted there. It does not replace each person's own past**, which must be given. The two models that see a week
# are behind. (Tuned, as in [chapter 23](23_real_cities.ipynb), PGT has {{ tuned:.1f }} % on GeoLife.)
#
# What do the networks bring? Leave them out, and weigh the kernels and the facts alone. In New York the networks are worth
# {{ bare["new york"]:+.1f }} points (95 % interval {{ from_:.1f }} to {{ to:.1f }}); on GeoLife their
# {{ bare["geolife"]:+.1f }} cannot be told from zero. **On real people four fixed kernels, chosen with a look at both
# cities, and six weights do nearly all the work.**
#
# And if you have visits of these people? With a few hundred windows the shipped file is still ahead of a network that was
# trained on them, from scratch or starting from one of the made-up worlds; with three thousand it is behind
# ([Evidence: newcomers](evidence_newcomers.ipynb)). `model.fit(visits)` tries both ways and the shipped file, and keeps the best
# on your validation days.
#
# ## Whom it spares
#
# A model that was trained on people can betray them. Split GeoLife's people into two halves and train a model on each. Take one
# person, and ask both models how likely they find this person's training visits. The one that finds them likelier has probably
# seen them ([Carlini et al., 2022](https://doi.org/10.1109/SP46214.2022.9833649)).
#
# A coin toss is right half of the time. As a control we attack two networks that were trained on nobody. What would you bet on
# a network that knows no names?

# %% tags=["hide-input"]
# @title Table: how often the attack is right
attacks = read_results("membership").rows
n_people = attacks[attacks.group == "people"].n.iloc[0]
betrayed = attacks.pivot(
    index="model", columns="group", values=["right", "low", "high"]
)
WHO = {
    "pgt": "PGT: knows names",
    "contextual": "pointer without names, trained on these people",
    "nobody": "the same, trained on nobody",
}
right = betrayed["right"].loc[list(WHO)].rename(WHO).round(0).astype(int)
right = right.set_axis(["from all visits", "from one visit"], axis=1)
ends = betrayed.loc[list(WHO), [("low", "people"), ("high", "people")]]
spans = [f"{low:.0f} to {high:.0f}" for low, high in ends.to_numpy()]
right.insert(1, "95 % interval", spans)
right.rename_axis(f"attacks that are right, % ({n_people} people)")

# %% [markdown]
# PGT betrays everybody: the rows for their places were trained in one half and not in the other. But a network without a
# single name, trained on the same people, still betrays
# **{{ betrayed["right", "people"]["contextual"]:.0f }} %** of them. From one visit the attack on it is little better than a coin
# toss, but a person has many, and small advantages add up. (In [chapter 22](22_open_vocabulary.ipynb), where training hardly helped,
# the visits were later ones.) The control cannot be told from a coin toss.
#
# > **Pitfall.** "Trained on nobody" protects those whose visits would have been used for *training*. It does not protect the
# > person you ask about: their visits are the input, and the answer says where they probably are. Whether
# > the eight weights, fitted to a table, betray anybody, we have not tested.
#
# ## Where it fails
#
# The model can only point at places where the person has been. Look at the test windows by what happens next.

# %%
GROUPS = {
    "in_window": "to a place of the last seven days",
    "not_in_window": "to any other place",
}
# nobody, CITY: as in the table of three cities.
runs = nobody[(nobody.table == "zero-shot") & nobody.seed.notna()]
by = runs.pivot_table(["n", "acc@1"], "group", "data")  # means over runs
parts = {
    "share of windows, %": 100 * by["n"] / by["n"].loc["all"],
    "Acc@1, %": by["acc@1"],
}
parts = {name: part[["geolife", "new york"]] for name, part in parts.items()}
by = pd.concat(parts, axis=1).loc[list(GROUPS)]
by.rename(index=GROUPS, columns=CITY).round(1)

# %% [markdown]
# If people go to a place outside their last week, the first guess is rarely right. Some of these places are new, and those are
# never named: the model only says how likely one is. ([Evidence: newcomers](evidence_newcomers.ipynb) shows which people it
# serves worst.)
#
# ## What to remember
#
# - A network without names of places or people can be trained in one world and used in another, and the first need not exist.
# - Only eight weights are fitted to a new table. On real people four fixed kernels do nearly all the work.
# - The fair rival is a rule with nearly the same past. In two cities the file is level with it, and behind a pointer trained there.
# - A network without names can still betray who was in training. One that was trained on nobody has nobody to betray.
#
# ## Exercises
#
# **Exercise 1** (quick). Ask for your person with only their last $n$ visits, for $n$ in 1, 2, 5, 20 and 100, and
# write down `somewhere_new` each time. What happens, and why?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
for n in (1, 2, 5, 20, 100):
    few = model.predict(mine.tail(n))
    print(f"last {n:3} visits: {few.somewhere_new.iloc[0]:.2f}")
# The estimate lies between the share of new places in the person's latest
# visits and the mean share in the made-up worlds. At first every visit is to
# a new place, so it rises above that mean. Then the person begins to return,
# and it falls. The more visits there are, the less the mean counts.

# %% [markdown]
# **Exercise 2** (quick). Two opinions give three places the probabilities 0.6, 0.3, 0.1 and 0.1, 0.3, 0.6. Their weights in
# a log-linear pool are 2 and 1. How probable is the first place in the pool?

# %% tags=["try"]
share = ...  # a number between 0 and 1
check.exercise("24.2", share)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
votes = np.array([0.6**2 * 0.1, 0.3**2 * 0.3, 0.1**2 * 0.6])
check.exercise("24.2", votes[0] / votes.sum())
# A weight is a power: the first opinion counts as if two had held it.

# %% [markdown]
# **Exercise 3** (project). How good is it for *you*? `model.score(visits)` scores a table on the last part of each person's
# days, with simple rules beside it. Fit the model with `model.fit(visits)` and score it again. Is the difference more than
# luck?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# One person has few test windows, and luck alone moves a score by several guesses either way. Count over months.
#
# </details>
#
# **Next:** [Scale](25_scale.ipynb), where a town gets a million places.
