# %% [markdown]
# # Attention on maps
#
# A picture of attention can be true to the model and still explain nothing.
#
# *You will be able to* open any prediction of the model, draw it, and prove that the drawing is what the
# model used; and say when attention explains a prediction and when it does not. *You need*
# [Training](10_training.ipynb), which tours the model. *It takes* thirty minutes to read and about half a
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
# Attention weights are the most photographed part of any model. They add up to one, and they sit on things we know: here, on
# places of a town. It is tempting to read the picture as "the model
# went there *because of* this".
#
# This chapter draws the pictures, and then puts the temptation to the test. We can do that in a simulated town, with a
# model small enough to run thousands of times a second.

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

from pgt import city
from pgt.analysis.gates import gates
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, ModelConfig
from pgt.exercises import check
from pgt.look import look
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.viz import plots, prediction_map
from pgt.viz.figures import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    MUTED,
    TRUTH,
    show,
)
from pgt.viz.flow_map import flow_map, flows
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
# One table holds, for every test window, the gate, the probability of the model's favourite place, and whether that
# place was right. The town also tells *why* the person really went where they went.

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
columns = {
    "user_id": "person",
    "gate": "gate",
    "sure": "probability of the favourite",
    "correct": "it was right",
    "why": "true reason",
}
opened[list(columns)].rename(columns=columns).head().round(2)

# %% [markdown]
# ## First story: a routine day
#
# A picture of one window proves nothing if a hand picked it. So a written rule chooses each story of this chapter. Call a window *readable* if it has 8 to 20 visits to at least five different places.
# The rule of the first story: among readable windows whose next visit was *routine* (home, work or school,
# because of the hour) and predicted right, take the one of which the model was surest.

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
    "person went. All areas have one scale.",
)

# %% tags=["hide-input"]
best, target = seen.candidates.iloc[0], seen.target.location_id
there = int((seen.visits.location_id == target).sum())
plots.pointer_strip(
    seen,
    names,
    alt=f"Pointer attention on the {len(seen.visits)} visits of the window, "
    f"oldest first. {there} of them are to the place that came next, "
    f"{names[target]}; the largest weight of a single visit is "
    f"{seen.visits.attention.max():.2f}.",
    caption="The same window as a strip. Each bar is one visit; green bars "
    "are visits to the place that came next.",
)

# %% [markdown]
# ## A week, step by step
#
# Here is the same person's whole week. Move the slider, with the mouse, a finger or the arrow keys, and watch the discs
# follow. Below the map are the same facts in words. The list above the map chooses whose attention is drawn: the pointer's,
# or that of one of the encoder's heads. A head is drawn as arcs from the *last* visit to those that it looks at. A ring
# means that it looks at itself, or at other visits to the same place.

# %%
own = np.flatnonzero(test.users == test.users[routine])  # in order of time
start = test.visits.started_at.iloc[test.target[own]]
apart = (start - test.visits.started_at.iloc[test.target[routine]]).abs()
week = own[(apart <= pd.Timedelta(hours=84)).to_numpy()]

# %% tags=["hide-input"]
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
# How much, or how little, do the discs change while the person moves? Then compare the heads: their arcs are many and
# thin. Is that an accident of this week? For all test windows, count how many visits a head looks at
# *in effect*: $e^{\text{entropy}}$ of its weights, which is $L$ for $L$ equal weights, and 1 if one weight has it all.

# %%
looked_at = 0.0
with torch.no_grad():
    for batch in test.batches(512, max_len=model.config.max_len):
        out, rows = model(batch, attention=True), torch.arange(len(batch))
        last = [w[rows, :, batch.length - 1] for w in out.self_attention]
        pointer = out.pointer_attention[:, None]
        a = torch.cat([*last, pointer], 1)  # (B, heads + 1, L)
        nats = -(a * a.clamp(min=1e-30).log()).sum(2)  # (B, heads + 1)
        effective = nats.exp() / batch.length[:, None]
        looked_at += 100 * effective.sum(0) / len(test)
layers, heads = model.config.n_layers, model.config.n_heads
shares = {
    f"layer {1 + h // heads}, head {1 + h % heads}": float(share)
    for h, share in enumerate(looked_at[:-1])
}
shares["the pointer"] = float(looked_at[-1])
title = "% of the visits looked at, in effect"
pd.Series(shares, name=title).round(0).astype(int).to_frame()

# %% [markdown]
# A head of this small model comes close to taking a mean. The pointer, which must name a place in the end, is
# choosier.
#
# ## Per visit, per place
#
# The strip has one bar a *visit*. The prediction needs one number a *place*. The model adds up:
#
# $$
# P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i . \tag{13.1}
# $$
#
# This is equation (7.4) of [chapter 7](07_pointer.ipynb). A place with five middling bars can beat a place with one tall
# bar. How often do they differ, and which is right more often?

# %%
tall = place = differ = 0
with torch.no_grad():
    for batch in test.batches(512):
        out, rows = model(batch), torch.arange(len(batch))
        a = out.pointer_attention  # (B, L)
        tallest = batch.location[rows, a.argmax(1)]  # (B,)
        favourite = out.pointer_log_probs.argmax(1)  # (B,) largest sum
        tall += int((tallest == batch.target).sum())
        place += int((favourite == batch.target).sum())
        differ += int((tallest != favourite).sum())
counts = {
    "tallest bar and largest sum differ": differ,
    "the place of the tallest bar is right": tall,
    "the place with the largest sum is right": place,
}
share = pd.Series(counts, name="% of windows") * 100 / len(test)
share.round(1).to_frame()

# %% [markdown]
# > **Pitfall.** We first drew one circle a *visit* on the map. Visits to the same place lie exactly on top of each other, so the
# > eye saw only the largest. If your picture shows weights before the sum, it does not show the prediction.
#
# ## From parts to the prediction
#
# Pointer and generator are mixed by the gate. Stacked bars show both parts of each probability.

# %% tags=["hide-input"]
plots.mixture(
    seen,
    names,
    alt="Stacked bars of the likeliest places. The first, "
    f"{names[best.location_id]}, has probability {best.probability:.2f}: "
    f"{best.copied:.2f} copied and {best.generated:.2f} generated. The gate "
    f"is {seen.gate:.2f}.",
    caption="The probability of each place, split into its copied and its "
    "generated part; ✓ marks the truth.",
)

# %% [markdown]
# Is the attention that we draw the attention that was used? In many notebooks it is not: the picture comes
# from a second pass that forgot a mask, or from one head of many. Here is the test. Take the gate and the
# bars *as drawn*, do the formula by hand, and compare with the probability that the model returned.

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
# So the pictures are faithful *to the arithmetic*. Whether they are an *explanation* is another question.
#
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
    "of all windows have a lower one. The true place got probability "
    f"{seen.target_probability:.5f}: it is one of thousands that the person "
    f"had never visited.\n\nOver all windows, the mean gate is "
    f"{mean[False]:.2f} before returns and {mean[True]:.2f} before "
    "explorations. [Chapter 11](11_gate.ipynb) asks why it moves so little."
)

# %% [markdown]
# ## Third story: a confident mistake
#
# The rule: of all wrong answers in readable windows, take the one the model was surest of.

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
Markdown(
    f"The model gave {guess} **{row.sure:.2f}** and the truth "
    f"**{seen.target_probability:.4f}**. The true place was "
    f"{'' if row.in_window else 'not '}in the window, and the town's reason "
    f"was *{row.why}* (it explored with probability {row.p_explore:.2f}). Is "
    f"this one case, or a habit? Of the {len(surest)} surest answers "
    f"{100 * surest.correct.mean():.0f} % are right, at a mean confidence of "
    f"{100 * surest.sure.mean():.0f} %"
    + (
        ": the model is surer than it is right."
        if surest.sure.mean() > surest.correct.mean()
        else "."
    )
)

# %% [markdown]
# The map of the mistake looks as convincing as the map of the routine day. That is the lesson of this story:
# **a plausible picture of attention is no evidence that the answer is right.**
#
# ## Does the pointer look where the answers are?
#
# Put together all visits of all test windows that hold the true place. For each visit we know its attention $a_i$, and
# what the answer would give it: in each window, the visits to the place that came next share one answer equally, and all
# others get nothing.
# Divide both by $1/L$, the even share. The result is a *lift*: 1 is no preference, 2 is twice the even share.


# %%
def facts(b):
    """What the visits of a batch are like, and what they get: (B, L)."""
    now = b.length[:, None] - 1
    here = b.location.gather(1, now)  # (B, 1) the present place
    after_here = torch.roll(b.location, 1, dims=1) == here
    after_here[:, 0] = False
    apart = (b.start_minute - b.now_minute[:, None]).abs()
    apart = torch.minimum(apart, 1440 - apart)  # around the clock
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
first = curves["position from the end"].loc[1]
after = curves["came after here"].loc["yes"]
clock = curves["hours apart on the clock"]
this_hour, far_hour = clock.iloc[0], clock.iloc[-1]
show(
    fig,
    alt="Three pictures of lift. By position from the end: the last visit "
    f"has an attention lift of {first.attention:.2f}, answers "
    f"{first.answer:.2f}. By hours apart on the clock: within the hour "
    f"attention {this_hour.attention:.2f}, answers {this_hour.answer:.2f}; "
    f"eleven hours apart {far_hour.attention:.2f} and "
    f"{far_hour.answer:.2f}. By whether the visit came after the present "
    f"place: attention {after.attention:.2f}, answers {after.answer:.2f} "
    "where it did.",
    caption="Where the pointer looks (blue, circles) and where the answers "
    "are (green, squares), over all test windows that hold the true place: "
    "by position from the end (1 = last visit), by hours between the visit's "
    "start and now, and by whether the visit followed an earlier stay at the "
    "present place.",
)

# %% [markdown]
# Where the two curves agree, the pointer has learned a regularity. (The preference in the left-hand picture is not the work of the
# position bias, whatever its name says; [chapter 12](12_position_bias.ipynb) shows why.) Where green leaves the grey line
# and blue does not follow, a cue lies unused. The right-hand picture asks: *the last time you were here, where did you go
# next?* A rule of five numbers uses that cue ([Baselines](04_baselines.ipynb)); the pointer would have to compose it out of
# self-attention between neighbours.

# %% tags=["hide-input"]
assert this_hour.answer > 1 > this_hour.attention
Markdown(
    "In the middle picture the two curves even lean apart. The answers "
    "prefer visits that began within an hour of the present time of day, "
    f"{this_hour.answer:.2f} times the even share; the attention gives those "
    f"{this_hour.attention:.2f}. On average, the pointer has not learned "
    "that the same hour matters."
)

# %% [markdown]
# > **Pitfall.** Let each window share out one answer. We first let a window count as often as it had visits to the next place, and
# > the green curve of the middle picture ran the other way.
#
# ## The whole town at once
#
# Now add up over the town. Each window starts in the district of its last visit. From there, the pointer sends its
# attention to the districts of the past visits, and the person goes on to one. Both are flows, and so is their difference.
# We count only windows whose target is among their visits, so that attention *could* be right each time.
#
# The map opens with the difference. A disc is what stays within a district, an arc leads to another one. Solid blue: the
# pointer looks there more often than people go. Dashed green: the other way round. The list above the map shows the two
# flows themselves.

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
    caption="All test windows at once, in percent of all attention and of "
    "all trips. Such shares say nothing about any one person.",
)

# %% tags=["hide-input"]
moved, needed = stays.attention - stays.visits, stays.answers - stays.visits
way = moved / needed
Markdown(
    f"{stays.visits:.0f} % of the past visits lie in the district where the "
    f"person is, {stays.answers:.0f} % of the next ones do, and "
    f"{stays.attention:.0f} % of the attention: the pointer went "
    f"**{100 * way:.0f} %** of the way from counting visits to the answers."
    + (
        " That is why so many discs are blue and so many arcs green: the "
        "pointer has only half learned that people move on."
        if 0 < way < 1 and needed < 0
        else ""
    )
)

# %% [markdown]
# ## Is attention an explanation?
#
# An explanation should survive **occlusion**: remove one visit from the window, run the model again, and see how far the
# probability of the true place moves. If attention explains, the visits with much attention are those that matter.
#
# Removing a visit takes care. All positions from the end shift, and if the last visit goes, "days ago" must count from the new
# last one.


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


# The same, slow and safe: drop the row from the table of visits and build
# all windows anew. We compare the newest visits, since without the last one
# a window may go back further.
same = ["location", "time", "weekday", "duration", "days_ago"]
same.append("position_from_end")
shorter = without_each(test.batch([routine]))
start, L = test.first[routine], int(test.lengths[routine])
for k in range(1, L):
    left = test.visits.drop(index=start + k)
    rebuilt = build(left, vocabulary, data.config)
    at = np.flatnonzero(rebuilt.target == test.target[routine] - 1)
    slow = rebuilt.batch(at)
    for name in same:
        mine, theirs = getattr(shorter, name), getattr(slow, name)
        assert torch.equal(theirs[0, 1 - L :], mine[k]), name

# %% [markdown]
# Attention has a sign problem, too. It is always positive. Yet removing a visit to the true place should *lower*
# its probability, and removing any other visit should *raise* it, because the remaining weights must add up to
# one again. So we compare two readings of the same weights:
#
# - the **naive reading**: the size of the change should follow $a_i$;
# - the **arithmetic reading**: keep gate, generator and all other scores as they are, and take visit $i$ out of the
#   sum. Then
#
# $$
# \text{change}_i = g \left( \frac{P_\text{ptr}(\ell^*) - a_i \, [\,l_i = \ell^*\,]}{1 - a_i} - P_\text{ptr}(\ell^*) \right), \tag{13.2}
# $$
#
# with $\ell^*$ the true place. It leaves out that the encoder reads the shortened window differently. We take up to
# 500 windows of at least six visits, at least one of them to the true place.


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
# For each window, rank its visits by a reading and by the change that really happened, and correlate the ranks.


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


all_visits = agreement(removed)
not_last = agreement(removed[removed.position > 1])
assert not_last.arithmetic.mean() > not_last.naive.mean()

# %%
readings = ["naive", "arithmetic"]
pd.DataFrame(
    {
        "all visits": all_visits[readings].mean(),
        "without the last visit": not_last[readings].mean(),
    }
).T.round(2)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6.8, 3.2))
bins = np.linspace(-1, 1, 41)
looks = {
    "naive": {
        "color": GENERATED,
        "hatch": "///",
        "edgecolor": "white",
        "lw": 0.3,
        "label": "naive: size of change against attention",
    },
    "arithmetic": {
        "color": COPIED,
        "label": "arithmetic: change against (13.2)",
    },
}
for reading, style in looks.items():
    ax.hist(not_last[reading], bins, alpha=0.65, **style)
ax.set(xlabel="rank correlation within a window", ylabel="windows")
ax.legend(loc="upper left", bbox_to_anchor=(0, 1.25))
show(
    fig,
    alt="Histograms of the rank correlation within windows, the last visit "
    f"left aside. Naive reading: mean {not_last.naive.mean():.2f}. "
    f"Arithmetic reading: mean {not_last.arithmetic.mean():.2f}.",
    caption="How well two readings of the same attention weights predict "
    "what removing a visit really does. One count is one window; the last "
    "visit is left aside.",
)

# %% [markdown]
# The arithmetic wins by far. Before we praise attention for it, ask what a reading *without any attention* would reach.
# The control looks only at the place: remove a visit to the true place, and the probability falls; remove another, and it
# rises. Then the fair question is how the arithmetic ranks visits of one sort, where only the weights differ.

# %%
control = {
    "place only, no attention": not_last["place only"].mean(),
    "arithmetic": not_last.arithmetic.mean(),
    "arithmetic, visits to the true place": not_last[
        "true place only"
    ].mean(),
    "arithmetic, all other visits": not_last["other places only"].mean(),
}
pd.Series(control, name="rank correlation").round(2).to_frame()

# %% tags=["hide-input"]
place_only, whole, hits, others = control.values()
Markdown(
    f"The control alone reaches **{place_only:.2f}**; the arithmetic reaches "
    f"{whole:.2f}. "
    + (
        "Most of what looked like the merit of the weights is the sign, "
        "which follows from the place. "
        if place_only > whole / 2
        else ""
    )
    + "Among visits of one sort, attention still ranks the changes with "
    f"**{hits:.2f}** (true place) and **{others:.2f}** (all others). That is "
    "what attention itself explains."
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
# Attention appears in both cases, but with different factors. If the true place holds half of the attention, the
# factors are equal, and the size of the change does follow $a_i$. If it holds little, a visit to the true place counts
# many times as much as another with the same attention; if it holds nearly all, it is the other way round. So the naive
# reading should be best in the middle and poor at both ends, *whatever the encoder does*. Group the windows by the true
# place's share of the attention.

# %%
by_share = pd.qcut(not_last["true place"], 8, duplicates="drop")
columns = ["true place", "arithmetic", "place only", "naive at best", "naive"]
hump = not_last.groupby(by_share, observed=True)[columns].mean()

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.0, 3.4))
looks = {
    "arithmetic": ("o-", COPIED, "arithmetic"),
    "place only": ("^-.", TRUTH, "place only"),
    "naive at best": (":", MUTED, "naive, if (13.2) were exact"),
    "naive": ("s--", GENERATED, "naive"),
}
for reading, (form, colour, label) in looks.items():
    at = hump["true place"]
    ax.plot(at, hump[reading], form, color=colour, label=label)
ax.set(xlabel="share of the pointer attention on the true place")
ax.set(ylabel="rank correlation", ylim=(min(0, hump.naive.min()), 1.02))
handles = ax.get_legend_handles_labels()
fig.legend(*handles, loc="outside upper left", ncols=4)
n, m, alone = hump.naive, hump.arithmetic, hump["place only"]
show(
    fig,
    alt="Mean rank correlation by the true place's share of the attention, "
    f"in {len(hump)} groups of windows. Naive reading: {n.iloc[0]:.2f} at "
    f"the lowest shares, {n.max():.2f} at best, {n.iloc[-1]:.2f} at the "
    f"highest. Arithmetic reading: {m.iloc[0]:.2f}, up to {m.max():.2f}, and "
    f"{m.iloc[-1]:.2f}. The place alone, without attention: "
    f"{alone.min():.2f} to {alone.max():.2f}.",
    caption="When attention explains what removing a visit does. Each mark "
    "is a group of windows of equal size; the last visit is left aside.",
)

# %% [markdown]
# The dotted line is how the naive reading would do if the encoder did not notice that a visit is gone. The gap
# between the dashed line and the dotted one is the encoder's doing, and so is the gap between the arithmetic and 1.
#
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
# The first is all that attention can know of. The second says that the remaining visits get new weights, since the
# question or the keys have changed. The last two are the changes of generator and gate.

# %%
four = ["arithmetic", "question", "generator", "gate"]
assert np.allclose(removed[four].sum(axis=1), removed.change, atol=1e-5)
kinds = ["the last visit", "a visit to the true place", "any other visit"]
sort = np.select([removed.position == 1, removed.hit], kinds[:2], kinds[2])
size = removed[[*four, "change"]].abs().groupby(sort).mean().loc[kinds]

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.9))
colours = [COPIED, EXTRA, GENERATED, GATE]
for ax, (name, row) in zip(axes, size.iterrows(), strict=True):
    ax.bar(four, 100 * row[four], color=colours)
    ax.set_title(name, fontsize=10)
    ax.tick_params(axis="x", rotation=40)
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("mean size (percentage points)")
said = {
    name: ", ".join(f"{part} {100 * row[part]:.1f}" for part in four)
    for name, row in size.iterrows()
}
show(
    fig,
    alt="Three pictures with four bars each, the mean sizes of the parts of "
    "equation (13.4) in percentage points. "
    + " ".join(f"Remove {name}: {parts}." for name, parts in said.items()),
    caption="What happens when a visit is removed, in four parts. Mind the "
    "three scales.",
)

# %% tags=["hide-input"]
moved = removed.assign(size=removed.change.abs()).groupby("window")
most_moving = removed.position[moved["size"].idxmax()]
most_attended = removed.position[moved.attention.idxmax()]
moving, attended = (most_moving == 1).mean(), (most_attended == 1).mean()
assert moving > attended
ratio = size.arithmetic / size.question
points = 100 * size.change
Markdown(
    f"Removing the last visit moves the probability by {points.iloc[0]:.1f} "
    f"percentage points, a visit to the true place by {points.iloc[1]:.1f}, "
    f"any other by {points.iloc[2]:.1f}. For a visit to the true place, the "
    f"arithmetic is **{ratio.iloc[1]:.1f}** times as large as the change of "
    f"the question; for any other visit {ratio.iloc[2]:.1f} times; for the "
    f"last visit **{ratio.iloc[0]:.2f}** times. In **{100 * moving:.0f} %** "
    "of the windows the last visit is the one whose removal moves the "
    f"prediction most. It has the most attention in "
    f"**{100 * attended:.0f} %**."
)

# %% [markdown]
# So when does attention explain?
#
# 1. *Read naively*, it is a poor to middling guide to what matters. It is at its best when the true place holds
#    about half of the attention, and equation (13.3) says why.
# 2. *Read with its arithmetic* (sum per place, renormalise, mind the sign, times the gate) it is a much better guide, because
#    the pointer's weights enter the prediction linearly. But much of that is the sign, which the place gives without any
#    weights. The weights add the order among visits of one sort.
# 3. *For the last visit, hardly.* Its vector is the context: it asks the pointer's question, drives the
#    generator, and sets the gate. Remove it and another visit asks. Attention describes the answers to one question;
#    it cannot say what would happen to another question.
#
# > **Note.** [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) and
# > [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) argue whether attention is explanation. Our answer
# > for this model: say which question you mean. "How was this probability added up?" The map answers exactly.
# > "What would have changed it?" Remove something and look.
#
# ## What to remember
#
# - Draw what was used: rebuilt from the drawn parts, the probability agrees to a millionth. The pointer decides per place,
#   after adding up.
# - Choose examples by rule. A confident mistake looks as convincing as a hit.
# - Compare attention with where the answers are. The pointer leaves the hour of the day unused.
# - Attention with its arithmetic predicts much of what removing a visit does; read naively it does not. A control
#   without attention shows how much of that is the sign.
# - The last visit works mainly through the question it asks, and attention cannot show that.
#
# ## Exercises
#
# **Exercise 1** (quick). An attention of 0.1 is much in a window of thirty visits and little in a window of four.
# How many visits does the pointer look at *effectively*? Compute $e^{\text{entropy}}$, with the entropy of the $a_i$ in nats,
# and divide by $L$.


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
# Near 1: the pointer spreads its attention and mostly counts. Near 1 / L: it
# points.

# %% [markdown]
# **Exercise 2** (medium). Draw the window in which the tallest bar and the favourite place disagree most: the one
# where the sum of the favourite place exceeds the sum of the tallest bar's place by most.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
gap = np.zeros(len(test))
with torch.no_grad():
    for batch in test.batches(512):
        out = model(batch)
        sums = out.pointer_log_probs.exp()  # (B, V)
        bar = out.pointer_attention.argmax(1, keepdim=True)  # (B, 1)
        own = sums.gather(1, batch.location.gather(1, bar)).squeeze(1)
        gap[batch.index] = sums.max(1).values - own
odd = look(model, test, int(np.where(readable, gap, -1).argmax()))
plots.pointer_strip(
    odd,
    names,
    alt=f"A window of {len(odd.visits)} visits in which the tallest single "
    "bar does not belong to the place with the largest sum.",
    caption="The tallest bar loses: another place has more visits, and their "
    "bars add up.",
)

# %% [markdown]
# **Exercise 3** (longer). Occlude *places* instead of visits: remove all visits to a place at once. Does the
# arithmetic reading still hold? Try it on fifty windows for the place with the largest sum.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
def without_place(batch, keep):
    new = {f.name: getattr(batch, f.name) for f in fields(batch)}
    new = {n: v[:, keep] if v.ndim == 2 else v for n, v in new.items()}
    return replace(batch, **(new | {"length": keep.sum()[None]}))


rows = []
with torch.no_grad():
    for i in rng.choice(eligible, 50, replace=False):
        batch = test.batch([i])
        out, target = model(batch), batch.target[0]
        favourite = out.pointer_log_probs[0].argmax()
        keep = batch.location[0] != favourite
        if keep.sum() < 2 or not keep[-1]:
            continue  # the last visit stays: only the answers change
        p, g = out.pointer_log_probs[0].exp(), out.gate[0]
        left = p[target] / (1 - p[favourite])
        expected = g * ((favourite != target) * left - p[target])
        new = model(without_place(batch, keep)).log_probs[0, target].exp()
        change = new - out.log_probs[0, target].exp()
        rows.append((float(expected), float(change)))
expected, change = np.array(rows).T
same = spearmanr(expected, change).statistic
print(f"{len(rows)} windows: rank correlation {same:.2f}")
print(f"mean expected {expected.mean():+.3f}, real {change.mean():+.3f}")
# It holds, and more easily than for single visits: in most windows the
# favourite is the true place, and without its visits nothing is left to copy.
# And since the last visit stays, the same visit asks.

# %% [markdown]
# **Exercise 4** (project). Separate the two ways in which the last visit acts. Take the *context* from the full
# window and the visits to point at from the window without its last visit, and the other way round. Which of the
# two moves the prediction?


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
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
    "one visit fewer answers": answer(asks_full, keys_short, short),
    "both": answer(asks_short, keys_short, short),
}
moved = {k: float((v - before).abs().mean()) for k, v in changes.items()}
pd.Series(moved, name="mean size of the change").round(3).to_frame()

# %% [markdown]
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
