# %% [markdown]
# # From GPS to visits
#
# No telephone records visits. Somebody computes them, with thresholds. What do these keep, and what do they throw away?
#
# *You will be able to* turn raw position fixes into visits, say what each of the steps keeps and what it
# throws away, measure that where the truth is known, and put your own life on a map. *You need* pandas, NumPy and
# [chapter 1](01_where_next.ipynb). *It takes* twenty-five minutes to read and about a minute to run,
# with or without a GPU.
#
# > **In one sentence.** Visits are computed in three steps (stays, places, visits), and the second one deletes what is new:
# > of the visits to a place where somebody came only once, {{ once["staypoints, %"]:.0f }} % are found as a stay, and
# > {{ once["visits, %"]:.0f }} % are left in the end.

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
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, MUTED, TRUTH, show
from wherenext.fixes import simulate_fixes, true_visits
from wherenext.gps_matching import match, recovery
from wherenext.ground import ground
from wherenext.phone import TIMELINE
from wherenext.results import read_results

from pgt import gps, read_visits
from pgt.maps import places_map

# %% [markdown]
# [Chapter 1](01_where_next.ipynb) began with a table of visits. A telephone only records where it *thinks*
# it is, now and then. Somebody turned that into "stayed at the bakery from 9:02 to 9:41", and every later score depends
# on how. We do it ourselves, one step at a time. Then we do what no real data allows: compare with the truth.
#
# ## Your own life, from your phone to a map in three lines
#
# Some telephones do the work themselves. On Android, *Settings, Location, Timeline, Export Timeline data* writes a file
# `Timeline.json`. We made one up, with a month of a person of our simulated town, Larkmere. Put your own in its place:

# %%
mine = read_visits(TIMELINE)  # yours: "Timeline.json"
places = "Places of a person who does not exist, as large as their visits."
places_map(mine, path=mine, ground=ground(city.load().base), caption=places)

# %% [markdown]
# (With a file of your own leave out `ground`, which draws Larkmere.) Nothing leaves the machine that runs this. In Colab
# that is a computer of Google's, so for your own life use your own. Streets are off until you switch them on at the top
# right: they come from a server of OpenStreetMap, which then learns what area you look at.
#
# How did the telephone know that these were visits? It had a list of positions, and rules.
#
# ## What a fix is
#
# A **position fix** is one line: who, when, and where, in degrees. It holds no place and no name, and it does
# not say whether the person was walking or asleep. We take three people of Larkmere and switch on a receiver
# for four weeks.

# %%
town = city.load()
everybody = town.people.user_id.tolist()
visits = true_visits(town, everybody, days=28)
n_visits = visits.user_id.value_counts()
people = n_visits.index[:3].tolist()  # most visits in four weeks
fixes = simulate_fixes(town, people, days=28)
truth = true_visits(town, people, days=28)
print(
    f"{len(fixes):,} fixes of persons {', '.join(map(str, people))}; "
    f"behind them {len(truth)} true visits"
)
fixes[["user_id", "tracked_at", "lon", "lat"]].head(4)

# %% [markdown]
# Receivers give times in UTC, not in local time. Ours has five faults, as yours has. Its error *drifts*: if it is eight
# metres off now, it is still about eight metres off a minute later. Now and then a wall reflects the signal, and the
# position *jumps*. Now and then the recorder is *off*. *Indoors* it hears nothing for a part of the stay. And in the long
# pauses of the record it says nothing at all. Each fault is an argument of `simulate_fixes`.
#
# ## Staypoints: the sliding rule
#
# We need distances on a sphere. For two positions with longitudes $\lambda_1, \lambda_2$ and latitudes
# $\varphi_1, \varphi_2$ in radians, on an Earth of radius $R$, the **haversine** formula says
#
# $$
# \begin{aligned}
# \text{distance} &= 2R \arcsin \Big( \sin^2 \tfrac{\varphi_2 - \varphi_1}{2} \\
#     &\qquad + \cos\varphi_1 \cos\varphi_2 \, \sin^2 \tfrac{\lambda_2 - \lambda_1}{2} \Big)^{1/2} .
# \end{aligned} \tag{2.1}
# $$
#
# Longitude and latitude play different parts in it; we come back to that at the end.

# %%
R = 6_371_000.0  # metres


def haversine(lon1, lat1, lon2, lat2):
    """Metres between positions in degrees; equation (2.1)."""
    lon1, lat1, lon2, lat2 = map(np.radians, (lon1, lat1, lon2, lat2))
    north = np.sin((lat2 - lat1) / 2) ** 2
    east = np.sin((lon2 - lon1) / 2) ** 2
    square = north + np.cos(lat1) * np.cos(lat2) * east
    return 2 * R * np.arcsin(np.sqrt(square))


# %% [markdown]
# Now the rule, from [Li et al. (2008)](https://doi.org/10.1145/1463434.1463477). Take the first fix as **anchor**. Walk
# through the fixes that follow as long as they are nearer to the anchor than $\Delta$ metres. The first fix
# that is not nearer ends the stretch and is the next anchor. If the stretch lasted at least $\tau$ minutes, up to
# the fix that ended it, it is a **staypoint**:
#
# $$
# \begin{aligned}
# j &= \min\{\, k > i \;:\; \text{distance}(i, k) \ge \Delta \,\}, \\
# &\text{staypoint } [i, j) \;\text{ if }\; t_j - t_i \ge \tau , \qquad i \leftarrow j .
# \end{aligned} \tag{2.2}
# $$
#
# Here $i$ is the anchor, $j$ the fix that ends the stretch, and $t_i$ the time of fix $i$. The arrow makes $j$ the next
# anchor. Two thresholds, then, and `eps` for the next section, with the values of
# [Hong et al. (2023)](https://doi.org/10.1016/j.trc.2023.104315). Change them, and see below which visits are lost and what
# passes for a stay:

# %%
metres = 200  # @param {type:"slider", min:25, max:800, step:25}
minutes = 30  # @param {type:"slider", min:5, max:120, step:5}
eps = 20  # @param {type:"slider", min:5, max:160, step:5}

# %% [markdown]
# The code has one rule more: a day of silence drops the stretch that is open.


# %%
def find_stays(fixes, metres, minutes, silence_hours=24):
    """Staypoints: rows (first fix, one past the last, its end)."""
    at = fixes.tracked_at.astype("int64").to_numpy() / 1e6  # (F,) seconds
    lon, lat = fixes.lon.to_numpy(), fixes.lat.to_numpy()  # (F,)
    stays, anchor = [], 0
    for i in range(1, len(at)):
        # After a day of silence we drop the open stretch, and start afresh.
        silent = at[i] - at[i - 1] > 3600 * silence_hours
        distance = haversine(lon[anchor], lat[anchor], lon[i], lat[i])
        away = distance >= metres
        long = at[i] - at[anchor] >= 60 * minutes
        if away and not silent and long:
            stays.append((anchor, i, i))
        if away or silent:
            anchor = i
    if at[-1] - at[anchor] >= 60 * minutes:  # still there at the end
        stays.append((anchor, len(at), len(at) - 1))
    return stays


# %% [markdown]
# A staypoint needs a position of its own. We take the mean of its fixes. Each *different* position counts once, as in
# [trackintel](https://github.com/mie-lab/trackintel), the tool that Hong et al. use; below we find out what that costs.


# %%
def make_staypoints(fixes):
    """The staypoints of all people as a table."""
    rows = []
    for user, own in fixes.groupby("user_id"):
        own = own.reset_index(drop=True)
        at, xy = own.tracked_at, own[["lon", "lat"]].to_numpy()
        for i, j, end in find_stays(own, metres, minutes):
            lon, lat = np.unique(xy[i:j], axis=0).mean(axis=0)
            rows.append((user, at[i], at[end], lon, lat, j - i))
    columns = ["user_id", "started_at", "finished_at"]
    return pd.DataFrame(rows, columns=[*columns, "lon", "lat", "n_fixes"])


staypoints = make_staypoints(fixes)
print(f"{len(fixes):,} fixes -> {len(staypoints)} staypoints")

# %% [markdown]
# Here is one day of one person: the fixes as a line, and the staypoints as discs. Zoom in, and click a disc.

# %%
person, day = people[0], pd.Timestamp("2022-01-28").date()
local = fixes.tracked_at.dt.tz_convert(town.timezone).dt.date
today = fixes[(fixes.user_id == person) & (local == day)]
began = staypoints.started_at.dt.tz_convert(town.timezone)
stayed = staypoints.assign(location_id=began.dt.strftime("from %H:%M"))
stayed = stayed[(stayed.user_id == person) & (began.dt.date == day)]
day_map = {"caption": "A day: fixes as a line, staypoints as discs."}
day_map["ground"] = ground(town.base)
places_map(stayed, path=today, **day_map) if len(stayed) else "No stay."

# %% [markdown]
# How does the rule see this day? For every fix, draw its distance from its anchor. While the person travels, the line runs
# up to the threshold and falls back to zero, again and again: each fall is a new anchor. In a stay it does not get there.

# %% tags=["hide-input"]
# @title Figure 2.1: the sliding rule at work
midnight = pd.Timestamp(day, tz=town.timezone)


def hours(times):
    """Hours since midnight."""
    return (times - midnight).dt.total_seconds() / 3600


lon, lat = today.lon.to_numpy(), today.lat.to_numpy()
anchors, anchor = [], 0  # of each fix the anchor in force
for i in range(len(today)):
    if haversine(lon[anchor], lat[anchor], lon[i], lat[i]) >= metres:
        anchor = i
    anchors.append(anchor)
off = haversine(lon[anchors], lat[anchors], lon, lat)  # (F,) metres
fig, ax = plt.subplots(figsize=(7.4, 3.0))
for stay in stayed.itertuples():
    span = hours(pd.Series([stay.started_at, stay.finished_at]))
    ax.axvspan(*span.clip(upper=24), color=EXTRA, alpha=0.22, lw=0)
ax.plot(hours(today.tracked_at), off, ".-", color=COPIED, lw=1, ms=2.5)
ax.axhline(metres, color=MUTED, ls="--", lw=1)
own = truth[(truth.user_id == person) & (truth.started_at.dt.date == day)]
start, end = hours(own.started_at), hours(own.finished_at)
ax.barh(-0.12 * metres, end - start, 0.1 * metres, start, color=TRUTH)
ax.set(xlabel="hour of the day, local time", ylabel="metres", xlim=(0, 24))
show(
    fig,
    alt="Distance from the current anchor over the day. On trips it is a "
    "saw; in stays it is nearly constant. Shaded staypoints stand over the "
    "bars of true visits.",
    caption="The sliding rule at work: distance from the anchor. Shaded: "
    "staypoints. Bars below: the true visits. Dashed: the threshold.",
)

# %% [markdown]
# The anchor of a stay is set before the person reaches the door. So a staypoint begins a little too early, and some of
# its fixes lie on the street. (The last shade runs on long after its visit: a late end, which we measure below.)
#
# ## Locations: DBSCAN
#
# Two evenings at home give two staypoints a few metres apart. When are two staypoints the same **location**?
# The published answer is DBSCAN ([Ester et al., 1996](https://dl.acm.org/doi/10.5555/3001460.3001507)) with
# two numbers. Two staypoints are *neighbours* if they are at most `eps` metres apart. A staypoint with at
# least `min_samples` = 2 neighbours, itself included, founds a location, and neighbours share their
# location. A staypoint with no neighbour but itself is called noise: it belongs to no location at all.
#
# scikit-learn has DBSCAN, also on a sphere. Its haversine wants radians and the *latitude first*.


# %%
def cluster(staypoints, min_samples=2):
    """(S,) the number of each staypoint's location, -1 for none."""
    radians = np.radians(staypoints[["lat", "lon"]].to_numpy())  # (S, 2)
    model = DBSCAN(eps=eps / R, min_samples=min_samples, metric="haversine")
    return model.fit_predict(radians)


label = cluster(staypoints)
n_placed = (label >= 0).sum()
print(f"{n_placed} of {len(label)} staypoints in {max(label) + 1} locations")

# %% [markdown]
# > **Note.** Locations can grow into chains: if every house in a street has a staypoint, twenty metres from the next, the
# > whole street is one location. And the clustering looks at all the data at once, including the days that we later call
# > test; [chapter 15](15_traps.ipynb) measures what that is worth.
#
# ## Visits: merge what belongs together
#
# The last step drops the staypoints without a location, and those of 25 minutes or less, as trackintel does (with our
# 30 minutes there are none). Each of the others is a **visit**. If a person's next staypoint is at the same location and
# begins within a minute, the two are one visit. A visit gets the centre of its location, the mean of the staypoints'
# different positions.


# %%
def make_visits(staypoints, label):
    """Visits: located staypoints, joined where they touch."""
    placed = staypoints.assign(location_id=label)[label >= 0]
    lasts = placed.finished_at - placed.started_at
    different = placed.drop_duplicates(["location_id", "lon", "lat"])
    centre = different.groupby("location_id")[["lon", "lat"]].mean()
    stays = placed[lasts > pd.Timedelta("25min")].reset_index(drop=True)
    before, here = stays.shift(), ["user_id", "location_id"]
    same = (stays[here] == before[here]).all(axis=1)
    pause = stays.started_at - before.finished_at
    same &= pause <= pd.Timedelta("1min")
    how = dict.fromkeys([*here, "started_at"], "first")
    joined = stays.groupby((~same).cumsum().to_numpy())
    visits = joined.agg(how | {"finished_at": "last"})
    return visits.join(centre, on="location_id").reset_index(drop=True)


visits = make_visits(staypoints, label)
counts = {"fixes": len(fixes), "staypoints": len(staypoints)}
counts |= {"staypoints in a location": n_placed, "visits": len(visits)}
counts["true visits"] = len(truth)
pd.Series(counts).rename("number").to_frame()

# %% [markdown]
# That is the whole pipeline. Does the package do the same, with the same thresholds?


# %%
def steps(fixes, eps=eps, **settings):
    """Staypoints and visits, by the package."""
    rule = {"distance": metres, "minutes": minutes}
    stays = gps.generate_staypoints(fixes, **rule)
    located = gps.generate_locations(stays, eps=eps, **settings)
    return stays, gps.merge_staypoints(*located)


theirs = steps(fixes)[1]
when = ["user_id", "location_id", "started_at", "finished_at"]
same = theirs[when].astype(str).equals(visits[when].astype(str))
same &= np.allclose(theirs[["lon", "lat"]], visits[["lon", "lat"]])
print("Equal." if same else "Not equal.")

# %% [markdown]
# The package's version is faster and counts what it drops. From here on we use it.
#
# ## What no real data allows: the truth
#
# When is a found visit a true one? `match` pairs the two if they are the same person's, lie within 200 m, and the found
# one covers at least half of the true one's time. Each visit is used once. *Recall* is the share of true visits that
# are paired, *precision* the share of found ones, and $F_1$ is one number for both:
#
# $$
# F_1 = \frac{2 \cdot \text{paired}}{\text{true} + \text{found}} . \tag{2.3}
# $$
#
# From here on we take eight people, for more visits, and one fix a minute, which is quicker.

# %%
crowd = sorted(n_visits.index[:8].tolist())
true = true_visits(town, crowd, days=28)


@cache
def record(**faults):
    """Fixes of eight people; the receiver's usual faults but for these."""
    return simulate_fixes(town, crowd, days=28, every_s=60, **faults)


def score(part):
    """Recovery of all eight people together."""
    return recovery(part, true, people=False).iloc[0]


stays, found = steps(record())
scores = pd.DataFrame({"staypoints": score(stays), "visits": score(found)})
heads = {"n_true": "true", "n_found": "found", "precision": "precision, %"}
heads |= {"recall": "recall, %", "f1": "F1, %"}
scores.T.infer_objects()[list(heads)].rename(columns=heads).round(1)

# %% [markdown]
# Staypoints are found well. From staypoints to visits, recall falls. Which visits are lost?

# %%
kinds = pd.DataFrame({"staypoints, %": match(stays, true).found.notna()})
kinds["visits, %"] = match(found, true).found.notna()
at_place = true.groupby(["user_id", "location_id"]).location_id
here = true.groupby("user_id").location_id
again = [here.shift(k) == true.location_id for k in (1, -1)]
ONCE = "the person's only visit there"
kinds["group"] = np.select(
    [at_place.transform("size") == 1, again[0] | again[1]],
    [ONCE, "the same place before or after"],
    "all others",
)
grouped = kinds.groupby("group")
lost = (100 * grouped.mean()).round(1)
once = lost.loc[ONCE]
lost.assign(**{"true visits": grouped.size()})

# %% [markdown]
# **The clustering deletes what is new.** A location needs two staypoints. So a visit to a place where a person came once
# remains only if another staypoint is near, such as another person's. Longer records help only in part
# ([an evidence page](evidence_windows.ipynb) has the whole town, other faults and other thresholds). Real data
# cannot show this. When a benchmark says that people return, remember that only places seen twice were counted.
#
# (The row *the same place before or after* has another cause. Two visits in a row to the same place, with a walk round
# the block between them, often look like one long stay.)
#
# ## A receiver that is too good
#
# Which receiver gives the best visits? Turn the drifting error from nothing to bad, and leave the other faults as they
# are. The last column is the median distance from the true place. Bet first.

# %%
rows = {}
for noise in (0, 1, 5, 10, 20, 40):
    at = score(steps(record(noise_m=noise))[1])
    rows[f"{noise} m"] = {"F1 of visits, %": at.f1, "metres off": at.apart}
by_noise = pd.DataFrame(rows).T.astype(float)
by_noise.rename_axis("drifting error").round(1)

# %% [markdown]
# **Worse data gives better places.** Without any error, F1 of visits is {{ by_noise.iloc[0, 0]:.0f }}; with five metres,
# {{ by_noise.iloc[2, 0]:.0f }}. How can that be? A staypoint gets the mean of its *different* positions. A perfect receiver in
# a chair gives one position, over and over, and that counts once. The last metres on the street give a different position at
# every fix, and each of them counts as much as the whole evening. So the mean lands away from the door. A little noise
# makes every fix in the chair a position of its own.
#
# > **Pitfall.** Perfect receivers exist, in effect: a telephone that repeats its last position to save power, or one
# > that is located by the same wireless network all evening. If your data repeats positions, do not
# > average only the different ones. Exercise 2 cures it.
#
# ## Right ends, and late ones
#
# A stay ends when the person is first seen elsewhere. If the recorder was off, that may be the next morning. How far off
# are the ends? (The median counts early and late alike; in the mean they offset each other.)

# %%
late = match(stays, true).end_error.dropna()  # minutes
at = {"median, either way": late.abs().median(), "mean": late.mean()}
at["one in ten is later than"] = late.quantile(0.9)
pd.Series(at).round(0).rename("error of the end, minutes").to_frame()

# %% [markdown]
# Most ends are right to within minutes, and some are late by many hours. So a very long duration, which our model reads
# as a stay, is often a silence of the recorder. In GeoLife, people recorded around Beijing
# ([Zheng et al., 2010](https://www.microsoft.com/en-us/research/publication/geolife-a-collaborative-social-networking-service-among-user-location-and-trajectory/)),
# silences of more than an hour fill {{ silent:.0f }} % of the hours that count as stayed, as the book's experiments measured:

# %%
rows = read_results("gps").rows
silent = rows[rows.table == "silence"]["value"].iloc[0]

# %% [markdown]
# ## Two pitfalls that nobody notices
#
# **Latitude first.** scikit-learn's haversine expects (latitude, longitude). The published pipeline hands it (longitude,
# latitude). There is no error and no warning. But in equation (2.1) the cosines now belong to the wrong angle, and the circle of
# radius `eps` becomes an ellipse with the half axes $\text{eps} \cdot \cos\varphi$ east-west and
# $\text{eps} / |\cos\lambda|$ north-south. So the error depends on the *longitude* of the city, and near 90° it has no bound.

# %%
spots = {"Larkmere": (-108.60, 50.94), "Beijing": (116.40, 39.90)}
axes = {}
for name, (lon, lat) in spots.items():
    wide, high = eps * np.cos(np.radians(lat)), eps / np.cos(np.radians(lon))
    axes[name] = {"east-west, m": wide, "north-south, m": abs(high)}
pd.DataFrame(axes).T.round(1)

# %% [markdown]
# **Whose midnight?** Fixes are in UTC. What people do follows local days. If nobody converts the times, a day
# begins at midnight in Greenwich, in the middle of somebody's afternoon. How many visits get the wrong date?

# %%
utc = found.started_at.dt.tz_convert("UTC").dt.day
other = utc != found.started_at.dt.tz_convert(town.timezone).dt.day
print(f"{100 * other.mean():.0f} % of the visits")

# %% [markdown]
# `pgt.gps.visits` therefore takes a `timezone`, or finds it from the coordinates.
# The published GeoLife pipeline makes both mistakes, and its results look fine. [The evidence page](evidence_windows.ipynb)
# counts what they change there.
#
# ## What to remember
#
# - A staypoint is a stretch of fixes near an anchor, a location is a group of staypoints, and a visit is a stay at a
#   location. Each step has thresholds.
# - Clustering with `min_samples` = 2 deletes places seen once, and with them many first visits.
# - The mean of the different positions punishes good receivers. Ends of stays are mostly right and sometimes hours late.
# - Give scikit-learn the latitude first, and count days in local time. Both mistakes go without a warning.
#
# ## Exercises
#
# **Exercise 1** (quick). At a latitude of $\varphi$ = 60° and a longitude of $\lambda$ = 25°, roughly in Helsinki, how long
# are the half axes of `eps` = 20 m with swapped coordinates, in metres, east-west and north-south?

# %% tags=["try"]
east_west, north_south = ..., ...
check.exercise("2.1", [east_west, north_south])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
east_west = 20 * np.cos(np.radians(60))
north_south = 20 / np.cos(np.radians(25))
check.exercise("2.1", [east_west, north_south])
print(f"{east_west:.1f} m and {north_south:.1f} m.")
# At 0° and 0°, in the Gulf of Guinea, nobody would ever notice.

# %% [markdown]
# **Exercise 2** (medium). Cure the perfect receiver. Take the fixes `record(noise_m=0)` and give each staypoint the mean of
# *all* its fixes. (`first_fix` and `n_fixes` of `gps.generate_staypoints` say which rows belong to it.) How far is the median
# staypoint from its true place, in metres by `match`, with the different positions and with all?

# %% tags=["try"]
with_different, with_all = ..., ...
check.exercise("2.2", [with_different, with_all])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
perfect = record(noise_m=0)
different = gps.generate_staypoints(perfect)
everything = different.copy()
for row in different.itertuples():
    own = perfect.iloc[row.first_fix : row.first_fix + row.n_fixes]
    everything.loc[row.Index, ["lon", "lat"]] = own[["lon", "lat"]].mean()
apart, f1 = {}, {}
middles = {"different positions": different, "all fixes": everything}
for name, part in middles.items():
    apart[name] = match(part, true).metres.median()
    found_then = gps.merge_staypoints(*gps.generate_locations(part))
    f1[name] = score(found_then).f1
check.exercise("2.2", list(apart.values()))
pd.DataFrame({"median distance, m": apart, "F1 of visits": f1}).round(1)

# %% [markdown]
# **Exercise 3** (medium). Keep the explorations. With `min_samples=1` every staypoint is in a location. What are recall and
# precision of the visits in `record()` then, in percent? And what do you pay?

# %% tags=["try"]
recall, precision = ..., ...
check.exercise("2.3", [recall, precision])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
generous = steps(record(), min_samples=1)[1]
pairs = match(generous, true).found
hits = pairs.notna().sum()
recall, precision = 100 * hits / len(true), 100 * hits / len(generous)
check.exercise("2.3", [recall, precision])
visits_at = generous.location_id.value_counts()
print(f"recall {recall:.1f} %, precision {precision:.1f} %; of ", end="")
print(f"{len(visits_at)} locations {(visits_at == 1).sum()} have one visit")
# The price: most locations appear once. No model can learn them, and any
# false staypoint is a place, too.

# %% [markdown]
# **Exercise 4** (longer). Cure the late ends without losing stays. If more than two hours of silence lie between a staypoint's
# last own fix and its end (the moment when the person is seen elsewhere), let it end at that last fix. What are the mean signed
# error of the ends of `stays`, in minutes, and their F1 then?

# %% tags=["try"]
end_late, f1 = ..., ...
check.exercise("2.4", [end_late, f1])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
own = stays.first_fix + stays.n_fixes - 1  # the last own fix
last = record().tracked_at.iloc[own].reset_index(drop=True)
quiet = stays.finished_at - last > pd.Timedelta(hours=2)
ended = stays.assign(finished_at=stays.finished_at.mask(quiet, last))
check.exercise("2.4", score(ended)[["end_late", "f1"]].astype(float))
late, f1 = score(ended)[["end_late", "f1"]]
print(f"as published: late by {score(stays).end_late:.1f} minutes, ", end="")
print(f"F1 {score(stays).f1:.1f} %; now {late:.1f} minutes, F1 {f1:.1f} %")
# Most of the error goes, and hardly a stay is lost: silence *within* a stay
# is left alone, since the person was seen again at the same spot.

# %% [markdown]
# **Exercise 5** (project). Record yourself for a month with any app that exports GPX, and keep a diary of your true stays for the
# last week. `pgt.read_fixes` reads the file. Which of the faults of this chapter do you find, and which thresholds recover
# your diary best? Keep the file to yourself.
#
# <details class="solution"><summary>Solution 5</summary>
#
# `pgt.read_fixes("me.gpx")` gives a table like `fixes`. Put the diary in a table with `user_id`, `started_at`,
# `finished_at`, `lon`, `lat`. Then call `recovery(staypoints, diary)`. A week is a few dozen stays, so a difference of two of them is
# not a finding. Look at repeated positions first (`fixes.duplicated(["lon", "lat"]).mean()`), then at silences.
#
# </details>
#
# **Next:** [Windows](03_windows.ipynb), which turn visits into something that a model can read.
