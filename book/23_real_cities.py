# %% [markdown]
# # Real cities
#
# Most of this book happens in a simulated town. Does the network win among real people?
#
# *You will be able to* read a table of results on real people without being fooled by it, find out why one model
# beats another, and put your own visits through the same path. *You need* [Windows](03_windows.ipynb) and
# [Baselines](04_baselines.ipynb). *It takes* fifteen minutes to read and about a minute to run; a GPU makes no
# difference.
#
# > **In one sentence.** Among real people a rule with five numbers beats the Transformer's first guess in one city and is
# > level with it in another; a small model with a long past is ahead of both, and of what papers report on the
# > leaderboard that everybody quotes.

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
from wherenext.results import read_results

from pgt import maps, plots
from pgt.metrics import gains, interval_of_mean

# %% [markdown]
# ## The windows that papers compare on
#
# **GeoLife** ([Zheng et al.,
# 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/))
# holds GPS tracks of people in Beijing, recorded between 2007 and 2012. [Hong et al.
# (2023)](https://doi.org/10.1016/j.trc.2023.104315) turned the tracks into visits and published the code with their model,
# and others have scored on windows made the same way. After their filters there are 45 people. The owners hand out the data
# themselves, so we read the scores that our experiments kept.
#
# Seven models answer the same {{ n_windows:,}} test windows. Four are rules from [chapter 4](04_baselines.ipynb). Three are
# networks: an LSTM and a Transformer without a pointer (MHSA), both as Hong et al. built them, and our PGT. Each network has
# the best of ten settings, chosen on validation windows. None knows when the next visit is.
#
# **First, a bet.** Write down your order of the seven, best first.

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
# How do we count? *Acc@1* is the share of windows, in percent, in which the first guess is the very place where the
# person went.

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
# **A rule with five numbers beats the networks at the first guess.** The context kernel is {{ lead:.1f }} points ahead of
# PGT (95 % interval {{ low:.1f }} to {{ high:.1f }}; differences are taken before rounding). It gives every past visit a vote.
# The vote is larger if the visit came after the same place as now, began at a similar time of day, and is not long ago. Its
# five numbers are chosen on validation windows, without a gradient. (PGT is better here than in
# [chapter 4](04_baselines.ipynb), where it has the settings of its design.)
#
# > **Try it.** Choose `acc@10` in the form above and run the two cells below it again. Now PGT is ahead, but even *last place*
# > comes close to it.
#
# > **Pitfall.** The intervals resample *people*, not windows. A few people own a large part of the windows.
# > Exercise 2 shows how much too narrow the other kind is.
#
# ## Part of the skill was a label
#
# Papers score in another way. In the **published protocol** all places that training never showed become one place, called
# "unknown", and predicting "unknown" counts as a hit. Here is Acc@1 in both; the networks were trained for each.

# %%
published = read_results("geolife_published")
both = pd.DataFrame(
    {
        protocol: {
            name: results.mean(**which) for name, which in MODELS.items()
        }
        for protocol, results in (("published", published), ("exact", exact))
    }
)
both["lost"] = both.published - both.exact
both.sort_values("lost").round(1)

# %% [markdown]
# No model got worse between the columns. The question got harder for those that copy: a pointer and a kernel can copy the
# label "unknown" from the window, although it names no place. PGT loses {{ both.loc["PGT", "lost"]:.1f }} points, the kernel
# {{ both.loc["context kernel", "lost"]:.1f }}. LSTM and MHSA never say "unknown". They change little, as windows differ a little
# ([chapter 3](03_windows.ipynb)) and trainings do, too.
#
# ## What does the rule have that the network lacks?
#
# The kernel and PGT's pointer both end in a weight for every visit in the window. So we can ask both the same: how does the
# weight depend on the clock?

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
    xlabel="hours between the visit's time of day and now",
    ylabel="weight (1 = an even share)",
    xlim=(0, 12),
    ylim=(0, None),
)
show(
    figure,
    alt="Lines over the hours between a visit's time of day and now. The "
    "kernel's weight is high at zero and falls; PGT's is nearly flat.",
    caption="Mean weight of a visit by how far its start is from the present "
    "time of day. PGT: mean over seeds.",
)

# %% [markdown]
# The kernel knows that two o'clock is close to a quarter past two. PGT is given the start of each visit as one of 96
# quarters of an hour, each with a vector of its own. Nothing tells it that 14:00 and 14:15 are neighbours; it has to find
# this in a few thousand windows.
#
# So far this is a story. To test it, take one of the rule's two comparisons away, and choose its other numbers anew on
# validation windows.

# %%
# wins: as drawn above.
without = wins[(wins.table == "without") & (wins["by"] == "all")]
without = without.set_index("group").value
less = pd.Series(
    {
        "kernel": without["nothing"],
        "kernel without came from here": without["the place before"],
        "kernel without the clock": without["the clock"],
        "PGT": exact.mean(**MODELS["PGT"]),
    },
    name="Acc@1 (%)",
)
less.round(1).to_frame()

# %% [markdown]
# **The lead is the clock.** Without it the rule has none left. Without *came from here* it loses nothing: the clock does that
# work, too. ([Chapter 20](20_contextual_pointer.ipynb) gives both to a pointer. There *came from here* is worth much: it comes in
# first, before the clock.)
#
# ## Another city, another answer
#
# In New York, people checked in with Foursquare
# ([Yang et al., 2015](https://doi.org/10.1109/TSMC.2014.2327053)): when they felt like it, and without saying when they left.
# Will the kernel win again? These windows exist in the published protocol only, so a hit may be the label "unknown"; the column
# *known* leaves it out. Two models see more than a week.

# %%
new_york = read_results("last_visit")
here = {"variant": "full", "target_time": "unknown"}
CITY = {
    "most frequent place": {"model": "most_frequent"},
    "PGT": {"model": "pgt", **here},
    "context kernel": {"model": "kernel"},
    "context kernel, 100 visits": {"model": "kernel_memory"},
    "contextual pointer, 100 visits": {"model": "contextual", **here},
}
there = {
    name: [new_york.mean(group=g, **which) for g in ("all", "known")]
    for name, which in CITY.items()
}
ahead, from_, to = new_york.difference(
    CITY["PGT"], CITY["context kernel"], group="known"
)
there = pd.DataFrame(there, ["all", "known"]).T.sort_values("all")
there.round(1).rename_axis("Acc@1, %, by target", axis=1)

# %% [markdown]
# **The rule has no lead here.** It is level with PGT over all windows. On the places that training knows, PGT is
# {{ ahead:.1f }} points ahead ({{ from_:.1f }} to {{ to:.1f }}). The validation windows chose zero as the weight of the rule's
# clock: it ignores the hour. Check-ins have holes: a person who eats out every evening checks in on some of them.
#
# What carries over is **the past**. A hundred visits in place of a week lift the rule. The
# [contextual pointer](20_contextual_pointer.ipynb), which compares each past visit with now and also has
# [summaries of older places](21_memory_and_ceilings.ipynb), is best of all. ([Evidence: real cities](evidence_cities.ipynb)
# has intervals and groups.)
#
# ## The leaderboard that everybody quotes
#
# Most papers on the next check-in print one table: New York as the authors of GETNext, a Transformer, cut it
# ([Yang et al., 2022](https://arxiv.org/abs/2303.04741)). We rebuilt it, nearly as it was published, and asked our models.
# **The contextual pointer, with a few thousand numbers and a long past, is ahead of all three papers that answer these
# questions**: of GETNext and of STHGCN ([Yan et al., 2023](https://doi.org/10.1145/3539618.3591770)), which are not told when
# the next check-in is, and of LLM4POI, a language model ([Li et al., 2024](https://arxiv.org/abs/2404.17591)), if ours is told
# the time as well.
#
# Is that fair? Two questions decide, and few tables answer them. What is a model *told*? What does it *see*? With as little of
# the past as LLM4POI takes, and not told the time, the pointer is about level with STHGCN: most of its lead was the past. And
# it is no duel, since the published models' answers are not public and nothing can be paired.
# [Evidence: real cities](evidence_cities.ipynb) has the figure, the intervals and what each paper asks.
#
# ## Your own city
#
# Your data needs three columns: who, where, from when; until when, if you have it. Here is a table as you might find one,
# made from our town: check-ins without an end, in UTC, under other column names, unsorted, three visits in ten missing.

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
# One command turns the file into visits. It finds the usual column names by itself; for others there is `--columns`.
# `--timezone` says where these people's clocks are. (`run` is `python -m pgt` in a terminal.)

# %%
run("visits checkins.csv --out visits.parquet --timezone America/Regina")

# %% [markdown]
# **Look first.** To which places do people come back? Nothing of New York's venues may be shipped, so this map shows the
# town's. Write the path of your own file between the quotation marks to see yours. Places with few visitors stay off the
# map, homes and most workplaces among them: a map of single people's visits is a map of their homes.

# %%
own_file = ""  # @param {type:"string"}
at_least = 5  # @param {type:"slider", min:2, max:10, step:1}
seen = pgt.read_visits(own_file or folder / "visits.parquet")
place = seen.groupby("location_id")
places = place[["lon", "lat"]].first().assign(visits=place.size())
places["visitors"] = place.user_id.nunique()
places["visits a visitor"] = places.visits / places.visitors
enough = min(at_least, places.visitors.max())  # where people are few
busy = places[places.visitors >= enough].reset_index()
maps.value_map(busy, "visits a visitor")

# %% [markdown]
# In the town most visitors of these places came once or twice. They come back to home and work, and that is what a pointer
# copies. Now ask: where next? And how good is that on these people? The
# package ships a predictor that was trained on simulated people alone ([next chapter](24_trained_on_nobody.ipynb)).
# `evaluate` prints a table with rules beside it; its last sentence claims no more than the interval carries. (To
# train the book's model on these visits instead, give them to `pgt.prepare`, as in [chapter 10](10_training.ipynb).)

# %%
person = checkins["User ID"].value_counts().index[0]
run(f"predict visits.parquet --user {person} --top 3")
run("evaluate visits.parquet", keep="first guess")

# %% [markdown]
# ## What to remember
#
# - On GeoLife a rule of five numbers beats the Transformer's first guess, by its clock. In New York it has no lead.
# - Part of what looks like copying skill is the label "unknown". Judge by exact places, or by known ones alone.
# - Before you believe a leaderboard, ask what each model was told and what it saw.
# - Compare window by window, and resample people, not windows.
#
# ## Exercises
#
# **Exercise 1** (quick). Which of the seven models profits most from being judged at ten guesses instead of one, and why?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
gain = {
    name: exact.mean("acc@10", **which) - exact.mean(**which)
    for name, which in MODELS.items()
}
pd.Series(gain, name="Acc@10 minus Acc@1").sort_values().round(1).to_frame()
# The last place: people seldom stay where they are, so its first guess is
# poor, but its next ones are the places before, and people do go back. The
# kernel gains least: its first guess is already the best of the seven.

# %% [markdown]
# **Exercise 2** (medium). How much wider are intervals that resample people than those that resample
# windows? Compute both for the kernel. You can check the second: it should be about
# $2 \cdot 1.96\, \sqrt{v / N}$ wide, with $v$ the variance of the hits over the $N$ windows.

# %% tags=["try"]
rule = list(exact.ranks(**MODELS["context kernel"]))
NAME = "width when windows are resampled"
hits = 100 * gains(rule[0])["acc@1"]
expected = 2 * 1.96 * hits.std() / len(hits) ** 0.5  # points
window_width = ...  # points, by resampling windows
check.same(window_width, expected, name=NAME, atol=0.2)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
people_low, people_high = interval_of_mean(rule)
alone = rule[0].assign(user_id=range(len(rule[0])))  # a person a window
window_low, window_high = interval_of_mean([alone])
window_width = window_high - window_low
check.same(window_width, expected, name=NAME, atol=0.2)
print(f"people:  {people_high - people_low:.1f} points wide")
print(f"windows: {window_width:.1f} points wide")

# %% [markdown]
# **Exercise 3** (medium). Is the kernel's lead over PGT due to a few people? Compute the difference for
# every person and count how many of them the kernel serves better.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
networks = exact.ranks(**MODELS["PGT"])
seeds = [gains(r)["acc@1"] for r in networks]
by_window = 100 * (gains(rule[0])["acc@1"] - sum(seeds) / len(seeds))
check.same(by_window.mean(), lead, name="the whole lead", atol=0.01)
of_person = by_window.groupby(rule[0].user_id).mean()
better, worse = (of_person > 0).sum(), (of_person < 0).sum()
print(f"the kernel is better for {better} people, worse for {worse},")
print(f"level for {len(of_person) - better - worse}")

# %% [markdown]
# **Exercise 4** (project). Run the commands on data of your own: a location history that your phone keeps, or a table of
# check-ins. Which protocol do you want, and why? Write down the ceiling (`in_window`) before you look at any score.
#
# <details class="solution">
# <summary>Show solution 4</summary>
#
# The exact protocol: a prediction "somewhere new" sends you nowhere. The ceiling is the share of test windows whose
# target is in the window: in the table of `evaluate`, *n* of `in_window` over *n* of `all`. If it is low, more history
# helps more than a better model: try `pgt.prepare(visits, days=28)`.
#
# </details>
#
# **Next:** [Trained on nobody](24_trained_on_nobody.ipynb), the predictor that has never seen a real visit.
