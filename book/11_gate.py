# %% [markdown]
# # The gate: does it know little, or say less than it knows?
#
# A forecaster who says the same every day may be right on average, and know nothing.
#
# *You will be able to* score any number that calls itself a probability: draw its reliability diagram, take its Brier
# score apart, and tell ignorance from hedging. *You need* [The generator and the gate](08_generator_and_gate.ipynb).
# *It takes* half an hour to read and about twenty seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# A gate is one number between 0 and 1. The design documents, that is [the original specification](https://where-next-book.github.io/where-next/book/errata.html), read it
# like this: high, "this looks like a return"; low, "this might be somewhere new"; in between, "hedge". That is a claim about knowledge, and it can be tested.
#
# With real people the test has a hole: when the gate is wrong, was the model ignorant, or did the person toss a coin? Our
# simulated town has no such hole. It records how likely exploring was at each visit, *before* the coin
# was tossed.

# %%
RETRAIN = False  # True: train here, about a minute on two cores

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from IPython.display import Markdown
from scipy.optimize import minimize_scalar
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import EXTRA, GATE, INK, MUTED, TRUTH, show
from wherenext.ground import ground, located
from wherenext.results import read_results
from wherenext.window_features import (
    NUMBERS,
    features_of,
    forecast,
    gates,
)

from pgt import plots
from pgt.calibration import (
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
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, ModelConfig
from pgt.maps import value_map
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import prepare

# %%
town = city.load()
visits = town.visits
before = visits.groupby(["user_id", "location_id"]).cumcount()
data = prepare(visits.assign(before=before), protocol="exact")
if RETRAIN:
    torch.manual_seed(42)
    known = data.vocabulary
    size = ModelConfig(known.n_locations, known.n_users)
    model = PointerGeneratorTransformer(size)
    fit(model, data.train, data.valid, CITY)
else:
    model, trained_on = load_model(shipped("city"))
    assert trained_on == data.vocabulary

# %% [markdown]
# ## One number a window
#
# One table holds the gate of every window, what came next, and the town's own probability of a return. A visit is a
# *return* when the person had ever been at the place before.


# %%
def opened(windows):
    """One row a window: the gate, what was known, what came next."""
    table = gates(model, windows)
    here = windows.visits.iloc[windows.target - 1].reset_index(drop=True)
    then = windows.visits.iloc[windows.target].reset_index(drop=True)
    assert (then.explored == (then.before == 0)).all()
    table["hour"] = here.finished_at.dt.hour  # when the last visit ended
    table["kind"], table["before"] = here.kind, here.before
    table["location_id"] = here.location_id
    table["returned"] = ~then.explored
    table["p_return"] = 1 - then.p_explore  # before the coin was tossed
    table["same_day"] = here.finished_at.dt.date == then.started_at.dt.date
    return table


valid, test = opened(data.valid), opened(data.test)
columns = {
    "user_id": "person",
    "gate": "gate",
    "p_return": "true probability of a return",
    "returned": "it was a return",
    "in_window": "target in the window",
}
test[list(columns)].rename(columns=columns).head(4).round(2)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.0, 2.9))
sns.histplot(
    test[["p_return", "gate"]].rename(
        columns={"p_return": "true probability of a return"}
    ),
    bins=40,
    binrange=(0, 1),
    stat="density",
    common_norm=False,
    element="step",
    palette=[TRUTH, GATE],
    ax=ax,
)
ax.set(xlabel="probability", ylabel="density of windows", xlim=(0, 1))
sns.move_legend(ax, "upper left")
wide = (test.gate.std(), test.p_return.std())
assert test.gate.between(0.1, 0.95).all()
sure_return = 100 * (test.p_return == 1).mean()
show(
    fig,
    alt="Two histograms over the test windows. The gate lies around "
    f"{test.gate.mean():.2f} with a standard deviation of {wide[0]:.2f}. "
    f"The true probability of a return has one of {wide[1]:.2f}, and is "
    f"exactly one in {sure_return:.0f} % of the windows.",
    caption="The gate of all test windows, and the probability of a return "
    "that the town itself had at that moment.",
)

# %% [markdown]
# The gate never comes near 0 or 1, while the truth is often exactly 1. That *looks* cautious. But there are two reasons to stay
# in the middle. Either the gate knows more and does not say so (it *hedges*), or it has nothing more to say.
#
# ## What moves the gate
#
# Sort the test windows into groups, by person or in other ways. The table shows the share of the variance that the group
# means explain. The groupings overlap, so their shares do not add up. *Familiarity* is how often the person had been at the present place before.


# %%
def explained(value, keys):
    """Share of the variance between groups, 0 to 1."""
    mean = value.groupby(np.asarray(keys)).transform("mean")
    return 1 - (value - mean).var() / value.var()


steps = [0, 1, 2, 4, 8, 16, 32, 64, 10**6]
familiarity = np.searchsorted(steps, test.before, side="right")
keys = {
    "person": test.user_id,
    "kind of place": test.kind,
    "weekday": test.weekday,
    "hour": test.hour,
    "familiarity": familiarity,
}
shares = pd.DataFrame(
    {
        f"% of the {of}'s variance": {
            text: 100 * explained(test[column], key)
            for text, key in keys.items()
        }
        for of, column in (("gate", "gate"), ("truth", "p_return"))
    }
)
assert shares.iloc[:, 0].idxmax() == "person"
shares.round(0)

# %% tags=["hide-input"]
Markdown(
    f"**{shares.iloc[0, 0]:.0f} %** of what moves the gate is *who* the "
    "person is. In the town's own probabilities that is "
    f"{shares.iloc[0, 1]:.0f} %; the rest happens from one visit to the "
    "next. Keep this in mind when somebody shows you a gate and says “it "
    "noticed that this visit is special”."
)

# %% [markdown]
# Here is the mean gate by the place where the person is. It looks like a map of places. But most of these places are
# somebody's home or workplace, so it is, above all, a map of people.

# %% tags=["hide-input"]
by_place = test.groupby("location_id").gate.agg(["mean", "size"])
often = by_place[by_place["size"] >= 10].reset_index()
value_map(
    located(often.rename(columns={"size": "visits"}), town),
    "mean",
    label="mean gate",
    ground=ground(town.base),
    alt="Map of the mean gate by the place where the person is, from "
    f"{often['mean'].min():.2f} to {often['mean'].max():.2f}",
    caption="The mean gate of the windows whose last visit is at a place, "
    "for places with at least ten test windows; larger discs have more.",
)

# %% [markdown]
# ## What would be right?
#
# The gate never saw a label. [Chapter 8](08_generator_and_gate.ipynb) derived what it is trained towards. With $z$ for the gate's log-odds, $g = \sigma(z)$, the slope of a window's loss
# is
#
# $$
# \frac{\partial(-\log P)}{\partial z} = g - r, \qquad r = \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)} .
# \tag{11.1}
# $$
#
# $r$ is 0 when the target is not in the window, and nearly 1 when it is. So the gate is trained as a forecast of
# "**the target is in the window**". People read it as a forecast of "**the person returns to a place where
# they have ever been**". A visit to last month's dentist is such a return, but not in the window. We score the gate against both.

# %%
outcomes = {
    "in_window": "target in the window",
    "returned": "return to a place ever visited",
}
pd.DataFrame(
    {
        "happened, % of windows": 100 * test[list(outcomes)].mean(),
        "mean gate, %": 100 * test.gate.mean(),
    }
).rename(outcomes).round(1)

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
# Sort the windows by gate into ten groups of equal size. In each, compare the mean gate with the share of windows in
# which the outcome happened. The town's own probability gets ten groups of its own.
# In this **reliability diagram**, calibrated points lie on the diagonal.

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), sharex=True, sharey=True)
shown = {"gate": "gate", "p_return": "the town's own probability"}
for ax, (y, text) in zip(axes, outcomes.items(), strict=True):
    bins = {
        name: reliability(test[column], test[y], test.user_id)
        for column, name in shown.items()
    }
    plots.reliability(bins, colours=(GATE, TRUTH), axes=ax)
    ax.set(title=text[0].upper() + text[1:], xlim=(0.2, 1.01))
    ax.set(xlabel="forecast", ylim=(0.2, 1.01))
axes[1].set_ylabel("")
axes[0].legend(loc="lower right", fontsize=8)
axes[1].get_legend().remove()
above = reliability(test.gate, test.returned)
points = 100 * (above.observed - above.forecast).mean()
show(
    fig,
    alt="Two reliability diagrams, for the target being in the window and "
    "for a return to any place ever visited. The gate's ten dots rise in "
    f"both. Against returns they lie {points:.0f} points above the diagonal "
    "on average. The town's own probability lies on the diagonal for "
    "returns.",
    caption="Reliability diagrams. Groups are of equal size, except "
    "that equal forecasts stay in one group; bars are 95 % intervals, people "
    "resampled.",
)

# %% [markdown]
# Read the right-hand panel first. The diamonds check the test itself: the simulator tossed its coin with this
# probability, so they must lie on the diagonal. The gate lies above it: returns happen more often than it says. On the left, against
# the outcome that it is trained for, the gate does better. (There the diamonds must lie too low, because some returns
# go to places that the window does not show.)
#
# Now in one number. The **Brier score** is the mean squared error of a forecast,
#
# $$
# \mathrm{BS} = \frac{1}{N} \sum_{n=1}^{N} (f_n - y_n)^2 .
# \tag{11.3}
# $$
#
# Let group $k$ hold $N_k$ windows with mean forecast $\bar f_k$, of which a
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
# - *Reliability* is the distance from the diagonal; small is good.
# - *Resolution* is how far the groups' outcomes spread from the average; large is good.
# - *Uncertainty* is the score of somebody who always says $\bar y$.
# - The *rest* comes from forecasts that differ within a group, two terms that
#   [Stephenson, Coelho and Jolliffe (2008)](https://doi.org/10.1175/2007WAF2006116.1) added.
#
# The **skill** is $1 - \mathrm{BS} / \bar y (1 - \bar y)$. Check the identity by hand, then let the package fill a
# table. ECE is the *expected calibration error*, the mean distance from the diagonal
# ([Guo et al., 2017](https://arxiv.org/abs/1706.04599)).

# %%
f, y = test.gate.to_numpy(), test.in_window.to_numpy().astype(float)
group = pd.DataFrame({"f": f, "y": y}).groupby(bins_of(f, 10))
fk = group.f.transform("mean")  # (N,) each window's group
yk = group.y.transform("mean")  # (N,)
parts = [
    np.mean((fk - yk) ** 2),
    -np.mean((yk - y.mean()) ** 2),
    y.mean() * (1 - y.mean()),
    np.mean((f - fk) ** 2 - 2 * (f - fk) * (y - yk)),
]
assert np.isclose(sum(parts), np.mean((f - y) ** 2), atol=1e-12)

# %%
forecasts = {"gate": test.gate, "town's own": test.p_return}
rows = {}
for y, text in outcomes.items():
    for forecaster, p in forecasts.items():
        score = brier(p, test[y])
        rows[text, forecaster] = {
            "Brier": score.score,
            "reliability": score.reliability,
            "resolution": score.resolution,
            "uncertainty": score.uncertainty,
            "skill, %": 100 * score.skill,
            "ECE": expected_calibration_error(p, test[y]),
        }
scored = pd.DataFrame(rows).T
scored.round(dict.fromkeys(scored, 4) | {"skill, %": 1})

# %% tags=["hide-input"]
skill = {y: brier(test.gate, test[y]).skill for y in outcomes}
assert skill["returned"] < 0 < skill["in_window"]
Markdown(
    "> **Pitfall.** As a forecast of returns, the gate has a skill of "
    f"**{100 * skill['returned']:.0f} %**: it is *worse* than the constant "
    f"{test.returned.mean():.2f}, although its points rise. Had we stopped "
    "here, we would have reported that the gate knows nothing. A level "
    "that is off by about the same amount everywhere ruins a Brier score, "
    "and can be mended with one number (exercise 3). Take a score apart "
    "before you believe it."
)

# %% [markdown]
# ## Hedging has a slope
#
# Anyone who hedges stays too close to the average, and says 60 % and 70 % where the truth is 50 % and 80 %. Anyone who
# boasts does the opposite. Both show in the *slope* of the points.
# [Cox (1958)](https://doi.org/10.1093/biomet/45.3-4.562) measured the slope with two numbers,
#
# $$
# \operatorname{logit} \Pr(y = 1) = \eta_0 + \eta_1 \operatorname{logit} f .
# \tag{11.5}
# $$
#
# $\eta_1 > 1$: the forecast knows more than it says. $\eta_1 < 1$: it says more than it knows. $\eta_0$ is a shift of
# level. In the table, *from* and *to* are the ends of the slope's 95 % interval, people resampled.


# %%
def slope_of(p, y):
    return calibration_line(p, y)[1]


rows = {}
for y, text in outcomes.items():
    for forecaster, p in forecasts.items():
        shift, slope = calibration_line(p, test[y])
        ends = interval(slope_of, test.user_id, p, test[y], n_resamples=100)
        rows[text, forecaster] = {
            "shift η₀": shift,
            "slope η₁": slope,
            "from": ends[0],
            "to": ends[1],
        }
lines = pd.DataFrame(rows).T
lines.round(2)

# %% tags=["hide-input"]
gate_line = lines.xs("gate", level=1)
slopes = gate_line["slope η₁"]
assert (gate_line["from"] < 1).all()
Markdown(
    f"The gate's slope is **{slopes.iloc[1]:.2f}** against returns and "
    f"**{slopes.iloc[0]:.2f}** against the window. Neither interval lies "
    "above one: there is **no sign of hedging**, although the intervals "
    f"reach up to {gate_line['to'].max():.2f}. The shift is a question of "
    "level: of label smoothing ([chapter 8](08_generator_and_gate.ipynb)), "
    "and of what counts as a return."
)

# %% [markdown]
# So we find no caution that would explain why the gate's values crowd around the middle. How much does the gate know?
#
# ## Second test: does it tell cases apart?
#
# Take one window whose person returned and one whose person did not. How often does the first have the higher gate? That share
# is the **AUC**. Half is chance. Only the order counts, not levels or slopes.
#
# Then draw both windows *from the same person*. A gate that only knows who explores a lot has one half there.
#
# To judge the gate's AUC, we compare it with others:
#
# - the **oracle**, here the town's own probability, knows the most (but not the answer, which the oracle gate of [chapter 8](08_generator_and_gate.ipynb) knew);
# - single **cues** need no network: the window's length, the hour;
# - a **logistic regression** on such cues, fitted by the package's `forecast` on the training windows, has a weight for
#   each person, hour and weekday, and for each of the counts in the next cell.

# %%
parts = {"train": data.train, "valid": data.valid, "test": data.test}
simple = {split: features_of(part) for split, part in parts.items()}
COUNTS = {
    "length": "visits",
    "unique_share": "different places / visits",
    "top_share": "share of the top place",
    "here_share": "share of the present place",
    "here_first": "present place is new in it (1 or 0)",
    "days": "different days",
    "stay": "hours of the last stay",
}
assert tuple(COUNTS) == NUMBERS


# %%
def in_window(windows):
    return windows.in_window


def returned(windows):
    return windows.visits.before.to_numpy()[windows.target] > 0


train = {}
for y, outcome in (("in_window", in_window), ("returned", returned)):
    train[y] = outcome(data.train)
    regression = forecast(data, outcome)
    valid[f"regression_{y}"] = regression["valid"]
    test[f"regression_{y}"] = regression["test"]


# %%
def candidates(y):
    """Everything that may tell windows apart, by name."""
    hours = valid.groupby("hour")[y].mean()
    by_hour = test.hour.map(hours).fillna(valid[y].mean())
    return {
        "the town's own probability": test.p_return,
        "logistic regression": test[f"regression_{y}"],
        "gate": test.gate,
        "few different places": 1 - test.unique_share,
        "share of the top place": simple["test"].top_share,
        "hour's mean (validation)": by_hour,
        "short window": -test.length,
    }


table = {}
for y in outcomes:
    for text, score in candidates(y).items():
        ends = interval(auc, test.user_id, score, test[y], n_resamples=200)
        table[y, text] = {
            "AUC": auc(score, test[y]),
            "low": ends[0],
            "high": ends[1],
            "within": auc_within(score, test[y], test.user_id),
        }
ranked = pd.DataFrame(table).T

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True, sharex=True)
colours = {
    "gate": GATE,
    "the town's own probability": TRUTH,
    "logistic regression": EXTRA,
}
for ax, (y, text) in zip(axes, outcomes.items(), strict=True):
    part = ranked.loc[y]
    for at, (cue, row) in enumerate(part.iterrows()):
        colour = colours.get(cue, MUTED)
        ax.plot([row.low, row.high], [at, at], color=colour, lw=2)
        ax.plot(row.AUC, at, "o", color=colour, ms=7)
        ax.plot(row.within, at, "s", color=colour, mfc="none", ms=6)
    ax.axvline(0.5, color=INK, lw=1, ls=":")
    ax.set(xlabel="AUC", title=text[0].upper() + text[1:])
    ax.grid(axis="y", visible=False)
axes[0].set_yticks(range(len(part)), part.index)
axes[0].invert_yaxis()
style = {"color": INK, "ls": ""}
kinds = (
    ("o", INK, "all pairs, with 95 % interval"),
    ("s", "none", "pairs of the same person"),
)
handles = [
    plt.Line2D([], [], marker=m, mfc=c, label=text, **style)
    for m, c, text in kinds
]
fig.legend(handles=handles, loc="outside lower center", ncols=2)
said = {
    text: ", ".join(
        f"{cue} {row.AUC:.2f} (within people {row.within:.2f})"
        for cue, row in ranked.loc[y].iterrows()
    )
    for y, text in outcomes.items()
}
show(
    fig,
    alt="AUC of seven forecasts for both outcomes. "
    + " ".join(f"{text.capitalize()}: {row}." for text, row in said.items()),
    caption="Who tells the cases apart? Filled: all pairs of windows. Open: "
    "pairs of the same person. Dotted: chance.",
)


# %% tags=["hide-input"]
def lead(a, b, y):
    """How far one AUC is ahead of the other."""
    return auc(a, y) - auc(b, y)


r, w = ranked.loc["returned"], ranked.loc["in_window"]
hour = w.within["hour's mean (validation)"]
pair = test.regression_returned, test.gate, test.returned
gain = interval(lead, test.user_id, *pair, n_resamples=200)
rule = "logistic regression"
assert r.AUC[rule] > r.AUC["gate"] >= w.AUC["gate"]
assert r.within["gate"] < r.AUC["gate"]
Markdown(
    "Here is the surprise. For returns the gate has an AUC of "
    f"**{r.AUC['gate']:.3f}**, and **{r.within['gate']:.3f}** within one "
    "person, not far from a coin. A logistic regression on "
    f"{len(NUMBERS)} counts, the person, the hour and the weekday has "
    f"**{r.AUC[rule]:.3f}** and {r.within[rule]:.3f} (ahead of the gate by "
    f"{gain[0]:.3f} to {gain[1]:.3f}, 95 % interval). The oracle has "
    f"{r.AUC.iloc[0]:.3f}.\n\nAgainst its own outcome, the target in the "
    f"window, the AUC is {w.AUC['gate']:.3f} for the gate and "
    f"{w.AUC[rule]:.3f} for the regression. Within one person the gate has "
    f"{w.within['gate']:.3f}; a table of hourly means has {hour:.3f}."
)

# %% [markdown]
# How can a network that sees all visits lose to such a regression? Either the gate makes poor use of its input, or the
# input lacks what the regression knows. This input is the context, one vector that serves the pointer and the generator as well.
# Let fresh readers look at the same vectors: a logistic regression, and a small network. Unlike the gate, they are taught
# the outcome itself.


# %%
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@torch.no_grad()
def contexts(windows):
    """(W, D) the vectors that gates are computed from."""
    found = np.zeros((len(windows), model.config.d_model), dtype="float32")
    for batch in windows.batches(512):
        x = model.embeddings(batch)
        encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
        rows = torch.arange(len(batch))
        found[batch.index] = encoded[rows, batch.length - 1]
    return found


seen = {split: contexts(part) for split, part in parts.items()}
readers = []
for c in (1e-3, 1e-2, 1e-1):
    readers.append(LogisticRegression(C=c, max_iter=1000))
small = {"alpha": 1.0, "early_stopping": True, "random_state": 0}
probe, deeper = {}, {}
for y in outcomes:
    tried = [
        make_pipeline(StandardScaler(), reader).fit(seen["train"], train[y])
        for reader in readers
    ]
    tested = [
        log_loss(valid[y], m.predict_proba(seen["valid"])) for m in tried
    ]
    best = tried[int(np.argmin(tested))]
    probe[y] = auc(best.predict_proba(seen["test"])[:, 1], test[y])
    network = make_pipeline(StandardScaler(), MLPClassifier((32,), **small))
    network.fit(seen["train"], train[y])
    deeper[y] = auc(network.predict_proba(seen["test"])[:, 1], test[y])

# %%
pd.DataFrame(
    {
        text: {
            "gate": auc(test.gate, test[y]),
            "regression on the context": probe[y],
            "network on the context": deeper[y],
            "earlier regression": auc(test[f"regression_{y}"], test[y]),
        }
        for y, text in outcomes.items()
    }
).round(3).rename_axis("AUC")

# %% [markdown]
# And the counts themselves: how much of their variance can be read off the context, by linear regression? (Below 0 it is
# worse than always saying the mean.)

# %%
kept = {}
for count in NUMBERS:
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 6)))
    ridge.fit(seen["train"], simple["train"][count])
    kept[count] = ridge.score(seen["test"], simple["test"][count])
share = pd.Series(kept, name="share of the variance")
share.rename(COUNTS).round(2).to_frame()

# %% tags=["hide-input"]
for y in outcomes:
    counted = auc(test[f"regression_{y}"], test[y])
    assert counted - max(probe[y], deeper[y]) > 0.02
assert share[["unique_share", "top_share", "here_share"]].max() < 0.3
Markdown(
    "The context seems to lack what the earlier regression knows. For "
    f"returns the fresh regression gets {probe['returned']:.3f} and the "
    f"fresh network {deeper['returned']:.3f}; the gate has "
    f"{auc(test.gate, test.returned):.3f}, and the earlier regression more. "
    "Of each count's variance the linear reading finds between "
    f"nothing and {100 * share.max():.0f} %. A "
    "likely reason: the loss asks mostly for a good pointer, and the "
    "context serves the pointer."
)

# %% tags=["hide-input"]
part, later = test[test.same_day], test[~test.same_day]
of = {
    text: auc(part[column], part.returned)
    for text, column in (("gate", "gate"), ("oracle", "p_return"))
}
share = (of["gate"] - 0.5) / (of["oracle"] - 0.5)
Markdown(
    "Is the oracle fair? It knows the moment of the choice, and the model "
    "does not know *when* the next visit will be. On a new day recording "
    "often begins at home, and the town then knows that it is a return: it "
    f"is certain in {100 * (later.p_return == 1).mean():.0f} % of these "
    "windows. Where the next visit is on the same day, "
    f"the oracle has {of['oracle']:.3f} and the gate {of['gate']:.3f}: "
    f"the gate gets **{100 * share:.0f} %** of the oracle's lead over "
    "chance. It does know something."
)

# %% [markdown]
# ## Gate and accuracy
#
# The design documents give these numbers, from one run each:
#
# - mean gates of 0.67 (GeoLife) and 0.77 (DIY);
# - on GeoLife 0.69 when the target is in the window, and 0.59 when it is not;
# - 20 % right answers in the windows with the lowest gates, 63 % in those with the highest;
# - 0.2 to 0.7 % right answers when the target is not in the window.
#
# Our numbers are means of five seeds, for the town and for GeoLife under the published protocol. On GeoLife our model
# knows the target's day, as theirs does.

# %%
report = read_results("gate")
print(report.header["command"])
shown = {"city": "town", "geolife": "GeoLife, published protocol"}
table = {}
for where, title in shown.items():
    every, inside, outside = (
        report.select(group, data=where, model="pgt")
        for group in ("all", "in_window", "not_in_window")
    )
    table[title] = {
        "mean gate": every.gate.mean(),
        "± over seeds": every.gate.std(),
        "target in the window": inside.gate.mean(),
        "target not in it": outside.gate.mean(),
        "Acc@1, %": every["acc@1"].mean(),
        "Acc@1 when not in it, %": outside["acc@1"].mean(),
    }
pd.DataFrame(table).round(3)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.0, 3.4))
looks = {"city": (INK, "o-"), "geolife": (EXTRA, "s--")}
tenths = {}
for where, (colour, form) in looks.items():
    groups = [report.select(f"tenth {k}", data=where) for k in range(1, 11)]
    right = np.array([part["acc@1"] for part in groups])  # (10, seeds)
    gate = [part.gate.mean() for part in groups]
    tenths[where] = right.mean(1)
    style = {"color": colour, "ms": 5, "lw": 1.2, "label": shown[where]}
    ax.plot(gate, right.mean(1), form, **style)
    ax.vlines(gate, right.min(1), right.max(1), color=colour, lw=1.2)
ax.set(xlabel="mean gate of a tenth of the windows", ylabel="Acc@1 (%)")
ax.set_ylim(0, None)
ax.legend(loc="lower right")
show(
    fig,
    alt="Accuracy in ten groups of windows by gate, five seeds. "
    + " ".join(
        f"{shown[where]}: {acc[0]:.0f} % in the lowest tenth, "
        f"{acc.min():.0f} % where it is least, {acc[-1]:.0f} % in the "
        "highest."
        for where, acc in tenths.items()
    ),
    caption="Accuracy by gate. Points: mean of five seeds; bars: from the "
    "lowest to the highest seed.",
)

# %% tags=["hide-input"]
city_acc, acc = tenths["city"], tenths["geolife"]
valley = int(acc.argmin())
mean = report.mean("acc@1", data="geolife", model="pgt", group="all")
Markdown(
    f"In the town accuracy goes from {city_acc[0]:.0f} % in the lowest "
    f"tenth to {city_acc[-1]:.0f} % in the highest. On GeoLife it goes from "
    f"{acc[0]:.0f} % to {acc[-1]:.0f} %"
    + (
        f", by way of {acc[valley]:.0f} % in tenth {valley + 1}: it falls "
        "and rises again."
        if 0 < valley < 9
        else "."
    )
    + (
        " Where the gate trusts copying least of all, the model is right "
        "more often than on average."
        if acc[0] > mean
        else ""
    )
    + " (The documents do not say how wide their groups are.) Look at the "
    "bars of the lowest tenth, too: how right the model is there depends "
    "on the seed."
)

# %% [markdown]
# Is the gate a measure of confidence? It forecasts *where the answer comes from*, not *whether it is right*: a pointer can
# be torn between two offices with a gate of 0.9. The model has another number for being right, the probability of its
# favourite place. Compare the two, and collect in the same pass what other gates would have answered.


# %%
def likelihood(gate, table):
    """Mean loss in nats, with another gate before the same experts."""
    g, copied = np.asarray(gate), table.pointer_probability
    return -np.log(g * copied + (1 - g) * table.generator_probability).mean()


def on_valid(g):
    return likelihood(g, valid)


constant = minimize_scalar(on_valid, bounds=(0, 1), method="bounded").x
own = valid.groupby("user_id").gate.mean()  # who, and nothing else
dials = {
    "the model's gate": test.gate,
    "best constant": constant,
    "one half": 0.5,
    "the person's mean gate": test.user_id.map(own).fillna(constant),
    "logistic regression": test.regression_in_window,
    "the answer (1 if in the window)": test.in_window,
}

# %%
hits, sure = dict.fromkeys(dials, 0.0), np.zeros(len(test))
with torch.no_grad():
    for batch in data.test.batches(512):
        out, at = model(batch), batch.index.numpy()
        copied = out.pointer_log_probs.exp()  # (B, V)
        generated = out.generator_log_probs.exp()  # (B, V)
        sure[at] = out.log_probs.max(1).values.exp()
        for dial, value in dials.items():
            g = np.broadcast_to(value, len(test))[at].astype("float32")
            g = torch.as_tensor(g)[:, None]
            p = g * copied + (1 - g) * generated  # (B, V)
            right = p.argmax(1) == batch.target
            hits[dial] += 100 / len(test) * float(right.sum())

# %%
head = "AUC for being right"
rows = {}
for text, score in (("gate", test.gate), ("favourite's probability", sure)):
    ends = interval(auc, test.user_id, score, test.correct, n_resamples=200)
    rows[text] = {
        head: auc(score, test.correct),
        "from": ends[0],
        "to": ends[1],
    }
ends = interval(
    lead, test.user_id, sure, test.gate, test.correct, n_resamples=200
)
difference = lead(sure, test.gate, test.correct)
rows["difference"] = {head: difference, "from": ends[0], "to": ends[1]}
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# Both are weak guides to which answers one may trust.
#
# ## What is the gate worth?
#
# Here are six ways to mix the same pointer and the same generator. "Best constant" is the one number with the best
# likelihood on the validation windows. The *skill* here compares losses,
#
# $$
# \text{skill} = \frac{\mathcal{L}_\text{constant} - \mathcal{L}}{\mathcal{L}_\text{constant} - \mathcal{L}_\text{answer}},
# \tag{11.6}
# $$
#
# so that the constant has 0, and somebody who knows whether the target is in the window has 100 %.

# %%
loss = pd.Series({dial: likelihood(g, test) for dial, g in dials.items()})
flat, perfect = loss["best constant"], loss.iloc[-1]


def skill_of(loss):
    return 100 * (flat - loss) / (flat - perfect)


worth = pd.DataFrame({"Acc@1, %": hits, "loss, nats": loss})
worth["skill, %"] = skill_of(loss)
digits = {"Acc@1, %": 2, "loss, nats": 4, "skill, %": 1}
worth.sort_values("loss, nats").round(digits)

# %% tags=["hide-input"]
mine, simpler = (
    worth["skill, %"][dial]
    for dial in ("the model's gate", "logistic regression")
)
assert 0 < mine < simpler
apart = np.ptp([hits[dial] for dial in dials if "answer" not in dial])
Markdown(
    f"The best constant is {constant:.2f}. The trained gate gets "
    f"**{mine:.1f} %** of the way from it to knowing the answer. Put the "
    "logistic regression in its place, *after* training, and the same model "
    f"gets **{simpler:.1f} %**. The accuracies of all five that do not know "
    f"the answer lie within {apart:.2f} points of each other. Even the "
    "answer hardly changes accuracy "
    "([chapter 8](08_generator_and_gate.ipynb))."
)

# %% [markdown]
# All this changes the gate *after* training. [Chapter 14](14_ablations.ipynb) trains with the gate fixed at one half.
#
# ## Five seeds, and GeoLife
#
# So far we looked at one set of weights. Here are means of five seeds, with their 95 % intervals. The intervals resample
# people only; the five seeds are held fixed. So they do not say what five other seeds would have given. GeoLife is there
# too: nobody knows the truth about it, but "in the window" can still be scored. Read the slopes first: does the interval
# lie above one? Then compare the two AUCs of a column.

# %%
columns = {
    "auc": "AUC",
    "auc_within": "AUC within people",
    "slope": "slope η₁",
    "intercept": "shift η₀",
    "skill": "Brier skill",
}
worlds = (
    ("town: returned", "city", "returned"),
    ("town: in the window", "city", "in_window"),
    ("GeoLife: in the window", "geolife", "in_window"),
)
table, slopes, means = {}, [], {}
for text, where, y in worlds:
    ends = [report.select(end, data=where) for end in ("low", "high")]
    for key, title in columns.items():
        key = f"{key}_{y}"
        means[where, key] = report.mean(key, data=where, model="pgt")
        low, high = (end[key].item() for end in ends)
        if title == "slope η₁":
            slopes.append((low, high))
        row = table.setdefault(title, {})
        row[text] = f"{means[where, key]:.2f} ({low:.2f} to {high:.2f})"
head = "mean (95 % interval over people, seeds fixed)"
pd.DataFrame(table).T.rename_axis(head)

# %% tags=["hide-input"]
geolife = report.rows[report.rows.data == "geolife"]
everyone = geolife[geolife.group == "all"]
level = 100 * everyone.groupby("split").in_window.mean()
counted = {"model": "window_features", "data": "geolife"}
(ahead,) = report.select("difference", **counted).to_dict("records")
found, low, high = (ahead[f"{k}_in_window"] for k in ("auc", "low", "high"))
aucs = ("auc_in_window", "auc_within_in_window")
drop = [means[where, aucs[0]] - means[where, aucs[1]] for where in shown]
below = sum(high < 1 for _, high in slopes)
assert below and all(low <= 1 for low, _ in slopes)
Markdown(
    "No interval of a slope lies above one, and "
    f"{below} of {len(slopes)} lie below one: there the gate says *more* "
    "than it knows. Within people the AUC for the window is lower by "
    f"{drop[0]:.2f} in the town, and by {drop[1]:.2f} on GeoLife.\n\n"
    "On GeoLife the level is far off, for a reason that has nothing to do "
    f"with gates. In training **{level['train']:.0f} %** of the targets are "
    f"in the window, in the test **{level['test']:.0f} %**. The published "
    "protocol merges all unknown places into one symbol. Training has none "
    "of them and the test has many, and one symbol for many places is "
    "easily “in the window” ([chapter 3](03_windows.ipynb)). The gate says "
    f"{100 * everyone.gate.mean():.0f} % on average.\n\n"
    "On real people too, the logistic regression "
    + (
        "is ahead of the gate"
        if low > 0
        else "cannot be told from the gate"
        if high > 0
        else "is behind the gate"
    )
    + f": the difference in AUC is {found:+.3f} (95 % interval {low:+.3f} to "
    f"{high:+.3f}, people resampled, the five seeds held fixed), although "
    "the regression does not know the target's day, and the network does."
)

# %% [markdown]
# ## What to remember
#
# - Say *against what* before you score. The gate is trained towards "the target is in the window", equation (11.1), and
#   people call it "return".
# - Calibration, slope and telling cases apart are three questions. A score that mixes them, such as Brier's, must be taken
#   apart. Hedging is a slope above one, and we found no sign of it.
# - Within one person the gate is not far above chance; in the town it tells people apart better than moments. A
#   regression on a handful of counts, the person and the hour knows more, and only part of the counts can be read off the context.
# - The gate says where an answer comes from, not whether it is right. Accuracy hardly feels it; the loss does.
#
# ## Exercises
#
# **Exercise 1** (quick). Four forecasts: 0.2, 0.2, 0.8, 0.8. What happened: 0, 0, 1, 0. Compute by hand the Brier score,
# its reliability, its resolution and its uncertainty, with one group for each value.

# %% tags=["try"]
score, reliable, resolved, uncertain = ..., ..., ..., ...
check.exercise("11.1", [score, reliable, resolved, uncertain])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
score = (0.04 + 0.04 + 0.04 + 0.64) / 4  # squared errors
reliable = (0.2**2 + 0.3**2) / 2  # 0.2 against 0, and 0.8 against 0.5
resolved = (0.25**2 + 0.25**2) / 2  # 0 and 0.5 against 0.25
uncertain = 0.25 * 0.75
total = reliable - resolved + uncertain  # no rest: one value a group
check.same(score, total, name="the parts add up")
check.exercise("11.1", [score, reliable, resolved, uncertain])
four = brier([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 0], bins=2)
check.same(score, four.score, name="the package's score")

# %% [markdown]
# **Exercise 2** (medium). Write `pairs(score, happened)`, the AUC straight from its definition: over all pairs of a case
# that happened and one that did not, how often does the first have the higher score? Ties count one half. Do it without a loop.


# %% tags=["try"]
def pairs(score, happened):
    """(N,) scores, (N,) of 0 and 1 -> AUC."""
    return ...


cases = [
    (np.array([0.9, 0.6, 0.4, 0.4]), np.array([1, 0, 1, 0])),
    (np.array([0.5, 0.5, 0.5]), np.array([1, 0, 0])),
    (test.gate.to_numpy()[:300], test.returned.to_numpy()[:300]),
]
check.function(pairs, auc, *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def pairs(score, happened):
    yes, no = score[happened == 1][:, None], score[happened == 0]
    return ((yes > no) + 0.5 * (yes == no)).mean()  # (Y, N) -> ()


check.function(pairs, auc, *cases)

# %% [markdown]
# **Exercise 3** (medium). Mend the gate as a forecast of returns: fit equation (11.5) on the validation windows, apply it
# to the test windows. What happens to the AUC, to reliability, to the skill? Why is the shift alone enough?

# %% tags=["try"]
mended = ...  # (N,) probabilities of a return for the test windows
yours = ... if mended is ... else auc(mended, test.returned)
theirs = auc(test.gate, test.returned)
check.same(yours, theirs, name="the order is untouched")


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def bent(shift, slope, gate):
    return 1 / (1 + np.exp(-(shift + slope * logit(gate))))


def shifted(s):
    return log_loss(valid.returned, bent(s, 1.0, valid.gate))


line = calibration_line(valid.gate, valid.returned)
mended = bent(*line, test.gate)
yours = auc(mended, test.returned)
check.same(yours, theirs, name="the order is untouched")
only_shift = bent(minimize_scalar(shifted).x, 1.0, test.gate)
rows = {}
for text, p in (
    ("gate", test.gate),
    ("shifted only", only_shift),
    ("shifted and bent", mended),
):
    b = brier(p, test.returned)
    rows[text] = {
        "reliability": b.reliability,
        "resolution": b.resolution,
        "skill, %": 100 * b.skill,
    }
pd.DataFrame(rows).T.round(4)
# A monotone function leaves all pairs in their order. The slope was near
# one to begin with, so the shift is nearly all there is to mend.

# %% [markdown]
# **Exercise 4** (longer). Does the gate know anything that the counts do not? *Stack* them: a logistic regression on
# the log-odds of the regression and of the gate, fitted on the validation windows and scored on the test. Why not fit it on
# the training windows?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
def two(table):
    counted = logit(table.regression_returned)
    return np.stack([counted, logit(table.gate)], axis=1)  # (N, 2)


stack = LogisticRegression(C=1e6).fit(two(valid), valid.returned)
both = stack.predict_proba(two(test))[:, 1]
ruled, y = test.regression_returned, test.returned
more = interval(lead, test.user_id, both, ruled, y, n_resamples=200)
rule_weight, gate_weight = stack.coef_[0]
print(f"weights: regression {rule_weight:.2f}, gate {gate_weight:.2f}")
print(f"AUC: regression {auc(ruled, y):.3f}, both {auc(both, y):.3f}")
print(f"difference {more[0]:+.3f} to {more[1]:+.3f}")
# On the training windows both have seen the answers: their values there are
# too good, and the weights would trust them too much. The difference
# includes zero: no sign that the gate knows something of its own.

# %% [markdown]
# **Next:** [What the position bias learns](12_position_bias.ipynb), where a curve that seems to need no explanation gets one.
