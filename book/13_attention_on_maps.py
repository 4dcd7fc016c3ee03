# %% [markdown]
# # Attention on maps
#
# A picture of attention can be true to the model and still explain nothing.
#
# *You will be able to* put any prediction of the model on a map, prove that the map shows what the model used, and say
# when attention explains a prediction. *You need* [The pointer](07_pointer.ipynb), [The generator and the
# gate](08_generator_and_gate.ipynb) and [Training](10_training.ipynb). *It takes* a quarter of an hour to read and about half
# a minute to run, with or without a GPU.
#
# > **In one sentence.** With gate and generator, attention says exactly how a probability was added up; it does not say what
# > would have changed it: only in {{ same:.0f }} % of the tested windows does the visit that matters most have the most
# > attention.

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
# Attention weights add up to one, and they sit on things we know: here, on places of a town. It is tempting to read a
# picture of them as "the model chose this place *because of* that visit". We draw the pictures, and then test
# that reading.

# %%
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import torch
from scipy.stats import entropy, spearmanr
from wherenext import city
from wherenext.exercises import check
from wherenext.flows import flows
from wherenext.ground import districts, ground, located
from wherenext.window_features import gates

from pgt.checkpoint import load_model, shipped
from pgt.look import look
from pgt.maps import attention_map, flow_map, week_map
from pgt.visits import around_the_clock
from pgt.windows import prepare

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
# One table holds, for every test window, the probability of the model's favourite place (`sure`), and whether that place
# was right (`correct`); besides, the number of visits (`length`) and of different places per visit (`unique_share`). The
# town also tells *why* the person really went where they went: by *routine* (home, work or school, because of the hour), as
# a *return* (a free choice among places they know), or to *explore*.

# %%
opened = gates(model, test)  # one row a window
opened["why"] = test.visits.why.iloc[test.target].to_numpy()
opened["sure"] = 0.0
with torch.no_grad():
    for batch in test.batches(512):
        best = model(batch).log_probs.max(1).values.exp()  # (B,)
        opened.loc[batch.index, "sure"] = best.numpy()
opened[["sure", "correct", "why"]].head(3).round(2)

# %% [markdown]
# ## First story: a routine day
#
# A picture of one window proves nothing if it was picked by hand, and little if a rule picked it. So let a rule pick it. Call
# a window *readable* if it has 8 to 20 visits to at least five different places. Among readable windows whose next visit was
# routine and predicted right, take the one of which the model was surest.

# %%
different = (opened.length * opened.unique_share).round()
readable = opened.length.between(8, 20) & (different >= 5)
right = readable & opened.correct & (opened.why == "routine")
routine = opened[right].sure.idxmax()
sure_here = opened.sure[routine]


# %%
def window_map(i, caption):
    """One window on the map: attention, answers and the truth."""
    seen = look(model, test, i)  # one forward pass, opened
    return attention_map(
        located(seen.visits, town),
        guesses=located(seen.candidates.head(5), town),
        truth=located(seen.target, town),
        ground=below,
        caption=caption,
    )


window_map(routine, "A routine day: attention, guesses, and the truth.")

# %% [markdown]
# A disc adds up the attention $a_i$ on all visits to its place, which makes $P_\text{ptr}$ (equation (7.4)). The bent blue
# lines lead from the last visit, the black dot, to the discs. The person left work just after midnight. Most of the
# attention is on home. The model gives it the probability {{ sure_here:.2f }}, and home it was.
#
# ## Was the drawn attention used?
#
# A common mistake: the picture comes from a second pass that forgot a mask, or shows a head of the encoder, whose weights
# do not enter the sum of an answer. So take the gate and the discs *as drawn*, mix them with the generator as in equation
# (8.4), and compare with the probability that the model returned.

# %%
worst = 0.0
for i in np.random.default_rng(0).choice(len(test), 200, replace=False):
    drawn = look(model, test, i)
    likely = drawn.candidates.set_index("location_id")  # ten places
    discs = drawn.visits.groupby("location_id").attention.sum()
    copied = drawn.gate * discs.reindex(likely.index).fillna(0)
    rebuilt = copied + likely.generated
    worst = max(worst, (rebuilt - likely.probability).abs().max())
print(f"200 windows, ten places each: the largest difference is {worst:.0e}")

# %% [markdown]
# So the pictures are faithful *to the arithmetic*. Whether they *explain* is another question.
#
# ## A week, step by step
#
# Here is the week around the first story. Small grey dots are the places on the map. It opens at the first moment; move the
# slider to see what the pointer looks at, the likeliest place, and where the person went.


# %% tags=["hide-input"]
# @title Function: the marks of one window
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
week_map(
    located(pd.concat([moment(i) for i in week]), town),
    ground=below,
    alt="Map of a week of predictions with a slider over time",
    caption="One person's week, with the first story in its middle.",
)

# %% [markdown]
# The model guessed {{ n_right }} of these {{ n_moments }} moments right. Go through them: do the misses look different from
# the hits?
#
# ## Second story: a confident mistake
#
# Of all wrong answers in readable windows, take the one of which the model was surest.

# %%
surest = 0  # @param {type:"slider", min:0, max:9, step:1}
wrong = opened[readable & ~opened.correct].sure.nlargest(10).index[surest]
sure_there = opened.sure[wrong]
window_map(wrong, "A confident mistake. The largest ring is the guess.")

# %% [markdown]
# The model gave its guess {{ sure_there:.2f }}, and the person went elsewhere. Yet this map looks as convincing as that of the
# routine day. **A plausible picture of attention is no evidence that the answer is right.** Set `surest` to 1, 2, … for the next
# mistakes: could you have told from the map?
#
# ## Does the pointer look where the answers are?
#
# Take all test windows that hold the true place. Each visit has its attention $a_i$. It also has its share of the *answer*: if
# three visits of a window are to the place that came next, each has a third, and the other visits have 0. Divide both by
# $1/L$, the share that all visits would have if they were equal. The result is a **lift**: 1 is no preference, 2 is twice the
# equal share.
#
# We look at three cues: the last visit; the visit before it; and any earlier visit that began within an hour of *now*, the
# time of day at which the last visit ended (it may also be the visit before). A cue is *unused* if the answers have a lift
# there and attention does not follow.


# %% tags=["hide-input"]
# @title facts(batch): a row a visit, with its position and two lifts
@torch.no_grad()
def facts(b):
    """What the visits of a batch are like, and their lifts: rows."""
    apart = around_the_clock(b.start_minute, b.now_minute[:, None])  # (B, L)
    hit = (b.location == b.target[:, None]) & ~b.padding
    answer = hit / hit.sum(1, keepdim=True).clamp(min=1)
    found = {
        "attention": model(b).pointer_attention * b.length[:, None],  # lift
        "answers": answer * b.length[:, None],  # lift
        "position": b.position_from_end,
        "same hour": apart < 60,
    }
    used = ~b.padding & hit.any(1, keepdim=True)  # holds the true place
    return pd.DataFrame({name: v[used].numpy() for name, v in found.items()})


# %%
batches = test.batches(512, max_len=model.config.max_len)
every = pd.concat([facts(batch) for batch in batches])  # lifts, by visit
cues = {
    "the last visit": every.position == 1,
    "the visit before it": every.position == 2,
    "earlier, at this hour": (every.position > 1) & every["same hour"],
}
lift = {cue: every[which].mean() for cue, which in cues.items()}
lift = pd.DataFrame(lift).T[["attention", "answers"]].round(2)
lift.rename_axis("lift of", axis=1)

# %% [markdown]
# The pointer has learned that people seldom stay, if not quite how seldom, and that they go back where they came from,
# which it overdoes a little. (These are test windows, each counts alike, and the answer is dealt out evenly; in [chapter
# 12](12_position_bias.ipynb) attention and answers agreed on training windows, weighted by $r$, with the answer dealt out
# by attention.) The third cue lies unused: the answers prefer visits at this hour of the day, and attention does not.
#
# ## Is attention an explanation?
#
# The test is **occlusion**, in 500 random windows of at least six visits that hold the true place: remove one visit, run the
# model again, and see how far the probability of the true place moves. If attention explains, the visits with much attention
# are those that matter.


# %% tags=["hide-input"]
# @title without_each(batch): a window without each of its visits
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


# %% [markdown]
# Two readings foretell how large the change is:
#
# - the **naive reading**: it follows the attention $a_i$;
# - the **arithmetic reading**: keep gate, generator and all other scores as they are, and take visit $i$ out of the sum,
#
# $$
# \text{change}_i = g \left( \frac{P_\text{ptr}(\ell^*) - a_i \, [\,l_i = \ell^*\,]}{1 - a_i} - P_\text{ptr}(\ell^*) \right),
# \tag{13.1}
# $$
#
# with $\ell^*$ the true place; the square bracket is 1 if visit $i$ was there, and 0 if not. (A visit elsewhere leaves its weight
# to the others: the true place gains.)


# %%
@torch.no_grad()
def occluded(i):
    """One row a visit: its attention, and what removing it does."""
    batch = test.batch([i])
    out, target = model(batch), batch.target[0]
    a, g = out.pointer_attention[0].numpy(), float(out.gate[0])  # (L,), ()
    hit = (batch.location[0] == target).numpy()  # (L,)
    pointed = a[hit].sum()
    new = model(without_each(batch)).log_probs[:, target].exp()  # (L,)
    table = pd.DataFrame({"attention": a})
    table["arithmetic"] = g * ((pointed - a * hit) / (1 - a) - pointed)
    table["change"] = (new - out.log_probs[0, target].exp()).numpy()
    return table.assign(window=i, position=np.arange(len(a), 0, -1))


rng = np.random.default_rng(0)
eligible = np.flatnonzero((test.lengths >= 6) & test.in_window)
tables = [occluded(i) for i in rng.choice(eligible, 500, replace=False)]

# %% [markdown]
# In each window, rank the visits by a reading and by the size of the change that really happened, and correlate the ranks: 1 is
# the same order. The last visit is left aside for now.

# %%
ranks = []
for w in (table[table.position > 1] for table in tables):
    change = w.change.abs()
    pairs = {"naive": w.attention, "arithmetic": w.arithmetic.abs()}
    found = {k: spearmanr(v, change).statistic for k, v in pairs.items()}
    ranks.append(found)
pd.DataFrame(ranks).mean().round(2).to_frame("rank correlation")

# %% [markdown]
# "Much attention, much effect" is a poor guide, and the model's own arithmetic is hardly a better one. It keeps the gate and all
# other scores as they are. Without the visit they change, too: every visit is encoded anew.
#
# And the last visit?

# %%
removed = pd.concat(tables, ignore_index=True)
removed["size"] = removed.change.abs()
most = removed.groupby("window")[["size", "attention"]].idxmax()
last = removed.position == 1
mover = last[most["size"]].to_numpy()  # the last moves most
agree = (most["size"] == most.attention).to_numpy()
moving, same = 100 * mover.mean(), 100 * agree.mean()
print(f"the last visit moves the prediction most: {moving:.0f} % of windows")
print(f"what moves most has most attention: in {same:.0f} % of windows")
print(f"  where that is the last visit: {100 * agree[mover].mean():.0f} %")
print(f"  where it is another one: {100 * agree[~mover].mean():.0f} %")
lot = 100 * (1 / removed.groupby("window").size()).mean()
print(f"a visit drawn by lot would be the one in {lot:.0f} %")

# %% [markdown]
# **Attention shows the visit that matters most in half of the windows in which that is not the last visit, and hardly ever where it
# is the last.** The last
# visit's vector is the context: it asks the pointer's question, drives the generator, and sets the gate. If it is removed,
# another visit asks (exercise 3). Attention describes the answers to one question. It cannot say what the answers to another
# question would be.
#
# > **Note.** [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) and
# > [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) disagree about whether attention is an explanation. For this
# > model it depends on the question. "How was this probability added up?" The map answers exactly. "What would have
# > changed it?" Remove something and look.
#
# ## What to remember
#
# - Draw what was used, and test it: rebuild the probability from the drawn parts.
# - Choose examples by rule. A confident mistake looks as convincing as a hit.
# - Attention is the arithmetic of one sum (per place, times the gate). Take something away, and the sum is another one.
# - The last visit works through the question it asks, and attention cannot show that.
#
# ## Exercises
#
# **Exercise 1** (quick). How many visits does the pointer look at *effectively*? Take $e^{\text{entropy}}$, with the
# entropy of the $a_i$ in nats, as a share
# of the visits of each window in `removed`.


# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
weights = removed.groupby("window").attention
share = weights.agg(lambda a: np.exp(entropy(a)) / len(a))
share.describe()[["mean", "min", "max"]].round(2).to_frame("share")
# Near 1 the pointer mostly counts; near 1 / L it points.

# %% [markdown]
# **Exercise 2** (medium). Take the 200 windows of which the model was surest. Do they come from many people, or from a few? Is
# the model right as often as it is sure?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
surest = opened.nlargest(200, "sure")
each = surest.groupby("user_id").agg(
    answers=("sure", "size"), sure=("sure", "mean"), right=("correct", "mean")
)
over = (each.sure > each.right).sum()
print(f"sure {surest.sure.mean():.2f}, right {surest.correct.mean():.2f}")
print(f"too sure about {over} of {len(each)} people")
each.nlargest(5, "answers").round(2).rename_axis("person")
# Over all windows it is right as often as it is sure; not among these.

# %% [markdown]
# **Exercise 3** (longer). Separate the two ways in which the last visit acts. Take the *context* from the full window and the
# visits to point at from the window without its last visit, and the other way round. Which of the two moves the prediction?


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
changes = {
    "another visit asks": answer(asks_short, keys_full, full),
    "the last visit cannot be copied": answer(asks_full, keys_short, short),
    "both": answer(asks_short, keys_short, short),
}
moved = {k: float((v - before).abs().mean()) for k, v in changes.items()}
pd.Series(moved, name="mean size of the change").round(3).to_frame()
# Compare the first two rows: who asks, or who may answer?

# %% [markdown]
# **Exercise 4** (medium). All windows at once: from the district of the last visit, `flows` of `wherenext.flows` adds up where
# attention goes and where people go. Draw the difference with `pgt.maps.flow_map`. Where are the largest discs, and what do
# they say?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
table = flows(model, test, town.places.set_index("location_id").district)
table["difference"] = table.attention - table.answers
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
# person already is more often than people stay there.

# %% [markdown]
# **Exercise 5** (quick, on paper). A window has three visits with attention 0.3, 0.2 and 0.5. The first two are to the true
# place, the third is elsewhere, and the gate is 0.8. By how much does the probability of the true place change, by equation
# (13.1), if the first visit is taken out? And if the third is?

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
