# %% [markdown]
# # Real cities
#
# In the simulated town a rule with five numbers was ahead of the Transformer ([chapter 4](04_baselines.ipynb)), and a longer
# past helped ([chapter 21](21_memory_and_ceilings.ipynb)). Does this hold in real cities?
#
# *You will be able to* read results on real people without being fooled, find out why one model beats another, and try your
# own visits. *You need* [Windows](03_windows.ipynb) and [Baselines](04_baselines.ipynb). *It takes* fifteen minutes to read
# and about a minute to run; a GPU makes no difference.
#
# > **In one sentence.** On GeoLife the rule is ahead at the first guess, by its clock; in New York it has no lead; a longer
# > past helps in both.

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
import seaborn as sns
from matplotlib import pyplot as plt
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import MUTED, show
from wherenext.ground import ground
from wherenext.results import read_results

from pgt import maps, plots
from pgt.metrics import gains, interval_of_mean

# %% [markdown]
# ## Is the rule ahead on GeoLife?
#
# **GeoLife** ([Zheng et al.,
# 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/))
# holds GPS tracks from Beijing, 2007 to 2012. [Hong et al. (2023)](https://doi.org/10.1016/j.trc.2023.104315) published code
# that turns them into visits; 45 people pass its filters. We may not pass the data on, so we read the scores that our
# experiments kept.
#
# Seven models answer the same {{ n_windows:,}} test windows. Four are rules. Three are networks: an LSTM and a
# Transformer without a pointer (MHSA), both as Hong et al. built them, and our PGT. Each network has the best of ten settings,
# chosen on validation windows; in [chapter 4](04_baselines.ipynb) PGT was not tuned. None is told when the next visit begins.
#
# **First, a bet.** Write down your order of the seven.

# %%
untold = {"variant": "tuned", "target_time": "unknown"}
MODELS = {
    "last place": {"model": "last"},
    "Markov chain": {"model": "markov"},
    "most frequent place": {"model": "most_frequent"},
    "LSTM": {"model": "lstm", **untold},
    "MHSA": {"model": "mhsa", **untold},
    "PGT": {"model": "pgt", **untold},
    "context kernel": {"model": "kernel"},
}
exact = read_results("geolife_exact")
n_windows = exact.header["data"]["windows"]["test"]

# %% [markdown]
# *Acc@1* is the share of windows, in percent, in which the first guess is the very place where the person went.

# %%
metric = "acc@1"  # @param ["acc@1", "acc@5", "acc@10", "mrr"]

# %%
score = {name: exact.mean(metric, **which) for name, which in MODELS.items()}
spans = {
    name: exact.interval(metric, **which) for name, which in MODELS.items()
}
lead, low, high = exact.difference(MODELS["context kernel"], MODELS["PGT"])

# %% tags=["hide-input"]
# @title Figure 23.1: seven models on GeoLife
ranking = sorted(score, key=score.get, reverse=True)
axes = plots.bars(
    {name: score[name] for name in ranking},
    intervals=spans,
    highlight=["context kernel"],
    xlabel=f"{metric} on GeoLife (%)",
)
show(
    axes.figure,
    alt="Horizontal bars with intervals for seven models on GeoLife. At one "
    "guess the context kernel's bar is the longest, then PGT's.",
    caption="GeoLife, exact protocol. Networks: means over seeds. Whiskers: "
    "95 % intervals, people and seeds resampled.",
)

# %% [markdown]
# **The rule is ahead of these three networks at the first guess.** The context kernel leads PGT by {{ lead:.1f }} points (95 %
# interval {{ low:.1f }} to {{ high:.1f }}). All differences on this page are taken before rounding.
#
# > **Change this.** Choose `acc@10` in the form above and run the two cells below it. Now PGT is ahead, but even *last place*
# > comes close: its further guesses are the places before.
#
# > **Pitfall.** Resample *people*, not windows: a few people own many of the windows (exercise 1).
#
# ## Which of its cues gives the lead?
#
# The kernel gives every past visit a vote. The vote is larger if the visit is not long ago (*recency*), if it came after the
# place where the person is now (*came from here*), and if it began at a similar time of day (*the clock*).
# [Chapter 4](04_baselines.ipynb) guessed that its lead comes from the last two.
#
# PGT's pointer, too, gives every visit a weight. So ask both: how does the weight depend on the clock?

# %% tags=["hide-input"]
# @title Figure 23.2: how a visit's weight depends on the clock
wins = read_results("wins").rows
names = {"kernel": "kernel's vote", "pgt_tuned": "PGT's attention"}
clock = wins[(wins.table == "clock") & wins.model.isin(list(names))]
clock = clock.assign(weight_of=clock.model.map(names))
figure, axes = plt.subplots(figsize=(7, 3.0))
sns.lineplot(clock, x="hours", y="value", hue="weight_of", ax=axes)
axes.get_legend().set_title("")
axes.axhline(1, color=MUTED, lw=1)
axes.set(
    xlabel="hours between the visit's start and now, around the clock",
    ylabel="weight (1 = an even share)",
    xlim=(0, 12),
    ylim=(0, None),
)
show(
    figure,
    alt="Lines over the hours between a visit's time of day and now. The "
    "kernel's weight is high at zero and falls; PGT's is nearly flat.",
    caption="Mean weight of a visit by how far its time of day is from now, "
    "which is the end of the last visit. PGT: mean over seeds.",
)

# %% [markdown]
# The kernel's weight falls with the hours; PGT's changes little. To PGT, the start of a visit is one of 96 quarters of an
# hour, each with a vector of its own. Nothing tells it that two o'clock is close to a quarter past two.
#
# Is that why the rule leads? Take one of the three cues away, and choose the kernel's other numbers anew on validation
# windows. The last columns are the 95 % interval of what changes.

# %%
# wins: read for Figure 23.2, in the folded cell.
cues = {"nothing": "whole kernel", "decay": "without recency"}
cues["the place before"] = "without came from here"
cues["the clock"] = "without the clock"
less = wins[(wins.table == "without") & (wins["by"] == "all")]
less = less.set_index("group").loc[list(cues)].rename(index=cues)
table = pd.DataFrame({"Acc@1 (%)": less.value})
table["minus whole kernel"] = less.value - less.value["whole kernel"]
# The file has *whole minus reduced*: signs turn, and ends change places.
table["from"], table["to"] = 0 - less.high, 0 - less.low
table.loc["PGT"] = [exact.mean(**MODELS["PGT"]), -lead, -high, -low]
table.round(1).rename_axis(None)

# %% [markdown]
# **The clock carries the lead.** Without it the kernel loses more than it was ahead of PGT. So half of the guess holds. The
# other half does not: without *came from here*, but with the clock, the kernel even gains. (No setting of our grid is
# without it, so validation could not drop it. [Chapter 20](20_contextual_pointer.ipynb) adds it first, before the clock, so
# it gets the credit for what the two share.)
#
# ## Is it ahead in New York, too?
#
# In New York, people checked in with Foursquare
# ([Yang et al., 2015](https://doi.org/10.1109/TSMC.2014.2327053)): when they felt like it, and without saying when they left.
# In the files that we have, all places that training never showed are already one place, "unknown". So there is only the
# **published protocol**.
#
# > **Pitfall.** Who copies "unknown" can be right and name no place. On GeoLife this protocol gives the kernel
# > {{ label["context kernel"]:.1f }} points more than the exact one, and PGT {{ label["PGT"]:.1f }}. MHSA cannot copy, and
# > training never shows it "unknown" as a target: it gains nothing.
#
# So our table of New York has a second column, for targets that training showed. PGT was not tuned here.

# %%
published = read_results("geolife_published")
label = {
    name: published.mean(**which) - exact.mean(**which)
    for name, which in MODELS.items()
}
new_york = read_results("last_visit")  # New York, from the last visit
plain = {"variant": "full", "target_time": "unknown"}
RIVALS = {
    "most frequent place": {"model": "most_frequent"},
    "context kernel": {"model": "kernel"},
    "PGT": {"model": "pgt", **plain},
}
ahead, from_, to = new_york.difference(
    RIVALS["PGT"], RIVALS["context kernel"], group="known"
)
there = {
    name: [new_york.mean(group=g, **which) for g in ("all", "known")]
    for name, which in RIVALS.items()
}
there = pd.DataFrame(there, ["all targets", "known targets"]).T
there.round(1).rename_axis("Acc@1 (%)", axis=1)

# %% [markdown]
# **The rule has no lead here.** Over all windows it cannot be told from PGT. On known targets, PGT is {{ ahead:.1f }} points
# ahead ({{ from_:.1f }} to {{ to:.1f }}): it keeps its score, and the kernel, which often copies "unknown", loses some of
# its own.
#
# And the clock? The validation windows gave it a weight of zero. Our guess: *now* is the time of the last check-in, and if
# the next one comes many hours later, the present hour says little about it.
#
# ## Does a longer past help?
#
# So far no model's pointer or vote has seen more than a week. Two models can also see a person's last hundred visits: the
# kernel, and the [contextual pointer](20_contextual_pointer.ipynb), which then gets a summary of older places as well.

# %% tags=["hide-input"]
# @title Table: a week against a hundred visits
beyond = read_results("beyond")
SETS = {
    "the town": (beyond, {"data": "city", "protocol": "exact"}),
    "GeoLife": (beyond, {"data": "geolife", "protocol": "exact"}),
    "New York, all targets": (new_york, {}),
}
pointer = {"model": "contextual", **plain}
PASTS = {
    "kernel": ({"model": "kernel"}, {"model": "kernel_memory"}),
    "contextual pointer": (pointer | {"variant": "window"}, pointer),
}
levels = {}
for where, (results, which) in SETS.items():
    column = levels[where] = {}
    for model, (week, hundred) in PASTS.items():
        week, hundred = week | which, hundred | which
        gain = results.difference(hundred, week)
        column[model, "a week"] = f"{results.mean(**week):.1f}"
        column[model, "a hundred visits"] = f"{results.mean(**hundred):.1f}"
        gain = "{:+.1f} [{:.1f}, {:.1f}]".format(*gain)
        column[model, "gain [95 %]"] = gain
pd.DataFrame(levels).rename_axis("Acc@1 (%)", axis=1)

# %% [markdown]
# The contextual pointer is ahead of the kernel everywhere, with a week each and with a hundred visits each. **A longer past
# helps both models in all three**, though in the town the pointer's gain is barely clear of zero. On known targets of New
# York the gains are about as large.
#
# ### And on a leaderboard?
#
# Many papers quote a leaderboard of New York. It asks only for the last check-in of each *session*, a run of check-ins less
# than a day apart, and only where training knows the person and the place. Our tables above ask for far more check-ins, so
# their numbers do not compare with these:

# %% tags=["hide-input"]
# @title Numbers of the next table
board = read_results("leaderboard").rows.query("model == 'contextual'")
board = board[board.seed.isna() & ~board.told.astype(bool)]
board = board[board.questions == "sessions"].set_index("past")
board = board[["acc@1", "low", "high"]].T  # a column for each past
few = board["training and session"].tolist()
many = board["every earlier visit"].tolist()

# %% [markdown]
# | model | what it sees | Acc@1 (%) and interval |
# |---|---|---|
# | STHGCN ([Yan et al., 2023](https://doi.org/10.1145/3539618.3591770)) | the session; earlier sessions of everybody | 27.3 |
# | contextual pointer | the session; the person's training sessions | {{ few[0]:.1f }} [{{ few[1]:.1f }}, {{ few[2]:.1f }}] |
# | contextual pointer | every earlier visit of the person | {{ many[0]:.1f }} [{{ many[1]:.1f }}, {{ many[2]:.1f }}] |
#
# The fair rival of STHGCN is the second row, which sees no more than STHGCN does: they are about level. The third shows what a
# longer past adds. The paper's sessions are only nearly ours.
# [Evidence: real cities](evidence_cities.ipynb) has more models.
#
# ## And in your own city?
#
# Your data needs three columns: who, where, from when. The map below also needs longitude and latitude. Here is a table made
# from our town: unsorted check-ins without an end, in UTC, three in ten missing.

# %% tags=["hide-input"]
# @title `checkins.csv`, and `run`
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

rng, visits = np.random.default_rng(0), city.load().visits
people = rng.choice(visits.user_id.unique(), 40, replace=False)
own = visits[visits.user_id.isin(people)]
own = own[rng.random(len(own)) < 0.7]
utc = own.started_at.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
checkins = {
    "User ID": "u" + own.user_id.astype(str),
    "Venue ID": "v" + own.location_id.astype(str),
    "Latitude": own.lat,
    "Longitude": own.lon,
    "Check-in time": utc,
}
checkins = pd.DataFrame(checkins).sample(
    frac=1, random_state=0, ignore_index=True
)
folder = Path(tempfile.mkdtemp())
checkins.to_csv(folder / "checkins.csv", index=False)


def run(command, keep=""):
    """Run `python -m pgt ...` in the folder."""
    call = [sys.executable, "-m", "pgt", *command.split()]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        if keep in line:
            print(textwrap.fill(line, 78))


checkins.head(3)

# %% [markdown]
# One command turns the file into visits; its last word says where people's clocks are. (`run`, from the folded cell, is
# `python -m pgt` in a terminal.)

# %%
run("visits checkins.csv --out visits.parquet --timezone America/Regina")

# %% [markdown]
# **Look first.** Do people come back to the places that they share? To see yours, write the path of a file of visits between
# the quotation marks. Places with few visitors stay off the map; in a file of a few people, homes are drawn: do not share
# that map.

# %%
# @title Figure 23.3: places that people share
own_file = ""  # @param {type:"string"}
at_least = 5  # @param {type:"slider", min:2, max:10, step:1}
seen = pgt.read_visits(own_file or folder / "visits.parquet")
place = seen.groupby("location_id")
places = place[["lon", "lat"]].first().assign(visits=place.size())
places["visitors"] = place.user_id.nunique()
places["visits per visitor"] = places.visits / places.visitors
enough = min(at_least, places.visitors.max())  # where people are few
busy = places[places.visitors >= enough].reset_index()
off_map = 100 * (1 - busy.visits.sum() / places.visits.sum())
maps.value_map(
    busy,
    "visits per visitor",
    ground=None if own_file else ground(city.load().base),
    alt="Map of places that several people visit, coloured by visits per "
    "visitor",
    caption="Places that several people visit; larger discs: more visits.",
)

# %% [markdown]
# On average a visitor came once or twice. {{ off_map:.0f }} % of the visits are off the map, at places to which fewer than
# five of the 40 people go. Others tell little about such a place, so a model needs the person's own past.
#
# Where next? The package ships a predictor, trained on simulated people alone
# ([next chapter](24_trained_on_nobody.ipynb)). `evaluate` compares it with rules.

# %%
person = checkins["User ID"].value_counts().index[0]
run(f"predict visits.parquet --user {person} --top 3")
run("evaluate visits.parquet", keep="first guess")  # keep one line

# %% [markdown]
# These people are simulated, too, so this does not show how good the predictor is on yours.
#
# ## What to remember
#
# - On GeoLife a rule of five numbers is ahead of the Transformer's first guess, by its clock. In New York it has no lead.
# - A longer past helped both models, in the town and in both cities.
# - A hit on "unknown" names no place. Judge by exact places, or by known ones alone.
# - Resample people, not windows.
#
# ## Exercises
#
# **Exercise 1** (medium). How much wider are intervals that resample people than those that resample windows? Use the
# kernel. Hint: `interval_of_mean(rule)` resamples by the column `user_id`. The interval that resamples windows should be
# about $2 \cdot 1.96\, \sqrt{v / N}$ wide, with $v$ the variance of the hits over the $N$ windows.

# %% tags=["try"]
rule = list(exact.ranks(**MODELS["context kernel"]))  # one run
NAME = "width when windows are resampled"
hits = 100 * gains(rule[0])["acc@1"]
expected = 2 * 1.96 * hits.std() / len(hits) ** 0.5  # points
window_width = ...  # points, by resampling windows
check.same(window_width, expected, name=NAME, atol=0.2)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
people_low, people_high = interval_of_mean(rule)
alone = rule[0].assign(user_id=range(len(rule[0])))  # a person a window
window_low, window_high = interval_of_mean([alone])
window_width = window_high - window_low
check.same(window_width, expected, name=NAME, atol=0.2)
print(f"people:  {people_high - people_low:.1f} points wide")
print(f"windows: {window_width:.1f} points wide")

# %% [markdown]
# **Exercise 2** (medium). Is the kernel's lead over PGT due to a few people? Count how many of them the kernel serves better.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
networks = exact.ranks(**MODELS["PGT"])
seeds = [gains(r)["acc@1"] for r in networks]
by_window = 100 * (gains(rule[0])["acc@1"] - sum(seeds) / len(seeds))
check.same(by_window.mean(), lead, name="the whole lead", atol=0.01)
of_person = by_window.groupby(rule[0].user_id).mean()
better, worse = (of_person > 0).sum(), (of_person < 0).sum()
print(f"the kernel is better for {better} people, worse for {worse},")
print(f"level for {len(of_person) - better - worse}")

# %% [markdown]
# **Exercise 3** (project). Run the commands on data of your own, such as the location history of your phone. Which protocol do
# you want, and why? Write down the ceiling before you look at any score: `python -m pgt evaluate visits.parquet` prints it as
# `in_window`.
#
# <details class="solution">
# <summary>Show solution 3</summary>
#
# The exact protocol: a prediction "unknown" sends you nowhere. The ceiling is *n* of `in_window` over *n* of `all`. If it is
# low, more history helps more than a better model: try `pgt.prepare(visits, days=28)`.
#
# </details>
#
# **Next:** [Trained on nobody](24_trained_on_nobody.ipynb), the predictor that has never seen a real visit.
