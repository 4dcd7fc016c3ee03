# %% [markdown]
# # Attention on maps
#
# A picture of attention can be true to the model. Does it explain the model's answer?
#
# *You will be able to* put any prediction of the model on a map, prove that the map shows what the model used, and find
# out which visit it depends on. *You need* [The pointer](07_pointer.ipynb), [The generator and the
# gate](08_generator_and_gate.ipynb) and [Training](10_training.ipynb). *It takes* a quarter of an hour to read and about half
# a minute to run, with or without a GPU.
#
# > **In one sentence.** With gate and generator, attention says exactly how a probability was added up; it does not say what
# > would have changed it: of the tested windows, which have at least six visits and hold the true place, only in
# > {{ same:.0f }} % does the visit that matters most have the most attention.

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
# Attention weights add up to one, and they sit on places that we know. It is tempting to read a picture of them as "the model
# chose this place *because of* that visit". We draw the pictures, and then test that reading.

# %% tags=["hide-input"]
# @title Imports
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, INK, TRUTH, show
from wherenext.ground import ground, located
from wherenext.window_features import gates

from pgt.checkpoint import load_model, shipped
from pgt.look import look
from pgt.maps import attention_map, week_map
from pgt.metrics import percentile_interval, resampled_means
from pgt.windows import prepare

# %%
town = city.load()
model, vocabulary = load_model(shipped("city"))  # in evaluation mode
test = prepare(town.visits, protocol="exact", vocabulary=vocabulary).test

# %% tags=["hide-input"]
# @title `below`: the ground of every map, without its small streets
below = ground(town.base)
small = ("street", "promenade", "rail")
below["features"] = [
    f for f in below["features"] if f["properties"].get("kind") not in small
]

# %% [markdown]
# One table holds, for every test window, the probability of the model's favourite place (`sure`), whether that place was
# right (`correct`), and the most attention on any one place (`disc`). The town also tells *why* the person really went where
# they went: by *routine* (home, work or school, because of the hour), as a *return* (a free choice among places they know),
# or to *explore*.

# %%
opened = gates(model, test)  # one row a window: correct, length, ...
opened["why"] = test.visits.why.iloc[test.target].to_numpy()
opened["sure"], opened["disc"], opened["at_disc"] = 0.0, 0.0, False
with torch.no_grad():
    for batch in test.batches(512):
        out, b = model(batch), batch.index.numpy()
        sure, guess = out.log_probs.exp().max(1)  # (B,) each
        disc, place = out.pointer_log_probs.exp().max(1)
        opened.loc[b, "sure"] = sure.double().numpy()
        opened.loc[b, "disc"] = disc.double().numpy()
        opened.loc[b, "at_disc"] = (guess == place).numpy()
opened[["sure", "correct", "disc", "why"]].head(3).round(2)

# %% [markdown]
# ## First story: a routine day
#
# A picture of one window proves nothing if picked by hand, and little if picked by a rule. We use a rule. Call a window
# *readable* if it has 8 to 20 visits to at least five places. Among readable windows whose next visit was routine and
# predicted right, take the one of which the model was surest.

# %%
different = (opened.length * opened.unique_share).round()  # places
readable = opened.length.between(8, 20) & (different >= 5)
right = readable & opened.correct & (opened.why == "routine")
routine = opened[right].sure.idxmax()
sure_here = opened.sure[routine]


# %%
def window_map(i, caption):
    """One window on the map: attention, answers and the truth."""
    seen = look(model, test, i)  # one forward pass, opened
    visits = located(seen.visits, town)
    visits["name"] += ", " + visits.kind  # say what a place is
    guesses = located(seen.candidates.head(5), town)
    return attention_map(
        visits.astype({"attention": float}),
        guesses=guesses.astype({"probability": float}),
        truth=located(seen.target, town),
        ground=below,  # of the folded cell above
        caption=caption,
    )


window_map(routine, "A routine day: attention, guesses, and the truth.")

# %% [markdown]
# A disc adds up the attention $a_i$ on all visits to its place, which makes $P_\text{ptr}$ (equation (7.4)). A blue curve
# joins it to the last visit; the more attention, the thicker the curve. The black dot on the left is the last visit, at work,
# and nearly hides the small disc there. The large disc on the right is home, 44 Willow Road. (Click a disc for its name.)
#
# The person came to work on a Thursday morning and left just after midnight. Most of the attention is on home. The model gives
# home the probability {{ sure_here:.2f }}, and the next recorded visit is home.
#
# ## Was the drawn attention used?
#
# Some tools run the model a second time to get weights to draw, and that second pass may forget a mask. Others draw a head of
# the encoder, whose weights do not enter the sum. So take the gate and the discs *as drawn*, mix them with the generator as in
# equation (8.4), and compare with the probability that the model returned.

# %%
worst = 0.0
for i in np.random.default_rng(0).choice(len(test), 200, replace=False):
    drawn = look(model, test, i)
    likely = drawn.candidates.set_index("location_id")  # ten places
    discs = drawn.visits.groupby("location_id").attention.sum()
    copied = drawn.gate * discs.reindex(likely.index).fillna(0)
    rebuilt = copied + likely.generated  # already times 1 - gate
    worst = max(worst, (rebuilt - likely.probability).abs().max())
print(f"200 windows, ten places each: the largest difference is {worst:.0e}")

# %% [markdown]
# So the pictures are faithful *to the arithmetic*. Whether they *explain* is another question.
#
# ## A week, step by step
#
# Here is the week around the first story; move the slider. *Visit* is where the person is, *attention* what the pointer looks
# at, *guess* the likeliest place, and *truth* where the person went.


# %%
def moment(i):
    """The marks of one window, from leaving one place to the next one."""
    seen = look(model, test, int(i))
    summed = seen.visits.groupby("location_id").attention.sum()
    guess = seen.candidates.head(1)
    marks = {
        "attention": summed[summed > 0.1].rename("share").reset_index(),
        "guess": guess.rename(columns={"probability": "share"}),
        "truth": seen.target.to_frame().T,
        "visit": seen.visits.tail(1),
    }
    parts = [part.assign(role=role) for role, part in marks.items()]
    table = pd.concat(parts)[["location_id", "role", "share"]]
    table["started_at"] = seen.visits.finished_at.iloc[-1]
    return table.assign(finished_at=seen.target.started_at)


# %% tags=["hide-input"]
# @title A week of predictions on a map
start = test.visits.started_at.iloc[test.target].reset_index(drop=True)
near = (start - start[routine]).abs() <= pd.Timedelta(days=3.5)
week = np.flatnonzero(near & (test.users == test.users[routine]))
n_moments, n_right = len(week), opened.correct[week].sum()
moments = pd.concat([moment(i) for i in week])
week_map(
    located(moments.astype({"share": float}), town),
    ground=below,
    alt="Map of a week of predictions with a slider over time",
    caption="One person's week, with the first story in its middle.",
)

# %% [markdown]
# The model guessed {{ n_right }} of these {{ n_moments }} moments right. Stop at a miss, Friday at 12:01. The person leaves
# work. The large disc and the guess are at home, as in the first story, but the person goes to the doctor's. Nothing on the
# map warns of it: at every moment of this week, hit or miss, the guess is the place with the most attention.
#
# ## Second story: a confident mistake
#
# Of all wrong answers in readable windows, take the one of which the model was surest.

# %%
surest = 0  # @param {type:"slider", min:0, max:9, step:1}
wrong = opened[readable & ~opened.correct].sure.nlargest(10).index[surest]
sure_there = opened.sure[wrong]
print("why:", opened.why[wrong], "| in the window:", opened.in_window[wrong])
window_map(wrong, "A mistake. The largest dashed ring is the guess.")

# %% [markdown]
# It is another Thursday. Another person worked until the afternoon, spent two hours at home, and leaves. The model gives a
# second shift at the architects' the probability {{ sure_there:.2f }}. But they explored: they went to eat where they had
# never been. The window does not show that place, so no attention could have been right.
#
# Yet this map looks as convincing as the first. **Change this**: set `surest` to 1, 2, … Could you have told from the map?
# We could not: in all ten mistakes, too, the guess is where the largest disc is. But how often is it there anyway?

# %%
at_disc = 100 * opened.groupby("correct").at_disc.mean()
print(f"the guess is at the largest disc: {at_disc[True]:.1f} % of hits,")
print(f"                                  {at_disc[False]:.1f} % of misses")

# %% [markdown]
# The guess is nearly always at the largest disc, so where that disc lies cannot warn. Can its size? Cut the readable windows
# into fifths, from those with the smallest largest disc to those with the largest.

# %%
tested = opened[readable].copy()
tested["fifth"] = pd.qcut(tested.disc, 5, labels=range(5)).astype(int)
correct = 100 * tested.groupby("fifth").correct.mean()
small_disc, large_disc = correct[0], correct[4]

# %% tags=["hide-input"]
# @title Figure 13.1: how often the guess is right, by the largest disc
fifths = [part for _, part in tested.groupby("fifth")]
ends = [
    percentile_interval(resampled_means([100 * f.correct], f.user_id))
    for f in fifths
]
low, high = np.array(ends).T
figure, axes = plt.subplots(figsize=(6.4, 2.6))
names = [f"{f.disc.min():.2f}–{f.disc.max():.2f}" for f in fifths]
look_of = {"color": COPIED, "ecolor": INK, "width": 0.6}
axes.bar(names, correct, yerr=[correct - low, high - correct], **look_of)
axes.set(xlabel="attention in the largest disc", ylabel="guess is right, %")
show(
    figure,
    alt="Five bars that rise from left to right, each with its interval. "
    "The last is nearly twice as high as the first.",
    caption="The readable windows in fifths, by the attention in their "
    "largest disc. The lines are 95 % intervals over people.",
)

# %% [markdown]
# **A large disc is weak evidence: the guess is right in {{ small_disc:.0f }} % of the windows with the smallest fifth of
# largest discs, in {{ large_disc:.0f }} % with the largest.** Even there the model is still wrong about every second time.
#
# ## Is attention an explanation?
#
# If attention explains a prediction, the visits with much attention are those that matter. Whether a visit matters can be
# tried out: take it out, let the model predict again from the rest, and see how far the probability of the true place moves.
# That is **occlusion**. (We watch the true place because training rewards its probability; exercise 3
# watches the place that the model chose.)


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


# %%
@torch.no_grad()
def occluded(i):
    """One row a visit: its attention, and what removing it does."""
    batch = test.batch([i])
    out, target = model(batch), batch.target[0]
    new = model(without_each(batch)).log_probs.exp()  # (L, V)
    change = new - out.log_probs.exp()  # for each removed visit
    table = pd.DataFrame({"attention": out.pointer_attention[0].numpy()})
    table["change"] = change[:, target].numpy()
    table["position"] = np.arange(len(table), 0, -1)
    # For exercises 3 and 5.
    table["favourite"] = change[:, out.log_probs[0].argmax()].numpy()
    table["hit"] = (batch.location[0] == target).numpy()
    return table.assign(window=i, gate=float(out.gate))


# %% [markdown]
# First, the window of the routine day. It goes back seven days from the Thursday of the last visit. Each visit has two bars:
# its attention, and the change when it is taken out. Below zero, the true place loses by that.

# %% tags=["hide-input"]
# @title Figure 13.2: attention, and what each visit's removal changes
visits = located(look(model, test, routine).visits, town)
one = occluded(routine)
top, asking = one.iloc[one.attention.argmax()], one.iloc[-1]
lost, lost_last = -top.change, -asking.change
start, end = (visits[t].dt.strftime for t in ("started_at", "finished_at"))
home_work = dict(zip(visits.name.iloc[-2:], ("home", "work"), strict=True))
places = visits.name.replace(home_work)
one.index = start("%a %H:%M–") + end("%H:%M, ") + places
pairs = one[["attention", "change"]]
pairs.columns = ["attention", "change of the true place's probability"]
ax = pairs.plot.barh(color=[COPIED, TRUTH], width=0.8, figsize=(7.2, 5.4))
ax.invert_yaxis()  # the oldest visit on top
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
ax.set(ylabel="")
show(
    ax.figure,
    alt="A pair of bars for each visit. The longest of attention is at a "
    "visit home; the longest change by far is that of the last visit, at "
    "work, which has hardly any attention.",
    caption="The routine day. Home is the true place. The last visit is at "
    "the bottom; it ends after midnight. Home twice in a row: they stepped "
    "out, or a day without records lies between.",
)

# %% [markdown]
# A night at home has the most attention, {{ top.attention:.2f }}. Without it, the true place loses only {{ lost:.2f }}: eight
# other visits to home are left, and they take over most of its share.
#
# The last visit, at work, has next to no attention, {{ asking.attention:.2f }}. Without it, the true place loses
# {{ lost_last:.2f }}. The sum alone cannot explain that. A visit to work adds nothing to home; if it only left the sum, the
# share of home would grow a little. Keep gate, generator and all other scores as they are, and take visit $i$ out of the sum:
#
# $$
# \text{change}_i = g \left( \frac{P_\text{ptr}(\ell^*) - a_i \, [\,l_i = \ell^*\,]}{1 - a_i} - P_\text{ptr}(\ell^*) \right),
# \tag{13.1}
# $$
#
# with $\ell^*$ the true place; the square bracket is 1 if visit $i$ was there, and 0 if not.


# %%
def by_sum(table):
    """Equation (13.1) for each visit of a window."""
    a, pointed = table.attention, (table.attention * table.hit).sum()
    return table.gate * ((pointed - a * table.hit) / (1 - a) - pointed)


summed = by_sum(one).iloc[-1]
print(f"the last visit: {summed:+.3f} by the sum, measured {-lost_last:+.2f}")

# %% [markdown]
# Does the last visit matter as much in other windows? Take 500 at random, of at least six visits, that hold the true place.
# Which visit matters most, by the size of the change, and is it the one with the most attention?

# %%
rng = np.random.default_rng(0)
eligible = np.flatnonzero((test.lengths >= 6) & test.in_window)
tables = [occluded(i) for i in rng.choice(eligible, 500, replace=False)]
removed = pd.concat(tables, ignore_index=True)
removed["size"] = removed.change.abs()

# %% [markdown]
# Each window has a row for its largest change, and one for its most attention. Are they the same?

# %%
most = removed.groupby("window")[["size", "attention"]].idxmax()
last = removed.position == 1
mover = last[most["size"]].to_numpy()  # the last matters most
agree = (most["size"] == most.attention).to_numpy()
moving, same = 100 * mover.mean(), 100 * agree.mean()


def percent(hits, which):
    """A share of some windows, with its 95 % interval over people."""
    mine, users = 100 * hits[which], test.users[most.index[which]]
    low, high = percentile_interval(resampled_means([mine], users))
    return f"{mine.mean():.0f} % [{low:.0f}, {high:.0f}]"


# %%
every, other = np.full(len(most), True), ~mover
print("the last visit matters most:", percent(mover, every))
print("what matters most has most attention:", percent(agree, every))
print("  where that is the last visit:", percent(agree, mover))
print("  where it is another one:", percent(agree, other))
one_in = 1 / removed.groupby("window").size().to_numpy()
lot = 100 * one_in[other].mean()
print(f"  there, a visit picked at random matters most: {lot:.0f} %")

# %% [markdown]
# In brackets stand 95 % intervals over people. **In {{ moving:.0f }} % of the windows the last visit matters most, and
# attention hardly ever shows it.** Where another visit matters most, attention shows it half of the time, far more often than
# a visit picked at random.
#
# Why the last? It has two roles. It can be copied, as any visit. And its vector is the **context**: it says where the person
# is and what time it is now; it asks the pointer's question, drives the generator, and sets the gate. Without the last visit,
# the routine day is another question: it is Thursday morning, and the person leaves home.
#
# Which role matters? In 300 windows, remove the whole last visit, then only its context, then only its copy. Without its
# context, the visit before it asks, encoded in a window that ends with it; the pointer may still copy the last visit, by the
# vector that it had. Without its copy, the last visit asks as before, but the pointer cannot point at it.
#
# So the model is taken apart into what is looked at, the encoded visits, and what asks, the context:


# %%
@torch.no_grad()
def parts_of(batch):
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
    rows = torch.arange(len(batch))
    return encoded, encoded[rows, batch.length - 1]  # (B, D)


# %% [markdown]
# Any context may ask any encoded visits. This is the probability that the true place gets:


# %%
@torch.no_grad()
def answer(context, encoded, batch):
    a = model.pointer(context, encoded, batch).exp()  # (B, L)
    copied = torch.zeros(len(batch), model.config.n_locations)
    copied = copied.scatter_add(1, batch.location, a)  # (B, V)
    g = model.gate(context).sigmoid()  # (B, 1)
    p = g * copied + (1 - g) * model.generator(context).softmax(-1)
    return p.gather(1, batch.target[:, None]).squeeze(1)


# %% [markdown]
# `short` holds the same windows without their last visit, with days counted back from the visit before it:

# %%
full = test.batch(rng.choice(eligible, 300, replace=False))
new_last = full.days_ago.gather(1, (full.length - 2)[:, None])
ago = (full.days_ago - new_last).clamp(min=0)
short = replace(full, length=full.length - 1, days_ago=ago)
keys_full, asks_full = parts_of(full)
keys_short, asks_short = parts_of(short)

# %%
before = answer(asks_full, keys_full, full)
changes = {
    "whole visit removed": answer(asks_short, keys_short, short),
    "only its context removed": answer(asks_short, keys_full, full),
    "only its copy removed": answer(asks_full, keys_short, short),
}
moved = {k: float((v - before).abs().mean()) for k, v in changes.items()}
moved = pd.Series(moved, name="mean size of the change")
moved.rename_axis("of the last visit").round(3).to_frame()

# %% [markdown]
# Removing the context alone moves the true place's probability as far as removing the whole visit. Removing the copy alone
# moves it about a quarter as far. So the effect comes through the context. Attention describes the answers to one question. It
# cannot say what those to another would be.
#
# > **Note.** Is attention an explanation? [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) say no: quite different
# > weights can give the same prediction. [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) object: those weights
# > did not come from training the model, and one explanation need not be the only one.
#
# ## What to remember
#
# - Draw what was used, and test it: rebuild the probability from the drawn parts.
# - Choose examples by rule. A confident mistake can look as convincing as a hit, and a large disc is weak evidence.
# - Attention is the arithmetic of one sum, and explains it. Take something away, and the sum is another one: the visit that
#   matters most has the most attention in only {{ same:.0f }} % of the windows.
# - In {{ moving:.0f }} % the last visit matters most. It works through the context, and attention cannot show that.
#
# What maps and their libraries do with times, texts and gaps:
# [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html).
#
# ## Exercises
#
# **Exercise 1** (medium). The kernel of [chapter 4](04_baselines.ipynb) uses a *cue*, a fact from which to guess: visits at
# this hour of the day count more. Has the pointer found it? Take the test windows that hold the true place, and in them the
# earlier visits that began within an hour of *now*, the time of day at which the last visit ended. How much attention do they
# get, on average? Multiply it by the number of visits $L$, so that 1 is an equal share. For comparison: give all attention to
# the visits to the true place, in equal parts. What do the same earlier visits get now? (`test.subset(test.in_window)` keeps
# the windows that hold the true place. `pgt.visits.around_the_clock` gives the minutes between `b.start_minute`, (B, L), and
# `b.now_minute[:, None]` of a batch `b`; `b.position_from_end` is 1 at the last visit, which is not an earlier one.)

# %% tags=["try"]
looked_at, would_be = ..., ...  # 1 is an equal share
check.exercise("13.1", [looked_at, would_be])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
from pgt.visits import around_the_clock

found = {"attention": [], "answers": []}
for b in test.subset(test.in_window).batches(512):
    apart = around_the_clock(b.start_minute, b.now_minute[:, None])  # (B, L)
    cue = ~b.padding & (b.position_from_end > 1) & (apart < 60)
    with torch.no_grad():
        attention = model(b).pointer_attention
    hit = (b.location == b.target[:, None]) & ~b.padding
    answers = hit / hit.sum(1, keepdim=True)
    for name, share in (("attention", attention), ("answers", answers)):
        found[name].append((share * b.length[:, None])[cue])
mean = {name: float(torch.cat(parts).mean()) for name, parts in found.items()}
check.exercise("13.1", [*mean.values()])
pd.DataFrame(mean, ["earlier, at this hour"]).round(2)
# Perfect attention would give these visits 1.3 times an equal share, for the
# answer is there more often. The pointer gives them 1.0: it does not use
# the cue.

# %% [markdown]
# **Exercise 2** (medium). Take the 200 windows of which the model was surest. Do they come from many people, or from a few?
# How sure is it there, on average, and how often is it right, both in percent?

# %% tags=["try"]
sure, right = ..., ...  # percent
check.exercise("13.2", [sure, right])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
surest = opened.nlargest(200, "sure")
each = surest.groupby("user_id").agg(
    answers=("sure", "size"), sure=("sure", "mean"), right=("correct", "mean")
)
over = (each.sure > each.right).sum()
means = 100 * surest[["sure", "correct"]].astype(float).mean()
check.exercise("13.2", means)
print(f"sure {means.sure:.0f} %, right {means.correct:.0f} %")
print(f"too sure about {over} of {len(each)} people")
each.nlargest(5, "answers").round(2).rename_axis("person")
# Five people give half of these windows. Over all windows the model is right
# as often as it is sure; not among these.

# %% [markdown]
# **Exercise 3** (quick). A picture of attention should explain what the model *chose*. The column `favourite` of `removed`
# holds the change for the likeliest place. In what percentage of the windows does the last visit change it most? And in
# what percentage the visit with most attention?

# %% tags=["try"]
last_visit, most_attention = ..., ...
check.exercise("13.3", [last_visit, most_attention])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
size = removed.favourite.abs()
moves = size.groupby(removed.window).idxmax()  # a row of `removed` a window
by_last = 100 * last[moves].mean()
print(f"the last visit: {by_last:.0f} % of windows")
shown = 100 * (moves == most.attention).mean()
print(f"what matters most has most attention: {shown:.0f} %")
check.exercise("13.3", [by_last, shown])
# The picture is nearly the same: mostly the last visit, and attention does
# not show it.

# %% [markdown]
# **Exercise 4** (medium). Where does attention go, and where do people go? The function `flows` sorts the windows that hold the
# true place by the district of the last visit (`here`), and adds up the attention on each district (`there`) and the answers in
# it, both in percent of all these windows. Take the rows that stay in a district. By how many points is `attention` larger than
# `answers`, in the district where the two differ most? Draw all differences with `pgt.maps.flow_map`, if you like.

# %% tags=["try"]
from wherenext.flows import flows

table = flows(model, test, town.places.set_index("location_id").district)
largest = ...  # points, attention minus answers
check.exercise("13.4", largest)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
from wherenext.ground import districts

from pgt.maps import flow_map

table["difference"] = table.attention - table.answers
within = table[table.here == table.there]
largest = within.difference[within.difference.abs().idxmax()]
check.exercise("13.4", largest)
print(f"{largest:+.2f} points in one district")
names = [f for f in below["features"] if f["geometry"]["type"] == "Point"]
flow_map(
    table[["here", "there", "difference"]],
    districts(town.base),
    largest=12,
    ground={"type": "FeatureCollection", "features": names},
    alt="Map of flows between districts: where the pointer looks more often "
    "than people go, and where less",
    caption="Attention minus answers, in percent of the windows.",
)
# The largest discs are solid: the pointer looks at the district where the
# person already is more often than people stay there, if not in each of them.

# %% [markdown]
# **Exercise 5** (medium, on paper). "Much attention, much effect" is the **naive reading**. The **arithmetic reading** is
# equation (13.1). Three visits have attention 0.3, 0.2 and 0.5. The first two are to the true place, the third is elsewhere,
# and the gate is 0.8. By how much does the probability of the true place change without the first visit? And without the third?

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
# way. And in the 500 windows, the last visits aside? Put the visits of each
# window in order: by attention (naive), by the size of (13.1) (arithmetic),
# by the size of the measured change. Do the orders agree? 1 is the same
# order, 0 no relation.
ranks = []
for w in tables:
    readings = {"naive": w.attention, "arithmetic": by_sum(w)}
    readings["truth"] = w.change
    sizes = pd.DataFrame(readings).abs()[w.position > 1]
    ranks.append(sizes.corr("spearman")["truth"].drop("truth"))
ranks = pd.DataFrame(ranks).mean().round(2)
ranks.to_frame("rank correlation with the measured change")
# Both are poor guides, and the arithmetic is hardly the better one: every
# visit left is encoded anew, so that gate and scores change, too.

# %% [markdown]
# **Next:** [Ablations](14_ablations.ipynb), where parts are taken out of the model, not visits out of the window.
