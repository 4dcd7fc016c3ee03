# %% [markdown]
# # The gate: does it know little, or say less than it knows?
#
# A forecaster who never says "surely" may be holding something back, or may have nothing to add. One can tell which. Here the
# forecaster is the gate.
#
# *You will be able to* score any number that calls itself a probability: draw its reliability diagram, compute its
# skill, and tell ignorance from hedging. *You need* [The generator and the gate](08_generator_and_gate.ipynb).
# *It takes* a quarter of an hour to read and about twenty seconds to run.
#
# > **In one sentence.** The gate knows little about returns and does not hold back: made more extreme, it forecasts no better,
# > while a regression on who and when alone knows more.

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

# %% [markdown]
# The gate $g$ is one number between 0 and 1: how much the model trusts copying. People read it like this. High: "this
# looks like a return". Low: "this might be somewhere new". In between: "hard to say". That is a claim about knowledge,
# and it can be tested.
#
# With real people the test has a hole. When the gate is wrong, was the model ignorant, or did the person toss a coin?
# Our simulated town has no such hole. It records how likely exploring was at each visit, *before* the coin was tossed.

# %% tags=["hide-input"]
# @title Imports
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GATE, MUTED, TRUTH, show
from wherenext.ground import ground, located
from wherenext.window_features import NUMBERS, PENALTIES, features_of, gates

from pgt import maps, plots
from pgt.checkpoint import load_model, shipped
from pgt.metrics import percentile_interval, resampled_means
from pgt.predictor.calibration import reliability
from pgt.windows import prepare

# %%
town = city.load()
model, known = load_model(shipped("city"))
data = prepare(town.visits, protocol="exact", vocabulary=known)

# %% [markdown]
# ## One number a window
#
# One table holds the gate of every window, the town's own probability of a return, and what came next. A visit is a *return*
# if the person has ever been at the place before, in the window or long ago.


# %%
def opened(windows):
    """One row a window: the gate, what was known, what came next."""
    table = gates(model, windows)
    now = windows.visits.iloc[windows.target - 1].reset_index(drop=True)
    then = windows.visits.iloc[windows.target].reset_index(drop=True)
    table["location_id"], table["kind of place"] = now.location_id, now.kind
    table["hour"] = now.finished_at.dt.hour  # when the last visit ended
    table["returned"] = ~then.explored
    table["p_return"] = 1 - then.p_explore  # before the coin was tossed
    return table


# %%
outcomes = {"in_window": "in the window", "returned": "a return"}
valid, test = opened(data.valid), opened(data.test)
shown = test[["gate", "p_return", "returned", "in_window"]]
means = 100 * shown.mean()
print("means, %:", means.round(0).astype(int).to_dict())
shown.head(3).round(2)

# %% [markdown]
# We shall follow row 1. The gate said {{ test.gate[1]:.2f }}, the town {{ test.p_return[1]:.2f }}. The person did return, but
# to a place that is not in the window. The line above the table has the means over all windows. And here is how they spread:

# %% tags=["hide-input"]
# @title Figure 11.1: the gate and the truth
both = test[["gate", "p_return"]]
both = both.set_axis(["gate", "the town's own probability"], axis=1)
fig, ax = plt.subplots(figsize=(6.4, 3.0))
sns.histplot(both, bins=40, element="step", palette=[GATE, TRUTH], ax=ax)
ax.set(xlabel="gate, or probability of a return", ylabel="windows")
ax.set(xlim=(0, 1))
show(
    fig,
    alt="Gate: a hill well below one. Town: spread wide, a tall bar at one.",
    caption="The gate of all test windows, and the probability of a return "
    "that the town itself had at that moment.",
)

# %% [markdown]
# The town's own probability is often exactly 1: routine visits, such as going to work, toss no coin. The gate is never near 1.
# So it *looks* cautious. Either it knows more than it says (it **hedges**), or it has nothing more to say.
#
# ## It knows people more than moments
#
# Draw the gate's mean at each place, and it seems to know places: some are high, some low. Before you read on, click a few
# circles and look how many people come there.

# %%
where = test.groupby("location_id")
places = where.gate.agg(["mean", "size"]).set_axis(["gate", "visits"], axis=1)
places["people"] = where.user_id.nunique()
often = places[places.visits >= 10].reset_index()
alone = 100 * (often.people == 1).mean()
maps.value_map(
    located(often, town), "gate", ground=ground(town.base, names=False),
    alt="Map of the town's often visited places, coloured by the mean gate",
    caption="Mean gate where ten windows or more end; larger: more windows.",
)

# %% [markdown]
# But {{ alone:.0f }} % of these places have one visitor in the test windows: a colour is a person's. So group the windows by
# person, then by kind of place, by weekday, and by hour. How much of the variance lies *between* the groups? (The groupings
# overlap, so their shares do not add up.)

# %%
pair = ["gate", "p_return"]
between = {}
for key in ("user_id", "kind of place", "weekday", "hour"):
    of_group = test.groupby(key)[pair].transform("mean")
    between[key] = 100 * of_group.var() / test[pair].var()
who, truly = between["user_id"]
between = pd.DataFrame(between).T.rename({"user_id": "person"})
between.columns = ["gate", "the town's own probability"]
between.rename_axis(columns="% of the variance").round(0)

# %% [markdown]
# **{{ who:.0f }} %** of what moves the gate is *who* the person is; of the town's own probability it is {{ truly:.0f }} %.
# Keep this in mind when somebody shows you a gate and says "it noticed that this visit is special".
#
# ## Is it calibrated, and for what?
#
# First: a forecast of *what*? The gate never saw a label. With $z$ for its log-odds, $g = \sigma(z)$, the slope of a window's
# loss is that of [chapter 8](08_generator_and_gate.ipynb):
#
# $$
# \frac{\partial(-\log P)}{\partial z} = g - r, \qquad r = \frac{g\,P_\text{ptr}(\ell^*)}{P(\ell^*)} .
# \tag{11.1}
# $$
#
# So training pulls $g$ towards $r$. If the target is not in the window, $r$ is 0. If it is, $r$ is nearly 1, since the
# generator spreads over the whole town and gives the true place little. So the gate is trained to forecast "**the target is in
# the window**". People read it as "**the person returns**". In row 1 the two differ: a return, and yet $r = 0$. In training,
# the gate of such a window is pulled down.
#
# A forecast $f$ is **calibrated** if what it calls 70 % happens in 70 % of the cases. With $y$ for the outcome, 1 if it
# happens and 0 if not, for every value $f$
#
# $$
# \Pr(y = 1 \mid f) = f . \tag{11.2}
# $$
#
# Sort the windows by forecast into ten groups of equal size. In each, compare the mean forecast with how often the outcome
# happened.

# %%
tenth = pd.qcut(test.gate, 10, labels=range(1, 11)).rename("group")
grouped = test.groupby(tenth, observed=True)[["gate", "in_window"]]
(100 * grouped.mean()).T.round(0)  # %

# %% [markdown]
# Draw the second row over the first: this is the **reliability diagram**. A calibrated forecast lies on the diagonal. The
# package's `reliability` makes the same groups, and adds intervals.

# %% tags=["hide-input"]
# @title Figure 11.2: what the gate says, and what happens
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), sharex=True, sharey=True)
for ax, (y, text) in zip(axes, outcomes.items(), strict=True):
    curves = {"gate": reliability(test.gate, test[y], test.user_id)}
    if y == "returned":  # the town tosses its coin with this probability
        own = reliability(test.p_return, test[y], test.user_id)
        curves["the town's own probability"] = own
    else:  # the tenth of the windows with the lowest gates
        lowest = 100 * curves["gate"].loc[0, ["forecast", "observed"]]
    plots.reliability_diagram(curves, colours=(GATE, TRUTH), axes=ax)
    ax.set(title=f"Forecast of: {text}", xlim=(0.2, 1.01), ylim=(0.2, 1.01))
    ax.legend(loc="lower right")
show(
    fig,
    alt="In the window: the gate's points begin above the diagonal and end "
    "on it. Returns: all lie above it, the town's own probability on it.",
    caption="Ten groups of windows each (those with probability 1 coincide); "
    "bars are 95 % intervals, people resampled.",
)

# %% [markdown]
# Begin on the right. Green is the probability with which the town decided, so it must lie on the diagonal, and it does. The
# gate lies above it everywhere: a return is more frequent than "in the window", which the gate forecasts.
#
# On the left is the outcome that the gate is trained for, and it comes nearer. Most points still lie a little above the
# diagonal. (Label smoothing, [chapter 9](09_model.ipynb), is one reason: it gives something to places outside the window.) The
# low ones lie far above. In the lowest tenth of the windows the gate says {{ lowest.forecast:.0f }} %, and
# {{ lowest.observed:.0f }} % happen. The average is {{ means.in_window:.0f }} %. A cautious forecaster stays close to the
# average; here the gate goes too far from it, and says more than it knows. Figure 11.3 comes back to it.
#
# ## How much does it know?
#
# Being calibrated is no feat: always to say the average is calibrated, too. So we count errors, first for returns. In row 1 a
# return happened, which counts as 1. The gate was off by 1 − {{ test.gate[1]:.2f }}, and the square of that is its error. The
# **Brier score** is the mean of the squared errors of all $N$ windows, with forecast $f_n$ and outcome $y_n$:
#
# $$
# \text{Brier} = \frac{1}{N} \sum_{n=1}^{N} (f_n - y_n)^2 , \tag{11.3}
# $$
#
# Who always says the average $\bar y$ has the error $\bar y\,(1 - \bar y)$, the variance. The **skill** is the part of this
# error that a forecast removes:
#
# $$
# \text{skill} = 1 - \frac{\text{Brier}}{\bar y\,(1 - \bar y)} . \tag{11.4}
# $$
#
# In code:


# %%
def skill(f, y):
    """Skill of forecasts (N,) of what happened (N,), in %."""
    f, y = np.asarray(f), np.asarray(y, dtype=float)
    return 100 * (1 - np.mean((f - y) ** 2) / y.var())


# %% [markdown]
# One thing must not count as ignorance: that the gate's *level* is too low for returns. So add one number to all log-odds, the
# same for every window. It is the one with which the loss on the validation windows is smallest.


# %%
def levelled(z_valid, z_test, outcome):
    """Forecasts of the test windows from log-odds, their level right."""

    def loss(level):
        return log_loss(valid[outcome], expit(level + z_valid))

    level = minimize_scalar(loss).x  # the one number
    return expit(level + z_test)


# %%
z_valid, z_test = logit(valid.gate), logit(test.gate)
raw = skill(test.gate, test.returned)
right_level = levelled(z_valid, z_test, "returned")
z_level = logit(right_level)  # the log-odds with the number added
skill_gate = skill(right_level, test.returned)
skill_town = skill(test.p_return, test.returned)
added = z_level[1] - z_test[1]  # the same in every row
print(f"row 1: log-odds {z_test[1]:.2f} + {added:.2f} = {z_level[1]:.2f}")
print(f"skill of the gate: {raw:.1f} %")
print(f"with its level right: {skill_gate:.1f} %")
print(f"skill of the town's own probability: {skill_town:.1f} %")

# %% [markdown]
# > **Pitfall.** As it is, the gate is a *worse* forecast of returns than the average. Had we stopped here, we would have
# > reported that it knows nothing. It was only too low everywhere, and one number mends that. In row 1 the log-odds rise by
# > it, and so the gate rises from {{ test.gate[1]:.2f }} to {{ right_level[1]:.2f }}.
#
# So the gate removes about a quarter of the error that the town's own probability removes. What the town leaves is the coin,
# and nobody can forecast that. No model can even do as well as the town: it knows *when* the next visit begins, which no model
# is told. (The first visit of a new day is often at home, a sure return.)
#
# ## Does it hedge?
#
# Somebody believes in odds of 9 to 1, but says 3 to 1. As $\log 9 = 2 \log 3$, we need only double the log-odds to hear what
# was meant. So *stretch* the gate: multiply its log-odds by a number, set the level right again, and score the result. The
# best stretch is above 1 if the gate hedges, 1 if it says what it knows, and below 1 if it says more than it knows.
#
# **Change this.** Choose a stretch of your own, and find it on the curve for returns.

# %%
stretch = 1.5  # @param {type:"slider", min:0, max:2.25, step:0.25}


# %%
def stretched(by, outcome):
    return levelled(by * z_valid, by * z_test, outcome)


by = np.arange(0, 2.26, 0.125)
curve = {
    text: [skill(stretched(k, y), test[y]) for k in by]
    for y, text in outcomes.items()
}

# %%
y = test.returned.to_numpy(dtype=float)
told, yours = ((stretched(k, "returned") - y) ** 2 for k in (1, stretch))
won = 100 * (told - yours) / y.var()  # points of skill, by window
ends = percentile_interval(resampled_means([won], test.user_id))
print(f"stretched by {stretch:g}: {won.mean():+.1f} points of skill,")
print("95 % interval over people: {:+.1f} to {:+.1f}".format(*ends))

# %% tags=["hide-input"]
# @title Figure 11.3: exaggerated
fig, ax = plt.subplots(figsize=(6.4, 2.8))
sns.lineplot(pd.DataFrame(curve, index=by), palette=[COPIED, EXTRA], ax=ax)
mine = skill(stretched(stretch, "returned"), test.returned)
ax.plot(stretch, mine, "o", color=MUTED, ms=9, label="your stretch")
ax.axvline(1, color=MUTED, lw=1, ls=":")
ax.set(xlabel="log-odds stretched by", ylabel="skill (%)", ylim=(-6, 6))
ax.legend()
show(
    fig,
    alt="Skill against the stretch, for both outcomes: two curves rise from "
    "zero to a top a little below one, and are below zero at two.",
    caption="Exaggerated, the gate loses skill. Dotted: not stretched. At 0 "
    "only the average of the validation windows is left. One trained model; "
    "the interval for your stretch, over people, is printed above.",
)

# %% [markdown]
# Both curves have their top below 1. **The gate does not hedge.** If anything it says a bit more than it knows, as its low
# values did in figure 11.2. It stays away from 1 because it knows little.
#
# That is one trained model. Four others, with other seeds, say the same: for *in the window* the best stretch is always below
# 1, and for returns it is 1, within a tenth or so ([evidence](evidence_gate.ipynb)).
#
# ## Who and when know more
#
# How little is little? Here is a rival without a network: a **logistic regression**, which gives each fact a weight. It is
# told more and more:
#
# - *who*: the person;
# - *when*: also the hour and the weekday of the *last* visit (nobody is told the next one's);
# - *counts*: also seven numbers of the window, such as its visits, its days, and the share of its most frequent place.


# %%
facts = [features_of(part) for part in (data.train, data.valid, data.test)]
then = data.train.visits.iloc[data.train.target]
train = {"in_window": data.train.in_window, "returned": ~then.explored}


# %% [markdown]
# Several strengths of the penalty on large weights are tried, and the one with the smallest validation loss is kept.


# %%
def regression(y, names, numbers):
    """Forecasts of the test windows; the penalty is best on validation."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), names),
        (StandardScaler(), numbers),
    )
    fitted = {}
    for penalty in PENALTIES:  # on large weights
        weights = LogisticRegression(C=1 / penalty, max_iter=1000)
        rule = make_pipeline(columns, weights).fit(facts[0], train[y])
        loss = log_loss(valid[y], rule.predict_proba(facts[1]))
        fitted[loss] = rule.predict_proba(facts[2])[:, 1]
    return fitted[min(fitted)]


# %% tags=["hide-input"]
# @title Table: skill of the gate and of the regressions
names = ["user_id", "hour", "weekday"]
rows = {}
for y, text in outcomes.items():
    tried = {
        "gate": stretched(1, y),
        "who": regression(y, names[:1], []),
        "who + when": regression(y, names, []),
        "who + when + counts": regression(y, names, list(NUMBERS)),
    }
    rows[text] = {what: skill(f, test[y]) for what, f in tried.items()}
    gate, rule = ((tried[k] - test[y]) ** 2 for k in ("gate", "who + when"))
    lead = 100 * (gate - rule) / test[y].var(ddof=0)  # points of skill
    low, high = percentile_interval(resampled_means([lead], test.user_id))
    print(f"{text}, who + when minus gate: ", end="")
    print(f"{low:+.1f} to {high:+.1f} points, 95 %")
pd.DataFrame(rows).rename_axis(columns="skill, %").round(1)

# %% [markdown]
# Compare the first row with the second. For *in the window*, which it is trained for, the gate knows a little more than who
# the person is. For returns it knows less.
#
# Now the surprise, in the third row: who and when alone beat a Transformer that is told both and sees every visit. They do so
# for both outcomes, and the intervals printed above leave out zero. The counts add less than a point.
#
# Why does the gate not use what the model is told? It sees the context alone, the vector that also makes the pointer's query.
# So teach a regression to read off that vector whether the person returns. Take a window with a return and one without. The
# gate is higher for the first in 66 % of such pairs, this regression in 65 %, and one on who, when and counts in 71 %
# ([evidence](evidence_gate.ipynb)). So what is missing is already hard to find in the context. Why training did not put it
# there we do not know.
#
# Would a better gate give better predictions? Even the best possible gate leaves the share of right first guesses nearly where
# it was ([chapter 8](08_generator_and_gate.ipynb)). Only the probabilities, and so the loss, improve.
#
# ## What to remember
#
# - The gate knows little: with its level right its skill for returns is {{ skill_gate:.1f }} %, that of the town's own
#   probability {{ skill_town:.1f }} %. Most of what moves it is *who* the person is, not *when*.
# - It does not hold back what it knows: exaggerated, it loses skill (figure 11.3). Do so with any forecast that you suspect of
#   hedging.
# - Say *against what* you score. The gate is trained towards "in the window"; people read "return"; the level
#   differs, and a level is no knowledge.
# - Try a regression on who and when before you admire a network's inner number.
#
# ## Exercises
#
# **Exercise 1** (quick). Four forecasts: 0.2, 0.2, 0.8, 0.8. What happened: 0, 0, 1, 0. Compute by hand the Brier score, the
# score of somebody who always says the average of what happened, and the skill (as a number, not in %).

# %% tags=["try"]
score, average, skilled = ..., ..., ...
check.exercise("11.1", [score, average, skilled])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
score = (0.04 + 0.04 + 0.04 + 0.64) / 4  # squared errors
average = 0.25 * 0.75  # one of four happened
skilled = 1 - score / average  # below zero: one bold error costs much
check.exercise("11.1", [score, average, skilled])

# %% [markdown]
# **Exercise 2** (medium). Is our test able to find hedging? Make the gate hedge: halve its log-odds around their middle, in
# the validation and the test windows. Where does the curve of skills have its top now, and how high is it?

# %% tags=["try"]
stretch, skilled = ..., ...  # of the top; the skill in %
check.exercise("11.2", [stretch, skilled])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
honest, middle = (z_valid, z_test), z_valid.mean()
z_valid, z_test = (middle + (z - middle) / 2 for z in honest)
cautious = [skill(stretched(k, "returned"), test.returned) for k in by]
z_valid, z_test = honest  # as it was
print(f"best stretch {by[np.argmax(cautious)]}, skill {max(cautious):.1f} %")
check.exercise("11.2", [by[np.argmax(cautious)], max(cautious)])
# Twice what it was, and just as high: whoever hedges loses no knowledge, and
# stretching gets it back. So "no gain" above means something.

# %% [markdown]
# **Exercise 3** (medium). Take one window whose person returned and one whose person did not. How often does the first have
# the higher gate? That share is the **AUC**; one half is chance. Write `pairs(score, happened)` straight from this definition,
# without a loop; ties count one half. Then take only pairs of the same person: does the gate tell *moments* apart?


# %% tags=["try"]
def pairs(score, happened):
    """(N,) scores, (N,) of 0 and 1 -> AUC."""
    return ...


cases = [
    (np.array([0.9, 0.6, 0.4, 0.4]), np.array([1, 0, 1, 0])),
    (np.array([0.5, 0.5, 0.5]), np.array([1, 0, 0])),
    (test.gate.to_numpy()[:300], test.returned.to_numpy()[:300]),
]
check.function(pairs, lambda s, y: roc_auc_score(y, s), *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def pairs(score, happened):
    yes, no = score[happened == 1][:, None], score[happened == 0]
    return ((yes > no) + 0.5 * (yes == no)).mean()  # (Y, N) -> ()


check.function(pairs, lambda s, y: roc_auc_score(y, s), *cases)
within, weight = [], []
for _, one in test.groupby("user_id"):
    yes = one.returned.sum()
    if 0 < yes < len(one):
        within.append(pairs(one.gate.to_numpy(), one.returned.to_numpy()))
        weight.append(yes * (len(one) - yes))  # so many pairs
everybody = pairs(test.gate.to_numpy(), test.returned.to_numpy())
print(f"all pairs {everybody:.3f}, ", end="")
print(f"of one person {np.average(within, weights=weight):.3f}")
# Within one person the gate is not far from a coin.

# %% [markdown]
# **Next:** [What the position bias learns](12_position_bias.ipynb), where a curve that seems to need no explanation gets one.
