# %% [markdown]
# # Playground
#
# What does the model do if you take somebody's favourite place away?
#
# *You will be able to* ask the trained model what-if questions by hand, let the model trained on nobody read your own
# visits, and tell what a model uses from what it could do without. *You need* [The pointer](07_pointer.ipynb) and
# [The generator and the gate](08_generator_and_gate.ipynb); for the second half also
# [Ablations](14_ablations.ipynb) and [Trained on nobody](24_trained_on_nobody.ipynb). *It takes* as long as you like to play,
# ten minutes to read and about twenty seconds to run.
#
# > **In one sentence.** Switching off the trained model's pointer costs {{ silenced:.0f }} of {{ right:.0f }} points;
# > training without a pointer costs {{ untrained:.0f }}: a switch shows what *this* model uses, not what a model of its kind
# > can do without.

# %% tags=["hide-input"]
# @title Setup: install the package (Colab)
try:
    import pgt
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip",
        "install -q "
        "https://github.com/where-next-book/where-next/archive/main.zip",
    )

# %% [markdown]
# Below is the whole model of this book, trained on the simulated town. It runs in this page, and nothing that you do leaves
# your machine. Choose a person and a moment. Delete a visit (✕), or change its day, hour, duration and order (✎). Click a
# place on the map to make it the latest visit, or the arrow before a guess to go there. A thin line on the bars keeps what the
# model said before your changes.
#
# What you see, and where the book builds it:
#
# | you see | it is | built in |
# |---|---|---|
# | blue discs and bars | pointer attention, on the map added up per place | [chapter 7](07_pointer.ipynb) |
# | dots and sticks | the two parts of a visit's score: content (dots) and position bias (sticks, nearly zero) | [chapter 12](12_position_bias.ipynb) |
# | the gate's bar | the share of all probability that is copied | [chapter 8](08_generator_and_gate.ipynb) |
# | rings and the ten likeliest | the mixture: solid is copied, dashed or striped generated | [chapter 8](08_generator_and_gate.ipynb) |
# | switches | the parts that the ablations take out, and the position bias | [chapter 14](14_ablations.ipynb) |

# %%
from wherenext.exercises import check
from wherenext.live import playground

playground()

# %% [markdown]
# ## Five things to try
#
# The first is worked out, for the moment with which the page opens.
#
# 1. **Take the favourite away.** The first guess is {{ guess }}, with {{ p_before:.2f}}. The gate stands at
#    {{ gate_before:.2f}}.
#    - *Click* ✕ at its visits, no. {{ visits_there }} (no. 1 is the latest), the highest first: after each the list counts
#      anew.
#    - *See.* The favourite falls to less than a thousandth. {{ other }}, where the person is now, takes the lead with {{ p_other:.2f}}. The gate moves
#      little, to {{ gate_after:.2f}}. (The visits that are left are encoded anew, so their shares change, too.)
#    - *It means:* the guess lived on copies. The generator hardly names this place, and the gate does not make up for it.
# 2. **Another hour.** Let the last visit begin just before midnight: at 23:53, in the last quarter of an hour. Which visits
#    gain attention?
# 3. **Another person.** Switch off "who it is", or choose "somebody new" in the list of persons. Does the first guess
#    change?
# 4. **No order.** Swap visits no. 7 and 8 (✎): places change seats, hours and durations stay. How far do the guesses move?
#    Undo, switch off "position from the end", "sinusoids", "days ago" and "position bias", and swap again. Do they move less?
# 5. **A day of your own.** "Compose a day", then click the places of a morning. Watch the gate with each click. Then let the
#    model go on: click the arrow before its first guess again and again.
#
# <details class="solution"><summary>What we saw with 2 to 5</summary>
#
# In the same moment:
#
# - *2.* {{ gains_most }} gains most, but its share of the attention rises by only {{ most_gained:.2f}}.
# - *3.* The first guess stays the same: for it, the window says enough about the person.
# - *4.* Yes: the first guess's probability moves by {{ ordered:.2f }}, and without order by {{ unordered:.2f }}. Then the
#   model sees only that two places have exchanged their hours and durations.
# - *5.* It soon stays with one place of that morning, or goes back and forth between two: what it copied is in the window, to
#   be copied again.
#
# </details>

# %% tags=["hide-cell"] cellView="form" mystnb={"code_prompt_show": "Show how we measured", "code_prompt_hide": "Hide how we measured"}
# @title How we measured 1 to 4; `model`, `test`, `town` and `without_visit`
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import display
from wherenext import city
from wherenext.walkthrough import story
from wherenext.weights_json import pack, switch_off, unpack

from pgt.checkpoint import load_model, shipped
from pgt.windows import prepare

model, vocabulary = load_model(shipped("city"))
town = city.load()
test = prepare(town.visits, vocabulary=vocabulary).test
name_of = town.places.set_index("location_id").name


def without_visit(batch, i):
    """A batch of one window, without its visit i; days count anew."""
    keep = [j for j in range(int(batch.length[0])) if j != i]
    columns = {f.name: getattr(batch, f.name) for f in fields(batch)}
    cut = {k: x[:, keep] for k, x in columns.items() if x.ndim == 2}
    cut["days_ago"] = cut["days_ago"] - cut["days_ago"][:, -1:]
    return replace(batch, length=batch.length - 1, **cut)


@torch.no_grad()
def answer(batch, using=model):
    """First guess, its probability, the gate, the favourite's."""
    out = using(batch)
    probability = out.log_probs[0].exp()
    guess = int(probability.argmax())
    return {
        "first guess": name_of[vocabulary.decode(np.array([guess]))[0]],
        "probability": float(probability[guess]),
        "gate": float(out.gate[0]),
        "favourite": float(probability[first]),
    }


one = test.batch([story(test)])
with torch.no_grad():
    before = model(one)
first = int(before.log_probs.argmax())  # the favourite
away = one
while bool((away.location == first).any()):
    away = without_visit(away, int((away.location[0] == first).nonzero()[0]))
late = one.time.clone()
late[0, -1] = 96  # 23:53 is in the last quarter of an hour of the day
parts = ("position_from_end", "sinusoid", "recency", "position_bias")
blind = switch_off(model, parts)
order = torch.arange(int(one.length[0]))
# Two places change seats, no. 7 and 8 in the playground; times stay.
order[3], order[4] = 4, 3
swapped = replace(one, location=one.location[:, order])
saw = {
    "as it is": answer(one),
    "1 favourite away": answer(away),
    "2 last visit at 23:53": answer(replace(one, time=late)),
    "3 somebody new": answer(replace(one, user=torch.zeros_like(one.user))),
    "4 visits 7 and 8 swapped": answer(swapped),
    "4 no order": answer(one, blind),
    "4 no order, and swapped": answer(swapped, blind),
}
display(pd.DataFrame(saw).T.infer_objects().round(3))
guess, p_before, gate_before, _ = saw["as it is"].values()
other, p_other, gate_after, _ = saw["1 favourite away"].values()
with torch.no_grad():
    then = model(replace(one, time=late)).pointer_attention[0]
gain = (then - before.pointer_attention[0]).flip(0)  # no. 1 first
gains_most = f"No. {1 + int(gain.argmax())}"
most_gained = float(gain.max())
print(f"at 23:53 {gains_most} gains most attention: {most_gained:+.3f}")
swaps = pd.DataFrame(saw).loc["probability"].astype(float)
ordered = abs(swaps["4 visits 7 and 8 swapped"] - swaps["as it is"])
unordered = abs(swaps["4 no order, and swapped"] - swaps["4 no order"])
there = len(order) - (one.location[0] == first).nonzero()[:, 0]
visits_there = ", ".join(str(int(no)) for no in there)

# %% [markdown]
# ## Switching off is not training without
#
# In the playground, switch the pointer off: hardly anything is left of the prediction. But all other weights were trained
# *with* the pointer and rely on it. An ablation ([chapter 14](14_ablations.ipynb)) trains the model anew without the part.
# Here are both, part by part.
#
# - *Switched off*: the shipped model without the part. A feature's vectors become zero; the second layer is skipped. Without
#   pointer all is generated, without generator all is copied; without gate, half and half.
# - *Trained without*: models trained anew, means over five seeds.
#
# Both are changes of Acc@1 on the test windows: a minus means that the model is worse without the part. The other columns say
# how many first guesses the switch changes, and how many of them become right or wrong. (The rest go from one wrong place to
# another.)

# %%
from wherenext.results import read_results

from pgt.config import ABLATIONS


@torch.no_grad()
def guesses(some_model):
    """(W,) the first guess for every test window."""
    found = torch.zeros(len(test), dtype=torch.long)
    for batch in test.batches(512):
        found[batch.index] = some_model(batch).log_probs.argmax(1)
    return found.numpy()


def accuracy(found):
    return 100 * float(np.mean(found == test.targets))


def anew(variant):
    where = {"data": "city", "protocol": "exact", "variant": variant}
    return read_results("ablations").mean(**where)


# %% tags=["hide-input"]
# @title Table: switched off, or trained without
# The playground's words, where they are not the package's.
PAGE = {"user": "who it is", "time": "time of day", "recency": "days ago"}
PAGE |= {"sinusoid": "sinusoids", "one_layer": "second layer"}
PAGE["position_from_end"] = "position from the end"
whole, rows = guesses(model), {}
was = whole == test.targets
for variant, setting in ABLATIONS.items():
    if variant == "full":
        continue
    (part,) = setting.get("without", ("one_layer",))
    silent = guesses(switch_off(model, [part]))
    now = silent == test.targets
    rows[PAGE.get(part, part)] = {
        "switched off, points": accuracy(silent) - accuracy(whole),
        "trained without, points": anew(variant) - anew("full"),
        "changed, %": 100 * np.mean(silent != whole),
        "became right, %": 100 * np.mean(now & ~was),
        "became wrong, %": 100 * np.mean(was & ~now),
    }
table = pd.DataFrame(rows).T
right = accuracy(whole)
silenced, untrained, *_ = -table.loc["pointer"]
table.round(1) + 0.0  # no minus zeros

# %% [markdown]
# Silencing the pointer costs **{{ silenced:.0f }}** of {{ right:.0f }} points, training without it **{{ untrained:.0f }}**.
# The difference is probably what the generator never learned, because there was always a pointer to rely on. In the second
# column all other changes are too small to tell from chance ([chapter 14](14_ablations.ipynb)). Switching off the generator or
# the gate changes hardly any first guess, because what is generated is spread over so many places that a copied one leads
# anyway.
#
# Now look at *who it is*, *duration* and *sinusoids*. Their switches change many first guesses, but accuracy hardly moves:
# about as many become right as become wrong. The model uses these parts, and gains little by them. (We read nothing into a
# change of less than a point: it may be chance. The position bias has no row, since the ablations do not take it out.)
#
# ## A page for your own visits
#
# The playground's model knows one town, so it can say nothing about you. The model of [chapter 24](24_trained_on_nobody.ipynb)
# knows no place by name, and can read anybody's visits. The page below begins with a simulated person. Drop a file of your
# own on it, and it starts with you. The page sends nothing, and forgets the file when you close it.
#
# **Change this.** In a notebook you can also write the name of a file here. (On Colab the file must first be uploaded, so it
# leaves your machine.)

# %%
file = ""  # @param {type:"string"}

# %%
from wherenext.live_predictor import live

import pgt

own = pgt.read_visits(file) if file else None
live(pgt.NextLocation.pretrained(), own)

# %% [markdown]
# Move the slider: for every visit but the first the page shows what the model expected, and where the person went. "So
# far" counts how often it was right, beside a rule, "the most visited places", which names the place with the most visits
# among the latest hundred. (A person has few visits, so a small lead over the rule can be luck.) Then choose when the next
# visit begins, and watch the list change. Three things to know:
#
# - **A place where you have never been** has no name in the list. All of these together are "somewhere new".
# - **What a place is**, the model does not know: a school and a bar are two numbers to it. Nor does it know holidays, weather
#   or plans.
# - **The clock on your wall** may not be the file's. Times in UTC are converted to the zone of your browser. Visits made in
#   another zone come out shifted.
#
# ## A page without a server
#
# The playground is the model of [chapter 9](09_model.ipynb) once more, in JavaScript (`web/live.js`). Its weights travel
# inside the page as text: `pack` rounds each to twenty-four bits, and writes it as four letters (base64). Does the model still
# say the same?

# %%
packed = pack(model)
restored = load_model(shipped("city"))[0]
restored.load_state_dict(unpack(packed))
with torch.no_grad():
    batch = test.batch(np.arange(500))
    exact, rounded = (m(batch).log_probs.exp() for m in (model, restored))
print(f"{model.n_parameters():,} weights: {len(packed['data']):,} letters")
gap = (exact - rounded).abs().max()
print(f"largest difference of a probability: {gap:.0e}")

# %% [markdown]
# It does, nearly to float32's rounding. (That the page's program computes what PyTorch computes, a test asks in a browser.)
# With such a text inside, a page is one file, which opens by a double click:
#
# ```python
# live(pgt.NextLocation.pretrained()).save("live.html")        # a page for anybody's file
# live(pgt.NextLocation.pretrained(), own).save("mine.html")   # the same, with your visits in it
# playground().save("city.html")                               # the playground, as one file
# ```
#
# > **Pitfall.** A page that was made with visits in it holds them in plain text, with places and hours. So does the playground
# > of a model of your own (exercise 3). Before you send it to somebody, think about whose visits they are.
#
# ## What to remember
#
# - Take the favourite away, and the place where the person is takes the lead with {{ p_other:.2f}}; the gate moves from
#   {{ gate_before:.2f}} to {{ gate_after:.2f}}. It is an experiment on *this* model for *this* window.
# - Switching a part off shows what the trained model leans on; training without it shows what a model of its kind
#   can do without.
# - A model this small needs no server: a page computes it, with its weights as text.
#
# ## Exercises
#
# **Exercise 1** (medium). From the window with which the page opens (`one`), delete all visits, one at a time, with
# `without_visit(one, i)`. Put the change of the first guess's probability beside the attention that the visit had. Is the
# visit with the most attention the one that is missed most? And why is no. 1 missed?

# %% tags=["try"]
most_attention, most_missed = ..., ...  # numbers of visits, as on the page
check.exercise("27.1", [most_attention, most_missed])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
with torch.no_grad():  # `one`, `before` and `first`: the folded cell
    less = [without_visit(one, i) for i in range(int(one.length[0]))]
    after = [float(model(w).log_probs[0, first].exp()) for w in less]
effect = pd.DataFrame(
    {
        "attention": before.pointer_attention[0].numpy(),
        "to the first guess": (one.location[0] == first).numpy(),
        "change": np.array(after) - float(before.log_probs[0, first].exp()),
    },
    index=pd.RangeIndex(len(after), 0, -1, name="no."),  # as on the page
)
display(effect.round(3))
most = [effect.attention.idxmax(), effect.change.idxmin()]
check.exercise("27.1", most)
print("most attention: no. {}; most missed: no. {}".format(*most))
elsewhere = effect[~effect["to the first guess"]].change < 0
print("visits to other places without which the first guess loses:")
print(f"{elsewhere.sum()} of {len(elsewhere)}")

# %% [markdown]
# <details class="solution"><summary>Show solution 1: what it says</summary>
#
# No: attention is not effect. A visit elsewhere leaves its weight to the others when it goes, so the first guess should gain.
# Often it loses, because the other visits are encoded anew without it. No. 1 has little attention and is missed much: as the
# last visit it asks, and without it another one does.
#
# </details>
#
# **Exercise 2** (longer). How many bits does a weight need? Round all weights to 16, 8, 6, 5, 4 and 3 bits, and find out how
# many first guesses change. (Let the largest weight of each matrix be the largest number that the bits can say.) Which is the
# smallest of these that changes less than one guess in a hundred?

# %% tags=["try"]
bits = ...
check.exercise("27.2", bits)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
coarse = {}
for bits in (16, 8, 6, 5, 4, 3):
    rounded = {}
    for name, weight in model.state_dict().items():
        unit = weight.abs().max() / (2 ** (bits - 1) - 1)
        rounded[name] = (weight / unit).round() * unit
    restored.load_state_dict(rounded)
    found = guesses(restored)
    changed = 100 * np.mean(found != whole)
    coarse[bits] = {"guesses changed, %": changed, "Acc@1": accuracy(found)}
few = [b for b in coarse if coarse[b]["guesses changed, %"] < 1]
check.exercise("27.2", min(few))
pd.DataFrame(coarse).T.rename_axis("bits").round(2)

# %% [markdown]
# <details class="solution"><summary>Show solution 2: what it says</summary>
#
# Eight bits are enough for the first guess; the page keeps more so that every digit it shows is PyTorch's. With
# three bits many guesses change and accuracy does not: as many become right as wrong, as with the switches above.
#
# </details>
#
# **Exercise 3** (project). Make a live page of a town, or of a life, of your own: simulate or record, train, export.
# Then find a moment at which the model is wrong and sure, and use the page to say why.

# %% tags=["try"]
page = ...  # where your page lies: "town.html"
there = page if page is ... else Path(page).is_file()
check.same(there, True, name="a page of your own")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
RUN = False  # True simulates, trains (minutes) and writes town.html here
if RUN:
    from wherenext.live import build

    from pgt.config import CITY

    small = city.simulate("small", seed=11)
    data = pgt.prepare(small.visits, protocol="exact")
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    mine = pgt.PointerGeneratorTransformer(pgt.ModelConfig(*sizes))
    pgt.fit(mine, data.train, data.valid, CITY)
    build(mine.eval(), data.test, places=small.places).save("town.html")
print("open town.html" if RUN else "set RUN to True, and run the cell")

# %% [markdown]
# **This was the last chapter.** You began with a table of visits and a rule that counts. You have built a network that copies
# and generates, trained it, put its attention on maps, and taken it apart. On real people a rule of five numbers beat it, and
# a pointer of a few facts does at least as well as that rule. None of these models can say where somebody goes who goes
# somewhere new. If you find out how a model can foresee that, on people whom it has never met, you will have written the next
# chapter.
