# %% [markdown]
# # Trained on nobody
#
# What can a model say about you that has never seen you, or anybody real?
#
# *You will be able to* ask such a model about your own visits, and say why it can travel, how good it is and whom it
# spares. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Real cities](23_real_cities.ipynb). *It takes*
# ten minutes to read and about half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A model that learned from people who do not exist, and fits eight weights to a table's past, is right
# > with its first guess in {{ hits["GeoLife"][OURS]:.1f }} % on GeoLife and {{ hits["New York"][OURS]:.1f }} % in New York: level
# > with a rule that was fitted there, and behind a pointer that was trained there.

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
import numpy as np
import pandas as pd
from IPython.display import display
from wherenext import city
from wherenext.exercises import check
from wherenext.ground import ground, located
from wherenext.results import read_results

import pgt
from pgt.maps import places_map

# %% [markdown]
# ## Ask it
#
# **Change this.** Write the name of a file with visits between the quotation marks: the `Timeline.json` that a phone exports,
# or a table with a person, a place and a start in each row. (On Colab, drop it into *Files* on the left first.) Left empty, it
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
# The model needs two lines: `pretrained` opens a small file of the package, and `predict` takes any table of visits.

# %%
model = pgt.NextLocation.pretrained()
guesses = model.predict(visits, top=3)

one = guesses[guesses.user_id == person].set_index("rank")
# How often has the person been at these places?
been = {"visits so far": mine, "of the last 20": mine.tail(20)}
for column, some in been.items():
    counts = some.location_id.value_counts()
    one[column] = one.location_id.map(counts).fillna(0).astype(int)
names = visits.drop_duplicates("location_id").set_index("location_id").name
one.insert(0, "place", one.location_id.map(names))
new = one.somewhere_new.iloc[0]
rest = 1 - one.probability.sum() - new
print(f"the person's other places: {rest:.2f}, somewhere new: {new:.2f}")
one[["place", "probability", *been]].round(2)

# %% [markdown]
# Person 5 has been at 10 Cobbler Road five times only, and yet it is the first guess, because all five visits are among
# the latest. **The town's records say why: the person has just moved there.** Nobody told the model.
#
# *Somewhere new* stands for all places where the person has *not* been. The model cannot name them. Their probability is the
# share of new places among the latest fifty visits, drawn towards the mean of made-up worlds.

# %% tags=["hide-input"]
# @title Figure 24.1: one person's places, and the likeliest next ones
if {"lon", "lat"} <= set(visits.columns):  # else there is nothing to draw
    drawn = places_map(
        mine,
        guesses[guesses.user_id == person],
        ground=None if file else ground(town.base),
        alt="Map of one person's places, with the likeliest next ones",
        caption="Discs: where the person has been, as large as the visits. "
        "Rings: the places of the table above, as large as their "
        "probability; click one for its name.",
    )
    display(drawn)

# %% [markdown]
# The largest ring is the new home, around a small disc. The large discs are the office and three former homes.
#
# ## Why it can travel
#
# PGT has a row of numbers for every place and every person. In another city these rows mean nothing. The contextual pointer
# has none. It scores each past visit by how it *relates* to now: how long ago, at which hour, after which place.
#
# So names cannot matter. Give every place and every person another name, and ask again.

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
# A model that knows no names can learn from people who do not exist ([Müller et al.,
# 2022](https://arxiv.org/abs/2112.10510), call such a network *prior-fitted*). Ours saw the people of made-up towns. Each town
# draws its habits around those of Larkmere: how curious people are, how much the clock matters, how long a habit lasts. And each
# is *recorded* in its own way: as a diary, as a diary with holes, or as check-ins, which have no end.
#
# What must such worlds have? Above all a clock, and new places. [Evidence](evidence_newcomers.ipynb) shows that, and whom the
# model serves worst.
#
# ## Eight weights
#
# The file holds two such networks. Beside them stand four kernels of [chapter 4](04_baselines.ipynb) with fixed numbers, and
# two bare facts. Each has an opinion on every place of a person's past:
#
# | Opinion | What it goes by |
# |---|---|
# | network 1 | fourteen facts about each past visit; it saw all worlds |
# | network 2 | the same; it saw diaries only, which say how long a visit lasted |
# | kernel 1 | *came from here*, in a long memory |
# | kernel 2 | the clock first, then *came from here* |
# | kernel 3 | *came from here* first, then the clock |
# | kernel 4 | how often, in a short memory |
# | *here* | is this where the person is now? |
# | *before* | is this where they were just before? |
#
# How do they become one? Take two opinions about three places. Raise each probability to the power of a weight, multiply,
# and divide by the sum.

# %%
opinions = np.array([[0.60, 0.30, 0.10], [0.20, 0.70, 0.10]])  # (K, V)
weights = np.array([0.5, 0.5])  # may be negative, need not sum to one
pool = (opinions ** weights[:, None]).prod(0)  # home: sqrt(0.6 * 0.2)
pool /= pool.sum()
said = pd.DataFrame([*opinions, pool], columns=["home", "work", "gym"])
said.set_axis(["one", "two", "pool"]).round(2)

# %% [markdown]
# A weight of zero ignores an opinion, and a large one sharpens it. This is a **log-linear pool**
# ([Genest and Zidek, 1986](https://doi.org/10.1214/ss/1177013825)), since in logarithms it is a weighted sum:
#
# $$
# \begin{aligned}
# \log P(\ell) ={}& \sum_k w_k \log P_k(\ell) + w_\text{here}\,[\ell = \text{here}] \\
# &+ w_\text{before}\,[\ell = \text{before}] + \text{constant} .
# \end{aligned} \tag{24.1}
# $$
#
# $\ell$ is a place, $P_k$ are the six opinions of networks and kernels, and $w$ the weights. A bracket is 1 if what it says is
# true, and 0 if not. The constant makes the probabilities of the person's places sum to one.
#
# (The logarithm of zero would forbid a place. So each $P_k$ first gets a ten-thousandth more.)
#
# **Only the eight weights are fitted to a new table**: those under which its past visits are likeliest. `predict` does it.
#
# ## How good is it?
#
# Here the model stands beside others that were fitted to these very people. How far behind is it? (*Summaries* keep a line for
# each older place, see [chapter 21](21_memory_and_ceilings.ipynb).)
#
# In New York all places that training never showed are one place, "unknown", and naming it is a hit (the published
# protocol). On known places alone the rows come in the same order.

# %% tags=["hide-input"]
# @title Table: first guesses in two cities
# "zero-shot": this model, five trainings of its networks; "minus": what it
# is ahead of others.
nobody = read_results("nobody").rows
mean = nobody[nobody.seed.isna() & (nobody.group == "all")]  # over seeds
mean = mean.set_index(["table", "model", "data"])["acc@1"].sort_index()
CITY = {"geolife": "GeoLife", "new york": "New York"}
FILES = {"geolife": "geolife_exact", "new york": "last_visit"}
POINTER = {"geolife": ("beyond", {"data": "geolife", "protocol": "exact"})}
POINTER["new york"] = ("last_visit", {})
LABELS = {"pgt": "PGT, trained there", "kernel": "kernel, fitted there"}
HUNDRED, THEIRS = "kernel, 100 visits, fitted there", "pointer, trained there"
OURS = "trained on nobody"
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
    scores |= {HUNDRED: ours - rule[data], THEIRS: pointer, OURS: ours}
    hits[where] = scores
scores = pd.DataFrame(hits).round(1).rename_axis("Acc@1, %")
summaries = "100 visits and summaries"
scores.insert(
    0, "sees", ["a week", "a week", "100 visits", summaries, summaries]
)
fits = ["all weights", "5 numbers", "5 numbers", "all weights", "8 weights"]
scores.insert(1, "fits there", fits)
scores

# %% [markdown]
# Compare the last row with the third, which sees nearly the same past: it is ahead by {{ rule["geolife"]:.1f }} points on
# GeoLife and {{ rule["new york"]:.1f }} in New York (before rounding), and neither can be told from zero. **In these two cities one
# file replaces a rule that was fitted there.** It does not replace a person's own past, which must be given.
#
# The pointer in the fourth row, which was trained on these people, is ahead in both cities.
#
# What do the networks bring? Kernels and facts alone have {{ bare["new york"]:.1f }} points less in New York; on GeoLife the
# {{ bare["geolife"]:.1f }} cannot be told from zero. **On real people kernels and facts do nearly all the work.**
#
# Where does it fail? In both cities about a third of the windows lead to a place that the last seven days do not show. There the
# first guess is right in {{ outside["geolife"]:.0f }} % on GeoLife and {{ outside["new york"]:.0f }} % in New York.
#
# > **Note.** No real visit trained the networks, but some choices looked at real people. The kernels were chosen on made-up worlds
# > and on validation windows of real cities, these two among them. Of two families of worlds we kept the one that scored
# > better on these test windows. Larkmere was once tuned to resemble GeoLife's statistics, so New York is the cleaner test.
#
# ## Whom it spares
#
# A model that was trained on people can betray them. Here is an attack
# ([Carlini et al., 2022](https://doi.org/10.1109/SP46214.2022.9833649)). Train one model on each half of GeoLife's people. Ask
# both how likely they find the visits of one person. The one that finds them likelier has probably seen them. A coin toss is right
# half of the time.

# %% tags=["hide-input"]
# @title Table: how often the attack is right
attacks = read_results("membership").rows.query("group == 'people'")
n_people = attacks.n.iloc[0]
WHO = {
    "pgt": "PGT, which knows names",
    "contextual": "a pointer without names, trained on these people",
    "nobody": "the same, trained on nobody",
}
right = attacks.set_index("model").right.loc[list(WHO)].rename(WHO)
right.round(0).astype(int).to_frame("right, % of people")

# %% [markdown]
# PGT betrays everybody: the rows for their places were trained in one half only.
#
# But a network without a single name still betrays **{{ right.iloc[1]:.0f }} %**. One visit says little; a person has many, and
# small advantages add up.
#
# The networks of the last row have seen nobody. On {{ n_people }} people their number cannot be told from a coin toss
# ([intervals](evidence_newcomers.ipynb)).
#
# > **Pitfall.** "Trained on nobody" protects those whose visits would have been used for *training*. It does not protect the
# > person you ask about: the answer says where they probably are. Whether the eight weights betray anybody, we have not tested.
#
# ## What to remember
#
# - A network without names can learn in one world and be used in another, and the first need not exist.
# - Only eight weights are fitted to a new table. On real people fixed kernels and facts do nearly all the work.
# - In two cities it is level with a rule that was fitted there, and behind a pointer that was trained there.
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
# The estimate lies between the share of new places in the latest visits and
# the mean of the made-up worlds. At first every visit is to a new place, so
# it rises above that mean. Then the person begins to return, and it falls.

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
# days, beside simple rules. `model.fit(visits)` tunes the networks or trains new ones, if that does better on the
# validation days. Score again. Is the difference more than luck?
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# One person has few test windows, and luck alone moves a score by several guesses either way. Count over months.
#
# </details>
#
# **Next:** [Scale](25_scale.ipynb), where a town gets a million places.
