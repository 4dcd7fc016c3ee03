# %% [markdown]
# # Playground
#
# *You will be able to* ask the trained model what-if questions by hand, read what it answers and from which of its
# parts, and take a model of your own out of Python into a page or another program. *You need*
# [The pointer](07_pointer.ipynb) and [The generator and the gate](08_generator_and_gate.ipynb). *It takes* as long as you like to play,
# ten minutes to read and about ten seconds to run; a GPU makes no difference.

# %% tags=["hide-input"]
try:
    import pgt  # noqa: F401
except ImportError:  # on Colab
    get_ipython().run_line_magic(  # noqa: F821
        "pip", "install -q https://github.com/where-next-book/where-next/archive/main.zip"
    )

# %% [markdown]
# Below is the whole model of this book, trained on the simulated town. It runs in the page that you are looking at: no
# server answers, and nothing that you do leaves your machine. Choose a person and a moment. Delete a visit (✕), or
# change its day, hour and duration (✎). Click a place on the map: it becomes the latest visit.

# %%
from pgt.viz.live import playground

playground()

# %% [markdown]
# ## Five things to try
#
# 1. **Take the favourite away.** Note the first guess and delete all visits to that place. Its copied part falls to zero
#    at once, for a pointer can only name what is in sight. Does the generated part come to the rescue? Does the gate notice?
# 2. **Another hour.** Let the last visit begin at 23:53 instead of 11:53. Which visits gain attention?
# 3. **Another person.** Switch off "who it is", or choose "somebody new": the same visits, read as those of a person
#    whom training has not seen.
# 4. **No order.** Switch off "position from the end", "sinusoids", "days ago" and "position bias", one after the other. Then swap
#    two visits. What is left that could tell the model which came first?
# 5. **A day of your own.** "Compose a day", then click the places of a morning. Watch the gate with each click.
#
# What we saw is folded away after exercise 2. A thin line on the bars keeps what the model said before your changes. "Share this state" gives a link that brings
# back exactly what you see; in a notebook, it gives a line of Python.
#
# | you see | it is | built in |
# |---|---|---|
# | blue discs on the map, bars in the list | pointer attention: one weight a visit, added up per place on the map | [chapter 7](07_pointer.ipynb) |
# | the gate's bar | the share of all probability that is copied; the rest is generated | [chapter 8](08_generator_and_gate.ipynb) |
# | dots and sticks | what the pointer adds up for each visit: content, and the bias of its position | [chapter 12](12_position_bias.ipynb) |
# | rings and the ten likeliest | the mixture, solid where it was copied, striped where generated | [chapter 8](08_generator_and_gate.ipynb) |
# | switches | the parts that the ablations take out | [chapter 14](14_ablations.ipynb) |
#
# ## Off is not without
#
# The switches invite a mistake. Switch the pointer off and look at the ten likeliest: hardly anything is left of the
# prediction. So the pointer matters that much? Careful. All other weights have been trained *with* it. They lean on it
# as one leans on a wall; take the wall away, and one falls, even though one could have learned to stand without
# it. An [ablation](14_ablations.ipynb) asks the other question: it trains the model anew without the part. Let us put both
# answers side by side, for every part and on all test windows.

# %%
import numpy as np
import pandas as pd
import torch

from pgt import city
from pgt.analysis.results import read_results
from pgt.checkpoint import load_model, shipped
from pgt.config import ABLATIONS
from pgt.exercises import check
from pgt.io.weights_json import pack, switch_off, unpack
from pgt.windows import prepare

torch.set_num_threads(1)
model, vocabulary = load_model(shipped("city"))
test = prepare(city.load().visits, vocabulary=vocabulary).test


@torch.no_grad()
def guesses(some_model):
    """(W,) the first guess for every test window."""
    found = torch.zeros(len(test), dtype=torch.long)
    for batch in test.batches(512):
        found[batch.index] = some_model(batch).log_probs.argmax(1)
    return found.numpy()


def accuracy(found):
    return 100 * float(np.mean(found == test.targets))


# %%
trained = read_results("ablations")
WHERE = {"data": "city", "protocol": "exact"}
whole = guesses(model)
rows = {}
for name, change in ABLATIONS.items():
    if name == "full":
        continue
    parts = change.get("without", ("one_layer",))  # the one row that changes the depth
    silent = guesses(switch_off(model, parts))
    rows[name.replace("_", " ")] = {
        "switched off": accuracy(silent) - accuracy(whole),
        "trained without": trained.mean(variant=name, **WHERE)
        - trained.mean(variant="full", **WHERE),
        "guesses that the switch changes, %": 100 * np.mean(silent != whole),
    }
change = pd.DataFrame(rows).T
change.round(1)

# %%
from matplotlib import pyplot as plt

from pgt.viz.figures import COPIED, GENERATED, MUTED, show

figure, axes = plt.subplots(figsize=(7.0, 4.2))
at = np.arange(len(change))
axes.axvline(0, color=MUTED, lw=1)
axes.hlines(at, change["switched off"], change["trained without"], color=MUTED, lw=1)
axes.plot(change["trained without"], at, "o", color=COPIED, label="trained without it (mean of five seeds)")
axes.plot(change["switched off"], at, "D", color=GENERATED, mfc="none", label="switched off afterwards")
axes.set_yticks(at, change.index)
axes.invert_yaxis()
axes.set_xscale("symlog", linthresh=1)
ticks = [-30, -10, -3, -1, 0, 1, 3]
axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
axes.minorticks_off()
axes.set_xlim(-70, 4)
axes.set_xlabel("change of Acc@1 on the test windows (points, logarithmic beyond 1)")
axes.legend(loc="lower left", fontsize=8)
off, anew = change["switched off"], change["trained without"]
show(figure,
     alt="Change of accuracy for eleven parts, switched off after training and trained without. The pointer: "
     f"{off['no pointer']:.0f} points switched off, {anew['no pointer']:.0f} trained without. All others: between "
     f"{min(off.drop('no pointer').min(), anew.drop('no pointer').min()):.1f} and "
     f"{max(off.drop('no pointer').max(), anew.drop('no pointer').max()):.1f}.",
     caption="The same parts, asked two questions. Dots: the model was trained without the part. "
     "Diamonds: it was trained with it, and the part was silenced afterwards.")

# %% tags=["hide-input"]
from IPython.display import Markdown, display

rest = change.drop(["no pointer", "no generator", "no gate"])
shaken = rest["guesses that the switch changes, %"].idxmax()
assert off["no pointer"] < 2 * anew["no pointer"] < 0
Markdown(
    f"Silencing the pointer costs **{-off['no pointer']:.0f} points**, training without it **{-anew['no pointer']:.0f}**. The "
    "difference is no property of the task: it is what the generator never learned, because there was always a pointer to rely on "
    "([chapter 8](08_generator_and_gate.ipynb) watches that happen). Switch the *generator* off instead, and "
    f"{change.loc['no generator', 'guesses that the switch changes, %']:.2f} % of the first guesses change: Acc@1 does not see it. The "
    "loss does, for then every place outside the window has probability zero. And look at the last column: the row *"
    f"{shaken}* changes **{rest.loc[shaken, 'guesses that the switch changes, %']:.0f} %** of the first guesses while accuracy moves by "
    f"{off[shaken]:+.1f} points. The model uses the part, and nearly as often to its harm as to its good."
)

# %% [markdown]
# Both are true answers to different questions. *What does this model use?* is answered by the switch. *What does the
# task need?* is answered by training anew. Papers that silence a part and call it an ablation answer the first and claim the second.
#
# ## How the page computes
#
# The page holds three scripts. The forward pass is the shortest of them, and it is the model of
# [chapter 9](09_model.ipynb) once more, one window at a time. No library is loaded. Here is how it ends:

# %% tags=["hide-input"]
from importlib import resources

script = resources.files("pgt.viz").joinpath("web", "live.js").read_text(encoding="utf-8")
lines = script.splitlines()


def function(name):
    """One function of the forward pass, as text."""
    first = next(i for i, line in enumerate(lines) if line.startswith(f"const {name} = "))
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("}"))
    return "```js\n" + "\n".join(lines[first : last + 1]) + "\n```"


Markdown(function("predict"))

# %% [markdown]
# And this is a matrix times a vector, where a forward pass spends nearly all of its time:

# %% tags=["hide-input"]
display(Markdown(function("linear")))
code = [line for line in lines if line.strip() and not line.strip().startswith("//")]
Markdown(f"The whole file has {len(code)} lines of code, without comments and empty lines.")

# %% [markdown]
# Two implementations of one model agree only if somebody checks. The tests of this project open the page in a real
# browser, let it predict 500 random test windows, and compare every probability, gate and attention weight with
# PyTorch's; they must agree to five decimals. Each switch is tested on twenty windows.
#
# > **Note.** You can check it yourself. Open the console of your browser and type
# > `document.querySelector(".pgt-live").live`. It has `predict`, the weights, and the window on show.
#
# ## Weights as text
#
# A page is text, and weights are bytes. `pack` turns each weight into a whole number of 24 bits, times a unit that its
# tensor's weights share, and the bytes into letters. Three bytes instead of four: is that still the same model?

# %%
packed = pack(model)
restored = load_model(shipped("city"))[0]
restored.load_state_dict(unpack(packed))
with torch.no_grad():
    batch = test.batch(np.arange(500))
    gap = (model(batch).log_probs.exp() - restored(batch).log_probs.exp()).abs().max()
print(f"{model.n_parameters():,} weights are {len(packed['data']) / 1e6:.2f} MB of text; "
      f"largest difference of a probability: {gap:.0e}")

# %% [markdown]
# A float32 keeps 24 binary digits as well. It spends its other byte on the exponent, which lets it hold huge and tiny numbers
# side by side. Weights of one tensor are all of much the same size and have no use for that.
#
# ## Take it with you
#
# ```
# python -m pgt export --html city.html                              this page, as one file
# python -m pgt export --model mine.safetensors --out mine.json      weights and vocabulary
# python -m pgt export --model mine.safetensors --visits mine.parquet --html mine.html
# python -m pgt export --model mine.safetensors --onnx mine.onnx     for onnxruntime and others
# ```
#
# The page opens from disk, by a double click. The last line needs `pip install onnx onnxscript onnxruntime`.
#
# > **Pitfall.** A page of your own model holds the visits of its test windows, with places and hours, in plain text. Before
# > you send it to somebody, think whose they are.
#
# [ONNX](https://onnx.ai/) is a format in which a network is a graph of standard operations, so that a phone or a server can run it without
# PyTorch. The exporter gets the graph by running the model once on an example and writing down what happens. That is where we
# met the next one.
#
# > **Pitfall.** Our first ONNX file passed on its example, two windows, and refused any other number of windows. The
# > model asks for `len(batch)`, and Python's `len` must return a plain integer: the tracer saw a 2 and took it for a
# > constant. An exported model proves nothing on the shapes of its example. Ours is tested on one window and on
# > sixty-four, on short ones and on long ones.
#
# ## Summary
#
# - A model this small needs no server: a forward pass of fewer than two hundred lines of JavaScript, and the weights as text.
# - Deleting a visit, moving an hour, changing the person: each is an experiment on *this* model for *this* window.
# - Switching a part off tells what the trained model leans on; training without it tells what the task needs.
# - Twenty-four bits a weight are as good as float32 when each tensor has its own unit.
# - A second implementation is worth as much as its test against the first.
#
# ## Exercises
#
# **Exercise 1** (quick). Where do the bytes of the page go? Compute from `packed["tensors"]` which share of all weights
# belongs to tables and matrices that have a row for each location; the shapes are in `[name]["shape"]`.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
sizes = {name: int(np.prod(about["shape"])) for name, about in packed["tensors"].items()}
by_place = [name for name, about in packed["tensors"].items()
            if about["shape"][0] == vocabulary.n_locations]
share = sum(sizes[name] for name in by_place) / sum(sizes.values())
check.same(sum(sizes.values()), model.n_parameters(), name="all weights")
print(f"{by_place}: {share:.0%}")
# What grows with the town is about three quarters of it; the Transformer itself is the smaller part.

# %% [markdown]
# **Exercise 2** (medium). In the playground one deletes a visit and looks at the top of the list. Do it for all visits of
# the story window (`pgt.look.story(test)`), and put the change of the first guess's probability beside the attention that the visit had. Is the
# visit with the most attention the one whose loss hurts most?

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
from dataclasses import fields, replace

from pgt.look import story


def without_visit(batch, i):
    """A batch of one window, without its visit i; days are counted from the new last visit."""
    keep = [j for j in range(int(batch.length[0])) if j != i]
    cut = {f.name: getattr(batch, f.name)[:, keep] for f in fields(batch)
           if getattr(batch, f.name).ndim == 2}
    cut["days_ago"] = cut["days_ago"] - cut["days_ago"][:, -1:]
    return replace(batch, length=batch.length - 1, **cut)


one = test.batch([story(test)])
with torch.no_grad():
    before = model(one)
    first = before.log_probs.argmax(1)
    table = pd.DataFrame({
        "attention": before.pointer_attention[0].numpy(),
        "to the first guess": (one.location[0] == first).numpy(),
        "change of its probability": [
            float((model(without_visit(one, i)).log_probs.exp() - before.log_probs.exp())[0, first])
            for i in range(int(one.length[0]))
        ],
    })
display(table.round(3))
most, dearest = table.attention.idxmax(), table["change of its probability"].idxmin()
largest = table["change of its probability"].abs().idxmax()
print(f"most attention: visit {most}; dearest to lose: visit {dearest}; largest change: visit {largest}")
# Attention is not effect. A visit to the first guess takes its own weight along; a visit elsewhere leaves more
# weight to the others when it goes; and the last visit is also the one that asks, so without it the query is another.

# %% [markdown]
# **The five things of the beginning**, tried on the moment that the page opens with:

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show what we saw", "code_prompt_hide": "Hide what we saw"}
# @title What we saw
name_of = city.load().places.set_index("location_id").name


def answer(batch, using=model):
    """First guess, its probability, the gate, and the favourite's probability."""
    with torch.no_grad():
        out = using(batch)
    probability = out.log_probs[0].exp()
    guess = int(probability.argmax())
    return {"first guess": name_of[vocabulary.decode(np.array([guess]))[0]], "probability": float(probability[guess]),
            "gate": float(out.gate[0]), "the favourite's": float(probability[first])}  # fmt: skip


away = one
while bool((away.location == first).any()):
    away = without_visit(away, int((away.location[0] == first).nonzero()[0]))
late = one.time.clone()
late[0, -1] = 96  # 23:53 is in the last quarter of an hour of the day
orderless = switch_off(model, ("position_from_end", "sinusoid", "recency", "position_bias"))
order = torch.arange(int(one.length[0]))
order[3], order[4] = 4, 3  # two places change slots; hours, weekdays and durations stay
swapped = replace(one, location=one.location[:, order])
saw = {
    "as it is": answer(one), "favourite away": answer(away), "last visit at 23:53": answer(replace(one, time=late)),
    "somebody new": answer(replace(one, user=torch.zeros_like(one.user))),
    "no order": answer(one, orderless), "no order, visits 4 and 5 swapped": answer(swapped, orderless),
}  # fmt: skip
pd.DataFrame(saw).T.infer_objects().round(3)
# The generator does not come to the rescue of the favourite, and the gate moves little. Somebody new gets another first
# guess from the same visits. Without order the swap changes next to nothing: only hour, weekday and duration tell.

# %% [markdown]
# **Exercise 3** (longer). How many bits does a weight need? Round all weights to fewer bits, as `pack` does with 24,
# and find how many first guesses change, from 16 bits down to 3.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
coarse = {}
for bits in (16, 8, 6, 5, 4, 3):
    rounded = {}
    for name, weight in model.state_dict().items():
        unit = weight.abs().max() / (2 ** (bits - 1) - 1)
        rounded[name] = (weight / unit).round() * unit
    restored.load_state_dict(rounded)
    found = guesses(restored)
    coarse[bits] = {"first guesses that change, %": 100 * np.mean(found != whole),
                    "Acc@1, %": accuracy(found)}
pd.DataFrame(coarse).T.rename_axis("bits").round(2)
# Far fewer than 24 do for the first guess. The page keeps 24 so that every digit it shows is PyTorch's.

# %% [markdown]
# **Exercise 4** (project). Make a live page of a town, or of a life, of your own: simulate or record, train, export. Then find
# a moment at which the model is wrong and sure, and use the page to say why.

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 4", "code_prompt_hide": "Hide solution 4"}
# @title Solution 4
RUN = False  # True simulates, trains (some minutes) and writes town.html into this folder
if RUN:
    from pgt.cli.parser import main as pgt_main
    pgt_main(["city", "town", "--seed", "11"])
    pgt_main(["prepare", "town", "town.parquet"])
    pgt_main(["train", "town.parquet", "--out", "town.safetensors", "--preset", "city"])
    pgt_main(["export", "--model", "town.safetensors", "--visits", "town.parquet",
              "--html", "town.html"])
print("then open town.html")
