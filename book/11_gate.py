# %% [markdown]
# # The gate: does it know, or does it only hedge?
#
# *You will be able to* score any number that calls itself a probability: draw its reliability diagram, take its Brier
# score apart, and tell ignorance from hedging. *You need* [The generator and the gate](08_generator_and_gate.ipynb).
# *It takes* half an hour to read and about twenty seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %% [markdown]
# A gate is one number between 0 and 1. The design documents read it like this: high, "this looks like a return";
# low, "this might be somewhere new"; in between, "hedge". That is a claim about knowledge, and such a claim can be
# tested. A weather forecaster who says "70 %" before each of a hundred days should see rain on about seventy of them. One
# who says "70 %" *every* day may pass that test, and know nothing.
#
# On real people the test has a hole: when the gate is wrong, was the model ignorant, or did the person toss a coin?
# Our simulated town has no such hole. Each visit carries the probability of exploring as it stood *before* the coin was
# tossed. So the gate can be compared with somebody who knows all that can be known.

# %%
RETRAIN = False  # True: train the model here instead of loading it, about a minute on two cores

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import spearmanr

from pgt import city
from pgt.analysis.calibration import (
    auc,
    auc_within,
    bins_of,
    brier,
    calibration_line,
    expected_calibration_error,
    interval,
    logit,
    reliability,
)
from pgt.analysis.gates import gates
from pgt.analysis.results import read_results
from pgt.analysis.window_features import NUMBERS, features_of, forecast
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, PRESETS, ModelConfig
from pgt.exercises import check
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.viz.figures import EXTRA, GATE, INK, MUTED, TRUTH, show
from pgt.windows import prepare

# %%
town = city.load()
before = town.visits.groupby(["user_id", "location_id"]).cumcount()  # times there until then
data = prepare(town.visits.assign(before=before), protocol="exact")
if RETRAIN:
    torch.manual_seed(42)
    size = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    model = PointerGeneratorTransformer(size)
    fit(model, data.train, data.valid, CITY)
else:
    model, trained_on = load_model(shipped("city"))
    assert trained_on == data.vocabulary

# %% [markdown]
# ## One number a window
#
# One table holds, for every window, the gate, what came next, and the town's own probability that it
# would be a return.

# %%
def opened(windows):
    """One row a window: the gate, what was known before, what came next, and its truth."""
    table = gates(model, windows)
    here = windows.visits.iloc[windows.target - 1].reset_index(drop=True)
    then = windows.visits.iloc[windows.target].reset_index(drop=True)
    assert (then.explored == (then.before == 0)).all()    # exploring: the first time there
    table["hour"] = here.finished_at.dt.hour              # when the last visit ended
    table["kind"], table["before"] = here.kind, here.before
    table["start"], table["end"] = then.started_at, then.finished_at
    table["returned"] = ~then.explored
    table["p_return"] = 1 - then.p_explore                # before the coin was tossed
    table["same_day"] = here.finished_at.dt.date == then.started_at.dt.date
    return table


valid, test = opened(data.valid), opened(data.test)
test[["user_id", "gate", "p_return", "returned", "in_window", "correct"]].head(4).round(2)

# %% [markdown]
# All gates at a glance, and beside them what an all-knowing gate for returns would say.

# %%
fig, ax = plt.subplots(figsize=(7.0, 2.9))
edges = np.linspace(0, 1, 41)
ax.hist(test.p_return, edges, density=True, color=TRUTH, alpha=0.6, hatch="///", edgecolor="white",
        lw=0.3, label="true probability of a return")
ax.hist(test.gate, edges, density=True, color=GATE, alpha=0.75, edgecolor="white", lw=0.3, label="gate")
ax.set(xlabel="probability", ylabel="density of windows", xlim=(0, 1))
ax.legend(loc="upper left")
wide = (test.gate.std(), test.p_return.std())
assert test.gate.between(0.1, 0.95).all()
sure_return = 100 * (test.p_return == 1).mean()
show(fig,
     alt=f"Two histograms over the test windows. The gate lies around {test.gate.mean():.2f} with a standard deviation of {wide[0]:.2f}. The true probability of a return "
     f"has {wide[1]:.2f}, and is exactly one in {sure_return:.0f} % of the windows.",
     caption="The gate of all test windows, and the probability of a return that the town itself had at that moment.")

# %% [markdown]
# The gate never comes near 0 or 1, while the truth often does. This is where the talk of hedging comes from: a number that
# stays in the middle *looks* cautious. But there are two reasons to stay in the middle. One knows more and does not dare to say it;
# or one knows no more.
#
# Look at one person's week. The rule that picks it: among all weeks with at least twenty windows, three of them before
# explorations, the one in which the gate moves most. (So it is a flattering week.) Each block is a visit. Its
# colour is the gate of the window that asked for it: what the model thought just before.

# %%
monday = test.start.dt.tz_localize(None).dt.to_period("W").rename("week")
weeks = test.groupby(["user_id", monday]).agg(n=("gate", "size"), sd=("gate", "std"), back=("returned", "sum"))
who, week = weeks[(weeks.n >= 20) & (weeks.n - weeks.back >= 3)].sd.idxmax()
story = test[(test.user_id == who) & (monday == week)]


def days(times):
    """Days since the week began."""
    return (times.dt.tz_localize(None) - week.start_time) / pd.Timedelta(days=1)


low, high = test.gate.quantile([0.02, 0.98])


def ink(gate):
    """Opacity: the higher the gate, the stronger the colour."""
    return 0.1 + 0.9 * np.clip((gate - low) / (high - low), 0, 1)

# %%
start, end, new = days(story.start), days(story.end), ~story.returned
fig, (ax, ax2) = plt.subplots(2, 1, figsize=(7.4, 4.2), sharex=True, height_ratios=[1, 1.7])
for left, right, gate in zip(start, end, story.gate, strict=True):
    ax.broken_barh([(left, right - left)], (0, 1), color=GATE, alpha=ink(gate), lw=0)
    ax.broken_barh([(left, right - left)], (0, 1), facecolor="none", edgecolor=MUTED, lw=0.6)
ax.plot(start[new], np.full(new.sum(), 1.3), "v", color=TRUTH, label="first visit ever to the place")
for value in (low, (low + high) / 2, high):
    ax.fill([], [], color=GATE, alpha=ink(value), lw=0, label=f"gate {value:.2f}")
ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.02), fontsize=9)
ax.set(ylim=(0, 1.6), yticks=[], ylabel="visits")
ax2.plot(start, story.gate, "o-", color=GATE, lw=1.2, ms=4, label="gate")
ax2.plot(start, story.p_return, "D", color=TRUTH, ms=5, mfc="none", label="true probability of a return")
ax2.set(ylim=(0, 1.08), ylabel="probability", xlim=(0, max(7, float(end.max()))))
ax2.set_xticks(np.arange(7) + 0.5, "Mon Tue Wed Thu Fri Sat Sun".split())
fig.legend(*ax2.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
for each in (ax, ax2):
    each.tick_params(axis="x", length=0)
    each.grid(axis="x", visible=False)
    for midnight in range(8):
        each.axvline(midnight, color=MUTED, lw=0.5, ls=":")
together = spearmanr(story.gate, story.p_return).statistic
show(fig,
     alt=f"A week of person {who}: {len(story)} visits on a time axis from Monday to Sunday, each coloured by the gate "
     f"before it, from {story.gate.min():.2f} to {story.gate.max():.2f}. {int(new.sum())} of them are marked as explorations. Below, the "
     f"gate is a line, and diamonds show the true probability of a return, from {story.p_return.min():.2f} to {story.p_return.max():.2f}; their rank correlation is {together:.2f}.",
     caption="A week as a ribbon. The stronger the colour, the more the gate trusts copying. Triangles: the person really went somewhere for "
     "the first time.")

# %% [markdown]
# Compare the line with the diamonds. How many of their jumps does it follow? And are the faint blocks those with a
# triangle? One week proves nothing, but it tells us what to count.
#
# ## What moves the gate
#
# Sort the test windows by something that was known before the target, and average. Purple circles are the gate; green
# diamonds are the town's own probability of a return. The bars are 95 % intervals of the gate, people resampled.

# %%
def compare(ax, keys, xlabel, ticks=None):
    """Mean gate and mean true probability of a return, by a key."""
    groups = test.groupby(np.asarray(keys))
    mean = groups[["gate", "p_return"]].mean()
    at = np.arange(len(mean))
    ends = np.array([interval(np.mean, part.user_id, part.gate, n_resamples=100)
                     for _, part in groups])              # (groups, 2)
    spread = np.clip(np.stack([mean.gate - ends[:, 0], ends[:, 1] - mean.gate]), 0, None)
    ax.errorbar(at, mean.gate, yerr=spread, fmt="o", color=GATE, ms=5, lw=1.2, label="gate")
    ax.plot(at, mean.p_return, "D", color=TRUTH, ms=5, mfc="none",
            label="true probability of a return")
    ax.set_xticks(at, mean.index if ticks is None else ticks)
    ax.set(xlabel=xlabel, ylabel="mean", ylim=(0.38, 1))
    ax.grid(axis="x", visible=False)
    return mean


fig, ax = plt.subplots(figsize=(7.4, 3.0))
threes = test.hour // 3 * 3
by_hour = compare(ax, threes, "hour at which the last visit ended",
                  [f"{h}–{h + 3}" for h in sorted(threes.unique())])
ax.legend(loc="lower right")
show(fig,
     alt=f"Mean gate by the hour at which the last visit ended, in steps of three hours: from {by_hour.gate.min():.2f} to {by_hour.gate.max():.2f}. "
     f"The true probability of a return runs from {by_hour.p_return.min():.2f} to {by_hour.p_return.max():.2f}.",
     caption="By hour. The higher a mark, the surer a return.")

# %%
fig, (ax, ax2) = plt.subplots(1, 2, figsize=(7.4, 3.3), sharey=True, width_ratios=[1, 1.45])
by_day = compare(ax, test.weekday, "weekday of the last visit", "Mon Tue Wed Thu Fri Sat Sun".split())
by_kind = compare(ax2, test.kind, "kind of the current place")
ax2.set(ylabel="")
for each in (ax, ax2):
    each.tick_params(axis="x", rotation=60)
fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
show(fig,
     alt=f"Left, by weekday: the mean gate is lowest on day {int(by_day.gate.idxmin())} (1 is Monday), the true probability of a return on day "
     f"{int(by_day.p_return.idxmin())}. Right, by kind of place: the gate is highest at {by_kind.gate.idxmax()} and lowest at {by_kind.gate.idxmin()}; the truth is "
     f"highest at {by_kind.p_return.idxmax()} and lowest at {by_kind.p_return.idxmin()}.",
     caption="By weekday and by the kind of the place where the person is.")

# %% [markdown]
# *Familiarity* is how often the person had been at the current place before, in their whole recorded past.

# %%
fig, ax = plt.subplots(figsize=(7.4, 3.0))
steps = [0, 1, 2, 4, 8, 16, 32, 64, 10**6]
names = ["never", "1", "2–3", "4–7", "8–15", "16–31", "32–63", "64+"]
by_past = compare(ax, np.searchsorted(steps, test.before, side="right") - 1,
                  "earlier visits to the current place", names)
ax.legend(loc="lower right")
show(fig,
     alt=f"Mean gate by how often the person had been at the current place: {by_past.gate.iloc[0]:.2f} at places never visited before, "
     f"{by_past.gate.iloc[-1]:.2f} at the most familiar. The true probability of a return: {by_past.p_return.iloc[0]:.2f} and {by_past.p_return.iloc[-1]:.2f}.",
     caption="By familiarity. Somebody who is at a new place is away from routine, and the gate has noticed.")

# %% [markdown]
# So far, so good: wherever the diamonds rise, the circles tend to rise. Now sort by *person*.

# %%
people = test.groupby("user_id").agg(gate=("gate", "mean"), p_return=("p_return", "mean"),
                                     sd=("gate", "std"), n=("gate", "size"))
people = people[people.n >= 20].sort_values("gate").reset_index()
fig, ax = plt.subplots(figsize=(7.4, 3.2))
ax.errorbar(people.index, people.gate, yerr=people.sd, fmt="o", color=GATE, ms=4, lw=1, label="gate ± 1 sd")
ax.plot(people.index, people.p_return, "D", color=TRUTH, ms=4, mfc="none",
        label="true probability of a return")
ax.set(xlabel="people, sorted by their mean gate", ylabel="mean", ylim=(0, 1.02), xticks=[])
ax.legend(loc="lower right", ncols=2)
show(fig,
     alt=f"One mark for each of {len(people)} people with at least 20 windows. Their mean gates run from {people.gate.min():.2f} to {people.gate.max():.2f}, and a person's own "
     f"gates spread by {people.sd.mean():.2f} (standard deviation). The rank correlation with their true mean probability of a return is "
     f"{spearmanr(people.gate, people.p_return).statistic:.2f}.",
     caption="By person. The bars are no intervals here: they show how much the gate varies within one person.")

# %% [markdown]
# The gate differs more between people than within one. Put a number on it: the share of a variable's
# variance that the group means explain.

# %%
def explained(value, keys):
    """Share of the variance between groups, 0 to 1."""
    within = value - value.groupby(np.asarray(keys)).transform("mean")
    return 1 - within.var() / value.var()


keys = {"person": test.user_id, "kind of place": test.kind, "weekday": test.weekday,
        "hour": test.hour, "familiarity": np.searchsorted(steps, test.before, side="right")}
table = {name: {column: 100 * explained(test[column], key) for column in ("gate", "p_return")}
         for name, key in keys.items()}
shares = pd.DataFrame(table).T.rename(columns={
    "gate": "% of the gate's variance", "p_return": "% of the truth's variance"})
assert shares.iloc[:, 0].idxmax() == "person"
shares.round(0)

# %% tags=["hide-input"]
Markdown(
    f"**{shares.iloc[0, 0]:.0f} %** of what moves the gate is *who* the person is. In the town's own probabilities that is "
    f"{shares.iloc[0, 1]:.0f} %; the rest happens from one visit to the next. Keep this in mind when somebody shows you a gate and says "
    "“it noticed that this visit is special”."
)

# %% [markdown]
# ## What would be right?
#
# Before we score, we must say against what. The gate never saw a label. [Chapter 8](08_generator_and_gate.ipynb)
# derived what it is trained towards. With $z$ for the gate's log-odds, $g = \sigma(z)$, the slope of a window's loss
# is
#
# $$
# \frac{\partial(-\log P)}{\partial z} = g - r, \qquad r = \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)} .
# \tag{11.1}
# $$
#
# $r$ is 0 when the target is not in the window, and nearly 1 when it is. So by equation (11.1) the gate is a forecast
# of "**the target is in the window**". What people *call* it is a forecast of "**the person returns to a place where
# they have ever been**". The two differ by last month's dentist. We score it against both.

# %%
outcomes = {"in_window": "target in the window", "returned": "return to a place ever visited"}
pd.DataFrame({
    text: {"happened, % of windows": 100 * test[y].mean(), "mean gate, %": 100 * test.gate.mean(),
           "mean true probability, %": 100 * test.p_return.mean() if y == "returned" else np.nan}
    for y, text in outcomes.items()
}).round(1)

# %% [markdown]
# ## First test: calibration
#
# A forecast $f$ is **calibrated** if what it calls 70 % happens in 70 % of the cases: for every value $f$,
#
# $$
# \Pr(y = 1 \mid f) = f .
# \tag{11.2}
# $$
#
# Sort the windows by gate into ten groups of equal size, and compare in each the mean gate with the share that happened.
# This is the **reliability diagram**. Calibrated points lie on the diagonal.

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), sharex=True, sharey=True)
for ax, (y, text) in zip(axes, outcomes.items(), strict=True):
    for column, colour, mark, label in (("gate", GATE, "o-", "gate"),
                                        ("p_return", TRUTH, "D--", "the town's own probability")):
        bins = reliability(test[column], test[y], test.user_id)
        ax.plot(bins.forecast, bins.observed, mark, color=colour, ms=5, lw=1.2, mfc="none", label=label)
        ax.vlines(bins.forecast, bins.low, bins.high, color=colour, lw=1)
    ax.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":", label="calibrated")
    ax.set(xlabel="forecast", title=text[0].upper() + text[1:], xlim=(0.2, 1.01), ylim=(0.2, 1.01))
axes[0].set_ylabel("share that happened")
axes[0].legend(loc="lower right", fontsize=8)
above = reliability(test.gate, test.returned)
show(fig,
     alt="Two reliability diagrams, for the target being in the window and for a return to any place ever visited. The gate's ten dots rise in both. "
     f"Against returns they lie {100 * (above.observed - above.forecast).mean():.0f} points above the diagonal on average. The town's own probability lies on the diagonal for returns.",
     caption="Reliability diagrams of ten groups with as many windows each; bars are 95 % intervals, people resampled.")

# %% [markdown]
# Read the right-hand panel first. The diamonds check the test itself: the simulator's
# probability *is* the probability of a return, so it must lie on the diagonal. The gate lies above it: returns
# happen more often than the gate says. No surprise, since nobody asked it about returns.
# On the left, against the outcome that it is trained for, it does better. (There the diamonds must lie too low: some
# returns go to places that the window does not show.)
#
# Now in one number. The **Brier score** is the mean squared error of a forecast,
#
# $$
# \mathrm{BS} = \frac{1}{N} \sum_{n=1}^{N} (f_n - y_n)^2 ,
# \tag{11.3}
# $$
#
# and it comes apart into what one wants to know. Let group $k$ hold $N_k$ windows with mean forecast $\bar f_k$, of which a
# share $\bar y_k$ happened; $\bar y$ is the share of all. Then, as
# [Murphy (1973)](https://doi.org/10.1175/1520-0450%281973%29012%3c0595:anvpot%3e2.0.co;2) showed,
#
# $$
# \mathrm{BS} = \underbrace{\sum_k \tfrac{N_k}{N} (\bar f_k - \bar y_k)^2}_{\text{reliability}}
#   - \underbrace{\sum_k \tfrac{N_k}{N} (\bar y_k - \bar y)^2}_{\text{resolution}}
#   + \underbrace{\bar y\,(1 - \bar y)}_{\text{uncertainty}} + \text{rest} .
# \tag{11.4}
# $$
#
# *Reliability* is the distance from the diagonal; small is good. *Resolution* is how far the groups' outcomes spread
# from the average; large is good. *Uncertainty* is the score of somebody who always says $\bar y$. The
# *rest* is what the groups hide, two terms that
# [Stephenson, Coelho and Jolliffe (2008)](https://doi.org/10.1175/2007WAF2006116.1) added, so that the equation holds to the last digit. The **skill** is
# $1 - \mathrm{BS} / \bar y (1 - \bar y)$. Check the identity by hand, then let the package fill a table.

# %%
f, y = test.gate.to_numpy(), test.in_window.to_numpy().astype(float)
group = pd.DataFrame({"f": f, "y": y}).groupby(bins_of(f, 10))
fk, yk = (group[name].transform("mean") for name in "fy")          # (N,) each window's group
parts = [np.mean((fk - yk) ** 2), -np.mean((yk - y.mean()) ** 2), y.mean() * (1 - y.mean()),
         np.mean((f - fk) ** 2 - 2 * (f - fk) * (y - yk))]
assert np.isclose(sum(parts), np.mean((f - y) ** 2), atol=1e-12)

forecasts = {"gate": test.gate, "the town's own probability": test.p_return}
rows = {}
for y, text in outcomes.items():
    for name, p in forecasts.items():
        score = brier(p, test[y])
        rows[text, name] = {"Brier": score.score, "reliability": score.reliability,
                            "resolution": score.resolution, "uncertainty": score.uncertainty,
                            "skill, %": 100 * score.skill,
                            "ECE": expected_calibration_error(p, test[y])}
pd.DataFrame(rows).T.round(4)

# %% tags=["hide-input"]
skill = {y: brier(test.gate, test[y]).skill for y in outcomes}
assert skill["returned"] < 0 < skill["in_window"]
Markdown(
    f"ECE is the *expected calibration error*, the mean distance from the diagonal "
    "([Guo et al., 2017](https://arxiv.org/abs/1706.04599)).\n\n"
    f"> **Pitfall.** As a forecast of returns, the gate has a skill of **{100 * skill['returned']:.0f} %**: it is *worse* than the constant "
    f"{test.returned.mean():.2f}, although its points rise. Had we stopped at this line, we should have reported that the gate knows nothing. "
    "A level that is off by about the same amount everywhere ruins a Brier score, and can be mended with one number (exercise 3). Take a score "
    "apart before you believe it."
)

# %% [markdown]
# ## Hedging has a slope
#
# Whoever hedges stays too close to the average: says 60 % and 70 % where the truth is 50 % and 80 %. Whoever boasts does
# the opposite. Both show in the *slope* of the points, and
# [Cox (1958)](https://doi.org/10.1093/biomet/45.3-4.562) measured it with two numbers,
#
# $$
# \operatorname{logit} \Pr(y = 1) = \eta_0 + \eta_1 \operatorname{logit} f .
# \tag{11.5}
# $$
#
# $\eta_1 > 1$: it knows more than it says. $\eta_1 < 1$: it says more than it knows. $\eta_0$ is a shift of level. It is a
# logistic regression with one cue, the forecast itself.

# %%
rows = {}
for y, text in outcomes.items():
    for name, p in forecasts.items():
        shift, slope = calibration_line(p, test[y])
        ends = interval(lambda p, y: calibration_line(p, y)[1], test.user_id, p, test[y],
                        n_resamples=100)
        rows[text, name] = {"η₀, shift": shift, "η₁, slope": slope, "from": ends[0], "to": ends[1]}
lines = pd.DataFrame(rows).T
lines.round(2)

# %% tags=["hide-input"]
gate_line = lines.xs("gate", level=1)
assert (gate_line["from"] < 1).all()
Markdown(
    f"The gate's slope is **{gate_line['η₁, slope'].iloc[1]:.2f}** against returns and **{gate_line['η₁, slope'].iloc[0]:.2f}** against the window. "
    "Neither interval lies above one: there is **no sign of hedging**. It speaks about as boldly as its knowledge "
    "allows, or more so. The shift is a question of level: of label smoothing ([chapter 8](08_generator_and_gate.ipynb)), and of what counts as a return."
)

# %% [markdown]
# So one half of our question is answered. The gate's values crowd around the middle, and it is not out of
# caution. Then how much is there that it does not know?
#
# ## Second test: does it tell cases apart?
#
# Take one window whose person returned and one whose person did not. How often has the first the higher gate? That share
# is the **AUC**. Half is chance. It does not care about levels or slopes, only about order.
#
# One more turn of the screw: draw both windows *from the same person*. A gate that only knows who explores a lot has a
# good AUC, and one half *within* people.
#
# A score needs company. Above the gate stands the **oracle**, the town's own probability. Below stand single **cues** that
# need no network: the share of different places in the window (the copy ceiling of a window falls when it is scattered),
# its length, the hour. Beside it stands a **logistic regression** on such cues, with a weight for each
# person, hour and weekday. Its penalty is chosen on the validation windows.

# %%
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

simple = {split: features_of(getattr(data, split)) for split in ("train", "valid", "test")}
train = pd.DataFrame({"in_window": data.train.in_window,
                      "returned": data.train.visits.before.to_numpy()[data.train.target] > 0})


def regression(penalty):
    names = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((StandardScaler(), list(NUMBERS)),
                                      (names, ["user_id", "hour", "weekday"]))
    return make_pipeline(columns, LogisticRegression(C=1 / penalty, max_iter=1000))


for y in outcomes:
    tried = [regression(c).fit(simple["train"], train[y]) for c in (1, 3, 10, 30)]
    tested = [m.predict_proba(simple["valid"])[:, 1] for m in tried]
    best = int(np.argmin([log_loss(valid[y], p) for p in tested]))
    valid[f"regression_{y}"] = tested[best]
    test[f"regression_{y}"] = tried[best].predict_proba(simple["test"])[:, 1]
same = forecast(data, lambda windows: windows.in_window)["test"]      # the package's
assert np.allclose(test.regression_in_window, same, atol=1e-6)
simple["test"][list(NUMBERS)].describe().loc[["mean", "min", "max"]].round(2)

# %%
def candidates(y):
    """Everything that may tell windows apart, by name."""
    by_hour = pd.Series(test.hour).map(valid.groupby("hour")[y].mean()).fillna(valid[y].mean())
    return {"the town's own probability": test.p_return, "logistic regression": test[f"regression_{y}"],
            "gate": test.gate, "few different places": 1 - test.unique_share,
            "share of the top place": simple["test"].top_share, "hour's mean (validation)": by_hour,
            "short window": -test.length}


table = {}
for y in outcomes:
    for name, score in candidates(y).items():
        ends = interval(auc, test.user_id, score, test[y], n_resamples=200)
        table[y, name] = {"AUC": auc(score, test[y]), "low": ends[0], "high": ends[1],
                          "within": auc_within(score, test[y], test.user_id)}
ranked = pd.DataFrame(table).T

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True, sharex=True)
colours = {"gate": GATE, "the town's own probability": TRUTH, "logistic regression": EXTRA}
for ax, (y, text) in zip(axes, outcomes.items(), strict=True):
    part = ranked.loc[y]
    for at, (name, row) in enumerate(part.iterrows()):
        colour = colours.get(name, MUTED)
        ax.plot([row.low, row.high], [at, at], color=colour, lw=2)
        ax.plot(row.AUC, at, "o", color=colour, ms=7)
        ax.plot(row.within, at, "s", color=colour, mfc="none", ms=6)
    ax.axvline(0.5, color=INK, lw=1, ls=":")
    ax.set(xlabel="AUC", title=text[0].upper() + text[1:])
    ax.grid(axis="y", visible=False)
axes[0].set_yticks(range(len(part)), part.index)
axes[0].invert_yaxis()
handles = [plt.Line2D([], [], marker=m, color=INK, ls="", mfc=c, label=t) for m, c, t in (
    ("o", INK, "all pairs, with 95 % interval"), ("s", "none", "pairs of the same person"))]
fig.legend(handles=handles, loc="outside lower center", ncols=2)
show(fig,
     alt="AUC of seven forecasts for both outcomes. " + " ".join(
         f"{text[0].upper() + text[1:]}: " + ", ".join(f"{name} {row.AUC:.2f} (within people {row.within:.2f})" for name, row in ranked.loc[y].iterrows()) + "."
         for y, text in outcomes.items()),
     caption="Who tells the cases apart? Filled: all pairs of windows. Open: pairs of the same person. Dotted: chance.")

# %% tags=["hide-input"]
r, w = ranked.loc["returned"], ranked.loc["in_window"]
hour_name = "hour's mean (validation)"
gain = interval(lambda a, b, y: auc(a, y) - auc(b, y), test.user_id, test.regression_returned, test.gate,
                test.returned, n_resamples=200)
assert r.AUC["logistic regression"] > r.AUC["gate"] >= w.AUC["gate"] and r.within["gate"] < r.AUC["gate"]
Markdown(
    f"Here is the surprise. For returns the gate has an AUC of **{r.AUC['gate']:.3f}**, and **{r.within['gate']:.3f}** within one person, not far from a coin. "
    f"A logistic regression on {len(NUMBERS)} counts and three names, fitted in a moment, has **{r.AUC['logistic regression']:.3f}** "
    f"and {r.within['logistic regression']:.3f} (ahead of the gate by {gain[0]:.3f} to {gain[1]:.3f}, 95 % interval). The oracle has "
    f"{r.AUC.iloc[0]:.3f}. So much of what the gate lacks was to be had, from the same windows. For its own outcome, the target in the window, it is "
    f"{w.AUC['gate']:.3f} against {w.AUC['logistic regression']:.3f}; and within one person the mean of the *hour* alone has "
    f"{w.within[hour_name]:.3f}, the gate {w.within['gate']:.3f}."
)

# %% [markdown]
# How can a network with all visits before it lose to seven counts? There are two suspects. Either the gate makes poor use
# of what it sees, or it does not see it: all it gets is the context, one vector that serves the pointer and the
# generator as well. Take the gate away and let fresh readers look at the same vectors: a logistic regression, and a
# small network. Unlike the gate they are taught the outcome itself.

# %%
@torch.no_grad()
def contexts(windows):
    """(W, D) the vectors that gates are computed from."""
    found = np.zeros((len(windows), model.config.d_model), dtype="float32")
    for batch in windows.batches(512):
        encoded, _ = model.encoder(model.embeddings(batch), batch.padding)     # (B, L, D)
        found[batch.index] = encoded[torch.arange(len(batch)), batch.length - 1]
    return found


seen = {split: contexts(getattr(data, split)) for split in ("train", "valid", "test")}
probe, deeper = {}, {}
for y in outcomes:
    tried = [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000)).fit(
        seen["train"], train[y]) for c in (1e-3, 1e-2, 1e-1)]
    best = min(tried, key=lambda m: log_loss(valid[y], m.predict_proba(seen["valid"])[:, 1]))
    probe[y] = auc(best.predict_proba(seen["test"])[:, 1], test[y])
    network = make_pipeline(StandardScaler(), MLPClassifier((32,), alpha=1.0, early_stopping=True, random_state=0))
    deeper[y] = auc(network.fit(seen["train"], train[y]).predict_proba(seen["test"])[:, 1], test[y])
pd.DataFrame({text: {"gate": auc(test.gate, test[y]), "regression on the context": probe[y],
                     "network on the context": deeper[y],
                     "regression on counts": auc(test[f"regression_{y}"], test[y])}
              for y, text in outcomes.items()}).round(3).rename_axis("AUC")

# %% [markdown]
# And the counts themselves: how much of their variance can be read off the context, by linear regression?

# %%
kept = {name: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 6))).fit(
    seen["train"], simple["train"][name]).score(seen["test"], simple["test"][name]) for name in NUMBERS}
pd.Series(kept, name="share of the variance").round(2).to_frame().T

# %% tags=["hide-input"]
assert all(auc(test[f"regression_{y}"], test[y]) - max(probe[y], deeper[y]) > 0.02 for y in outcomes)
assert max(kept[name] for name in ("unique_share", "top_share", "here_share")) < 0.3
Markdown(
    f"The second suspect did it. The fresh regression gets {probe['returned']:.3f} for returns and {probe['in_window']:.3f} for the window, the fresh network {deeper['returned']:.3f} and "
    f"{deeper['in_window']:.3f}: about what the gate gets, and short of the counts. The gate says what it can see. On its way through the encoder the window has lost the counts: of how scattered "
    f"it is (*unique_share*) {100 * kept['unique_share']:.0f} % of the variance are left, of the top place's share {100 * max(kept['top_share'], 0):.0f} %. What should have kept them there? "
    "Mostly the loss asks for a good pointer, and it is the pointer that the context serves."
)

# %% [markdown]
# Notice another thing. The gate is trained towards "in the window", and yet it orders the windows by "returned" no worse. One
# reason: whether an old place happens to lie in this week's window is partly chance, so the
# trained-for outcome is the noisier of the two.
#
# ### Is the oracle fair?
#
# The oracle knows the moment of the choice. The model does not know *when* the next visit will be. After a pause of a day or more
# recording mostly begins at home in the morning, and the town then knows that it is a return. So split the windows.

# %%
rows = {}
for name, part in (("next visit on the same day", test[test.same_day]),
                   ("next visit on a later day", test[~test.same_day])):
    rows[name] = {"windows": len(part), "gate": auc(part.gate, part.returned),
                  "regression": auc(part.regression_returned, part.returned),
                  "oracle": auc(part.p_return, part.returned),
                  "rank correlation, gate and oracle": spearmanr(part.gate, part.p_return).statistic}
pd.DataFrame(rows).T.astype({"windows": int}).round(3)

# %% tags=["hide-input"]
same = test[test.same_day]
share = (auc(same.gate, same.returned) - 0.5) / (auc(same.p_return, same.returned) - 0.5)
Markdown(
    f"On the same day, where the oracle's advantage is small, the gate has **{100 * share:.0f} %** of the oracle's way above chance; and its rank "
    f"correlation with the truth is {rows['next visit on the same day']['rank correlation, gate and oracle']:.2f}, against "
    f"{spearmanr(test.gate, test.p_return).statistic:.2f} over all windows. It does know something."
)

# %% [markdown]
# ## Gate and accuracy
#
# The design documents report that the model is right in 20 % of the windows with the lowest gates and in 63 % of those with the
# highest. They report mean gates of 0.67 (GeoLife) and 0.77 (DIY); of 0.69 when the target is in the
# window and 0.59 when it is not (GeoLife); and 0.2 to 0.7 % accuracy when it is not. One run each, on data of
# their own preparation. Ours are five seeds each: the town, and GeoLife by the published protocol, where
# the model knows the target's day, as theirs does. A command made the file; it holds no more than such means.

# %%
report = read_results("gate")
print(report.header["command"])
rates = {source["name"]: source["training"]["learning_rate"] for source in report.header["data"]}
as_documented = rates["geolife"] == PRESETS["geolife"].training.learning_rate
table = {}
for name, where in (("town", "city"), ("GeoLife, published protocol", "geolife")):
    got = {group: report.select(group, data=where, model="pgt") for group in ("all", "in_window", "not_in_window")}
    table[name] = {"mean gate": got["all"].gate.mean(), "± over seeds": got["all"].gate.std(),
                   "target in the window": got["in_window"].gate.mean(),
                   "target not in it": got["not_in_window"].gate.mean(),
                   "Acc@1, %": got["all"]["acc@1"].mean(),
                   "Acc@1 when not in it, %": got["not_in_window"]["acc@1"].mean()}
pd.DataFrame(table).round(3)

# %%
fig, ax = plt.subplots(figsize=(7.0, 3.4))
for where, colour, mark, label in (("city", INK, "o-", "town"),
                                   ("geolife", EXTRA, "s--", "GeoLife, published protocol")):
    tenths = [report.select(f"tenth {k}", data=where) for k in range(1, 11)]
    right = np.array([part["acc@1"] for part in tenths])              # (10, seeds)
    gate = [part.gate.mean() for part in tenths]
    ax.plot(gate, right.mean(1), mark, color=colour, ms=5, lw=1.2, label=label)
    ax.vlines(gate, right.min(1), right.max(1), color=colour, lw=1.2)
ax.set(xlabel="mean gate of a tenth of the windows", ylabel="Acc@1 (%)", ylim=(0, None))
ax.legend(loc="lower right")
ends = {where: [report.mean("acc@1", group=f"tenth {k}", data=where) for k in range(1, 11)]
        for where in ("city", "geolife")}
valley = int(np.argmin(ends["geolife"]))
show(fig,
     alt="Accuracy in ten groups of windows by gate, five seeds. "
     + " ".join(f"{name}: {ends[where][0]:.0f} % in the lowest tenth, {min(ends[where]):.0f} % where it is least, {ends[where][-1]:.0f} % in the highest."
                for name, where in (("Town", "city"), ("GeoLife", "geolife"))),
     caption="Accuracy by gate. Points: mean of five seeds; bars: from the lowest to the highest seed.")

# %% tags=["hide-input"]
assert 0 < valley < 9 and ends["geolife"][0] > report.mean("acc@1", data="geolife", model="pgt")
Markdown(
    f"In the town accuracy goes from {ends['city'][0]:.0f} % in the lowest tenth to {ends['city'][-1]:.0f} % in the highest. On GeoLife it is a valley, "
    f"not a slope: {ends['geolife'][0]:.0f} % in the lowest tenth, {ends['geolife'][valley]:.0f} % in tenth {valley + 1}, {ends['geolife'][-1]:.0f} % in the highest. "
    "Where the gate trusts copying least of all, the model is right more often than on average. (The documents report 20 and 63 %; how wide their "
    "groups are they do not say.) Look at the bars of the lowest tenth, too: how right the model is there depends on the seed."
    + ("" if as_documented else " On GeoLife this is still PGT with the package's default settings.")
)

# %% [markdown]
# Is the gate then a measure of confidence? It was never meant to be: it forecasts *where the answer comes from*, not *whether it is right*.
# A pointer can be torn between two offices with a gate of 0.9. The model has a number for being
# right, the probability of its favourite place. Compare, and collect on the same pass what other gates would have answered.

# %%
def likelihood(gate, table):
    """Mean loss in nats, with another gate before the same two experts."""
    gate = np.asarray(gate)
    return -np.log(gate * table.pointer_probability + (1 - gate) * table.generator_probability).mean()


constant = minimize_scalar(lambda g: likelihood(g, valid), bounds=(0, 1), method="bounded").x
own = valid.groupby("user_id").gate.mean()                          # who, and nothing else
dials = {"the model's gate": test.gate, "best constant": constant, "one half": 0.5,
         "the person's mean gate": test.user_id.map(own).fillna(constant),
         "logistic regression": test.regression_in_window,
         "the answer (1 if in the window)": test.in_window}
hits, sure = dict.fromkeys(dials, 0.0), np.zeros(len(test))
with torch.no_grad():
    for batch in data.test.batches(512):
        out, at = model(batch), batch.index.numpy()
        copied, generated = out.pointer_log_probs.exp(), out.generator_log_probs.exp()
        sure[at] = out.log_probs.max(1).values.exp()
        for name, dial in dials.items():
            g = torch.as_tensor(np.broadcast_to(dial, len(test))[at].astype("float32"))[:, None]
            p = g * copied + (1 - g) * generated                     # (B, V)
            hits[name] += 100 / len(test) * float((p.argmax(1) == batch.target).sum())

# %%
rows = {}
for name, score in (("gate", test.gate), ("probability of the favourite", sure)):
    ends = interval(auc, test.user_id, score, test.correct, n_resamples=200)
    rows[name] = {"AUC for being right": auc(score, test.correct), "from": ends[0], "to": ends[1]}
ends = interval(lambda a, b, y: auc(a, y) - auc(b, y), test.user_id, sure, test.gate, test.correct,
                n_resamples=200)
rows["difference"] = {"AUC for being right": rows["probability of the favourite"]["AUC for being right"]
                      - rows["gate"]["AUC for being right"], "from": ends[0], "to": ends[1]}
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# Read the size of both numbers before their difference: an AUC near one half is of little use to anybody who wants to know
# which answers to trust.
#
# ## What is the gate worth?
#
# [Chapter 8](08_generator_and_gate.ipynb) turned the dial and saw that accuracy hardly moves. Here is the whole table: the same pointer, the same generator, and
# six ways to mix them. "Best constant" is the one number with the best likelihood on the validation windows. The *skill*
# compares losses,
#
# $$
# \text{skill} = \frac{\mathcal{L}_\text{constant} - \mathcal{L}}{\mathcal{L}_\text{constant} - \mathcal{L}_\text{answer}},
# \tag{11.6}
# $$
#
# so that the constant has 0 and somebody who knows whether the target is in the window has 100 %.

# %%
worth = pd.DataFrame({"Acc@1, %": hits, "loss, nats": {k: likelihood(v, test) for k, v in dials.items()}})
flat, perfect = (worth["loss, nats"][k] for k in ("best constant", "the answer (1 if in the window)"))
worth["skill, %"] = 100 * (flat - worth["loss, nats"]) / (flat - perfect)
worth.sort_values("loss, nats").round({"Acc@1, %": 2, "loss, nats": 4, "skill, %": 1})

# %% tags=["hide-input"]
mine, simpler = (worth["skill, %"][k] for k in ("the model's gate", "logistic regression"))
assert 0 < mine < simpler
Markdown(
    f"The best constant is {constant:.2f}. The trained gate gets **{mine:.1f} %** of the way from it to knowing the answer. Put the logistic "
    f"regression in its place, *after* training, and the same model gets **{simpler:.1f} %**. And the accuracies of all five that do not know the answer "
    f"lie within {np.ptp([hits[k] for k in dials if 'answer' not in k]):.2f} points of each other."
)

# %% [markdown]
# How high could it go? Nobody can know the answer. But the oracle's probability can be turned into the best forecast of "in the
# window" that it allows: equation (11.5), fitted on the validation windows. ($1/\eta_1$ is what others call a
# *temperature*.)

# %%
def best_line(column):
    """A gate made of a forecast by equation (11.5), fitted on validation, for the test."""
    def bend(w, x):
        return 1 / (1 + np.exp(-(w[0] + w[1] * np.clip(logit(x), -5, 5))))

    fitted = minimize(lambda w: likelihood(bend(w, valid[column]), valid), [0.0, 1.0]).x
    return bend(fitted, test[column])


ceiling = {"the model's gate, bent": best_line("gate"), "the oracle, bent": best_line("p_return")}
losses = pd.Series({name: likelihood(gate, test) for name, gate in ceiling.items()})
pd.DataFrame({"loss, nats": losses, "skill, %": 100 * (flat - losses) / (flat - perfect)}).round(
    {"loss, nats": 4, "skill, %": 1})

# %% tags=["hide-input"]
top = 100 * (flat - losses["the oracle, bent"]) / (flat - perfect)
Markdown(
    f"Knowing the town's chance of exploring is worth **{top:.1f} %** of the way; the trained gate collects {mine:.1f}, about {100 * mine / top:.0f} % of that. "
    "It is no ceiling: whether an old place lies in the window can be foreseen in part, too. But nobody gets to 100 %: that would be to know coins that have not yet been tossed."
)

# %% [markdown]
# ### Without a gate from the start
#
# The dial was turned after training. What if the gate is one half while everything else learns? The documents report a loss of
# 4.88 points of Acc@1 on GeoLife and 1.54 on DIY for that, with one seed each. Here are several.

# %%
ablations = read_results("ablations")
rows = {}
for name, where in (("town", {"data": "city", "target_time": "unknown"}),
                    ("GeoLife, published protocol", {"data": "geolife", "protocol": "published", "target_time": "day"})):
    full, half = ({**where, "model": "pgt", "variant": v} for v in ("full", "no_gate"))
    gap, low, high = ablations.difference(half, full)
    rows[name] = {"with a gate": ablations.mean(**full), "half and half": ablations.mean(**half),
                  "difference": gap, "from": low, "to": high}
pd.DataFrame(rows).T.round(2).rename_axis("Acc@1, %")

# %% [markdown]
# Means over seeds, with the 95 % interval of the difference, people and seeds resampled. Compare its ends with the documents'
# −4.88. [Chapter 14](14_ablations.ipynb) says which PGT this is on GeoLife, and has the other ablations, with intervals made in the
# same way.
#
# ## Five seeds, and GeoLife
#
# All of this was one set of weights. Do the findings hold for others, and on GeoLife, where nobody can tell us
# the truth but "in the window" can still be scored?

# %%
columns = {"auc": "AUC", "auc_within": "AUC within people", "slope": "slope η₁", "intercept": "shift η₀", "skill": "Brier skill"}
table = {}
for name, where, y in (("town: returned", "city", "returned"), ("town: in the window", "city", "in_window"),
                       ("GeoLife: in the window", "geolife", "in_window")):
    for key, title in columns.items():
        mean = report.mean(f"{key}_{y}", data=where, model="pgt")
        low, high = (report.select(end, data=where)[f"{key}_{y}"].item() for end in ("low", "high"))
        table.setdefault(title, {})[name] = f"{mean:.2f} ({low:.2f} to {high:.2f})"
pd.DataFrame(table)

# %% [markdown]
# Means of five seeds; in brackets the 95 % interval of that mean, people resampled. Read the slopes first: is one in
# the interval, or above it, or below? Then compare the two AUCs of a row.

# %% tags=["hide-input"]
everyone = report.rows[(report.rows.data == "geolife") & (report.rows.group == "all")]
level = 100 * everyone.groupby("split").in_window.mean()
(ahead,) = report.select("difference", model="window_features", data="geolife").to_dict("records")
known = report.mean("auc_in_window", group="known", data="geolife", model="pgt")
Markdown(
    f"On GeoLife the level is far off, for a reason that has nothing to do with gates. In training **{level['train']:.0f} %** of the targets are in the window, "
    f"in the test **{level['test']:.0f} %**. The published protocol merges all unknown places into one; training has none of "
    "them, the test many, and one symbol for many places is easily “in the window” ([chapter 3](03_windows.ipynb)). The gate learned "
    f"the level of training. Among known targets its AUC is {known:.2f}. The logistic regression is ahead of it on real "
    f"people as well: by {ahead['auc_in_window']:.3f} in AUC (95 % interval {ahead['low_in_window']:.3f} to {ahead['high_in_window']:.3f}), without knowing the day that the network knows."
)

# %% [markdown]
# ## Summary
#
# - Say *against what* before you score. The gate is trained towards "the target is in the window", equation (11.1), and called
#   "return". They are two outcomes.
# - Calibration, slope and discrimination are three questions. A score that mixes them, such as Brier's, must be taken apart.
# - Hedging is a slope above one. We found no sign of it; the gate lacks knowledge, not courage.
# - What it knows is mostly *who*. Within one person it is not far above chance, and a logistic regression on a handful of counts
#   knows more: not because the gate is a poor reader, but because the context has lost it on the way.
# - The gate says where an answer comes from, not whether it is right.
# - Accuracy hardly feels the gate. The loss does, and only part of that could ever be had.
#
# ## Exercises
#
# **Exercise 1** (quick). Four forecasts, 0.2, 0.2, 0.8, 0.8; what happened: 0, 0, 1, 0. Compute by hand the Brier score, its reliability,
# resolution and uncertainty, with one group for each value.

# %% tags=["try"]
score, reliable, resolved, uncertain = ..., ..., ..., ...
answer = brier([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 0], bins=2)
check.same([score, reliable, resolved, uncertain],
           [answer.score, answer.reliability, answer.resolution, answer.uncertainty], name="four parts")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
score = (0.04 + 0.04 + 0.04 + 0.64) / 4             # squared errors
reliable = (0.2**2 + 0.3**2) / 2                    # 0.2 against 0, and 0.8 against 0.5
resolved = (0.25**2 + 0.25**2) / 2                  # 0 and 0.5 against 0.25
uncertain = 0.25 * 0.75
check.same(score, reliable - resolved + uncertain, name="the parts add up (no rest: one value a group)")
check.same([score, reliable, resolved, uncertain],
           [answer.score, answer.reliability, answer.resolution, answer.uncertainty], name="four parts")

# %% [markdown]
# **Exercise 2** (medium). Write `pairs(score, happened)`, the AUC straight from its definition: over all pairs of a case that happened
# and one that did not, how often has the first the higher score? Ties count one half. Do without a loop.

# %% tags=["try"]
def pairs(score, happened):
    """(N,) scores, (N,) of 0 and 1 -> AUC."""
    return ...


cases = [(np.array([0.9, 0.6, 0.4, 0.4]), np.array([1, 0, 1, 0])),
         (np.array([0.5, 0.5, 0.5]), np.array([1, 0, 0])),
         (test.gate.to_numpy()[:300], test.returned.to_numpy()[:300])]
check.function(pairs, auc, *cases)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def pairs(score, happened):
    yes, no = score[happened == 1][:, None], score[happened == 0]      # (Y, 1), (N,)
    return ((yes > no) + 0.5 * (yes == no)).mean()                     # (Y, N)


check.function(pairs, auc, *cases)

# %% [markdown]
# **Exercise 3** (medium). Mend the gate as a forecast of returns: fit equation (11.5) on the validation windows, apply it to the test
# windows. What happens to the AUC, to reliability, to the skill? Then do it with the first half of the *test* windows instead. Why is one
# number enough for most of the gain?

# %% tags=["try"]
mended = ...  # (N,) probabilities of a return for the test windows
yours = ... if mended is ... else auc(mended, test.returned)
check.same(yours, auc(test.gate, test.returned), name="the order is untouched")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def bent(shift, slope):
    return 1 / (1 + np.exp(-(shift + slope * logit(test.gate))))


shift, slope = calibration_line(valid.gate, valid.returned)
only_shift = minimize_scalar(lambda s: log_loss(valid.returned, 1 / (1 + np.exp(-(s + logit(valid.gate)))))).x
mended = bent(shift, slope)
check.same(auc(mended, test.returned), auc(test.gate, test.returned), name="the order is untouched")
rows = {name: brier(p, test.returned) for name, p in (
    ("gate", test.gate), ("shifted only", bent(only_shift, 1.0)), ("shifted and bent", mended))}
pd.DataFrame({name: {"reliability": b.reliability, "resolution": b.resolution, "skill, %": 100 * b.skill}
              for name, b in rows.items()}).T.round(4)
# A monotone function leaves all pairs in their order. The slope was near one to begin with, so the shift is nearly all there
# is to mend. Half of the test windows would do as well, but then they are no longer a test.

# %% [markdown]
# **Exercise 4** (longer). *Who or when?* Let the gate know only who the person is: replace it by the person's own mean gate. And let it know
# only when: subtract the person's mean in log-odds, and add the mean of all. Score both against returns, overall and within people,
# and in likelihood. Which half carries the knowledge?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
z = logit(test.gate)
mean = pd.Series(z).groupby(test.user_id).transform("mean").to_numpy()
halves = {"the gate": test.gate, "who: the person's mean": 1 / (1 + np.exp(-mean)),
          "when: the rest": 1 / (1 + np.exp(-(z - mean + z.mean())))}
table = {name: {"AUC": auc(g, test.returned), "AUC within people": auc_within(g, test.returned, test.user_id),
                "loss, nats": likelihood(g, test)} for name, g in halves.items()}
check.same(table["who: the person's mean"]["AUC within people"], 0.5, name="who alone is chance within people")
pd.DataFrame(table).T.round(4)
# Most of it is who, over all pairs and in likelihood; within people, of course, only *when* is left.
# The person's mean is taken over test windows: that is fine for taking the gate apart, and would be a leak in a forecast.

# %% [markdown]
# **Exercise 5** (project). Does the gate know anything that the counts do not? *Stack* them: a logistic regression on the log-odds of the
# regression and of the gate, fitted on the validation windows and scored on the test. Why not fit it on the training windows? Then go on: train the
# model with a gate that gets the cues as extra inputs. Does it keep what it was given?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
def two(table):
    return np.stack([logit(table.regression_returned), logit(table.gate)], axis=1)     # (N, 2)


stack = LogisticRegression(C=1e6).fit(two(valid), valid.returned)
both = stack.predict_proba(two(test))[:, 1]
more = interval(lambda a, b, y: auc(a, y) - auc(b, y), test.user_id, both, test.regression_returned, test.returned,
                n_resamples=200)
print(f"weights: regression {stack.coef_[0, 0]:.2f}, gate {stack.coef_[0, 1]:.2f}")
print(f"AUC: regression {auc(test.regression_returned, test.returned):.3f}, both {auc(both, test.returned):.3f}, "
      f"difference {more[0]:+.3f} to {more[1]:+.3f}")
# On the training windows both have seen the answers: their values there are too good, and the weights would trust them too much.
# A weight above zero for the gate with a difference that excludes zero means that it knows something of its own.

# %% [markdown]
# **Next:** [What the position bias learns](12_position_bias.ipynb), where a curve that seems to need no explanation gets one.
