# %% [markdown]
# # Attention on maps
#
# A picture of attention can be true to the model and still explain nothing.
#
# *You will be able to* open any prediction of the model, draw it, and prove that the drawing is what the
# model used; and say when attention explains a prediction and when it does not. *You need*
# [Training](10_training.ipynb). *It takes* twenty minutes to read and about half a
# minute to run; a GPU makes no difference.

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
# Attention weights add up to one, and they sit on things we know: here, on places of a town. It is tempting to read
# a picture of them as "the model chose this place *because of* that visit". This chapter draws the pictures, and then tests that
# reading on one trained model in the simulated town.

# %%
RETRAIN = False  # True: train here, about a minute on two cores

# %%
from dataclasses import fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from scipy.stats import entropy, spearmanr
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, MUTED, TRUTH, show
from wherenext.viz import prediction_map
from wherenext.viz.flow_map import flow_map, flows
from wherenext.window_features import gates

from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, ModelConfig
from pgt.look import look
from pgt.metrics import ends, resampled_means
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.visits import around_the_clock
from pgt.windows import build, prepare

# %%
town = city.load()
model, vocabulary = load_model(shipped("city"))  # in evaluation mode
data = prepare(town.visits, protocol="exact", vocabulary=vocabulary)
if RETRAIN:
    torch.manual_seed(42)
    size = ModelConfig(vocabulary.n_locations, vocabulary.n_users)
    model = PointerGeneratorTransformer(size)
    fit(model, data.train, data.valid, CITY)
test = data.test
places = town.places.set_index("location_id")
names = places.name.to_dict()
print(f"{model.n_parameters():,} parameters, {len(test):,} test windows")

# %% [markdown]
# One table holds, for every test window, the gate, the probability of the model's favourite place (`sure`), and whether
# that place was right. The town also tells *why* the person really went where they went: by *routine* (home, work or
# school, because of the hour), as a *return* (a free choice among places they know), or to *explore*.

# %%
opened = gates(model, test)  # one row a window
columns = ["why", "explored", "p_explore"]
truth = test.visits.iloc[test.target][columns].reset_index(drop=True)
opened = opened.join(truth)
sure = np.zeros(len(test))
with torch.no_grad():
    for batch in test.batches(512):
        log_probs = model(batch).log_probs  # (B, V)
        sure[batch.index] = log_probs.exp().max(1).values
opened["sure"] = sure
opened[["gate", "sure", "correct", "why"]].head(3).round(2)

# %% [markdown]
# ## First story: a routine day
#
# A picture of one window proves nothing if it was picked by hand. So a written rule chooses each story of this chapter.
# Call a window *readable* if it has 8 to 20 visits to at least five different places. The rule of the first story:
# among readable windows whose next visit was *routine* (home, work or school, because of the hour) and predicted
# right, take the one of which the model was surest.

# %%
different = (opened.length * opened.unique_share).round()
readable = opened.length.between(8, 20) & (different >= 5)
right = readable & opened.correct & (opened.why == "routine")
routine = opened[right].sure.idxmax()
seen = look(model, test, routine)  # one forward pass, opened

# %% tags=["hide-input"]
prediction_map.window_map(
    town,
    seen,
    title="Map of a routine prediction: past visits, pointer attention, "
    "likeliest places, the true place",
    caption="A routine day. Blue discs: pointer attention per place. Rings: "
    "the likeliest places, by final probability. Green diamond: where the "
    "person went. All areas are drawn to one scale.",
)

# %% [markdown]
# A disc adds up the attention on all visits to its place, as in equation (7.4):
#
# $$
# P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i . \tag{13.1}
# $$
#
# Circles for single visits would lie exactly on top of each other, and the eye would see only the largest.
#
# ## Was the drawn attention used?
#
# A common mistake: the picture comes from a second pass that forgot a mask, or from one head of many. Here
# is the test. Take the gate and the weights *as drawn*, do the formula by hand, and compare with the probability that
# the model returned.

# %%
worst = 0.0
for i in np.random.default_rng(0).choice(len(test), 200, replace=False):
    drawn = look(model, test, i)
    likely, g = drawn.candidates, drawn.gate
    bars = drawn.visits.groupby("location_id").attention.sum()  # added up
    copied = bars.reindex(likely.location_id).fillna(0).to_numpy()
    ids = vocabulary.encode_locations(likely.location_id).tolist()
    with torch.no_grad():
        generator = model(test.batch([i])).generator_log_probs[0, ids].exp()
    rebuilt = g * copied + (1 - g) * generator.numpy()
    worst = max(worst, float(np.abs(rebuilt - likely.probability).max()))
assert worst < 1e-6
print(f"200 windows, ten places each: the largest difference is {worst:.1e}")

# %% [markdown]
# So the pictures are faithful *to the arithmetic*. Whether they *explain* is another question.
#
# ## A week, step by step
#
# Here is the week around the first story. Move the slider and watch the discs follow. The list above the map chooses
# whose attention is drawn: the pointer's, or that of one of the encoder's heads. A head is drawn as arcs from the *last*
# visit to those that it looks at. Where a head looks at the last visit itself, or at another visit to the same place, a
# small ring is drawn. The arcs of a head are many and thin: over single visits the heads mostly average ([chapter
# 6](06_position_and_encoder.ipynb)). The table below the film adds a head's attention over all visits to a place, so a
# place with many visits gets much. *Most on one place* is the head with the largest such sum at that moment, with its
# place; *given* is the probability that the model gave to the place where the person went.

# %% tags=["hide-input"]
own = np.flatnonzero(test.users == test.users[routine])  # in order of time
start = test.visits.started_at.iloc[test.target[own]]
apart = (start - test.visits.started_at.iloc[test.target[routine]]).abs()
week = own[(apart <= pd.Timedelta(hours=84)).to_numpy()]
prediction_map.film_map(
    town,
    [look(model, test, int(i)) for i in week],
    title="Map of a week of predictions with a slider over time and a choice "
    "of attention heads",
    caption="One person's week, with the first story in its middle. Step "
    "through a day with the pointer chosen, then stay at one moment and "
    "choose the heads in turn.",
)

# %% [markdown]
# ## Second story: an exploration
#
# The rule: among readable windows whose next visit really was an exploration, take the one where the
# town's own probability of exploring was highest. If the gate ever has a reason to fall, it is here.

# %%
explore = opened[readable & opened.explored].p_explore.idxmax()
seen, row = look(model, test, explore), opened.loc[explore]

# %% tags=["hide-input"]
prediction_map.window_map(
    town,
    seen,
    title="Map of an exploration: past visits, pointer attention, likeliest "
    "places, the true new place",
    caption="An exploration. The green diamond is a place where the person "
    "had never been; no blue disc can be there.",
)

# %% tags=["hide-input"]
percentile = 100 * (opened.gate < row.gate).mean()
mean = opened.groupby("explored").gate.mean()
Markdown(
    f"The town's own probability of exploring was **{row.p_explore:.2f}** at "
    f"this moment. The gate says **{row.gate:.2f}**, and {percentile:.0f} % "
    "of all windows have a lower one. The mean gate is "
    f"{mean[True]:.2f} before explorations and {mean[False]:.2f} before all "
    "other visits; [chapter 11](11_gate.ipynb) asks why it moves so little."
)

# %% [markdown]
# ## Third story: a confident mistake
#
# The rule: of all wrong answers in readable windows, take the one of which the model was surest.

# %%
wrong = opened[readable & ~opened.correct].sure.idxmax()
seen, row = look(model, test, wrong), opened.loc[wrong]
guess = names[seen.candidates.location_id[0]]
went = names[seen.target.location_id]

# %% tags=["hide-input"]
prediction_map.window_map(
    town,
    seen,
    title="Map of a confident mistake: past visits, pointer attention, "
    "likeliest places, the true place",
    caption=f"A confident mistake: the model was sure of {guess}; the person "
    f"went to {went}.",
)

# %% tags=["hide-input"]
surest = opened.nlargest(200, "sure")
back = 1 - row.p_explore
too_sure = surest.sure.mean() > surest.correct.mean() + 0.05
Markdown(
    f"The model gave {guess} **{row.sure:.2f}** and the truth "
    f"**{seen.target_probability:.1e}**. The true place was "
    f"{'' if row.in_window else 'not '}in the window; the town's reason was "
    f"*{row.why}* (the person explored with probability {row.p_explore:.2f} "
    f"and went back to an earlier place with {back:.2f})."
    + (" So an earlier place was to be expected." if back > 0.5 else "")
    + f" The {len(surest)} surest answers concern "
    f"{surest.user_id.nunique()} people. Of these answers "
    f"{100 * surest.correct.mean():.0f} % are right, at a mean "
    f"confidence of {100 * surest.sure.mean():.0f} %"
    + (": these are too sure. " if too_sure else ". ")
    + f"Over all windows {100 * opened.correct.mean():.0f} % are right, at "
    f"a mean confidence of {100 * opened.sure.mean():.0f} %."
)

# %% [markdown]
# The map of the mistake looks as convincing as the map of the routine day:
# **a plausible picture of attention is no evidence that the answer is right.**
#
# ## Does the pointer look where the answers are?
#
# Take all visits of all test windows that hold the true place. Each visit has its attention $a_i$. It also has its share
# of the answer: in each window, the visits to the place that came next share one answer equally, and the others get
# nothing. Divide both shares by $1/L$, the even share. The result is a *lift*: 1 is no preference, 2 is twice the even
# share.


# %% tags=["hide-input"]
def facts(b):
    """What the visits of a batch are like, and what they get: (B, L)."""
    now = b.length[:, None] - 1
    here = b.location.gather(1, now)  # (B, 1) the present place
    after_here = torch.roll(b.location, 1, dims=1) == here
    after_here[:, 0] = False
    apart = around_the_clock(b.start_minute, b.now_minute[:, None])
    hit = (b.location == b.target[:, None]) & ~b.padding
    answer = hit / hit.sum(1, keepdim=True).clamp(min=1)
    used = ~b.padding & hit.any(1, keepdim=True)  # holds the true place
    found = {
        "attention": model(b).pointer_attention * b.length[:, None],
        "answer": answer * b.length[:, None],
        "position": b.position_from_end,
        "hours": (apart // 60).clamp(max=11),
        "after": after_here,
    }
    return {name: value[used].numpy() for name, value in found.items()}


with torch.no_grad():
    batches = test.batches(512, max_len=model.config.max_len)
    every = pd.concat([pd.DataFrame(facts(b)) for b in batches])
lift = ["attention", "answer"]
assert np.allclose(every[lift].mean(), 1, atol=1e-4)
keys = {
    "position from the end": every.position.where(every.position <= 15),
    "hours apart on the clock": every.hours,
    "came after here": every.after.map({False: "no", True: "yes"}),
}
curves = {name: every.groupby(key)[lift].mean() for name, key in keys.items()}

# %% tags=["hide-input"]
widths = {"width_ratios": [2, 2, 1.2], "sharey": True}
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.2), **widths)
for ax, (name, curve) in zip(axes, curves.items(), strict=True):
    ax.axhline(1, color=MUTED, lw=1)
    at = curve.index
    ax.plot(at, curve.attention, "o-", color=COPIED, ms=4, label="attention")
    ax.plot(at, curve.answer, "s--", color=TRUTH, ms=4, label="answers")
    ax.set_xlabel(name)
axes[1].set_xticks([0, 3, 6, 9])
axes[2].margins(x=0.3)
axes[0].set_ylabel("lift (1 = even share)")
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside upper left", ncols=2)
first, second = (curves["position from the end"].loc[k] for k in (1, 2))
after = curves["came after here"].loc["yes"]
this_hour = curves["hours apart on the clock"].iloc[0]
show(
    fig,
    alt="Three pictures of lift, attention and answers: by position from the "
    "end, by hours apart on the clock, and by whether the visit came after "
    "an earlier stay at the present place. The list below has the numbers.",
    caption="Where the pointer looks (blue, circles) and where the answers "
    "are (green, squares), over all test windows that hold the true place: "
    "by position from the end (1 = last visit), by hours between the visit's "
    "start and now, and by whether the visit followed an earlier stay at the "
    "present place.",
)

# %% tags=["hide-input"]
next_place = every.answer > 0  # without sharing out
unshared = next_place[every.hours == 0].mean() / next_place.mean()
earlier = every[(every.hours == 0) & (every.position > 1)][lift].mean()
Markdown(
    "Where green leaves the grey line and blue does not follow, a cue lies "
    "unused.\n\n"
    "- *Position.* The last visit has an attention lift of "
    f"{first.attention:.2f}; the answers, {first.answer:.2f}. The visit "
    f"before it has {second.attention:.2f}; the answers, "
    f"{second.answer:.2f}. (The "
    "blue curve is not the work of the position bias: "
    "[chapter 12](12_position_bias.ipynb).)\n"
    "- *The hour.* Visits that began within an hour of the present time of "
    f"day have {this_hour.attention:.2f}; the answers, "
    f"{this_hour.answer:.2f}. (It matters that each window shares out one "
    "answer: if every visit to the next place counted fully, this would be "
    f"{unshared:.2f}.) Without the last visit of each window, attention has "
    f"{earlier.attention:.2f}; the answers, {earlier.answer:.2f}."
    + " We see no sign here that the pointer has learned to use the hour."
    * bool(earlier.attention - 1 < 0.1 * (earlier.answer - 1))
    + "\n- *What came after here.* Where did you go next when you were "
    f"here before? Such visits have {after.attention:.2f}; the answers, "
    f"{after.answer:.2f}. The kernel of [chapter 4](04_baselines.ipynb) has "
    "a number for this cue. The pointer must compose it out of "
    "self-attention between neighbours."
)

# %% [markdown]
# ## The whole town at once
#
# Each window gives two flows out of the district of its last visit: the attention flows to the districts of the past
# visits, the person goes on to one district. Add up both over all windows whose target is among their visits. *Trips* (in
# the table: *answers*) are where people went; *visits* are the past visits, evenly weighted.
#
# The map opens with the difference. A disc is what stays within a district, an arc leads to another one. Solid blue: the
# pointer looks there more often than people go. Dashed green: the other way round.

# %%
by_district = flows(model, test, places.district)
stay = by_district[by_district.here == by_district.there]
stays = stay[["visits", "attention", "answers"]].sum()  # % of all

# %% tags=["hide-input"]
flow_map(
    town,
    by_district,
    title="Map of flows between districts: pointer attention, trips, and the "
    "difference of the two",
    caption="All test windows that hold the true place, in per cent of their "
    "attention and of their trips. Such shares say nothing about any one "
    "person.",
)

# %% tags=["hide-input"]
moved, needed = stays.attention - stays.visits, stays.answers - stays.visits
way = moved / needed
Markdown(
    f"Of the past visits, {stays.visits:.1f} % lie in the district where the "
    f"person is; of the attention, {stays.attention:.1f} %; of the answers, "
    f"{stays.answers:.1f} %. So the pointer went about **{way:.1f}** of the "
    "way from counting visits to the answers."
)

# %% [markdown]
# ## Is attention an explanation?
#
# The test is **occlusion**: remove one visit from the window, run the model again, and see how far the probability of
# the true place moves. If attention explains, the visits with much attention are those that matter.
#
# If a visit is removed, the positions of all earlier visits shift. If it is the last one, "days ago" must count from the new
# last visit.


# %%
def without_each(batch):
    """One window (1, L) -> L windows (L, L - 1), the k-th without k."""
    n = int(batch.length[0])
    rest = [[j for j in range(n) if j != k] for k in range(n)]
    keep = torch.tensor(rest)  # (L, L - 1)
    new = {f.name: getattr(batch, f.name) for f in fields(batch)}
    for name, v in new.items():
        new[name] = v[0][keep] if v.ndim == 2 else v.expand(n)
    new["length"] = torch.full((n,), n - 1)  # position follows from it
    new["days_ago"] = new["days_ago"] - new["days_ago"][:, -1:]
    return replace(batch, **new)


# %% tags=["hide-input"]
# The same, slow and safe, for one visit: drop its row from the table of
# visits and build all windows anew.
k, window = 3, test.batch([routine])
left = test.visits.drop(index=test.first[routine] + k)
rebuilt = build(left, vocabulary, data.config)
at = np.flatnonzero(rebuilt.target == test.target[routine] - 1)
slow = rebuilt.batch(at)
for name in ("location", "time", "duration", "days_ago"):
    quick = getattr(without_each(window), name)[k]
    assert torch.equal(getattr(slow, name)[0], quick), name

# %% [markdown]
# Attention has no sign, but a change has one. Removing a visit to the true place should *lower* that place's probability,
# and removing any other visit should *raise* it, because the remaining weights must add up to one again. So we compare two readings of
# the same weights:
#
# - the **naive reading**: the size of the change should follow $a_i$;
# - the **arithmetic reading**: keep gate, generator and all other scores as they are, and take visit $i$ out of the
#   sum. Then
#
# $$
# \text{change}_i = g \left( \frac{P_\text{ptr}(\ell^*) - a_i \, [\,l_i = \ell^*\,]}{1 - a_i} - P_\text{ptr}(\ell^*) \right), \tag{13.2}
# $$
#
# with $\ell^*$ the true place. It leaves out that the encoder reads the shortened window differently. We draw windows
# that hold the true place and at least six visits.


# %%
def occluded(i):
    """One row a visit: its attention, and what removing it does."""
    batch = test.batch([i])
    out, target = model(batch), batch.target[0]
    a, g = out.pointer_attention[0].numpy(), float(out.gate[0])
    hit = (batch.location[0] == target).numpy()  # (L,)
    ptr = a[hit].sum()
    gen = float(out.generator_log_probs[0, target].exp())
    new = model(without_each(batch))  # L windows
    new_ptr = new.pointer_log_probs[:, target].exp().numpy()
    new_gen = new.generator_log_probs[:, target].exp().numpy()
    new_g, renormed = new.gate.flatten().numpy(), (ptr - a * hit) / (1 - a)
    p = float(out.log_probs[0, target].exp())
    columns = {
        "window": i,
        "position": np.arange(len(a), 0, -1),
        "attention": a,
        "hit": hit,
        "true place": ptr,
        "arithmetic": g * (renormed - ptr),
        "question": g * (new_ptr - renormed),
        "generator": (1 - g) * (new_gen - gen),
        "gate": (new_g - g) * (new_ptr - new_gen),
        "change": new.log_probs[:, target].exp().numpy() - p,
    }
    return pd.DataFrame(columns)


# %%
rng = np.random.default_rng(0)
eligible = np.flatnonzero((test.lengths >= 6) & test.in_window)
chosen = rng.choice(eligible, min(500, len(eligible)), replace=False)
with torch.no_grad():
    tables = [occluded(i) for i in chosen]
# Where every visit is to the true place, there is nothing to rank.
tables = [table for table in tables if not table.hit[:-1].all()]
removed = pd.concat(tables, ignore_index=True)

# %% [markdown]
# For each window, rank its visits by a reading and by the change that really happened (for the naive reading: by its
# size), and correlate the ranks.
# The sign of the change alone may do much of the work. So we add a control *without any attention*, which looks only at
# the place: remove a visit to the true place, and the probability falls; remove another, and it rises. Two more rows rank
# visits of one sort only, where the sign is the same for all.


# %%
def rank(weights, change):
    """Spearman's rank correlation; none where nothing can be ranked."""
    if weights.nunique() < 2 or len(weights) < 3:
        return np.nan
    return spearmanr(weights, change).statistic


def agreement(table):
    """How well readings rank the changes: one row a window."""
    found = {}
    for window, w in table.groupby("window"):
        hits, others = w[w.hit], w[~w.hit]
        found[window] = {
            "naive": rank(w.attention, w.change.abs()),
            "naive at best": rank(w.attention, w.arithmetic.abs()),
            "arithmetic": rank(w.arithmetic, w.change),
            "place only": rank(~w.hit, w.change),
            "true place only": rank(hits.arithmetic, hits.change),
            "other places only": rank(others.arithmetic, others.change),
            "true place": w["true place"].iloc[0],
        }
    return pd.DataFrame(found).T


# %%
all_visits = agreement(removed)
not_last = agreement(removed[removed.position > 1])
readings = {
    "naive": "naive",
    "arithmetic": "arithmetic",
    "place only": "control: place only, no attention",
    "true place only": "arithmetic, visits to the true place",
    "other places only": "arithmetic, all other visits",
}
ranked = {"all visits": all_visits, "without the last visit": not_last}
table = {name: part[list(readings)].mean() for name, part in ranked.items()}
pd.DataFrame(table).rename(readings).round(2)

# %% tags=["hide-input"]
users = test.users[not_last.index.astype(int)]


def lead(other):
    """How far the arithmetic leads: the mean and its 95 % interval."""
    gap = (not_last.arithmetic - not_last[other]).to_numpy()
    low, high = ends(resampled_means(gap[None], users))
    return f"**{np.nanmean(gap):.2f}** [{low:.2f}, {high:.2f}]"


def ranked_in(part):
    """In how many windows visits of one sort could be ranked."""
    counts = part[["true place only", "other places only"]].notna().sum()
    return " and ".join(map(str, counts))


Markdown(
    f"These are means over {len(not_last)} windows of {len(set(users))} "
    f"people; the last two rows rest on {ranked_in(all_visits)} of them for "
    f"all visits, and on {ranked_in(not_last)} without the last visit, since "
    "fewer than three visits are not ranked. With the last visit left aside, "
    "the arithmetic is ahead of the "
    f"naive reading by {lead('naive')} (95 % interval, people resampled), "
    f"and of the control by {lead('place only')}. So do not "
    "praise the weights too much: the sign, which the place gives, reaches "
    f"{not_last['place only'].mean():.2f} by itself. What the weights add "
    "is an order among visits of one sort, in the last two rows."
)

# %% [markdown]
# ## When does it explain, and when not?
#
# Equation (13.2) itself says when the naive reading must fail. Work out its two cases:
#
# $$
# \text{change}_i = \frac{g\, a_i}{1 - a_i} \times \begin{cases}
# -\bigl(1 - P_\text{ptr}(\ell^*)\bigr) & \text{if } l_i = \ell^*, \\
# P_\text{ptr}(\ell^*) & \text{otherwise.}
# \end{cases} \tag{13.3}
# $$
#
# If the true place holds half of the attention, the two factors are of equal size, and the size of the change does
# follow $a_i$. If it holds little, a visit to the true place counts many times as much as another with the same
# attention; if it holds nearly all, it is the other way round. So the naive reading should be best in the middle. Group
# the windows by the true place's share of the attention.

# %%
by_share = pd.qcut(not_last["true place"], 6, duplicates="drop")
hump = not_last.groupby(by_share, observed=True).mean()
shares = hump["true place"].round(2)
hump.index = pd.Index(shares, name="the true place's share")
columns = {
    "naive": "naive",
    "naive at best": "naive, if (13.2) were exact",
    "arithmetic": "arithmetic",
    "place only": "control: place only",
}
hump[list(columns)].rename(columns=columns).round(2)

# %% tags=["hide-input"]
ends_of, middle = hump.naive.iloc[[0, -1]], hump.naive.iloc[1:-1]
Markdown(
    f"The naive reading has {ends_of.iloc[0]:.2f} and {ends_of.iloc[-1]:.2f} "
    f"at the two ends, and {middle.min():.2f} to {middle.max():.2f} between "
    "them. The second column shows how it would do if the encoder did "
    "not notice that a visit is gone."
)

# %% [markdown]
# ## What a visit does besides being pointed at
#
# What does equation (13.2) leave out? A tilde marks what the model says about the window without visit $i$, and
# $\hat P_\text{ptr}$ is the fraction in equation (13.2): the old weights, renormalised. All are taken at the true place.
# Then the change splits into four parts, exactly:
#
# $$
# \begin{aligned}
# \tilde P - P ={}& \underbrace{g\,(\hat P_\text{ptr} - P_\text{ptr})}_{\text{arithmetic}}
# + \underbrace{g\,(\tilde P_\text{ptr} - \hat P_\text{ptr})}_{\text{question}} \\
# &+ \underbrace{(1 - g)(\tilde P_\text{gen} - P_\text{gen})}_{\text{generator}}
# + \underbrace{(\tilde g - g)(\tilde P_\text{ptr} - \tilde P_\text{gen})}_{\text{gate}} .
# \end{aligned} \tag{13.4}
# $$
#
# Attention describes only the first part. The second says that the remaining visits get new weights, since the
# question or the keys have changed. The last two are the changes of generator and gate.

# %%
four = ["arithmetic", "question", "generator", "gate"]
assert np.allclose(removed[four].sum(axis=1), removed.change, atol=1e-5)
kinds = ["the last visit", "a visit to the true place", "any other visit"]
sort = np.select([removed.position == 1, removed.hit], kinds[:2], kinds[2])
size = removed[[*four, "change"]].abs().groupby(sort).mean().loc[kinds]
size = size.rename(columns={"change": "all together"})
points = (100 * size).round(1)
points.rename_axis("removed visit; mean size of the change, points")

# %% tags=["hide-input"]
moved = removed.assign(size=removed.change.abs()).groupby("window")
most_moving = removed.position[moved["size"].idxmax()]
most_attended = removed.position[moved.attention.idxmax()]
moving, attended = (most_moving == 1).mean(), (most_attended == 1).mean()
Markdown(
    f"In **{100 * moving:.0f} %** of the windows the last visit is the one "
    "whose removal moves the prediction most. It has the most attention in "
    f"**{100 * attended:.0f} %**. (The table has absolute sizes: parts of "
    "opposite sign cancel in the sum. On average, the generator's "
    f"part is {100 * size.generator.max():.2f} points at most, since it "
    "gives the places in the window almost nothing.)"
)

# %% [markdown]
# The vector of the last visit is the context: it asks the pointer's question, drives the generator, and sets the gate.
# If it is removed, another visit asks. Attention describes the answers to one question; it cannot say what the
# answers to another question would be.
#
# > **Note.** [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) and
# > [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) disagree about whether attention is an explanation. For this
# > model it depends on the question. "How was this probability added up?" The map answers exactly.
# > "What would have changed it?" Remove something and look.
#
# ## What to remember
#
# - Draw what was used, and test it: rebuild the probability from the drawn parts.
# - Choose examples by rule. A confident mistake looks as convincing as a hit.
# - Compare attention with where the answers are: cues that it does not follow lie unused.
# - Read attention with its arithmetic (sum per place, renormalise, mind the sign, times the gate), and beside a control
#   without attention, which shows how much the sign does alone.
# - The last visit works mainly through the question it asks, and attention cannot show that.
#
# ## Exercises
#
# **Exercise 1** (quick). An attention of 0.1 is much in a window of thirty visits and little in a window of four.
# How many visits does the pointer look at *effectively*? Write a function that returns $e^{\text{entropy}}$, with the
# entropy of the $a_i$ in nats. Divided by $L$, it compares windows of different lengths.


# %% tags=["try"]
def effective(a):
    """Weights (L,) that sum to one -> visits looked at in effect."""
    return ...


cases = [
    (np.full(4, 0.25),),
    (np.array([0.7, 0.2, 0.1]),),
    (np.array([1.0, 0.0]),),  # 0 log 0 is 0
]
check.function(effective, lambda a: np.exp(entropy(a)), *cases)


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
def effective(a):
    a = a[a > 0]  # 0 log 0 counts as 0
    return np.exp(-(a * np.log(a)).sum())


check.function(effective, lambda a: np.exp(entropy(a)), *cases)
weights = removed.groupby("window").attention
share = weights.agg(lambda a: effective(a.to_numpy()) / len(a))
share.describe()[["mean", "min", "max"]].round(2)
# Near 1 the pointer mostly counts; near 1 / L it points.

# %% [markdown]
# **Exercise 2** (medium). The surest answers of the third story (`surest`): do they come from many people, or from a few? Is
# the model too sure about most of these people?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
each = surest.groupby("user_id").agg(
    answers=("sure", "size"), sure=("sure", "mean"), right=("correct", "mean")
)
over = (each.sure > each.right).sum()
print(f"too sure about {over} of {len(each)} people")
each.nlargest(5, "answers").round(2).rename_axis("person")

# %% [markdown]
# **Exercise 3** (longer). Separate the two ways in which the last visit acts. Take the *context* from the full
# window and the visits to point at from the window without its last visit, and the other way round. Which of the
# two moves the prediction?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
@torch.no_grad()
def parts_of(batch):
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
    rows = torch.arange(len(batch))
    return encoded, encoded[rows, batch.length - 1]  # (B, D)


@torch.no_grad()
def answer(context, encoded, batch):
    a = model.pointer(context, encoded, batch).exp()  # (B, L)
    copied = torch.zeros(len(batch), model.config.n_locations)
    copied = copied.scatter_add(1, batch.location, a)  # (B, V)
    g = model.gate(context).sigmoid()  # (B, 1)
    p = g * copied + (1 - g) * model.generator(context).softmax(-1)
    return p.gather(1, batch.target[:, None]).squeeze(1)


full = test.batch(rng.choice(eligible, 300, replace=False))
new_last = full.days_ago.gather(1, (full.length - 2)[:, None])
ago = (full.days_ago - new_last).clamp(min=0)
short = replace(full, length=full.length - 1, days_ago=ago)
keys_full, asks_full = parts_of(full)
keys_short, asks_short = parts_of(short)
before = answer(asks_full, keys_full, full)
theirs = model(full).log_probs.gather(1, full.target[:, None]).squeeze(1)
name = "the parts, put together again"
check.same(before.log(), theirs, name=name, atol=1e-4)
changes = {
    "another visit asks": answer(asks_short, keys_full, full),
    "the last visit cannot be copied": answer(asks_full, keys_short, short),
    "both": answer(asks_short, keys_short, short),
}
moved = {k: float((v - before).abs().mean()) for k, v in changes.items()}
pd.Series(moved, name="mean size of the change").round(3).to_frame()
# Compare the first two rows: who asks, or who may answer?

# %% [markdown]
# **Exercise 4** (project). Occlude *places* instead of visits: remove all visits to a place at once. Does the
# arithmetic reading still hold?
#
# <details class="solution"><summary>Solution 4</summary>
#
# Choose a place other than that of the last visit, so that the same visit asks. Remove its columns from all (B, L)
# tensors of the batch, and correct the length. In equation (13.2) the sum for the place stands where $a_i$ stood. For the
# true place the reading is almost exact: nothing is left to copy, whatever the remaining weights are. For another place
# it still leaves out that the encoder reads the shortened window differently.
#
# </details>
#
# **Exercise 5** (quick, on paper). A window has three visits with attention 0.3, 0.2 and 0.5. The first two are to the true
# place, the third is elsewhere, and the gate is 0.8. By how much does the probability of the true place change, by
# equation (13.2), if the first visit is taken out? And if the third is?

# %% tags=["try"]
first, third = ..., ...  # with their signs
check.exercise("13.5", [first, third])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 5", "code_prompt_hide": "Hide solution 5"}
# @title Solution 5
g, copied = 0.8, 0.3 + 0.2
first = g * ((copied - 0.3) / (1 - 0.3) - copied)
third = g * (copied / (1 - 0.5) - copied)
check.exercise("13.5", [first, third])
print(f"without the first {first:+.2f}, without the third {third:+.2f}")
# Attention alone would say that the third visit matters most, and not which
# way.

# %% [markdown]
# **Next:** [Ablations](14_ablations.ipynb), where parts are taken out of the model, not visits out of the window.
