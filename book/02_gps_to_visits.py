# %% [markdown]
# # From GPS to visits
#
# No phone measures visits. They are computed from positions, with thresholds. What do these keep, and what do they
# throw away?
#
# *You will be able to* turn raw position fixes into visits, measure what is lost on the way, and put your own life on a map.
# *You need* pandas, NumPy and [chapter 1](01_where_next.ipynb). *It takes* twenty minutes to read and about a minute to run,
# with or without a GPU.
#
# > **In one sentence.** Visits are computed in three steps (staypoints, locations, visits), and the second one loses what
# > was seen once: of eight people's visits to places where they were only once in four weeks,
# > {{ once["found as staypoints, %"]:.0f }} % are found as staypoints and {{ once["left as visits, %"]:.0f }} % survive; with the
# > whole town's records six in ten do.

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
from wherenext.figures import COPIED, EXTRA, INK, MUTED, TRUTH, show
from wherenext.fixes import simulate_fixes, true_visits
from wherenext.gps_matching import match
from wherenext.ground import ground
from wherenext.phone import TIMELINE

from pgt import read_visits
from pgt.maps import places_map
from pgt.readers import gps

# %% [markdown]
# ## What a fix is
#
# A phone records **position fixes**. A fix says who, when, and where; it names no place. Real fixes come without the
# truth; our simulated town, Larkmere, knows it. We take its eight people with the most visits, and switch on a receiver for
# the first four weeks of each.

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
# Times are in UTC. The receiver has four faults: its error, about 5 m, *drifts* (a minute later it is nearly the same); now
# and then a wall reflects the signal, and the position *jumps*; now and then the recorder is *off*; and *indoors* it hears
# nothing for half of each stay. The record also has a hole: in a *pause* of more than two hours between two visits the town
# does not say where people are, and the simulator makes no fixes.
#
# ## Staypoints: the sliding rule
#
# For two positions with longitudes $\lambda_1, \lambda_2$ and latitudes $\varphi_1, \varphi_2$ in radians, on a sphere of
# radius $R$ (here the Earth), the **haversine** formula says
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
# that is not nearer ends the stretch and is the next anchor. If at least $\tau$ minutes
# pass from the anchor to the fix that ends the stretch, the stretch is a **staypoint**:
#
# $$
# \begin{aligned}
# j &= \min\{\, k > i \;:\; \text{distance}(i, k) \ge \Delta \,\}, \\
# &\text{staypoint } [i, j) \;\text{ if }\; t_j - t_i \ge \tau , \qquad i \leftarrow j .
# \end{aligned} \tag{2.2}
# $$
#
# Here $i$ is the anchor, $j$ the fix that ends the stretch, and $t_i$ the time of fix $i$. A silence of more than 24 hours ends
# the stretch without a staypoint. A shorter one counts as staying.
#
# The thresholds are those with which [Hong et al. (2023)](https://doi.org/10.1016/j.trc.2023.104315) made the visits of
# GeoLife that this book and others use. `metres` is $\Delta$, `minutes` is $\tau$; `eps` is explained below.

# %%
metres = 200  # @param {type:"slider", min:25, max:800, step:25}
minutes = 30  # @param {type:"slider", min:5, max:120, step:5}
eps = 20  # @param {type:"slider", min:5, max:160, step:5}


# %%
def stretches(at, lon, lat, silence=24 * 3600):
    """For each stretch: its anchor, the fix that ends it, and whether a
    silence did."""
    found, anchor = [], 0
    for i in range(1, len(at)):
        silent = at[i] - at[i - 1] > silence  # seconds
        distance = haversine(lon[anchor], lat[anchor], lon[i], lat[i])
        if distance >= metres or silent:
            found.append((anchor, i, silent))
            anchor = i
    return found, anchor  # and the anchor of the last, which nothing ends


# %% [markdown]
# The stretches that last long enough are staypoints. The last of all needs no end.


# %%
def find_stays(fixes):
    """Each stay as (i, j, end): it has the fixes i to j - 1, and it ends
    at the time of fix `end`."""
    since = fixes.tracked_at - fixes.tracked_at.iloc[0]
    at = since.dt.total_seconds().to_numpy()  # (F,)
    lon, lat = fixes.lon.to_numpy(), fixes.lat.to_numpy()  # (F,)
    ended, last = stretches(at, lon, lat)
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
        for i, j, end in find_stays(own):
            lon, lat = np.unique(xy[i:j], axis=0).mean(axis=0)
            rows.append((user, at[i], at[end], lon, lat, j - i))
    columns = ["user_id", "started_at", "finished_at"]
    return pd.DataFrame(rows, columns=[*columns, "lon", "lat", "n_fixes"])


staypoints = make_staypoints(fixes)

# %% [markdown]
# How does the rule see a day?

# %% tags=["hide-input"]
# @title Figure 2.1: the sliding rule at work
person, day = busy.index[0], pd.Timestamp("2022-01-28").date()
midnight = pd.Timestamp(day, tz=town.timezone)


def hours(times):
    return (times - midnight).dt.total_seconds() / 3600


began = staypoints.started_at.dt.tz_convert(town.timezone).dt.date
stayed = staypoints[(staypoints.user_id == person) & (began == day)]
own = fixes[fixes.user_id == person].reset_index(drop=True)
at = 3600 * hours(own.tracked_at).to_numpy()  # (F,) seconds
lon, lat = own.lon.to_numpy(), own.lat.to_numpy()  # (F,)
ended, last = stretches(at, lon, lat)
starts = [*(i for i, _, _ in ended), last]
anchors = np.repeat(starts, np.diff([*starts, len(own)]))  # of each fix
off = haversine(lon[anchors], lat[anchors], lon, lat)  # (F,) metres
fig, ax = plt.subplots(figsize=(7.4, 2.9))
for stay in stayed.itertuples():
    span = hours(pd.Series([stay.started_at, stay.finished_at]))
    ax.axvspan(*span.clip(upper=24), color=EXTRA, alpha=0.22, lw=0)
ax.plot(hours(own.tracked_at), off, ".-", color=COPIED, lw=1, ms=2.5)
ax.axhline(metres, color=MUTED, ls="--", lw=1)
note = {"ha": "right", "va": "center", "fontsize": 9}
ax.text(13.95, metres + 11, "threshold Δ", color=MUTED, **note)
until = stayed.iloc[-1].finished_at.tz_convert(town.timezone)
end = f"until {until:%H:%M} of\nthe next day →"
ax.text(13.95, 0.6 * metres, end, **note)
lived = truth[(truth.user_id == person) & (truth.started_at.dt.date == day)]
start = hours(lived.started_at)
lasts, low = hours(lived.finished_at) - start, -0.12 * metres
bars = ax.barh(low, lasts, 0.13 * metres, start, color=TRUTH)
leaves = lived.finished_at.dt.tz_convert(town.timezone).iloc[-1]
note |= {"color": "white", "fontsize": 8}
ax.text(13.95, -0.125 * metres, f"until {leaves:%H:%M} →", **note)
ax.set(xlabel="hour of the day, local time", ylabel="metres from anchor")
ax.set(xlim=(7.3, 14), ylim=(-0.2 * metres, 1.2 * metres))
marks = {"a fix": ax.lines[0], "staypoint": ax.patches[0], "true visit": bars}
fig.legend(marks.values(), marks, loc="outside lower center", ncols=3)
show(
    fig,
    alt="Distance from the anchor from seven to two o'clock: a saw on trips, "
    "level in stays. Shaded staypoints stand over the bars of true visits.",
    caption="The sliding rule at work: how far each fix is from its anchor. "
    "Long, nearly level lines without dots are silences. The fix that passes "
    "the threshold is the next anchor, and is drawn at zero.",
)

# %% [markdown]
# In a stay the line is nearly level, above zero where the anchor was set on the way there. On a fast trip every fix is a new
# anchor, and it lies at zero. On a slow one the line climbs and falls back.
#
# A staypoint ends when the person is first seen elsewhere. The second shaded band runs on to nine o'clock, since nothing was heard
# after 8:23, and the last one, over an unrecorded pause, to the next day. A very long duration may be a silence.
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
# `min_samples` = 2 is a fourth threshold: a location needs two staypoints. One that has no other near it is called *noise*,
# and belongs to no location.
#
# All people's staypoints go in together, since two people may visit the same place. scikit-learn's DBSCAN wants radians on a
# sphere, and the *latitude first*.


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
# Staypoints without a location are dropped.


# %%
def with_location(staypoints, label):
    """The staypoints that have a location and last long enough."""
    placed = staypoints.assign(location_id=label)[label >= 0]
    lasts = placed.finished_at - placed.started_at
    # The 25 minutes are Hong et al.'s; with τ = 30 they drop nothing.
    return placed[lasts > pd.Timedelta("25min")].reset_index(drop=True)


# %% [markdown]
# Those with a location become **visits**; if a jump has cut a stay in two, the pieces (one location, at most a minute apart)
# are one.


# %%
def make_visits(stays):
    """Visits: located staypoints, joined where they touch."""
    before = stays.shift()  # the row before each row
    keys = ["user_id", "location_id"]
    same = (stays[keys] == before[keys]).all(axis=1)
    pause = stays.started_at - before.finished_at
    same &= pause <= pd.Timedelta("1min")  # goes on with the row before
    number = (~same).cumsum().to_numpy()  # same F F T F -> 1 2 2 3
    how = dict.fromkeys([*keys, "started_at"], "first")
    joined = stays.groupby(number).agg(how | {"finished_at": "last"})
    return joined.reset_index(drop=True)


visits = make_visits(with_location(staypoints, label))
print(f"{len(fixes):,} fixes -> {len(staypoints)} staypoints", end=" -> ")
print(f"{(label >= 0).sum()} of them in a location -> {len(visits)} visits")

# %% [markdown]
# Does the package, which is faster, do the same?


# %%
def steps(fixes, metres=metres, **settings):
    """Staypoints and visits, by the package; settings: of DBSCAN."""
    rule = {"dist_threshold": metres, "time_threshold": minutes}
    stays = gps.generate_staypoints(fixes, **rule)
    located = gps.generate_locations(stays, eps=eps, **settings)
    return stays, gps.merge_staypoints(*located)


stays, ours = steps(fixes)
columns = [*visits]  # person, location, begin, end
same = ours[columns].astype(str).equals(visits.astype(str))
print("Equal." if same else "Not equal.")

# %% [markdown]
# ## What no real data allows: the truth
#
# When is a found visit one of the {{ truth.shape[0] }} true ones? `match` may pair the two if they are the same person's, lie
# within 200 m, and the found one covers at least half of the true one's time. Each has one partner at most. *Recall* is the
# share of the true visits that are paired, *precision* the share of the found visits that are paired. How many true visits are
# found as staypoints, and how many are left as visits?

# %%
# A row for each true visit; `found` is its partner, or NaN.
pairs = match(stays, truth)
kept = pd.DataFrame({"found as staypoints, %": pairs.found.notna()})
kept["left as visits, %"] = ours_true = match(ours, truth).found.notna()
at_place = truth.groupby(["user_id", "location_id"]).location_id
ONCE = "the person's only visit there"
only = at_place.transform("size") == 1
kept["true visit"] = np.where(only, ONCE, "any other")
grouped = kept.groupby("true visit")
table = (100 * grouped.mean()).round(1).loc[[ONCE, "any other"]]
once = table.loc[ONCE]
table.assign(number=grouped.size())

# %% [markdown]
# Look at *the person's only visit there*. The first step keeps most of these visits. **The clustering then loses what was seen
# once.** Such a visit remains only if another staypoint is near, such as another person's. With everybody's whole record a
# neighbour is likelier, and six in ten survive ([evidence](evidence_windows.ipynb)). When a benchmark whose places were
# clustered this way says that people return, remember that many places seen once were not counted.
#
# Is what is found true, and when does it end? (`end_error` is in minutes.)

# %%
precision = 100 * ours_true.sum() / len(ours)
late = pairs.end_error.quantile(0.9) / 60  # hours
print(f"precision of visits: {precision:.1f} %")
print(f"one in ten ends more than {late:.1f} hours after the recorded end")

# %% [markdown]
# Nearly every found visit is a true one. But one paired staypoint in ten ends more than {{ late:.0f }} hours after the recorded
# end, over an unrecorded pause, and `match` does not punish that.
#
# And the distance $\Delta$? We run the whole pipeline with three. *Metres off* is the median distance of a staypoint from
# the true place:

# %%
rows = {}
for m in (100, 200, 400):
    stays_at, visits_at = steps(fixes, m)
    pairs_at = match(stays_at, truth)
    row = {"found as staypoints": pairs_at.found.count()}
    row["left as visits"] = match(visits_at, truth).found.count()
    row["metres off"] = round(pairs_at.metres.median(), 1)
    rows[m] = row
grid = pd.DataFrame.from_dict(rows, orient="index")
left_at = grid["left as visits"].astype(int)
grid.rename_axis("metres")

# %% [markdown]
# With 400 metres a staypoint takes in more of the way, its mean lies further off, and
# the clustering drops a third of what was found. With 100 metres the pipeline keeps *more* than with the published 200:
# {{ left_at[100] }} against {{ left_at[200] }}, for this one record (for a worse receiver, see exercise 1).
#
# ## A receiver that is too good
#
# Which receiver gives the best visits? Turn the drift alone from nothing to bad. Bet first.

# %%
rows = {}
for drift in (0, 5, 20, 40):
    stays_at, visits_at = steps(record(noise_m=drift))
    recall = 100 * match(visits_at, truth).found.notna().mean()
    row = {"recall of visits, %": recall}
    row["staypoints: metres off"] = match(stays_at, truth).metres.median()
    row["without a location, %"] = 100 * (cluster(stays_at) < 0).mean()
    rows[f"{drift} m"] = row
by_drift = pd.DataFrame(rows).T
before = by_drift.iloc[0, 1]
by_drift.rename_axis("drift").round(1)

# %% [markdown]
# The perfect receiver loses to the 5 m receiver: without drift (the other faults are left), {{ by_drift.iloc[0, 0]:.0f }} % of
# the visits are found; with five metres of it, {{ by_drift.iloc[1, 0]:.0f }} %. The first one's staypoints lie {{ before:.0f }}
# m off, against {{ by_drift.iloc[1, 1]:.1f }}, and twice as many find no neighbour. Why? Of the stays that only the 5 m
# receiver keeps, look at the one that suffers most.


# %% tags=["hide-input"]
# @title Figure 2.2: the same stay, two receivers
first, n = 61_121, 608  # its fixes: the same rows with both receivers
fig, panels = plt.subplots(2, 1, figsize=(7.4, 5.8), sharex=True)
for ax, drift in zip(panels, (0, 5), strict=True):
    own = record(noise_m=drift).iloc[first : first + n]
    xy = np.radians(own[["lon", "lat"]].to_numpy()) * R
    xy = (xy - xy.mean(0)) * [np.cos(np.radians(own.lat.mean())), 1]
    indoors = own.visit.to_numpy() >= 0
    looks = ("indoors", indoors, COPIED), ("on the way", ~indoors, MUTED)
    for name, which, colour in looks:
        spots, times = np.unique(xy[which], axis=0, return_counts=True)
        sizes = 25 * np.sqrt(times)
        ax.scatter(*spots.T, sizes, colour, alpha=0.5, label=name)
    distinct = np.unique(xy, axis=0).mean(0)
    look = {"marker": "x", "lw": 3.5, "label": "mean of distinct"}
    ax.scatter(*distinct, 200, EXTRA, **look)
    look = {"marker": "+", "lw": 1.5, "label": "mean of all"}
    ax.scatter(0, 0, 80, INK, **look)
    ax.add_patch(plt.Circle((0, 0), eps, fill=False, color=INK))
    ax.set(title=f"{drift} m of drift", ylabel="north (m)", aspect="equal")
    ax.set(xlim=(-200, 30), ylim=(-55, 25))
ax.set(xlabel="east (m)")
handles, _ = ax.get_legend_handles_labels()
fig.legend(handles=handles, loc="outside lower center", ncols=4)
n_inside = indoors.sum()
show(
    fig,
    alt="A stay, and far off two fixes of the way. Without drift the mean "
    "of distinct positions lies between; with drift it lies in the stay.",
    caption="Above, without drift: the large dot is one position, many "
    "times. Below, with five metres. The pipeline takes ×, the mean of the "
    "distinct positions. Around +, the mean of all, a circle of eps.",
)

# %% [markdown]
# Indoors the perfect receiver repeats one position, so its {{ n_inside }} fixes count as one. The two fixes on the way count as
# one each, and pull the mean of three positions two thirds of the way out. There DBSCAN finds no neighbour, and drops the stay.
# With a little drift no position repeats, and the way hardly counts. Much drift spreads the means again.
#
# If the other stays suffer from the same cause, the perfect receiver needs no drift, only another mean:


# %%
def mean_of_all(stays, fixes):
    """The staypoints, each at the mean of all its fixes."""
    stays = stays.copy()
    for row in stays.itertuples():  # the package also keeps first_fix
        own = fixes.iloc[row.first_fix : row.first_fix + row.n_fixes]
        stays.loc[row.Index, ["lon", "lat"]] = own[["lon", "lat"]].mean()
    return stays


# %%
cured = {}
for drift in (0, 5):
    own = record(noise_m=drift)
    moved = mean_of_all(steps(own)[0], own)
    visits_at = gps.merge_staypoints(*gps.generate_locations(moved, eps=eps))
    cured[f"{drift} m"] = 100 * match(visits_at, truth).found.notna().mean()
by_mean = by_drift.iloc[:2, [0]].assign(all=cured)
by_mean.columns = ["recall, mean of distinct", "recall, mean of all"]
by_mean.rename_axis("drift").round(1)

# %% [markdown]
# **It is not the drift that helps. The mean of distinct positions fails where positions repeat.** With the mean of all fixes the
# perfect receiver is as good as the 5 m receiver.
#
# > **Pitfall.** A phone that repeats its last position to save power is such a perfect receiver. If your data repeats
# > positions, average all of them.
#
# ## Latitude first, and local days
#
# **Latitude first.** scikit-learn's haversine expects (latitude, longitude). The pipeline of Hong et al. hands it (longitude,
# latitude). There is no error and no warning, but equation (2.1) then shortens north–south, by the cosine of the longitude, and
# no longer east–west. In Beijing a circle of 20 m becomes an ellipse, 45 m to the north and 15 m to the east. It covers more
# ground, so fewer staypoints stay without a location.
#
# **Whose midnight?** Fixes are in UTC, and Hong et al. leave them so. A day then begins at midnight in Greenwich. How many of the
# visits found here then begin on the wrong date?

# %%
began = ours.started_at.dt
utc, local = began.tz_convert("UTC"), began.tz_convert(town.timezone)
other = 100 * (utc.dt.day != local.dt.day).mean()
print(f"{other:.1f} % on the wrong date")

# %% [markdown]
# With both mistakes we get exactly as many GeoLife windows for training and validation as Hong et al. publish, and two fewer
# for the test ([evidence](evidence_windows.ipynb)). And there, too, the clustering drops a quarter of the staypoints: 19,579 of
# 26,684 have a location.

# %% [markdown]
# ## Your own life, from your phone to a map in three lines
#
# Some phones do all of this themselves, by thresholds that you cannot see. On Android, *Settings, Location, Timeline, Export
# Timeline data* writes a file `Timeline.json`. We made one up, with a month of a person of Larkmere. Put your own in its place
# (in Colab, drag it into *Files*), and leave out `ground`, which draws Larkmere:

# %%
mine = read_visits(TIMELINE)  # yours: "Timeline.json"
places = "Places of an invented person. Larger: more visits."
places_map(mine, path=mine, ground=ground(city.load().base), caption=places)

# %% [markdown]
# Nothing leaves the machine that runs this (in Colab, a computer of Google's), unless you tick *streets* on the map: then
# OpenStreetMap's server learns what area you look at.

# %% [markdown]
# ## What to remember
#
# - A staypoint is a long stretch of fixes near an anchor, a location a group of staypoints, and a visit a stay at a location.
# - Clustering with `min_samples` = 2 drops what was seen once: of the visits to such places {{ once["left as visits, %"]:.0f }} %
#   survive here, and six in ten with the whole town's records.
# - A mean of distinct positions fails where positions repeat, as those of a very good receiver do.
# - Give scikit-learn the latitude first, and count days in local time. Both mistakes go without a warning.
#
# More such traps: [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# If you moved a slider, put it back first.
#
# **Exercise 1** (quick). Put a bad receiver, `record(noise_m=40)`, in the place of `fixes` in the cell with the three
# distances. Do 100 metres still keep the most? How many visits are left with 100 metres, and with 200?

# %% tags=["try"]
with_100, with_200 = ..., ...
check.exercise("2.1", [with_100, with_200])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
left = []
for m in (100, 200):
    then = gps.generate_staypoints(record(noise_m=40), dist_threshold=m)
    last = gps.merge_staypoints(*gps.generate_locations(then))
    left.append(match(last, truth).found.count())
check.exercise("2.1", left)
print(f"{left[0]} with 100 metres, {left[1]} with 200")
# No: the drift probably carries fixes of a stay more than 100 metres
# apart, and so breaks it in pieces.

# %% [markdown]
# **Exercise 2** (medium). The text cured the recall of the perfect receiver; are its places right, too? Take the staypoints of
# `record(noise_m=0)` by `gps.generate_staypoints`, and `mean_of_all`. How far is the median staypoint from its true place now,
# in metres by `match`? (With the distinct positions it was {{ before:.1f }}.)

# %% tags=["try"]
with_all = ...
check.exercise("2.2", with_all)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
perfect = record(noise_m=0)
middles = mean_of_all(gps.generate_staypoints(perfect), perfect)
with_all = match(middles, truth).metres.median()
check.exercise("2.2", with_all)
print(f"{with_all:.1f} m with all positions")

# %% [markdown]
# **Exercise 3** (medium). Keep the single visits. With `min_samples=1`, which `steps` hands on, every staypoint is in a location.
# What are then, in percent, recall and precision in `record()`? (The solution shows the price.)

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
# The price: most locations appear once. A model that picks from a list of
# known places can hardly learn them.

# %% [markdown]
# **Next:** [Windows](03_windows.ipynb), which turn visits into something that a model can read.
