# %% [markdown]
# # Trained on nobody
#
# What can a model say about you if its networks have never seen you, or anybody real?
#
# *You will be able to* ask such a model about your own visits, and say why it can travel, how good it is and whom it
# spares. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Real cities](23_real_cities.ipynb). *It takes*
# ten minutes to read and about half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** Two networks that learned from people who do not exist, pooled with a few fixed rules, are level
# > with a rule that was fitted in the same city ({{ hits["GeoLife"][OURS]:.1f }} % of first guesses right on GeoLife,
# > {{ hits["New York"][OURS]:.1f }} % in New York). A pointer that was trained there does better.

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

# %% tags=["hide-input"]
# @title Imports
import numpy as np
import pandas as pd
import torch
from IPython.display import display
from wherenext import city
from wherenext.exercises import check
from wherenext.ground import ground, located
from wherenext.results import read_results

import pgt
from pgt.maps import places_map
from pgt.predictor import ask

# %% [markdown]
# ## Ask it
#
# **Change this.** Write the name of a file with visits between the quotation marks: the `Timeline.json` that a phone exports,
# or a table with a person, a place and a start in each row. (On Colab, drop it into *Files* first.) Left empty, it
# stands for Larkmere, our simulated town.

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
# Two lines do it: `pretrained` opens a small file of the package, and `predict` takes any table of visits. The others make a
# table that one can read.

# %%
model = pgt.NextLocation.pretrained()
guesses = model.predict(visits, top=3)

one = guesses[guesses.user_id == person].set_index("location_id")
names = visits.drop_duplicates("location_id").set_index("location_id").name
one["place"], one["visits"] = names, mine.location_id.value_counts()
why = model.explain(visits, person, top=3).query("feature == 'age'")
effect = why.set_index("location_id").effect / 100  # of knowing the age
one["without age"] = one.probability - effect
new = one.somewhere_new.iloc[0]
rest = 1 - one.probability.sum() - new
print(f"the person's other places: {rest:.2f}, somewhere new: {new:.2f}")
seen = ["place", "visits", "probability", "without age"]
one.set_index("rank")[seen].round(2)

# %% [markdown]
# Person 5 has been at 10 Cobbler Road five times only, and yet it is the first guess. Why? The last column asks the model
# again, with the same weights, but does not tell it how long ago each visit was: now the place is behind both others. So its
# *age* speaks for it, as all five visits are among the latest. (`explain` does the same with thirteen other facts.)
#
# **The town's records tell the rest: the person has just moved there.** Nobody told the model. But it plays at home: it
# learned from worlds that are drawn around Larkmere, where people move, too.
#
# 35 Heather Walk is the former home. At the third place, the office, the person is now; it stays on the list, as the next
# visit may be to the same place.
#
# *Somewhere new* stands for places where the person has *not* been; the model cannot name them. Its share is counted: seven
# of the last fifty visits were to new places, and the share of such visits in the made-up worlds, about a quarter, counts
# like ten visits more. So it is $(7 + 10/4) / 60$, about $0.16$.

# %% tags=["hide-input"]
# @title Figure 24.1: one person's places, and the likeliest next ones
if {"lon", "lat"} <= set(visits.columns):  # else there is nothing to draw
    drawn = places_map(
        mine,
        guesses[guesses.user_id == person],
        ground=None if file else ground(town.base, names=False),
        alt="Map of one person's places, with the likeliest next ones",
        caption="Discs: where the person has been, as large as the visits. "
        "Rings: the places of the table above, as large as their "
        "probability; click one for its name.",
    )
    display(drawn)

# %% [markdown]
# The largest ring is the new home: likely, but not often visited yet, so its disc is small.
#
# ## Why it can travel
#
# PGT has a row of numbers for every place and every person, which mean nothing in another city. The contextual pointer has
# none. It scores each past visit by how it *relates* to now: how long ago, at which hour, after which place.
#
# So names cannot matter. Give all places and people other names, and ask again.

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
# All probabilities are the same as before.
#
# ## Made-up worlds
#
# A model that knows no names can learn from people who do not exist; [Müller et al.
# (2022)](https://arxiv.org/abs/2112.10510) call such a model *prior-fitted*. Ours saw the people of made-up towns. Each town
# draws its habits around those of Larkmere, such as how curious people are and how long a habit lasts: in one more, in the
# next less. Some towns are *recorded* as diaries, some as diaries with holes, some as check-ins, of which only the time of
# arrival is known.
#
# Above all, the worlds need people who do things at fixed hours. Without them a network that answers alone loses
# {{ no_clock:.1f }} points of Acc@1 on GeoLife ([evidence](evidence_newcomers.ipynb)).
#
# ## Eight opinions
#
# The networks do not answer alone. Eight opinions on every place of a person's past become one:
#
# | Opinions | What they go by | Fitted on whose visits? |
# |---|---|---|
# | network 1 | fourteen facts about each past visit | made-up people |
# | network 2 | the same | made-up people with diaries, where visits have an end |
# | kernels 1 to 3 of [chapter 4](04_baselines.ipynb) | *came from here*, the clock, or both; they forget slowly | fixed numbers, chosen on made-up worlds and on validation windows of real cities |
# | kernel 4 | how often, lately | the same |
# | here, before | is it where the person is now? Where they were just before? | nobody's |
# | **their eight weights** | how much each opinion counts | **those of the people you ask about** |
#
# Two networks, because in some tables visits have an end and in others not: the weights decide which suits. **Only the eight
# weights are fitted to a new table.** `predict` takes past visits of everybody in it, two thousand at most, foretells each
# from what came before it, and finds the one set of weights under which they are likeliest.
#
# What do the eight say about our person? *Here* and *before* are no probabilities: we write $e$ for yes and 1 for no, so that
# a weight of $w$ multiplies by $e^w$, here the office by $e^{-0.22}$: a fifth less.

# %% tags=["hide-input"]
# @title Names: `opinions` (places, 8) and `weights` (8,)
asked = ask(visits, None, model.novelty, person)
weighed = model.experts["next_place"].weighed(asked.past)
place, said = weighed.said(next(asked.windows.batches(1)))
opinions, weights = said[place >= 0].exp().detach(), weighed.weights
NAMES = ["network 1", "network 2", "kernel 1", "kernel 2", "kernel 3"]
NAMES += ["kernel 4, how often lately", "here", "before"]

# %%
# Raise each to the power of its weight, multiply, divide by the sum.
pool = (opinions ** weights).prod(dim=1)
pool = pool / pool.sum()  # over all places of the person
best = pool.argsort(descending=True)[:3]
check.same(pool[best] * (1 - new), one.probability, name="what was printed")

columns = torch.column_stack([opinions[best].T, weights]).tolist()
columns.append([*pool[best].tolist(), float("nan")])
names = [*one.place, "weight"]
table = pd.DataFrame(columns, [*NAMES, "pool"], names)
table.map("{:.2f}".format, na_action="ignore").fillna("")

# %% [markdown]
# Follow 10 Cobbler Road down its column. The networks, which have learned that a recent place may be a new home, give it a
# third; the kernels give it less. In this town nearly all of the weight is the networks', so the pool says
# about what they say.
#
# A weight of zero ignores an opinion. A negative one takes back some of what the others, which know the same facts, have said.
#
# The last row, times the chance that the next place is *not* new, is what `predict` printed. In logarithms the pool is a
# weighted sum, hence its name, **log-linear pool** ([Genest and Zidek, 1986](https://doi.org/10.1214/ss/1177013825)).
#
# ## How good is it?
#
# Now the model stands beside others that were fitted to these very people. The eight weights come from the people's training
# days. A kernel's five numbers are the best of six hundred settings on their validation days. (*Summaries*:
# [chapter 21](21_memory_and_ceilings.ipynb).)
#
# GeoLife is asked in the exact [protocol](03_windows.ipynb), New York in the published one: all places that its training
# days never showed are one place, "unknown". Any model can copy "unknown" from a person's past, and that is a hit: New
# York's numbers include such. *Somewhere new* plays no part: only places are ranked.
#
# > **Note.** We looked at real people three times. The kernels' numbers were chosen on the validation windows of cities that
# > include GeoLife and New York. Of two kinds of made-up worlds we kept the one with the better score on *test* windows of
# > the two cities; how much better is not on record. And Larkmere was once tuned to resemble GeoLife's statistics.

# %% tags=["hide-input"]
# @title Table: first guesses in two cities
# "zero-shot": this model; "minus": what it is ahead of others.
nobody = read_results("nobody").rows
mean = nobody[nobody.seed.isna() & (nobody.group == "all")]  # over seeds
mean = mean.set_index(["table", "model", "data"])["acc@1"].sort_index()
CITY = {"geolife": "GeoLife", "new york": "New York"}
FILES = {"geolife": "geolife_exact", "new york": "last_visit"}
POINTER = {"geolife": ("beyond", {"data": "geolife", "protocol": "exact"})}
POINTER["new york"] = ("last_visit", {})
LABELS = {"pgt": "PGT, trained there, not tuned"}
LABELS["kernel"] = "kernel, fitted there"
HUNDRED, THEIRS = "kernel, 100 visits, fitted there", "pointer, trained there"
BARE, OURS = "this pool without networks", "trained on nobody"
rule, bare = mean["minus", "kernel_memory"], mean["minus", "no networks"]

runs = nobody[(nobody.table == "zero-shot") & nobody.seed.notna()]
outside = runs[runs.group == "not_in_window"].groupby("data")["acc@1"].mean()
hits, full = {}, {"variant": "full", "target_time": "unknown"}
for data, where in CITY.items():
    scores = {
        label: read_results(FILES[data]).mean(model=name, **full)
        for name, label in LABELS.items()
    }
    ours = mean["zero-shot", "predictor", data]
    source, which = POINTER[data]
    pointer = read_results(source).mean(model="contextual", **full, **which)
    scores |= {HUNDRED: ours - rule[data], THEIRS: pointer}
    hits[where] = scores | {BARE: ours - bare[data], OURS: ours}
scores = pd.DataFrame(hits).round(1).rename_axis("Acc@1, %")
summaries = "100 visits and summaries"
sees = ["a week", "a week", "100 visits"] + 3 * [summaries]
scores.insert(0, "sees", sees)
fits = ["all weights", "5 numbers", "5 numbers", "all weights"]
scores.insert(1, "fits there", [*fits, "6 weights", "8 weights"])
lacking = read_results("nobody_learning").rows.query("variant == 'no clock'")
lacking = lacking[lacking.seed.isna() & (lacking.group == "all")]
no_clock = -lacking.set_index("data")["acc@1"]["geolife"]
scores

# %% [markdown]
# Compare the last row with the third, which sees nearly the same past: it is ahead by {{ rule["geolife"]:.1f }} points on
# GeoLife and {{ rule["new york"]:.1f }} in New York (before rounding), and neither can be told from zero. **In these two
# cities the shipped file is level with a rule that was fitted there.** It is not fitted less: eight weights are more than
# five numbers. The gain is that `predict` fits them by itself, to any table, without validation days.
#
# The pointer that was trained there is ahead in both cities (no interval measured).
#
# What do the networks bring? The row above the last is the pool without them. In New York it has {{ bare["new york"]:.1f }}
# points less, which is clear of zero; on GeoLife it has {{ bare["geolife"]:.1f }} less, which is not. **On real people the
# kernels, *here* and *before* do almost as well without the networks.**
#
# Where does it fail? At places that the last seven days do not show. About a third of the targets are such, and there the
# first guess is right in {{ outside["geolife"]:.0f }} % on GeoLife and {{ outside["new york"]:.0f }} % in New York. On
# GeoLife most of them are new to the person, and no pointer can name those.
#
# ## Whom it spares
#
# A model that was trained on people can betray them. Somebody who holds a person's visits can find out whether they were
# trained on. Here is such an attack
# ([Carlini et al., 2022](https://doi.org/10.1109/SP46214.2022.9833649)). Train one model on each half of GeoLife's people. Ask
# both how likely they find one person's training visits. Bet that the person was in the half of the one that finds them
# likelier. A coin is right half
# of the time.
#
# The table has means over three ways to halve, and over the {{ n_people }} people with at least twenty training windows.

# %% tags=["hide-input"]
# @title Table: how often the attack is right
attacks = read_results("membership").rows.query("group == 'people'")
n_people = attacks.n.iloc[0]
WHO = {"pgt": "PGT, which knows names"}
WHO["contextual"] = "a pointer without names"
WHO["nobody"] = "a network trained on nobody"
attacks = attacks.set_index("model").loc[list(WHO)].rename(WHO)
right = attacks[["right", "low", "high"]].round(0).astype(int)
right.set_axis(["right, % of people", "95 % from", "to"], axis=1)

# %% [markdown]
# PGT betrays everybody: their own row, and those of their own places, were trained in one half only.
#
# But a network without a single name still betrays **{{ attacks.right.iloc[1]:.0f }} %**: each training visit is a little
# likelier in the model that saw it, and many add up.
#
# A network trained on nobody has seen neither half. (Two trainings on the same made-up people stand in for the two models.) So
# the attack can only guess, as a coin does: its interval contains one half.
#
# > **Pitfall.** This protects those whose visits would have been *trained* on, not the person you ask about: the answer says
# > where they probably go next. Whether the eight weights betray anybody, we have not tested.
#
# ## What to remember
#
# - A network without names can learn in one world and be used in another, and the first need not exist.
# - Only eight weights are fitted to a new table. On real people the fixed kernels, *here* and *before* do almost as well
#   without the networks, and the kernels' numbers were chosen on real cities.
# - A network without names can still betray who was in training, unless that was nobody.
#
# ## Exercises
#
# **Exercise 1** (quick). Ask with only the person's last $n$ visits, for $n$ in 1, 2, 5, 20 and 100. What happens to
# `somewhere_new`, and why?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
for n in (1, 2, 5, 20, 100):
    few = model.predict(mine.tail(n))
    print(f"last {n:3} visits: {few.somewhere_new.iloc[0]:.2f}")
# At first every visit is to a new place, so it rises above the mean of the
# made-up worlds. Then the person begins to return, and it falls.

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
# **Exercise 3** (project). How good is it for *you*? `model.score(visits)` scores a table on each person's last days, beside
# simple rules. `model.fit(visits)` tunes the networks or trains new ones, if that does better on validation days. Is the
# difference more than luck?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# One person has few test windows, and luck alone moves a score by several guesses. Count over months.
#
# </details>
#
# **Next:** [Scale](25_scale.ipynb), where a town gets a million places.
