# %% [markdown]
# # From GPS to visits
#
# No telephone measures visits. Somebody computes them from positions, with thresholds. What do these keep, and what do they
# throw away?
#
# *You will be able to* turn raw position fixes into visits, measure what each of the steps throws away, and put your own life
# on a map. *You need* pandas, NumPy and [chapter 1](01_where_next.ipynb). *It takes* twenty minutes to read and about a minute
# to run, with or without a GPU.
#
# > **In one sentence.** Visits are computed in three steps (staypoints, locations, visits), and the second one loses what
# > was seen once: of the visits to a place where somebody came only once, {{ once["found as staypoints, %"]:.0f }} % are
# > found as a stay, and {{ once["left as visits, %"]:.0f }} % are left in the end.

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

# %% tags=["hide-input"]
# @title Imports
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

from pgt import read_visits
from pgt.maps import places_map
from pgt.readers import gps

# %% [markdown]
# ## Your own life, from your phone to a map in three lines
#
# Some telephones do the work themselves. On Android, *Settings, Location, Timeline, Export Timeline data* writes a file
# `Timeline.json`. We made one up, with a month of a person of our simulated town, Larkmere. Put your own in its place, and
# leave out `ground`, which draws Larkmere:

# %%
mine = read_visits(TIMELINE)  # yours: "Timeline.json"
places = "Places of a person who does not exist, as large as their visits."
places_map(mine, path=mine, ground=ground(city.load().base), caption=places)

# %% [markdown]
# Nothing leaves the machine that runs this; in Colab that is a computer of Google's. Real streets, for a file of your own, are
# off until you switch them on. They come from a server of OpenStreetMap, which then learns what area you look at.
#
# ## What a fix is
#
# The telephone computed these visits from **position fixes**. A fix says who, when, and where; it names no place. We take
# the eight people of Larkmere with the most visits, and switch on a receiver for four weeks.

# %%
town = city.load()
everybody = town.people.user_id.tolist()
busy = true_visits(town, everybody, days=28).user_id.value_counts()
people = sorted(busy.index[:8].tolist())
truth = true_visits(town, people, days=28)


@cache
def record(**faults):
    """A fix a minute, with the receiver's usual faults or others."""
    return simulate_fixes(town, people, days=28, every_s=60, **faults)


fixes = record()
fixes[["user_id", "tracked_at", "lon", "lat"]].head(3)

# %% [markdown]
# Times are in UTC. The receiver has four faults, as yours has. Its error *drifts*: if it is eight metres off now, it is
# still about eight metres off a minute later. Now and then a wall reflects the signal, and the position *jumps*. Now and
# then the recorder is *off*. *Indoors* it hears nothing for most of the stay. And a pause of
# more than two hours between two visits has no fixes at all.
#
# ## Staypoints: the sliding rule
#
# We need distances on a sphere. For two positions with longitudes $\lambda_1, \lambda_2$ and latitudes
# $\varphi_1, \varphi_2$ in radians, on an Earth of radius $R$, the **haversine** formula says
#
# $$
# \begin{aligned}
# \text{distance} &= 2R \arcsin \sqrt{h}, \\
# h &= \sin^2 \tfrac{\varphi_2 - \varphi_1}{2} + \cos\varphi_1 \cos\varphi_2 \, \sin^2 \tfrac{\lambda_2 - \lambda_1}{2} .
# \end{aligned} \tag{2.1}
# $$

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
# anchor. A silence of more than 24 hours ends the stretch without a staypoint. A shorter one counts as staying.
#
# **Change this:** the two thresholds, or `eps`, which comes with the locations below, and run all that follows; which visits
# are lost? The values are those of [Hong et al. (2023)](https://doi.org/10.1016/j.trc.2023.104315), who made the visits of
# GeoLife that this book and others use.

# %%
metres = 200  # @param {type:"slider", min:25, max:800, step:25}
minutes = 30  # @param {type:"slider", min:5, max:120, step:5}
eps = 20  # @param {type:"slider", min:5, max:160, step:5}


# %%
def stretches(at, lon, lat, metres, silence=24 * 3600):
    """(anchor, first fix that is not in it, after a silence?) of each."""
    found, anchor = [], 0
    for i in range(1, len(at)):
        silent = at[i] - at[i - 1] > silence  # seconds
        distance = haversine(lon[anchor], lat[anchor], lon[i], lat[i])
        if distance >= metres or silent:
            found.append((anchor, i, silent))
            anchor = i
    return found, anchor  # and the anchor of the last, which nothing ends


# %% [markdown]
# Which stretches are staypoints? Those that last long enough and do not end in a silence. The last one of all may be one, too.


# %%
def find_stays(fixes, metres, minutes):
    """Rows: first fix, one past the last, fix whose time is the end."""
    at = fixes.tracked_at.astype("int64").to_numpy() / 1e6  # (F,) us -> s
    lon, lat = fixes.lon.to_numpy(), fixes.lat.to_numpy()  # (F,)
    ended, last = stretches(at, lon, lat, metres)
    stays = []
    for i, j, silent in ended:
        if at[j] - at[i] >= 60 * minutes and not silent:
            stays.append((i, j, j))  # fix j is elsewhere
    if at[-1] - at[last] >= 60 * minutes:  # still there: no fix follows
        stays.append((last, len(at), len(at) - 1))
    return stays


# %% [markdown]
# The position of a staypoint is the mean of its fixes. A position that repeats counts only once (`np.unique`), as in
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

# %% [markdown]
# How does the rule see a day? For every fix, draw its distance from its anchor.

# %% tags=["hide-input"]
# @title Figure 2.1: the sliding rule at work
person, day = busy.index[0], pd.Timestamp("2022-01-28").date()
midnight = pd.Timestamp(day, tz=town.timezone)


def hours(times):
    return (times - midnight).dt.total_seconds() / 3600


local = fixes.tracked_at.dt.tz_convert(town.timezone).dt.date
today = fixes[(fixes.user_id == person) & (local == day)]
began = staypoints.started_at.dt.tz_convert(town.timezone).dt.date
stayed = staypoints[(staypoints.user_id == person) & (began == day)]
lon, lat = today.lon.to_numpy(), today.lat.to_numpy()
anchors, anchor = [], 0  # of each fix the anchor in force
for i in range(len(today)):
    if haversine(lon[anchor], lat[anchor], lon[i], lat[i]) >= metres:
        anchor = i
    anchors.append(anchor)
off = haversine(lon[anchors], lat[anchors], lon, lat)  # (F,) metres
fig, ax = plt.subplots(figsize=(7.4, 2.3))
for stay in stayed.itertuples():
    span = hours(pd.Series([stay.started_at, stay.finished_at]))
    ax.axvspan(*span.clip(upper=24), color=EXTRA, alpha=0.22, lw=0)
ax.plot(hours(today.tracked_at), off, ".-", color=COPIED, lw=1, ms=2.5)
ax.axhline(metres, color=MUTED, ls="--", lw=1)
own = truth[(truth.user_id == person) & (truth.started_at.dt.date == day)]
start, end = hours(own.started_at), hours(own.finished_at)
ax.barh(-0.12 * metres, end - start, 0.1 * metres, start, color=TRUTH)
ax.set(xlabel="hour of the day, local time", ylabel="metres from anchor")
ax.set(xlim=(7, 20), xticks=range(7, 21))
show(
    fig,
    alt="Distance from the anchor over the day: a saw on trips, level in "
    "stays. Shaded staypoints stand over the bars of true visits.",
    caption="The sliding rule at work. Shaded: staypoints. Bars below: the "
    "true visits. Dashed: the threshold. Straight lines are silences.",
)

# %% [markdown]
# In a stay the line is nearly level. It usually lies above zero, because the anchor was set on the way there; so a staypoint
# begins a little too early. On trips the line falls to zero at each new anchor; on a fast one every fix is a new anchor,
# and the line lies at zero.
#
# A staypoint ends when the person is first seen elsewhere. If nothing was recorded, that may be the next morning: the last
# shade runs on long after its visit. One staypoint in ten ends more than {{ late:.0f }} hours after the true
# visit. So a very long duration may be a silence.
#
# ## Locations: DBSCAN
#
# Two evenings at home give two staypoints a few metres apart. When are two staypoints the same **location**?
# The published answer is DBSCAN ([Ester et al., 1996](https://dl.acm.org/doi/10.5555/3001460.3001507)). It hops from each
# staypoint to all that are at most `eps` metres away, and on from these. What it reaches is one location. With `eps` = 20 m
# and staypoints at 0, 15, 30 and 80 metres of a street:
#
# ```text
# 0 ── 15 ── 30                       80
# one location            noise: no location
# ```
#
# A location needs `min_samples` = 2 staypoints. One that has no other near it is called *noise*, and belongs to no location.
#
# All people's staypoints go in together, since two people may visit the same place. scikit-learn has DBSCAN. On a sphere it
# wants radians, and the *latitude first*.


# %%
def cluster(staypoints, min_samples=2):
    """(S,) the number of each staypoint's location, -1 for none."""
    radians = np.radians(staypoints[["lat", "lon"]].to_numpy())  # (S, 2)
    model = DBSCAN(eps=eps / R, min_samples=min_samples, metric="haversine")
    return model.fit_predict(radians)


label = cluster(staypoints)

# %% [markdown]
# ## Visits: merge what belongs together
#
# The last step drops the staypoints without a location.


# %%
def with_location(staypoints, label):
    """The staypoints that have a location and last long enough."""
    placed = staypoints.assign(location_id=label)[label >= 0]
    lasts = placed.finished_at - placed.started_at
    # As trackintel does; if `minutes` is 30, all are longer.
    return placed[lasts > pd.Timedelta("25min")].reset_index(drop=True)


# %% [markdown]
# The others become **visits**. If a person's next staypoint is at the same location and begins within a minute, the two are
# one visit.


# %%
def make_visits(stays):
    """Visits: located staypoints, joined where they touch."""
    before = stays.shift()  # the row before each row
    keys = ["user_id", "location_id"]
    same = (stays[keys] == before[keys]).all(axis=1)
    pause = stays.started_at - before.finished_at
    same &= pause <= pd.Timedelta("1min")  # goes on with the row before
    number = (~same).cumsum().to_numpy()  # grows whenever a visit begins
    how = dict.fromkeys([*keys, "started_at"], "first")
    joined = stays.groupby(number).agg(how | {"finished_at": "last"})
    return joined.reset_index(drop=True)


visits = make_visits(with_location(staypoints, label))
print(f"{len(fixes):,} fixes -> {len(staypoints)} staypoints", end=" -> ")
print(f"{(label >= 0).sum()} of them in a location -> {len(visits)} visits")

# %% [markdown]
# That is the whole pipeline. Does the package, which is faster, do the same?


# %% tags=["hide-input"]
# @title steps(fixes): staypoints and visits, by the package
def steps(fixes, **settings):
    """Staypoints and visits, by the package."""
    rule = {"dist_threshold": metres, "time_threshold": minutes}
    stays = gps.generate_staypoints(fixes, **rule)
    located = gps.generate_locations(stays, eps=eps, **settings)
    return stays, gps.merge_staypoints(*located)


stays, found = steps(fixes)
columns = [*visits]  # person, location, begin, end
same = found[columns].astype(str).equals(visits.astype(str))
print("Equal." if same else "Not equal.")

# %% [markdown]
# ## What no real data allows: the truth
#
# When is a found visit a true one? `match` pairs the two if they are the same person's, lie within 200 m, and the found
# one covers at least half of the true one's time. Each visit, true or found, has one
# partner at most. How many of the true visits are found as
# staypoints, and how many are left as visits in the end?


# %%
pairs = match(stays, truth)
late = pairs.end_error.quantile(0.9) / 60  # hours
kept = pd.DataFrame({"found as staypoints, %": pairs.found.notna()})
kept["left as visits, %"] = match(found, truth).found.notna()
at_place = truth.groupby(["user_id", "location_id"]).location_id
ONCE = "the person's only visit there"
only = at_place.transform("size") == 1
kept["true visit"] = np.where(only, ONCE, "any other")
grouped = kept.groupby("true visit")
table = (100 * grouped.mean()).round(1).loc[[ONCE, "any other"]]
once = table.loc[ONCE]
table.assign(number=grouped.size())

# %% [markdown]
# Compare the two cells of *the person's only visit there*. The first step keeps most of these visits. **The clustering then
# loses what was seen once.** A location needs two staypoints, so such a visit remains only if another staypoint is near,
# such as another person's. When a benchmark says that people return, remember that only places seen twice were counted.
#
# ## A receiver that is too good
#
# Which receiver gives the best visits? Turn the drifting error alone from nothing to bad (so far it was 5 m). *Recall* is the
# share of true visits that are paired. Bet first.

# %%
rows = {}
for noise in (0, 5, 20, 40):
    then, found_then = steps(record(noise_m=noise))
    recall = 100 * match(found_then, truth).found.notna().mean()
    row = {"recall of visits, %": recall}
    row["staypoints: metres off"] = match(then, truth).metres.median()
    row["without a location, %"] = 100 * (cluster(then) < 0).mean()
    rows[f"{noise} m"] = row
by_noise = pd.DataFrame(rows).T
by_noise.rename_axis("drifting error").round(1)

# %% [markdown]
# **A little noise gives better places.** Without drift, {{ by_noise.iloc[0, 0]:.0f }} % of the visits are found; with five
# metres of it, {{ by_noise.iloc[1, 0]:.0f }} %. Look at one stay with both receivers.

# %% tags=["hide-input"]
# @title Figure 2.2: the same stay, two receivers
def around(noise, first, n):
    """Metres north and east of the mean of n fixes, and which are indoors."""
    own = record(noise_m=noise).iloc[first : first + n]
    xy = np.radians(own[["lat", "lon"]].to_numpy()) * R
    xy = (xy - xy.mean(0)) * [1, np.cos(np.radians(own.lat.mean()))]
    return xy, own.visit.to_numpy() >= 0


same = ["first_fix", "n_fixes"]  # the same fixes with both receivers
perfect, drifting = (steps(record(noise_m=noise))[0] for noise in (0, 5))
long = perfect.merge(drifting, on=same).query("n_fixes > 60")[same].to_numpy()
means = [np.unique(around(0, *row)[0], axis=0).mean(0) for row in long]
row = long[np.argmax(np.hypot(*np.transpose(means)))]  # means far apart
fig, panels = plt.subplots(2, 1, figsize=(7.4, 3.6), sharex=True)
for ax, noise in zip(panels, (0, 5), strict=True):
    xy, indoors = around(noise, *row)
    looks = ("in the chair", indoors, COPIED), ("on the way", ~indoors, MUTED)
    for name, which, colour in looks:
        spots, times = np.unique(xy[which], axis=0, return_counts=True)
        ax.scatter(*spots.T, 25 + times, colour, alpha=0.5, label=name)
    look = {"ls": "", "ms": 13, "mew": 3}
    distinct = np.unique(xy, axis=0).mean(0)
    ax.plot(*distinct, "x", color=EXTRA, label="mean of distinct", **look)
    ax.plot(0, 0, "+", color=TRUTH, label="mean of all", **look)
    ax.add_patch(plt.Circle((0, 0), eps, fill=False, color=TRUTH))
    ax.set(title=f"{noise} m of drift", ylabel="metres east", aspect="equal")
ax.set(xlabel="metres north")
handles, _ = ax.get_legend_handles_labels()
fig.legend(handles=handles, loc="outside lower center", ncols=4)
chair = indoors.sum()
show(
    fig,
    alt="A stay, and far off two fixes of the way. Without drift the mean "
    "of distinct positions lies between; with drift it lies in the stay.",
    caption="Large dot: a repeated position. Circle: eps around the mean "
    "of all.",
)

# %% [markdown]
# In the chair the perfect receiver repeats one position, so its {{ chair }} fixes count as one. The two fixes on the way count as
# one each, and pull the mean of three positions two thirds of the way out: elsewhere each time. DBSCAN finds no neighbour, and
# the stay is dropped. With a little noise, every fix in the chair is a position of its own, and the way hardly counts. Much
# noise spreads the means again.
#
# > **Pitfall.** A telephone that repeats its last position to save power is such a perfect receiver. If your data repeats
# > positions, average all of them. Exercise 2 does it.
#
# ## Latitude first, and local days
#
# **Latitude first.** scikit-learn's haversine expects (latitude, longitude). The pipeline of Hong et al. hands it (longitude,
# latitude). There is no error and no warning. But equation (2.1) shortens the east-west difference by the cosine of the
# latitude, as the sphere does. Swapped, it shortens the north-south one, by the cosine of the longitude. So `eps` reaches
# $\text{eps} \cdot \cos\varphi$ metres east-west and $\text{eps} / |\cos\lambda|$ north-south. In Beijing that is
# {{ eps }} · {{ cos_lat:.2f }} = {{ wide:.0f }} and {{ eps }} / {{ cos_lon:.2f }} = {{ high:.0f }} metres.
#
# **Whose midnight?** Fixes are in UTC. What people do follows local days. If nobody converts the times, a day
# begins at midnight in Greenwich. Of the visits found here, {{ other:.0f }} % then begin on the wrong date.
# The published GeoLife pipeline makes both mistakes; [the evidence page](evidence_windows.ipynb) counts what they change.

# %% tags=["hide-input"]
# @title The two pitfalls in numbers
lon, lat = np.radians([116.40, 39.90])  # Beijing
cos_lat, cos_lon = np.cos(lat), abs(np.cos(lon))
wide, high = eps * cos_lat, eps / cos_lon
began = found.started_at.dt
utc, local = began.tz_convert("UTC"), began.tz_convert(town.timezone)
other = 100 * (utc.dt.day != local.dt.day).mean()
print(f"{wide:.1f} m by {high:.1f} m; {other:.1f} % on the wrong date")

# %% [markdown]
# ## What to remember
#
# - A staypoint is a stretch of fixes near an anchor, a location is a group of staypoints, and a visit is a stay at a
#   location.
# - Kept is what was visited twice. Clustering with `min_samples` = 2 throws away places seen once: of the visits to a place
#   where somebody came only once, {{ once["found as staypoints, %"]:.0f }} % are found as a stay, and
#   {{ once["left as visits, %"]:.0f }} % are left.
# - The mean of the distinct positions punishes good receivers.
# - Give scikit-learn the latitude first, and count days in local time. Both mistakes go without a warning.
#
# Recordings and their readers have more such traps:
# [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# **Exercise 1** (quick). At a latitude of $\varphi$ = 60° and a longitude of $\lambda$ = 25°, roughly in Helsinki, how far
# does `eps` = 20 m reach with swapped coordinates, in metres, east-west and north-south?

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
# staypoint from its true place, in metres by `match`, with the distinct positions and with all?

# %% tags=["try"]
with_distinct, with_all = ..., ...
check.exercise("2.2", [with_distinct, with_all])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
perfect = record(noise_m=0)
distinct = gps.generate_staypoints(perfect)
everything = distinct.copy()
for row in distinct.itertuples():
    own = perfect.iloc[row.first_fix : row.first_fix + row.n_fixes]
    everything.loc[row.Index, ["lon", "lat"]] = own[["lon", "lat"]].mean()
apart, recall = {}, {}
middles = {"distinct positions": distinct, "all fixes": everything}
for name, part in middles.items():
    apart[name] = match(part, truth).metres.median()
    found_then = gps.merge_staypoints(*gps.generate_locations(part))
    recall[name] = recovery(found_then, truth).recall[0]
check.exercise("2.2", list(apart.values()))
pd.DataFrame({"median distance, m": apart, "recall, %": recall}).round(1)

# %% [markdown]
# **Exercise 3** (medium). Keep the explorations. With `min_samples=1` every staypoint is in a location. What are then, in
# percent, recall and *precision* (the share of the found visits that are paired) in `record()`? And what do you pay?

# %% tags=["try"]
recall, precision = ..., ...
check.exercise("2.3", [recall, precision])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
generous = steps(record(), min_samples=1)[1]
pairs = match(generous, truth).found
hits = pairs.notna().sum()
recall, precision = 100 * hits / len(truth), 100 * hits / len(generous)
check.exercise("2.3", [recall, precision])
visits_at = generous.location_id.value_counts()
print(f"recall {recall:.1f} %, precision {precision:.1f} %; of ", end="")
print(f"{len(visits_at)} locations {(visits_at == 1).sum()} have one visit")
# The price: most locations appear once. No model can learn them, and any
# false staypoint is a place, too.

# %% [markdown]
# **Next:** [Windows](03_windows.ipynb), which turn visits into something that a model can read.
