# %% [markdown]
# # Trained on nobody
#
# What can a model say about you if its networks have never seen you, or anybody real?
#
# *You will be able to* ask such a model about your own visits, and say why it can travel, how good it is and whom it
# spares. *You need* the [Contextual pointer](20_contextual_pointer.ipynb) and [Real cities](23_real_cities.ipynb). *It takes*
# ten minutes to read and about half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** A model whose networks learned from people who do not exist is level with a rule that was fitted in
# > the same city ({{ hits["GeoLife"][OURS]:.1f }} % of first guesses right on GeoLife, {{ hits["New York"][OURS]:.1f }} % in
# > New York). But we had looked at real cities when we chose its rules and its worlds. A pointer that was trained in the same
# > city does better.

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
from IPython.display import display
from wherenext import city
from wherenext.exercises import check
from wherenext.ground import ground, located
from wherenext.results import read_results

import pgt
from pgt.maps import places_map
from pgt.predictor.questions import ask

# %% [markdown]
# ## Ask it
#
# Where will you go next? PGT cannot say: it knows only the places and people that it was trained on. To train a model for
# you takes many visits. You alone have few, and those of other people are private. So here is a model that comes trained,
# and on nobody.
#
# **Change this.** Write the name of a file with visits between the quotation marks: the `Timeline.json` that a phone exports,
# or a table with a person, a place and a start in each row. (On Colab, drop it into *Files* first.) Left empty, it
# stands for Larkmere, our simulated town.

# %%
file = ""  # @param {type:"string"}

# %% tags=["hide-input"]
# @title `larkmere`: the visits of the town, with names and coordinates
town = city.load()
larkmere = located(town.visits, town)

# %% [markdown]
# Three lines do it: open the model, a small file of the package; read the visits; ask for the three likeliest next places of
# everybody in the table.

# %%
model = pgt.NextLocation.pretrained()
visits = pgt.read_visits(file) if file else larkmere
guesses = model.predict(visits, top=3)

# %% tags=["hide-input"]
# @title Table: what `guesses` says of one person, whose visits are `mine`
if "name" not in visits:  # of the places
    visits["name"] = visits.location_id.astype(str)
person = visits.user_id.iloc[0] if file else 5
mine = visits[visits.user_id == person]

one = guesses[guesses.user_id == person].set_index("location_id")
names = visits.drop_duplicates("location_id").set_index("location_id").name
one["place"], one["visits"] = names, mine.location_id.value_counts()
why = model.explain(visits, person, top=3).query("feature == 'age'")
effect = why.set_index("location_id").effect / 100  # of knowing the age
one["without age"] = one.probability - effect
new = one.somewhere_new.iloc[0]
rest = 1 - one.probability.sum() - new
seen = ["place", "visits", "probability", "without age"]
shown = one.set_index("rank")[seen].astype({"visits": str})
for column in seen[2:]:
    shown[column] = shown[column].map("{:.2f}".format)
for which, share in {"all other places": rest, "somewhere new": new}.items():
    shown.loc[which] = ["", "", f"{share:.2f}", ""]
shown

# %% [markdown]
# Person 5 is at the office now, Green & Olive Architects. The first guess is 10 Cobbler Road, although the person has been
# there only five times, far less often than at 35 Heather Walk. Why?
#
# The last column asks the same model again, but hides how long ago each visit was. Now 35 Heather Walk comes first. So it is
# *age* that speaks for 10 Cobbler Road: all five visits are among the latest. (`explain` does the same with thirteen other
# facts.)
#
# **The town's records tell the rest: the person has just moved, from 35 Heather Walk to 10 Cobbler Road.** Nobody told the
# model. But it plays at home: the made-up people that it learned from live in towns much like Larkmere, and they move, too.
#
# *Somewhere new* stands for places where the person has *not* been; the model cannot name them. Its share is counted. Of the
# person's last fifty visits, seven were to new places. In the made-up towns it is about one visit in four, and they count
# like ten visits more: $(7 + 10/4) / 60$, about $0.16$.

# %% tags=["hide-input"]
# @title Figure 24.1: one person's places, and the likeliest next ones
if {"lon", "lat"} <= set(visits.columns):  # else there is nothing to draw
    drawn = places_map(
        mine,
        guesses[guesses.user_id == person],
        ground=None if file else ground(town.base, names=False),
        alt="Map of one person's places, with the likeliest next ones",
        caption="Discs: where the person has been, as large as the visits. "
        "Rings: the three guesses, as large as their probability. From "
        f"west to east: {', '.join(one.sort_values('lon').place)}.",
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
# A model that knows no names can learn from people who do not exist. [Müller et al.
# (2022)](https://arxiv.org/abs/2112.10510) call it *prior-fitted*: it is fitted to what one supposes before seeing anybody,
# the *prior*. From whom did ours learn?

# %%
print(model.notes["trained on"])

# %% [markdown]
# A *world* is a made-up town with its people. Each world draws its habits around those of Larkmere, such as how curious
# people are and how long a habit lasts: in one more, in the next less. Some worlds are *recorded* as diaries, some as diaries
# with holes, some as check-ins, of which only the time of arrival is known.
#
# Above all, the worlds need people who do things at fixed hours. Without them a network that answers alone loses
# {{ no_clock:.1f }} points of Acc@1 on GeoLife ([evidence](evidence_newcomers.ipynb)).
#
# ## Eight opinions
#
# The networks do not answer alone. Eight opinions on every place of a person's past become one:
#
# | Opinion | What it goes by | Who fitted it? |
# |---|---|---|
# | network 1 | fourteen facts about each past visit | trained on made-up people |
# | network 2 | the same facts | trained on made-up people with diaries |
# | kernels 1 to 3 ([chapter 4](04_baselines.ipynb)) | *came from here* and the clock, in three mixtures | we chose their numbers, on made-up worlds and real cities |
# | kernel 4 | how often, lately | the same |
# | here | is the person there now? | nobody |
# | before | was the person there just before? | nobody |
#
# How do eight become one? **Raise each opinion to the power of its weight, and multiply.** The last two opinions are a *yes*
# or a *no*: the number $e$ or 1 (in logarithms, where the model computes, 1 or 0). Here are all eight on the two places that
# compete:

# %% tags=["hide-input"]
# @title `opinions` (places, 8), `weights` (8,), `best`: the three likeliest
asked = ask(visits, None, model.novelty, person)
weighed = model.experts["next_place"].fit_weights(asked.past)
place, said = weighed.expert_log_probs(next(asked.windows.batches(1)))
opinions, weights = said[place >= 0].exp().detach(), weighed.weights
best = (opinions**weights).prod(dim=1).argsort(descending=True)[:3]
NAMES = ["network 1", "network 2", "kernel 1", "kernel 2", "kernel 3"]
NAMES += ["kernel 4", "here", "before"]

# %%
powers = opinions ** weights  # (places, 8)
columns = {("", "weight"): weights}
for which, place_name in zip(best[:2], one.place[:2], strict=True):
    columns[place_name, "opinion"] = opinions[which]
    columns[place_name, "its power"] = powers[which]
ratio = powers[best[0]] / powers[best[1]]
columns["of the powers", "ratio"] = ratio
pd.DataFrame(columns, NAMES).round(2)

# %% tags=["hide-input"]
# @title `networks`, `others`, `by_hand`: three products, for the text
networks, others = ratio[:2].prod(), ratio[2:].prod()
by_hand = powers[best[0]].prod()

# %% [markdown]
# Read the first row. For 10 Cobbler Road, $0.32$ to the power of $0.40$ is $0.63$; for 35 Heather Walk the power is $0.50$.
# Only their ratio matters, as a factor that all places share changes nothing.
#
# The networks, which have learned that a recent place may be a new home, decide here. Their two ratios together make 10
# Cobbler Road {{ networks:.1f }} times as likely as 35 Heather Walk. The other six together bring {{ others:.2f }}, hardly
# more than 1.
#
# A weight of zero would ignore an opinion. A negative one turns it round: kernel 1 prefers 35 Heather Walk, but its power is
# larger for 10 Cobbler Road. The eight know much the same facts; where two say the same, the pool must not count it twice.
#
# The product of all eight powers of 10 Cobbler Road is {{ by_hand:.2f }}. Do the same for every place, and divide by the sum.

# %%
product = powers.prod(dim=1)
pool = product / product.sum()  # over all places of the person
answer = pool * (1 - new)  # the rest is somewhere new
check.same(answer[best], one.probability, name="what was printed")

columns = {"product": product, "pool": pool, "times (1 - new)": answer}
columns = {name: column[best] for name, column in columns.items()}
pd.DataFrame(columns, one.place).round(2)

# %% [markdown]
# The last column is what `predict` said. In logarithms the product is a weighted sum, hence its name, **log-linear pool**
# ([Genest and Zidek, 1986](https://doi.org/10.1214/ss/1177013825)).
#
# Where do the weights come from? **They alone are fitted to your table.** `predict` takes past visits of everybody in it, two
# thousand at most, foretells each from what came before it, and finds the one set of eight weights under which they are
# likeliest. So they also decide which network suits: the second needs visits that have an end.
#
# ## How good is it?
#
# Three others stand beside it, each fitted in the city where it is asked:
#
# - *PGT* sees a week of visits. It is not tuned; tuned, it has {{ tuned:.1f }} % on GeoLife
#   ([chapter 23](23_real_cities.ipynb)).
# - The *kernel* sees a hundred visits. Its five numbers are the best of six hundred settings on validation days.
# - The *pointer* sees a hundred visits and summaries of older ones ([chapter 21](21_memory.ipynb)).
#
# The model trained on nobody sees what the pointer sees, and takes its eight weights from the training days.
#
# Compare within a city only. GeoLife is asked in the exact [protocol](03_windows.ipynb), New York in the published one: there
# all places that its training days never showed are one place, "unknown". Any model can copy "unknown" from a person's past,
# and that is a hit. *Somewhere new* plays no part: only places are ranked.

# %% tags=["hide-input"]
# @title Table: first guesses in two cities
# "zero-shot": this model; "minus": how far it is ahead of others.
nobody = read_results("nobody").rows
mean = nobody[nobody.seed.isna() & (nobody.group == "all")]  # over seeds
mean = mean.set_index(["table", "model", "data"]).sort_index()
CITY = {"geolife": "GeoLife", "new york": "New York"}
FILES = {"geolife": "geolife_exact", "new york": "last_visit"}
POINTER = {"geolife": ("beyond", {"data": "geolife", "protocol": "exact"})}
POINTER["new york"] = ("last_visit", {})
OURS, THEIRS, OF_PGT = "trained on nobody", "pointer", "PGT"
FITTED = {OF_PGT: "all weights", "kernel": "5 numbers"}
FITTED |= {THEIRS: "all weights", OURS: "8 weights"}
LESS = {"kernel_memory": "the kernel", "no networks": "itself, no networks"}

runs = nobody[(nobody.table == "zero-shot") & nobody.seed.notna()]
outside = runs[runs.group == "not_in_window"].groupby("data")["acc@1"].mean()
full = {"variant": "full", "target_time": "unknown"}
scores = pd.DataFrame({"fitted there": FITTED}).rename_axis("Acc@1, %")
leads = pd.DataFrame(index=[*LESS.values()]).rename_axis("points ahead of")
hits = {}
for data, where in CITY.items():
    ours = mean["acc@1"]["zero-shot", "predictor", data]
    source, which = POINTER[data]
    pointer = read_results(source).mean(model="contextual", **full, **which)
    of_pgt = read_results(FILES[data]).mean(model="pgt", **full)
    rows = [mean.loc[("minus", model_name, data)] for model_name in LESS]
    kernel = ours - rows[0]["acc@1"]
    hits[where] = {OF_PGT: of_pgt, "kernel": kernel}
    hits[where] |= {THEIRS: pointer, OURS: ours}
    scores[where] = pd.Series(hits[where]).map("{:.1f}".format)
    leads[where] = [
        f"{row['acc@1']:.1f} [{row.low:.1f}, {row.high:.1f}]" for row in rows
    ]
with_tuning = {**full, "variant": "tuned"}
tuned = read_results(FILES["geolife"]).mean(model="pgt", **with_tuning)
lacking = read_results("nobody_learning").rows.query("variant == 'no clock'")
lacking = lacking[lacking.seed.isna() & (lacking.group == "all")]
no_clock = -lacking.set_index("data")["acc@1"]["geolife"]
scores

# %% [markdown]
# The pointer that was trained there is ahead in both cities (no interval measured), PGT far behind. The kernel is close. How
# close? Here is by how many points the model trained on nobody is ahead, with 95 % intervals:

# %% tags=["hide-input"]
# @title Table: its lead over the kernel, and over itself without networks
leads

# %% [markdown]
# In the first row both intervals contain zero (before rounding). **In these two cities the model is level with a rule that was
# fitted there.** It is not fitted less: eight weights are more than five numbers. But `predict` fits them by itself, without
# validation days.
#
# What do the networks bring? The second row compares the model with what is left without them: the kernels, *here* and
# *before*, with six weights. In New York the networks bring a little, and the interval leaves zero out; on GeoLife it contains
# zero. **On real people the other six opinions do almost as well alone.** ([Each part alone](evidence_newcomers.ipynb), the
# fitted weights too.)
#
# Where does the model fail? At places that the last seven days do not show. About a third of the targets are such, and there
# the first guess is right in {{ outside["geolife"]:.0f }} % on GeoLife and {{ outside["new york"]:.0f }} % in New York. On
# GeoLife most of them are new to the person, and no pointer can name those.
#
# > **Note.** We looked at real people three times. The kernels' numbers were chosen on the validation windows of cities that
# > include GeoLife and New York. Of two kinds of made-up worlds we kept the one with the better score on *test* windows of
# > the two cities; how much better is not on record. And Larkmere was once tuned to resemble GeoLife's statistics.
#
# ## Whom it spares
#
# A model that was trained on people can betray them. Somebody who holds a person's visits can find out whether they were
# trained on. Here is such an attack ([Carlini et al., 2022](https://doi.org/10.1109/SP46214.2022.9833649)):
#
# 1. Train one model on each half of GeoLife's people.
# 2. Ask both how likely they find one person's training visits.
# 3. Bet that the person was in the half of the one that finds them likelier. A coin would be right half of the time.
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
right = [
    f"{row.right:.0f} [{row.low:.0f}, {row.high:.0f}]"
    for row in attacks.itertuples()
]
pd.DataFrame({"bet right, % of people [95 %]": right}, attacks.index)

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
# **Exercise 1** (quick). Ask with only the person's last $n$ visits, for $n$ in 1, 2, 5, 20 and 100. (The visits are in
# `mine`.) What happens to `somewhere_new`, and why? Where is it highest?

# %% tags=["try"]
highest_at = ...  # n
check.exercise("24.1", highest_at)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
by_n = {}
for n in (1, 2, 5, 20, 100):
    few = model.predict(mine.tail(n))
    by_n[n] = few.somewhere_new.iloc[0]
    print(f"last {n:3} visits: {by_n[n]:.2f}")
check.exercise("24.1", max(by_n, key=by_n.get))
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

# %% tags=["try"]
scores = ...  # model.score(visits)
n_rows = scores if scores is ... else len(scores.query("group == 'all'"))
check.same(n_rows, 4, name="the predictor and three rules")

# %% [markdown]
# <details class="solution">
# <summary>Show solution 3</summary>
#
# One person has few test windows, and luck alone moves a score by several guesses. Count over months.
#
# </details>
#
# **Next:** [Scale](25_scale.ipynb), where a town gets a million places.
