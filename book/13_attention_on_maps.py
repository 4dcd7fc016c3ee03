# %% [markdown]
# # Attention on maps
#
# *You will be able to* open any prediction of the model, draw it, and prove that the drawing is what the
# model used; and to say when attention explains a prediction and when it does not. *You need*
# [Training](10_training.ipynb), which tours the model. *It takes* thirty minutes to read and about half a
# minute to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %% [markdown]
# Attention weights are the most photographed part of any model. They are positive, they add up to one,
# they sit on things we know: here, on places of a town. It is tempting to read the picture as "the model
# went there *because of* this".
#
# This chapter draws the pictures, and then puts the temptation to the test. In a simulated town, with a
# model small enough to run thousands of times a second, we can.

# %%
RETRAIN = False  # True: train the model here instead of loading it, about a minute on two cores

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
from pgt.analysis.position_bias import position_bias
from pgt.checkpoint import load_model, shipped
from pgt.config import CITY, ModelConfig
from pgt.exercises import check
from pgt.look import look
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.viz import plots, prediction_map
from pgt.viz.figures import COPIED, EXTRA, GATE, GENERATED, MUTED, TRUTH, show
from pgt.viz.flow_map import flow_map, flows
from pgt.windows import build, prepare

town = city.load()
model, vocabulary = load_model(shipped("city"))  # in evaluation mode
data = prepare(town.visits, protocol="exact", vocabulary=vocabulary)
if RETRAIN:
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(ModelConfig(vocabulary.n_locations, vocabulary.n_users))
    fit(model, data.train, data.valid, CITY)
test = data.test
names = dict(zip(town.places.location_id, town.places.name, strict=True))
print(f"{model.n_parameters():,} parameters, {len(test):,} test windows")

# %% [markdown]
# One table holds, for every test window, the gate, whether the answer was right, and, since the town tells
# the truth, *why* the person really went where they went.

# %%
opened = gates(model, test)                                   # one row a window
truth = test.visits.iloc[test.target][["why", "explored", "p_explore"]].reset_index(drop=True)
opened = opened.join(truth)
with torch.no_grad():
    sure = np.zeros(len(test))
    for batch in test.batches(512):
        sure[batch.index] = model(batch).log_probs.exp().max(1).values  # (B, V) -> (B,)
opened["sure"] = sure                                         # probability of the favourite place
opened[["user_id", "gate", "sure", "correct", "in_window", "why", "p_explore"]].head(5).round(2)

# %% [markdown]
# ## First story: a routine day
#
# A picture of one window proves nothing if a hand picked it. So each story of this chapter is chosen by a
# rule that is written down. Call a window *readable* if it has 8 to 20 visits to at least five different places.
# The rule of the first story: among readable windows whose next visit was *routine* (home, work or school,
# because of the hour) and predicted right, the one of which the model was surest.

# %%
readable = opened.length.between(8, 20) & ((opened.length * opened.unique_share).round() >= 5)
routine = opened[readable & opened.correct & (opened.why == "routine")].sure.idxmax()
seen = look(model, test, routine)                             # one forward pass, opened
best = seen.candidates.iloc[0]
prediction_map.window_map(
    town, seen,
    title="Map of a routine prediction: past visits, pointer attention, likeliest places, the true place",
    caption="A routine day. Blue discs: pointer attention per place. Rings: the likeliest places, by final "
    "probability. Green diamond: where the person went. All areas have one scale.",
)

# %%
plots.pointer_strip(
    seen, names,
    alt=f"Pointer attention on the {len(seen.visits)} visits of the window, oldest first. "
    f"{int((seen.visits.location_id == seen.target.location_id).sum())} of them are to the place that came next, "
    f"{names[seen.target.location_id]}; the largest weight of a single visit is {seen.visits.attention.max():.2f}.",
    caption="The same window as a strip. Each bar is one visit; green bars are visits to the place that came next.",
)

# %% [markdown]
# ## A week, step by step
#
# A story is one moment. Here is the same person's whole week: move the slider, with the mouse, a finger or
# the arrow keys, and watch the discs follow. Below the map stands the same in words, and the likeliest places with their
# probability in two parts, copied and generated. The list above the map chooses whose attention is drawn: the pointer's, or
# that of one of the encoder's heads. A head is drawn as arcs from the *last* visit to those that it looks at, and a ring
# means that it looks at itself, or at other visits to the same place.

# %%
own = np.flatnonzero(test.users == test.users[routine])         # this person's windows, in order of time
start = test.visits.started_at.iloc[test.target[own]].reset_index(drop=True)
middle = start[int(np.flatnonzero(own == routine)[0])]
week = own[((start - middle).abs() <= pd.Timedelta(hours=84)).to_numpy()]
prediction_map.film_map(
    town, [look(model, test, int(i)) for i in week],
    title="Map of a week of predictions with a slider over time and a choice of attention heads",
    caption="One person's week, with the first story in its middle. Step through a day with the pointer chosen, then "
    "stay at one moment and choose the heads in turn.",
)

# %% [markdown]
# Step through a day and note how much, or how little, the discs change while the person moves. Then compare the heads at one
# moment. Do they look at different things? Two heads on one map prove nothing; ask all test windows.
#
# For each head, take the weights with which the last visit looks at the others, multiply by $L$, and average
# over the visits of which something is true: that they are the last one itself, that they are to the same place, and so on. The
# result is a *lift*: 1 is no preference, 2 is twice the even share. The pointer stands in the last row, for
# comparison.

# %%
def about(batch):
    """What may be true of a visit: name -> (B, L) bool, never true of padding."""
    now = batch.length[:, None] - 1                                       # (B, 1)
    here = batch.location.gather(1, now)                                  # (B, 1) the present place
    after_here = torch.roll(batch.location, 1, dims=1) == here            # (B, L) came after being here
    after_here[:, 0] = False
    apart = (batch.start_minute - batch.start_minute.gather(1, now)).abs()
    earlier = batch.position_from_end > 1
    found = {
        "itself": ~earlier, "the visit before": batch.position_from_end == 2,
        "same place,\nearlier": earlier & (batch.location == here), "came after\nbeing here": earlier & after_here,
        "same hour": earlier & (torch.minimum(apart, 1440 - apart) < 60),
        "same weekday": earlier & (batch.weekday == batch.weekday.gather(1, now)),
    }
    return {name: true & ~batch.padding for name, true in found.items()}


total, count, looked_at = 0.0, 0.0, 0.0
with torch.no_grad():
    for batch in test.batches(512, max_len=model.config.max_len):
        out, rows = model(batch, attention=True), torch.arange(len(batch))
        last = [w[rows, :, batch.length - 1] for w in out.self_attention]     # (B, H, L) each
        voices = torch.cat([*last, out.pointer_attention[:, None]], 1)        # (B, heads + 1, L)
        true = torch.stack(list(about(batch).values()), 1).float()           # (B, things, L)
        total += torch.einsum("bhl,btl->ht", voices * batch.length[:, None, None], true)
        count += true.sum((0, 2))
        nats = -(voices * voices.clamp(min=1e-30).log()).sum(2)              # (B, heads + 1) entropy
        looked_at += (nats.exp() / batch.length[:, None]).sum(0) / len(test)  # in effect, of all visits
names_of_heads = [f"layer {h // model.config.n_heads + 1}, head {h % model.config.n_heads + 1}" for h in range(len(total) - 1)]
lifts_of = pd.DataFrame((total / count).numpy(), index=[*names_of_heads, "the pointer"], columns=list(about(batch)))

# %%
fig, ax = plt.subplots(figsize=(7.4, 4.2))
image = ax.imshow(np.log2(lifts_of), cmap="cividis", aspect="auto")
for (row, column), value in np.ndenumerate(lifts_of.to_numpy()):
    bright = image.norm(np.log2(value)) > 0.55
    ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="#111111" if bright else "#fefefe")
ax.set_xticks(range(lifts_of.shape[1]), lifts_of.columns, fontsize=9)
ax.set_yticks(range(len(lifts_of)), lifts_of.index)
ax.axhline(len(lifts_of) - 1.5, color="#fefefe", lw=3)
ax.grid(visible=False)
encoder = lifts_of.iloc[:-1]
strongest = encoder.stack().pipe(np.log).abs().idxmax()
show(fig,
     alt=f"A table of lifts, {len(encoder)} heads and the pointer by {lifts_of.shape[1]} things that may be true of a visit. Among the heads they run from "
     f"{encoder.min().min():.2f} to {encoder.max().max():.2f}; farthest from 1 is {strongest[0]} for “{' '.join(strongest[1].split())}” with {encoder.loc[strongest]:.2f}.",
     caption="What the last visit looks at, head by head, and what the pointer looks at: lift over all test windows. 1 is an even share; the brighter, the more.")

# %% tags=["hide-input"]
Markdown(
    f"The farthest from an even share that any head gets is **{encoder.loc[strongest]:.2f}** (*{strongest[0]}*, *{' '.join(strongest[1].split())}*). "
    f"The pointer, which must name a place in the end, reaches {lifts_of.loc['the pointer'].min():.2f} and {lifts_of.loc['the pointer'].max():.2f}. "
    f"In effect (exercise 1 says how that is counted) a head looks at {100 * looked_at[:-1].min():.0f} to {100 * looked_at[:-1].max():.0f} % of a window's visits, the pointer at {100 * looked_at[-1]:.0f} %. "
    "So the many thin arcs on the map are no accident of that week: a head of this small model comes close to taking a mean."
)

# %% [markdown]
# ## Per visit, per place
#
# The strip has one bar a *visit*. The prediction needs one number a *place*. The model adds up:
#
# $$
# P_\text{ptr}(\ell) = \sum_{i:\, l_i = \ell} a_i . \tag{13.1}
# $$
#
# This is equation (7.4) of [chapter 7](07_pointer.ipynb), in tensor language a scatter. A place with five middling bars can beat a place with one tall bar, so the
# tallest bar need not be the pointer's choice. How often do they differ, and which is right more often?

# %%
tall = place = differ = 0
with torch.no_grad():
    for batch in test.batches(512):
        out = model(batch)
        rows = torch.arange(len(batch))
        tallest = batch.location[rows, out.pointer_attention.argmax(1)]   # (B,) place of the tallest bar
        favourite = out.pointer_log_probs.argmax(1)                       # (B,) place with the largest sum
        tall += int((tallest == batch.target).sum())
        place += int((favourite == batch.target).sum())
        differ += int((tallest != favourite).sum())
counts = {"they differ": differ, "the place of the tallest bar is right": tall, "the place with the largest sum is right": place}
pd.Series(counts).mul(100 / len(test)).round(1).rename("% of windows").to_frame()

# %% [markdown]
# The three numbers belong together. Where tallest bar and largest sum differ, it is the sum that was used.
#
# > **Pitfall.** We first drew one circle a *visit* on the map, sized by its attention. Visits to the same
# > place lie exactly on top of each other, so the eye saw only the largest. The map now adds up first.
# > If your picture shows weights before the sum, it does not show the prediction.
#
# ## From parts to the prediction
#
# Pointer and generator are mixed by the gate. Stacked bars show both parts of each probability.

# %%
plots.mixture(
    seen, names,
    alt=f"Stacked bars of the likeliest places. The first, {names[best.location_id]}, has probability "
    f"{best.probability:.2f}: {best.copied:.2f} copied and {best.generated:.2f} generated. The gate is {seen.gate:.2f}.",
    caption="The probability of each place, split into its copied and its generated part; ✓ marks the truth.",
)

# %% [markdown]
# Is the attention that we draw the attention that was used? In many notebooks it is not: the picture comes
# from a second pass that forgot a mask, or from one head of many. Here is the test. Take the gate and the
# bars *as drawn*, do the formula by hand, and compare with the probability that the model returned.

# %%
worst = 0.0
for i in np.random.default_rng(0).choice(len(test), 200, replace=False):
    drawn = look(model, test, i)
    per_place = drawn.visits.groupby("location_id").attention.sum()        # the bars, added up
    copied = per_place.reindex(drawn.candidates.location_id).fillna(0).to_numpy()
    ids = vocabulary.encode_locations(drawn.candidates.location_id).tolist()
    with torch.no_grad():
        generator = model(test.batch([i])).generator_log_probs[0, ids].exp().numpy()
    rebuilt = drawn.gate * copied + (1 - drawn.gate) * generator           # g · P_ptr + (1 - g) · P_gen
    worst = max(worst, float(np.abs(rebuilt - drawn.candidates.probability).max()))
assert worst < 1e-6
print(f"200 windows, ten places each: the largest difference is {worst:.1e}")

# %% [markdown]
# So the pictures are faithful *to the arithmetic*. Whether they are an *explanation* is another question,
# for which we need more windows than one.
#
# ## Second story: an exploration
#
# The rule: among readable windows whose next visit really was an exploration, the one where the
# town's own probability of exploring was highest. If the gate ever has a reason to fall, it is here.

# %%
explore = opened[readable & opened.explored].p_explore.idxmax()
seen = look(model, test, explore)
row = opened.loc[explore]
prediction_map.window_map(
    town, seen,
    title="Map of an exploration: past visits, pointer attention, likeliest places, the true new place",
    caption="An exploration. The green diamond is a place where the person had never been; no blue disc can be there.",
)

# %% tags=["hide-input"]
percentile = 100 * (opened.gate < row.gate).mean()
links = spearmanr(opened.gate, opened.p_explore).statistic
separation = opened.groupby("explored").gate.mean()
Markdown(
    f"The town explored with probability **{row.p_explore:.2f}** at this moment. The gate says **{row.gate:.2f}**, so "
    f"{1 - row.gate:.2f} went to the generator; {percentile:.0f} % of all windows have a lower gate. The true place got "
    f"probability {seen.target_probability:.5f}.\n\n"
    f"Over all {len(opened):,} windows the rank correlation of the gate with the true probability of exploring is "
    f"**{links:.2f}**. The mean gate is {separation[False]:.2f} before returns and {separation[True]:.2f} before explorations."
)

# %% [markdown]
# A negative correlation means that the gate leans the right way. Now look at how *far* it leans, here and over
# all windows.

# %%
inside = opened.groupby("in_window").gate.mean()
plots.gate_histogram(
    opened,
    alt=f"Two overlapping histograms of the gate. Its mean is {inside[True]:.2f} when the next place is in the window and "
    f"{inside[False]:.2f} when it is not.",
    caption="The gate in all test windows, by whether the next place was in the window. Dashed: the two means.",
)

# %% [markdown]
# If the gate knew, there would be two separate hills. The more they overlap, the less it knows, and the nearer it
# stays to the average share of copying: not out of caution, as [chapter 11](11_gate.ipynb) found. Do not blame the gate
# alone: whether somebody explores is a coin toss even to the town.
#
# Note also what the generator did with its share. An unvisited place is one of thousands. Even when the gate
# opens, the true place gets little.
#
# ## Third story: a confident mistake
#
# The rule: of all wrong answers in readable windows, the one the model was surest of.

# %%
wrong = opened[readable & ~opened.correct].sure.idxmax()
seen = look(model, test, wrong)
guess, went = names[seen.candidates.location_id[0]], names[seen.target.location_id]
prediction_map.window_map(
    town, seen,
    title="Map of a confident mistake: past visits, pointer attention, likeliest places, the true place",
    caption=f"A confident mistake: the model was sure of {guess}; the person went to {went}.",
)

# %%
plots.mixture(
    seen, names,
    alt=f"Stacked bars of the likeliest places; the first is {guess} with probability {seen.candidates.probability[0]:.2f}. "
    f"The true place, {went}, got {seen.target_probability:.4f}.",
    caption=f"What the model believed. The person went to {went}.",
)

# %% tags=["hide-input"]
n = 200
surest = opened.nlargest(n, "sure")
row = opened.loc[wrong]
Markdown(
    f"The model gave {guess} **{row.sure:.2f}** and the truth **{seen.target_probability:.4f}**. The true place was "
    f"{'' if row.in_window else 'not '}in the window, and the town's reason was *{row.why}* (it explored with probability "
    f"{row.p_explore:.2f}). One such case is no scandal: of the {n} surest answers {100 * surest.correct.mean():.0f} % are right, "
    f"at a mean confidence of {100 * surest.sure.mean():.0f} %."
)

# %% [markdown]
# Compare the last two numbers. A mistake at high confidence is expected now and then; a model
# whose confidence exceeds its share of hits makes too many of them.
#
# The map of the mistake looks as convincing as the map of the routine day. That is the lesson of this story:
# **a plausible picture of attention is no evidence that the answer is right.**
#
# ## Does the pointer look where the answers are?
#
# Single windows are anecdotes. Put all visits of all test windows together that hold the true place. For each visit
# we know its attention $a_i$, and what the answer would give it: of the visits to the place that came next each has
# an equal part, all others have nothing. Divide both by $1/L$, the even share, and both become a *lift*: 1 is no
# preference, 2 is twice the even share.

# %%
parts = []
with torch.no_grad():
    for b in test.batches(512, max_len=model.config.max_len):
        real = ~b.padding                                                 # (B, L)
        lift = model(b).pointer_attention * b.length[:, None]             # (B, L) 1 = even share
        here = b.location.gather(1, b.length[:, None] - 1)                # (B, 1) the present place
        after_here = torch.roll(b.location, 1, dims=1) == here            # (B, L) came after being here
        after_here[:, 0] = False
        apart = (b.start_minute - b.now_minute[:, None]).abs()
        apart = (torch.minimum(apart, 1440 - apart) // 60).clamp(max=11)  # (B, L) whole hours, around the clock
        hit = (b.location == b.target[:, None]) & real                    # (B, L) this place came next
        answer = b.length[:, None] * hit / hit.sum(1, keepdim=True).clamp(min=1)
        columns = {"attention": lift, "answer": answer, "position": b.position_from_end, "hours": apart, "after": after_here}
        used = real & hit.any(1, keepdim=True)                            # windows that hold the true place
        parts.append(pd.DataFrame({name: value[used].numpy() for name, value in columns.items()}))
every = pd.concat(parts, ignore_index=True)
assert np.allclose(every[["attention", "answer"]].mean(), 1, atol=1e-4)

# %%
fig, axes = plt.subplots(1, 3, figsize=(7.4, 3.2), sharey=True, width_ratios=[2, 2, 1.2])
by = {"position from the end": every.position.where(every.position <= 15), "hours apart on the clock": every.hours,
      "came after here": every.after.map({False: "no", True: "yes"})}
curves = {name: every.groupby(key)[["attention", "answer"]].mean() for name, key in by.items()}
for ax, (name, curve) in zip(axes, curves.items(), strict=True):
    ax.axhline(1, color=MUTED, lw=1)
    ax.plot(curve.index, curve.attention, "o-", color=COPIED, ms=4, label="attention")
    ax.plot(curve.index, curve.answer, "s--", color=TRUTH, ms=4, label="answers")
    ax.set_xlabel(name)
axes[1].set_xticks([0, 3, 6, 9])
axes[2].margins(x=0.3)
axes[0].set_ylabel("lift (1 = even share)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
first, after = curves["position from the end"].loc[1], curves["came after here"].loc["yes"]
this_hour, far_hour = curves["hours apart on the clock"].iloc[[0, -1]].itertuples()
show(fig,
     alt=f"Three pictures of lift. By position from the end: the last visit has an attention lift of {first.attention:.2f}, "
     f"answers {first.answer:.2f}. By hours apart on the clock: within the hour "
     f"attention {this_hour.attention:.2f}, answers {this_hour.answer:.2f}; eleven hours apart {far_hour.attention:.2f} and {far_hour.answer:.2f}. By whether the visit came after the present place: "
     f"attention {after.attention:.2f}, answers {after.answer:.2f} where it did.",
     caption="Where the pointer looks (blue, circles) and where the answers are (green, squares), over all test windows that hold the true place: by "
     "position from the end (1 = last visit), by hours between the visit's start and now, and by whether the visit "
     "followed an earlier stay at the present place.")

# %% [markdown]
# Where the two curves agree, the pointer has learned a regularity. Where green leaves the grey line and blue does
# not follow, a cue lies unused. Look at the right-hand picture: *the last time you were here, where did you go
# next?* A rule of five numbers uses that cue ([Baselines](04_baselines.ipynb)). The pointer would have to compose it
# out of self-attention between neighbours, which is much to ask of a few epochs. And mind that these are averages
# over all hours and people: a cue that helps in the evening and hurts in the morning looks flat here.

# %% tags=["hide-input"]
assert this_hour.answer > 1 > this_hour.attention
Markdown(
    f"In the middle picture the two even lean apart. The answers prefer visits that began within an hour of the present time of day, {this_hour.answer:.2f} times the even "
    f"share; the attention gives those {this_hour.attention:.2f}. On average, at least, the pointer has not learned that the same hour matters."
)

# %% [markdown]
# > **Pitfall.** In our first version of this figure the green curve of the middle picture ran the other way. We had divided all hits by
# > their mean over all windows. So a window with many visits to the next place counted many times, while every window's attention
# > counts once. Let each window share out one answer.
#
# ## The whole town at once
#
# Add up over the town instead of over the window. Each window starts in a district, that of the last visit. From there,
# the pointer sends its attention to the districts of the past visits, and the person goes on to one. Both are flows
# that can be drawn, and so can their difference. So that attention *could* be right each time, only windows count whose
# target is among their visits.
#
# The map opens with the difference. A disc is what stays within a district, an arc leads to another one. Solid blue: the
# pointer looks there more often than people go. Dashed green: people go there more often than the pointer looks. The list
# above the map shows the two flows themselves.

# %%
places = town.places.set_index("location_id")
by_district = flows(model, test, places.district)
flow_map(
    town, by_district,
    title="Map of flows between districts: pointer attention, trips, and the difference of the two",
    caption="All test windows at once, in percent of all attention and of all trips. Shares of districts over many people tell of nobody.",
)

# %%
stays = by_district[by_district.here == by_district.there][["visits", "attention", "answers"]].sum()
by_kind = flows(model, test, places.kind).groupby("there")[["visits", "attention", "answers"]].sum()
by_kind = by_kind.sort_values("answers")


def way(table):
    """How far attention went from an even share towards the answers: 0 not at all, 1 all the way."""
    moved, needed = table.attention - table.visits, table.answers - table.visits
    return float((moved * needed).sum() / (needed ** 2).sum())          # slope of least squares


between = (by_kind.attention - by_kind.visits) * (by_kind.answers - by_kind.attention) >= 0   # disc between bar and diamond
way_kind, way_stay = way(by_kind), (stays.attention - stays.visits) / (stays.answers - stays.visits)

# %%
fig, ax = plt.subplots(figsize=(7.0, 3.8))
at = np.arange(len(by_kind))
ax.hlines(at, by_kind.min(axis=1), by_kind.max(axis=1), color=MUTED, lw=1)
marks = {"visits": ("|", MUTED, "past visits, each weighted evenly"), "attention": ("o", COPIED, "pointer attention"),
         "answers": ("D", TRUTH, "answers")}
for column, (marker, colour, label) in marks.items():
    ax.plot(by_kind[column], at, marker, color=colour, ms=12 if marker == "|" else 6, mew=2,
            mfc="none" if marker == "D" else colour, label=label)
ax.set_yticks(at, by_kind.index)
ax.set(xlabel="share (%)", ylabel="kind of place")
ax.legend(loc="lower right")
show(fig,
     alt="For each kind of place three marks on a line: its share of the past visits, of the attention and of the answers. "
     + "; ".join(f"{kind}: {row.visits:.0f}, {row.attention:.0f} and {row.answers:.0f} %" for kind, row in by_kind.iloc[::-1].head(3).iterrows()) + ".",
     caption="What the pointer adds to counting. The bar is what plain counting would give, the diamond is what came; the disc is the pointer.")

# %% tags=["hide-input"]
Markdown(
    f"Look where the discs lie: for {between.sum()} of the {len(by_kind)} kinds between bar and diamond. By kind of place, the pointer went "
    f"**{100 * way_kind:.0f} %** of the way from counting visits to the answers. The same holds on the map. {stays.visits:.0f} % of the past visits lie in the district where the person is; "
    f"{stays.answers:.0f} % of the next ones do; and {stays.attention:.0f} % of the attention, which is {100 * way_stay:.0f} % of the way. "
    "That is why so many discs are blue and so many arcs green: the pointer has learned that people move on, and has learned it by half measures."
    if 0 < way_kind < 1 and 0 < way_stay < 1 else
    f"By kind of place, the pointer went **{100 * way_kind:.0f} %** of the way from counting visits to the answers; "
    f"for staying in the district it went {100 * way_stay:.0f} % of the way."
)

# %% [markdown]
# ## Where does the preference for positions come from?
#
# The pointer owns a **position bias** $b_p$, one number for each position from the end, added to the scores
# before the softmax, as in equation (7.2). It would be the obvious source of the left-hand picture. The table has an entry for
# padding as well, which must never be drawn; `position_bias` leaves it out.

# %%
bias = position_bias(model).set_index("position_from_end").bias
assert bias.index[0] == 1 and model.pointer.position_bias[0] == 0
plots.bias_curve(
    [bias], upto=15,
    alt=f"The learned position bias for the last 15 positions; it lies between {bias.loc[1:15].min():.3f} and {bias.loc[1:15].max():.3f} logits.",
    caption="Position bias of the shipped model. Mind the scale: a difference of b logits multiplies attention by exp(b).",
)

# %%
from pgt.config import TrainConfig

config = TrainConfig()
steps = -(-len(data.train) // config.batch_size)              # steps an epoch
rates = np.array([config.rate(step, steps) for step in range(10 * steps)])
reach = pd.Series(rates.cumsum()[steps - 1 :: steps], index=pd.RangeIndex(1, 11, name="after epoch"))
lifts = curves["position from the end"].attention.loc[1:15]
pd.DataFrame({"largest factor from the bias": [np.exp(bias.loc[1:15].max() - bias.loc[1:15].min())],
              "largest ratio of mean attention": [lifts.max() / lifts.min()]}).round(2)

# %% [markdown]
# Compare the two factors. If the first is far below the second, the preference does not come from the bias, in
# spite of its name. It comes through the keys, which contain the position embedding, the sinusoid and "days ago".
# [Chapter 12](12_position_bias.ipynb) followed that up with many models; here is the sum behind it.
#
# AdamW moves a single number by about the learning rate at each step. A bias of one
# logit needs many steps in one direction; a key of sixty-four numbers can change its product with a query by a
# logit when each number moves a little. The sum of all learning rates so far is roughly as far as one number can
# have travelled. Here it is for the default schedule:

# %%
reach.round(3).rename("sum of learning rates").to_frame().T

# %% [markdown]
# Stopped after a few epochs, most of them warm-up, a bias has had hardly any room. A flat curve here
# does not say that positions do not matter. It says that this *parameter* was not where the model learned it.
#
# ## Is attention an explanation?
#
# Here is what an explanation should survive: **occlusion**. Remove one visit from the window, run the model
# again, and see how far the probability of the true place moves. If attention explains, the visits with much
# attention should be those whose removal matters.
#
# Removing takes care. All positions from the end shift, and if the last visit goes, "days ago" must count from
# the new last one. A forgotten shift would measure something else.

# %%
def without_each(batch):
    """One window (1, L) -> L windows (L, L - 1), the k-th without visit k."""
    n = int(batch.length[0])
    keep = torch.tensor([[j for j in range(n) if j != k] for k in range(n)])  # (L, L - 1)
    new = {f.name: getattr(batch, f.name) for f in fields(batch)}
    new = {name: v[0][keep] if v.ndim == 2 else v.expand(n) for name, v in new.items()}
    new["length"] = torch.full((n,), n - 1)             # position from end follows from it
    new["days_ago"] = new["days_ago"] - new["days_ago"][:, -1:]
    return replace(batch, **new)


# The same, the slow and safe way: drop the row from the table of visits and build all windows anew. Without the last
# visit a window may go back further; we compare its newest visits.
fast, first_row, L = without_each(test.batch([routine])), test.first[routine], int(test.lengths[routine])
for k in range(1, L):
    rebuilt = build(test.visits.drop(index=first_row + k), vocabulary, data.config)
    slow = rebuilt.batch(np.flatnonzero(rebuilt.target == test.target[routine] - 1))
    for name in ("location", "time", "weekday", "duration", "days_ago", "position_from_end"):
        assert torch.equal(getattr(slow, name)[0, 1 - L:], getattr(fast, name)[k]), name

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
# with $\ell^*$ the true place. What it leaves out is that the encoder reads the shortened window differently. We take up to
# 500 windows of at least six visits, one of them to the true place.

# %%
rng = np.random.default_rng(0)
eligible = np.flatnonzero((test.lengths >= 6) & test.in_window)
parts = []
with torch.no_grad():
    for i in rng.choice(eligible, min(500, len(eligible)), replace=False):
        batch = test.batch([i])
        out, target = model(batch), batch.target[0]
        a, g = out.pointer_attention[0].numpy(), float(out.gate[0])            # (L,), ()
        hit = (batch.location[0] == target).numpy()                            # (L,)
        if hit[:-1].all():
            continue  # every visit is to the true place: nothing to rank
        p_ptr, p_gen = a[hit].sum(), float(out.generator_log_probs[0, target].exp())
        new = model(without_each(batch))                                       # L windows, one a removed visit
        new_ptr, new_gen = new.pointer_log_probs[:, target].exp().numpy(), new.generator_log_probs[:, target].exp().numpy()
        new_g, expected = new.gate.flatten().numpy(), (p_ptr - a * hit) / (1 - a)
        parts.append(pd.DataFrame({
            "window": i, "position": np.arange(len(a), 0, -1), "attention": a, "hit": hit, "true place": p_ptr,
            "arithmetic": g * (expected - p_ptr), "question": g * (new_ptr - expected), "generator": (1 - g) * (new_gen - p_gen),
            "gate": (new_g - g) * (new_ptr - new_gen),
            "change": new.log_probs[:, target].exp().numpy() - float(out.log_probs[0, target].exp())}))
removed = pd.concat(parts, ignore_index=True)


# %%
def rank(weights, change):
    """Spearman's rank correlation, (N,) and (N,); none where there is nothing to rank."""
    return spearmanr(weights, change).statistic if weights.nunique() > 1 and len(weights) > 2 else np.nan


def agreement(table):
    """How well readings of the attention rank the changes: one row a window."""
    found = {window: {"naive": rank(w.attention, w.change.abs()), "arithmetic": rank(w.arithmetic, w.change),
                      "naive at best": rank(w.attention, w.arithmetic.abs()), "place only": rank(~w.hit, w.change),
                      "arithmetic, true place": rank(w.arithmetic[w.hit], w.change[w.hit]),
                      "arithmetic, other places": rank(w.arithmetic[~w.hit], w.change[~w.hit]),
                      "true place": w["true place"].iloc[0], "visits to it": w.hit.sum(),
                      "effective share": np.exp(entropy(w.attention)) / len(w)} for window, w in table.groupby("window")}
    return pd.DataFrame(found).T


readings = ["naive", "arithmetic"]
all_visits, not_last = agreement(removed), agreement(removed[removed.position > 1])
assert not_last.arithmetic.mean() > not_last.naive.mean()

# %%
fig, ax = plt.subplots(figsize=(6.8, 3.2))
bins = np.linspace(-1, 1, 41)
ax.hist(not_last.naive, bins, color=GENERATED, alpha=0.65, hatch="///", edgecolor="white", lw=0.3, label="naive: size of change against attention")
ax.hist(not_last.arithmetic, bins, color=COPIED, alpha=0.65, label="arithmetic: change against (13.2)")
ax.set(xlabel="rank correlation within a window", ylabel="windows")
ax.legend(loc="upper left", bbox_to_anchor=(0, 1.25))
show(fig,
     alt=f"Histograms of the rank correlation within windows, the last visit left aside. Naive reading: mean {not_last.naive.mean():.2f}. "
     f"Arithmetic reading: mean {not_last.arithmetic.mean():.2f}.",
     caption="How well two readings of the same attention weights predict what removing a visit really does. One count is "
     "one window; the last visit is left aside.")

# %%
pd.DataFrame({
    "all visits": all_visits[readings].mean(), "without the last visit": not_last[readings].mean(),
}).T.assign(windows=removed.window.nunique()).round(2)

# %% [markdown]
# The arithmetic wins by far. Before we praise attention for it, ask what a reading *without any attention* would
# reach. The control looks only at the place: remove a visit to the true place, and the probability falls; remove
# another, and it rises. It knows two values, and no weights.

# %%
control = not_last[["naive", "place only", "arithmetic", "arithmetic, true place", "arithmetic, other places"]].mean()
control.rename("rank correlation").to_frame().round(2)

# %% tags=["hide-input"]
within = control[["arithmetic, true place", "arithmetic, other places"]]
Markdown(
    f"The control alone reaches **{control['place only']:.2f}**, of the {control.arithmetic:.2f} of the arithmetic. "
    + ("Most of what looked like the merit of the weights is the sign, which follows from the place. " if control["place only"] > control.arithmetic / 2 else "")
    + f"The fair question is the one in the last two rows. Among visits of one sort, where the sign is settled and only the weights differ, attention still ranks the "
    f"changes with **{within.iloc[0]:.2f}** (visits to the true place) and **{within.iloc[1]:.2f}** (all others). That is what attention itself explains."
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
# Attention stands in front of both cases, but with different factors. If the true place holds half of the attention, the
# factors are equal, and the size of the change does follow $a_i$. If it holds little, a visit to the true place counts many times
# as much as another with the same attention; if it holds nearly all, it is the other way round. So the naive reading should be best in the
# middle and poor at both ends, *whatever the encoder does*. Group the windows by the true place's share of the attention.

# %%
groups = not_last.groupby(pd.qcut(not_last["true place"], 8, duplicates="drop"), observed=True)
hump = groups[["true place", "naive at best", "place only", *readings]].mean()
fig, ax = plt.subplots(figsize=(7.0, 3.4))
ax.plot(hump["true place"], hump["arithmetic"], "o-", color=COPIED, label="arithmetic")
ax.plot(hump["true place"], hump["place only"], "^-.", color=TRUTH, label="place only")
ax.plot(hump["true place"], hump["naive at best"], ":", color=MUTED, label="naive, if (13.2) were exact")
ax.plot(hump["true place"], hump["naive"], "s--", color=GENERATED, label="naive")
ax.set(xlabel="share of the pointer attention on the true place", ylabel="rank correlation", ylim=(min(0, hump.naive.min()), 1.02))
fig.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=4)
show(fig,
     alt=f"Mean rank correlation by the true place's share of the attention, in {len(hump)} groups of windows. Naive reading: {hump.naive.iloc[0]:.2f} at the lowest "
     f"shares, {hump.naive.max():.2f} at best, {hump.naive.iloc[-1]:.2f} at the highest. Arithmetic reading: {hump.arithmetic.iloc[0]:.2f}, up to {hump.arithmetic.max():.2f}, "
     f"and {hump.arithmetic.iloc[-1]:.2f}. The place alone, without attention: {hump['place only'].min():.2f} to {hump['place only'].max():.2f}.",
     caption="When attention explains what removing a visit does. Each mark is a group of windows of equal size; the last visit is left aside.")

# %% [markdown]
# The dotted line is how the naive reading would do if the arithmetic were all: if the encoder did not notice that a visit is
# gone. What the dashed line lacks to the dotted one is the encoder's doing, and so is what the arithmetic lacks to 1.
#
# Other ways to divide the windows: how often the true place was visited, how flat the attention is (the effective
# share of Exercise 1), and how far the gate trusts the pointer.

# %%
not_last["gate"] = opened.gate[not_last.index]
cuts = {
    "true place visited": pd.cut(not_last["visits to it"], [0, 1, 3, 8, np.inf], labels=["once", "2 to 3 times", "4 to 8 times", "more often"]),
    "attention": pd.qcut(not_last["effective share"], 3, labels=["sharp", "middling", "flat"]),
    "gate": pd.qcut(not_last.gate, 3, labels=["low", "middling", "high"]),
}
cases = pd.concat({name: not_last.groupby(cut, observed=True)[readings].mean()
                   .assign(windows=not_last.groupby(cut, observed=True).size()) for name, cut in cuts.items()})
cases.round(2)

# %% tags=["hide-input"]
apart = cases.groupby(level=0).agg(lambda column: column.max() - column.min())
matters = apart.naive.idxmax()
Markdown(
    f"What matters most to the naive reading is *{matters}*: its groups lie **{apart.naive.max():.2f}** apart. The other two make a difference of "
    f"{apart.naive.drop(matters).min():.2f} and {apart.naive.drop(matters).max():.2f}. In every group the arithmetic reading stays above the naive one, by "
    f"{(cases.arithmetic - cases.naive).min():.2f} at least."
)

# %% [markdown]
# ## What a visit does besides being pointed at
#
# The remaining question is what equation (13.2) leaves out. A tilde marks what the model says about the window without visit $i$, and
# $\hat P_\text{ptr}$ is the fraction in equation (13.2): the old weights, renormalised. All are taken at the true place. Then the change
# splits into four parts, exactly:
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
# question or the keys have changed. Multiply out, and everything but $\tilde P$ and $P$ cancels.

# %%
four = ["arithmetic", "question", "generator", "gate"]
assert np.allclose(removed[four].sum(axis=1), removed.change, atol=1e-5)
which = np.select([removed.position == 1, removed.hit], ["the last visit", "a visit to the true place"], "any other visit")
size = removed[[*four, "change"]].abs().groupby(which).mean()
size = size.loc[["the last visit", "a visit to the true place", "any other visit"]]

# %%
fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.9))
colours = dict(zip(four, (COPIED, EXTRA, GENERATED, GATE), strict=True))
for ax, (name, row) in zip(axes, size.iterrows(), strict=True):
    ax.bar(four, 100 * row[four], color=[colours[part] for part in four])
    ax.set_title(name, fontsize=10)
    ax.tick_params(axis="x", rotation=40)
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("mean size (percentage points)")
show(fig,
     alt="Three pictures with four bars each, the mean sizes of the parts of equation (13.4) in percentage points. " + " ".join(
         f"Remove {name}: " + ", ".join(f"{part} {100 * row[part]:.1f}" for part in four) + "." for name, row in size.iterrows()),
     caption="What happens when a visit is removed, in four parts. Mind the three scales.")

# %% tags=["hide-input"]
moved = removed.assign(size=removed.change.abs())
most_moving = moved.loc[moved.groupby("window")["size"].idxmax()].position
most_attended = moved.loc[moved.groupby("window").attention.idxmax()].position
assert (most_moving == 1).mean() > (most_attended == 1).mean()
ratio = size.arithmetic / size.question
Markdown(
    f"Removing the last visit moves the probability by {100 * size.change.iloc[0]:.1f} percentage points, a visit to the true place by {100 * size.change.iloc[1]:.1f}, any "
    f"other by {100 * size.change.iloc[2]:.1f}. For a visit to the true place, the arithmetic is **{ratio.iloc[1]:.1f}** times as large as the change of the question; for any other visit "
    f"{ratio.iloc[2]:.1f} times; for the last visit **{ratio.iloc[0]:.2f}** times. The last visit is the one whose removal moves the prediction most in "
    f"**{100 * (most_moving == 1).mean():.0f} %** of the windows. It is the one with the most attention in **{100 * (most_attended == 1).mean():.0f} %**."
)

# %% [markdown]
# So when does attention explain? The picture on the map shows none of the answers.
#
# 1. *Read naively*, it is a poor to middling guide to what matters. It is at its best when the true place holds
#    about half of the attention, and equation (13.3) says why.
# 2. *Read with its arithmetic* (sum per place, renormalise, mind the sign, times the gate) the same numbers are a
#    much better guide. But a good part of that is the sign, which the place gives without any weights. What the weights add is
#    the order among visits of one sort, and the size where the place asked about is concerned. They can, because the pointer's
#    weights enter the prediction linearly, which is more than can be said of attention inside the encoder.
# 3. *For the last visit, hardly.* It acts around attention. Its vector is the context: it asks the pointer's question, drives the
#    generator, and sets the gate. Remove it and another visit asks. Attention describes the answers to a question;
#    it cannot say what would happen to another question.
#
# > **Note.** [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) and
# > [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) argue whether attention is explanation. Our answer
# > for this model: say which question you mean. "How was this probability added up?" The map answers exactly.
# > "What would have changed it?" Remove something and look.
#
# ## Summary
#
# - One forward pass gives prediction, gate and attention; rebuilt from the drawn parts, the probability agrees to
#   a millionth.
# - The pointer decides per place, after adding up. Draw the sum.
# - Choose examples by rule. A confident mistake looks as convincing as a hit.
# - A parameter's name is no evidence: look at what the position bias can have learned.
# - Heads of the encoder can be drawn as arcs, and come close to taking a mean; over the whole town, the pointer goes
#   part of the way from counting visits to the answers, and leaves the hour of the day unused.
# - Attention with its arithmetic predicts much of what removing a visit does; attention read naively does not; knowing the
#   place alone goes far; and the last visit works mainly through the question it asks.
#
# ## Exercises
#
# **Exercise 1** (quick). An attention of 0.1 is much in a window of thirty visits and little in a window of four.
# How many visits does the pointer look at *effectively*? Compute $e^{\text{entropy}}$, with the entropy of the $a_i$ in nats,
# and divide by $L$.

# %% tags=["try"]
def effective(a):
    """Weights (L,) that sum to one -> the number of visits looked at in effect."""
    return ...


cases = [(np.full(4, 0.25),), (np.array([0.7, 0.2, 0.1]),), (np.array([1.0, 0.0]),)]  # the last: 0 log 0 is 0
check.function(effective, lambda a: np.exp(entropy(a)), *cases)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
def effective(a):
    a = a[a > 0]                                                 # 0 log 0 counts as 0
    return np.exp(-(a * np.log(a)).sum())


check.function(effective, lambda a: np.exp(entropy(a)), *cases)
share = removed.groupby("window").attention.agg(lambda a: effective(a.to_numpy()) / len(a))
share.describe()[["mean", "min", "max"]].round(2)
# Near 1: the pointer spreads its attention and mostly counts. Near 1 / L: it points.

# %% [markdown]
# **Exercise 2** (medium). Draw the window in which the tallest bar and the favourite place disagree most: the one
# where the sum of the favourite place exceeds the sum of the tallest bar's place by most.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
gap = np.zeros(len(test))
with torch.no_grad():
    for batch in test.batches(512):
        out = model(batch)
        per_place = out.pointer_log_probs.exp()                                       # (B, V)
        tallest = batch.location.gather(1, out.pointer_attention.argmax(1, keepdim=True))  # (B, 1)
        gap[batch.index] = per_place.max(1).values - per_place.gather(1, tallest).squeeze(1)
odd = look(model, test, int(np.where(readable, gap, -1).argmax()))
plots.pointer_strip(
    odd, names,
    alt=f"A window of {len(odd.visits)} visits in which the tallest single bar does not belong to the place with the largest sum.",
    caption="The tallest bar loses: another place has more visits, and their bars add up.",
)

# %% [markdown]
# **Exercise 3** (longer). Occlude *places* instead of visits: remove all visits to a place at once. Does the
# arithmetic reading still hold? Try it on fifty windows for the place with the largest sum.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
rows = []
with torch.no_grad():
    for i in rng.choice(eligible, 50, replace=False):
        batch = test.batch([i])
        out, target = model(batch), batch.target[0]
        favourite = out.pointer_log_probs[0].argmax()
        keep = batch.location[0] != favourite
        if keep.sum() < 2 or not keep[-1]:
            continue  # leave the last visit in place, so that only the answers change
        new = {f.name: getattr(batch, f.name) for f in fields(batch)}
        new = {name: v[:, keep] if v.ndim == 2 else v for name, v in new.items()}
        new["length"] = keep.sum()[None]
        p, g = out.pointer_log_probs[0].exp(), out.gate[0]
        expected = g * ((0.0 if favourite == target else p[target] / (1 - p[favourite])) - p[target])
        change = model(replace(batch, **new)).log_probs[0, target].exp() - out.log_probs[0, target].exp()
        rows.append((float(expected), float(change)))
expected, change = np.array(rows).T
print(f"{len(rows)} windows: rank correlation {spearmanr(expected, change).statistic:.2f}, "
      f"mean expected {expected.mean():+.3f}, mean change {change.mean():+.3f}")
# It holds, and more easily than for single visits: in most windows the favourite is the true place, and without its visits nothing
# is left to copy. Where the last visit stays, the same visit asks; that is the other reason.

# %% [markdown]
# **Exercise 4** (project). Separate the two ways in which the last visit acts. Take the *context* from the full
# window and the visits to point at from the window without its last visit, and the other way round. Which of the
# two moves the prediction?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
@torch.no_grad()
def parts_of(batch):
    encoded, _ = model.encoder(model.embeddings(batch), batch.padding)           # (B, L, D)
    return encoded, encoded[torch.arange(len(batch)), batch.length - 1]          # (B, D)


@torch.no_grad()
def answer(context, encoded, batch):
    a = model.pointer(context, encoded, batch).exp()                             # (B, L)
    copied = torch.zeros(len(batch), model.config.n_locations).scatter_add(1, batch.location, a)  # (B, V)
    g = model.gate(context).sigmoid()                                            # (B, 1)
    p = g * copied + (1 - g) * model.generator(context).softmax(-1)              # (B, V)
    return p.gather(1, batch.target[:, None]).squeeze(1)


full = test.batch(rng.choice(eligible, 300, replace=False))
last_days = full.days_ago.gather(1, (full.length - 2)[:, None])                  # of the visit that is last now
short = replace(full, length=full.length - 1, days_ago=(full.days_ago - last_days).clamp(min=0))
(keys_full, asks_full), (keys_short, asks_short) = parts_of(full), parts_of(short)
before = answer(asks_full, keys_full, full)
theirs = model(full).log_probs.gather(1, full.target[:, None]).squeeze(1)      # (B,)
check.same(before.log(), theirs, name="the parts, put together again", atol=1e-4)
changes = {
    "another visit asks, the same visits answer": answer(asks_short, keys_full, full),
    "the same visit asks, one visit fewer answers": answer(asks_full, keys_short, short),
    "both": answer(asks_short, keys_short, short),
}
pd.Series({k: float((v - before).abs().mean()) for k, v in changes.items()}).round(3).rename("mean |change|").to_frame()

# %% [markdown]
# **Next:** [Ablations](14_ablations.ipynb), where parts are taken out of the model, not visits out of the window.
