# %% [markdown]
# # The generator and the gate
#
# Will the person return to a known place, or go somewhere new? The gate is said to decide that. But nobody ever shows it
# what a return is. So what does it learn?
#
# *You will be able to* build the part that names any place of the town and the gate that mixes it with the pointer; derive
# what a gate is trained to say; and explain why one part of a mixture may learn almost nothing. *You need*
# [The pointer](07_pointer.ipynb). *It takes* twenty minutes to read and half a minute to run; a GPU makes no difference.
#
# > **In one sentence.** The gate learns which of the two, pointer or generator, explains the answer better; and
# > because the pointer explains the easy answers from the start, the generator is hardly taught any of them.

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

# %% tags=["hide-input"]
# @title Imports
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import show
from wherenext.walkthrough import story

from pgt import plots
from pgt.checkpoint import load_model, shipped
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

# %%
town = city.load()
data = prepare(town.visits, protocol="exact")  # every place has its own id
vocabulary, test = data.vocabulary, data.test
model, _ = load_model(shipped("city"))  # trained on this town
V, D = vocabulary.n_locations, model.config.d_model
names = dict(zip(town.places.location_id, town.places.name, strict=True))
i = story(test)  # the window that the chapters share

# %% tags=["hide-input"]
# @title Figure 8.1: the parts of this chapter
from wherenext.architecture import architecture

caption = "You are here: any place can be named, and both ways are mixed."
architecture("gate", "generator", "mixture", caption=caption)

# %% [markdown]
# ## A score for every place
#
# The pointer cannot name a place outside the window. The **generator** can. (A place that training never showed has little
# chance: no target ever pulled its score up.) Each place $\ell$ owns a row $G_\ell$ of $D$ numbers and one bias $b_\ell$.
# With the context $c$, the vector of the last visit, they make a score, and a softmax makes probabilities:
#
# $$
# s_\ell = G_\ell \cdot c + b_\ell, \tag{8.1}
# $$
#
# $$
# P_\text{gen} = \operatorname{softmax}(s) . \tag{8.2}
# $$


# %%
@torch.no_grad()
def parts(windows, index):
    """From earlier chapters: batch, context (B, D), log P_ptr (B, V)."""
    batch = windows.batch(index)
    x = model.embeddings(batch)
    encoded, _ = model.encoder(x, batch.padding)  # (B, L, D)
    last = torch.arange(len(batch)), batch.length - 1
    return batch, encoded[last], model(batch).pointer_log_probs


w = {name: value.detach() for name, value in model.state_dict().items()}


def generate(context):
    """(B, D) -> (B, V) log P_gen, by equations (8.1) and (8.2)."""
    scores = context @ w["generator.weight"].T + w["generator.bias"]
    return scores.log_softmax(1)


batch, context, log_ptr = parts(test, [i])  # the story window
log_gen = generate(context)

# %% [markdown]
# ## The gate
#
# Now there are two experts, pointer and generator. The **gate** $g$ is the weight of *copying*, of the pointer:
#
# $$
# \begin{aligned}
# g &= \sigma(z) = \frac{1}{1 + e^{-z}}, \\
# z &= w_z \cdot \operatorname{GELU}(W_g c + b_g) + b_z .
# \end{aligned} \tag{8.3}
# $$
#
# A linear layer $W_g$ takes the context to $D/2$ numbers. GELU damps the negative ones, and a second layer $w_z$ adds them up,
# weighted, to one number $z$. The sigmoid $\sigma$ makes a weight between 0 and 1 of it: one half at $z = 0$, nearly 1 if $z$ is
# large. Read backwards, $z = \log\frac{g}{1 - g}$ are the log-odds for copying.

# %%
first, second = nn.Linear(D, D // 2), nn.Linear(D // 2, 1)
my_gate = nn.Sequential(first, nn.GELU(), second).requires_grad_(False)
my_gate.load_state_dict(model.gate.state_dict())  # the trained weights
z = my_gate(context).item()  # log-odds of the story window
g = 1 / (1 + np.exp(-z))

# %% [markdown]
# ## The mixture
#
# The gate mixes what is copied and what is generated:
#
# $$
# P(\ell) = g\,P_\text{ptr}(\ell) + (1 - g)\,P_\text{gen}(\ell). \tag{8.4}
# $$
#
# If both parts sum to one, so does the mixture, and no softmax follows. Set a gate of your own:

# %%
gate_by_hand = 0.5  # @param {type:"slider", min:0, max:1, step:0.05}

# %% tags=["hide-input"]
# @title Figure 8.2: the model's gate and yours
target = batch.target[0]
_, axes = plt.subplots(2, 1, figsize=(7.2, 4.2), sharex=True)
for ax, gate in zip(axes, (g, gate_by_hand), strict=True):
    copied = gate * log_ptr[0].exp()  # (V,)
    generated = (1 - gate) * log_gen[0].exp()  # (V,)
    ids = (copied + generated).topk(7).indices
    table = {"location_id": vocabulary.decode(ids), "copied": copied[ids]}
    table |= {"generated": generated[ids], "is_target": ids == target}
    plots.mixture(pd.DataFrame(table), gate=gate, names=names, axes=ax)
axes[0].set_xlabel("")
axes[1].get_legend().remove()  # the same as above
alt = "Stacked bars of the likeliest places, copied and generated, twice."
caption = "The story window. Above: the model's gate. Below: yours."
show(axes[0].figure, alt=alt, caption=caption)

# %% [markdown]
# Change `gate_by_hand`. The first place stays first at each step of the slider but 0. There the list is the generator's, whose
# probability is spread thinly over all {{ V:, }} ids (two of them, padding and "unknown", are no places).
#
# The same for all windows of this person: tick *set it by hand* to move the gate.

# %%
from wherenext.live import playground

playground(small="gate", window=i)

# %% [markdown]
# ## The loss, in logarithms
#
# The **loss** of a window is what training makes small:
#
# $$
# \mathcal{L} = -\log P(\ell^*), \tag{8.5}
# $$
#
# for the place $\ell^*$ where the person went. It is 0 if the model was sure and right, and grows as that place gets less
# probability. Its unit is the **nat**.
#
# The rest of this section is about the code; the story goes on under the next heading.
#
# Code never leaves logarithms ([chapter 9](09_model.ipynb) says why). Since $1 - g = \sigma(-z)$, and with
# $\operatorname{logaddexp}(a, b) = \log(e^a + e^b)$, equation (8.4) becomes
#
# $$
# \begin{aligned} \log P = \operatorname{logaddexp}\big(&\log\sigma(z) + \log P_\text{ptr}, \\
# &\log\sigma(-z) + \log P_\text{gen}\big). \end{aligned} \tag{8.6}
# $$
#
# With the trained weights this must give the package's answers, or the cell stops.


# %%
def mix(z, log_ptr, log_gen):
    """log P of equation (8.6), for any shapes that fit."""
    copied = F.logsigmoid(z) + log_ptr  # log of g P_ptr
    return torch.logaddexp(copied, F.logsigmoid(-z) + log_gen)


many, c, lp = parts(test, np.arange(0, len(test), 12))
ours = mix(my_gate(c), lp, generate(c))  # (B, V)
theirs = model(many).log_probs.detach()
torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)

# %% [markdown]
# ## What is the gate worth?
#
# Replace the gate by others, in all test windows. A *constant* gate is {{ constant[0]:.2f }} everywhere, which is the mean of the
# model's gate in the training windows. An *oracle* knows whether the target is in the window: it is 1 if so, else 0.

# %%
@torch.no_grad()
def run(windows, gate=None):
    """A row a window: the gate, log P of the target by each part, a hit."""
    found = []
    for b in windows.batches(512):
        out, own = model(b), b.target[:, None]
        g = out.gate if gate is None else torch.tensor(gate)[b.index]
        ptr, gen = out.pointer_log_probs, out.generator_log_probs
        log_p = mix(g.logit()[:, None], ptr, gen)  # (B, V); ±inf is fine
        row = {"gate": g, "hit": log_p.argmax(1) == b.target}
        for part, x in {"mix": log_p, "ptr": ptr, "gen": gen}.items():
            row[part] = x.gather(1, own)[:, 0]
        found.append(pd.DataFrame(row, index=b.index.numpy(), dtype=float))
    return pd.concat(found).sort_index()


# %% [markdown]
# Three gates, then, on the same windows. (`opened` and `inside` are used again below.)

# %%
opened, inside = run(test), test.in_window
constant = np.full(len(test), run(data.train).gate.mean())
others = {"constant": constant, "oracle": inside.astype(float)}
runs = {"the model's gate": opened}
runs |= {name: run(test, gate) for name, gate in others.items()}
worth = pd.DataFrame({name: found.mean() for name, found in runs.items()}).T
worth["Acc@1, %"], worth["loss, nats"] = 100 * worth.hit, -worth.mix
gain = worth.loc["constant", "loss, nats"] - worth["loss, nats"]
worth[["Acc@1, %", "loss, nats"]].round({"Acc@1, %": 2, "loss, nats": 3})

# %% [markdown]
# Read down the first column: for the first guess the gate hardly matters. The generator's probability is spread so thinly
# that the first guess is the pointer's *for nearly any gate*. Even an oracle gains next to nothing. Where it turns the
# pointer off, the generator's first guess is nearly always wrong, too.
#
# Now the second column. A gate sets how much probability is left for places outside the window, and that shows in the loss.
# The oracle wins {{ gain["oracle"]:.2f }} nats over the constant, the trained gate only
# {{ gain["the model's gate"]:.2f }}. [Chapter 11](11_gate.ipynb) looks closer.
#
# ## What does a gate learn?
#
# Training shows the gate one thing: the slope of the loss. From here on $P$, $P_\text{ptr}$ and $P_\text{gen}$ are the
# probabilities of the *target*.
#
# Say $g = 0.5$, $P_\text{ptr} = 0.3$ and $P_\text{gen} = 0.1$. Then $P = 0.2$, of which $0.15$ was copied: a share of
# $0.75$. This share is the **responsibility** $r$ of the pointer. In figure 8.2 it is the blue share of the bar with the ✓:
# above, that bar is blue all along, so there $r$ is nearly 1.
#
# The slope of the loss along $z$ is $g - r$:
#
# $$
# \begin{aligned}
# \frac{\partial \mathcal{L}}{\partial z}
#   &= -\,g (1 - g)\,\frac{P_\text{ptr} - P_\text{gen}}{P} \\[0.6em]
#   &= g - r, \qquad r = \frac{g\,P_\text{ptr}}{P}.
# \end{aligned} \tag{8.7}
# $$
#
# The first line uses $\partial g / \partial z = g (1 - g)$. The second uses
# $g(1-g)(P_\text{ptr} - P_\text{gen}) = g P_\text{ptr} - g P$, which follows from equation (8.4).
#
# Training steps down the slope. So it pulls the gate from $0.5$ towards $r = 0.75$. But at $g = 0.75$, $r$ is $0.9$ already:
# alone, this window would pull its gate up to 1.
#
# Now say that a second window looks the same, but its target is outside: $P_\text{ptr} = 0$, so $r = 0$. The two share one
# gate, and their slopes add up. The sum, $(g - r) + (g - 0)$, is zero where $g$ is the *mean* of both $r$. But $r$ depends on
# $g$, so try $g = 0.25$:
#
# $$
# r = \frac{0.25 \cdot 0.3}{0.25 \cdot 0.3 + 0.75 \cdot 0.1} = \frac{0.075}{0.15} = 0.5 .
# $$
#
# The mean of $0.5$ and $0$ is $0.25$, as it should be. There the gate rests.
#
# So the gate learns *which expert explains the target better?* Keep that apart from *is it a return?* and from *is the target
# in the window?* A visit to last month's dentist is a return, but the window does not show the dentist. Sort the test windows
# by what happened:

# %%
# `inside`: is the target in the window? `opened`: a row for
# each test window, with `gate`, and log P of the target as `ptr` and `mix`.
opened["r"] = np.exp(np.log(opened.gate) + opened.ptr - opened.mix)
explored = test.visits.explored.to_numpy()[test.target]  # a first visit
kinds = ["return, in the window", "return, not in the window", "exploration"]
opened["kind"] = np.select([inside, ~explored], kinds[:2], kinds[2])
by_kind = opened.groupby("kind")[["r", "gate"]].mean().loc[kinds]
by_kind.columns = ["mean responsibility r", "mean gate g"]
elsewhere = 100 * (~explored & ~inside).sum() / (~explored).sum()
print(f"Of all returns, {elsewhere:.0f} % are not in the window.")
by_kind.round(3)

# %% [markdown]
# Read down the column of $r$: the pointer explains the target better nearly always where the window shows it, and never
# elsewhere. The gate beside it stays far from $r$. It sees the context and not the target, and many contexts look alike.
#
# The dentist stands in the second row. Only the generator can name such a place, so $r = 0$ exactly, as for an exploration.
# Nothing in the loss tells such a return from an exploration. The gates in these two rows differ a little, but only because
# the two happen in different contexts.
#
# ## Who teaches the generator?
#
# The same algebra shows what the generator learns. Only the second part of $P$ depends on its scores $s_\ell$:
#
# $$
# \begin{aligned}
# \frac{\partial \mathcal{L}}{\partial s_\ell}
#   &= -\,\frac{1 - g}{P}\,\frac{\partial P_\text{gen}(\ell^*)}{\partial s_\ell} \\[0.6em]
#   &= (1 - r)\,\big(P_\text{gen}(\ell) - [\,\ell = \ell^*\,]\big),
# \end{aligned} \tag{8.8}
# $$
#
# where the bracket is 1 at the target and 0 elsewhere. The second line follows from a softmax's slope,
# $\partial P_\text{gen}(\ell^*) / \partial s_\ell = P_\text{gen}(\ell^*)\,([\,\ell = \ell^*\,] - P_\text{gen}(\ell))$, and
# from $(1 - g) P_\text{gen}(\ell^*) / P = 1 - r$.
#
# This is what a generator alone would be taught, *times* $1 - r$. With $r = 0.75$ a quarter of the lesson is left. With $r = 1$
# nothing is. (Training also smooths its labels, [chapter 9](09_model.ipynb): a small pull towards an even share for every
# place, whatever the target.)
#
# How large is $r$ before the very first step, if the target is in the window? An untrained pointer gives every visit about the
# same weight, so it counts visits. An untrained generator guesses among thousands of places.

# %%
torch.manual_seed(0)
newborn = PointerGeneratorTransformer(model.config).eval()
fifth = data.train.batch(np.flatnonzero(data.train.in_window)[::5])
with torch.no_grad():
    out, own = newborn(fifth), fifth.target[:, None]
# log r = log g + log P_ptr - log P, all at the target
log_copied = out.gate.log() + out.pointer_log_probs.gather(1, own)[:, 0]
newborn_r = (log_copied - out.log_probs.gather(1, own)[:, 0]).exp().mean()
print(f"mean r before training: {newborn_r:.3f}")

# %% [markdown]
# It is nearly one. The generator is taught almost only about targets outside the window. So it should be *poor at the easiest
# targets*, such as people's homes.
#
# We test that. Freeze all that comes before the generator, and train a fresh generator twice: once *alone*, and once *in the
# mixture*, with the trained pointer and gate beside it.


# %%
@torch.no_grad()
def frozen(windows):
    """Context (W, D); gate's log-odds, log P_ptr of target, target (W,)."""
    found = []
    for index in np.array_split(np.arange(len(windows)), 20):
        b, c, lp = parts(windows, index)
        lp = lp.gather(1, b.target[:, None])[:, 0]
        found.append((c, my_gate(c)[:, 0], lp, b.target))
    return [torch.cat(column) for column in zip(*found, strict=True)]


# %% [markdown]
# The two lessons differ in one line, that of the loss:


# %%
def teach(lessons, in_mixture, epochs=6):
    torch.manual_seed(0)
    layer = nn.Linear(D, V)
    nn.init.zeros_(layer.weight)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    for _ in range(epochs):
        for at in torch.randperm(len(lessons[0])).split(128):
            c, z, lp, y = (x[at] for x in lessons)
            lg = -F.cross_entropy(layer(c), y, reduction="none")  # (B,)
            loss = -(mix(z, lp, lg) if in_mixture else lg).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return layer


# %% [markdown]
# Then comes the exam, on test windows whose target training has shown. *Easy* targets are in the window, *the others* are
# not. Three generators sit it: these two, and *the model's*, which was trained with the model.
#
# The measure is the loss. A **uniform guess** gives each of the $V$ ids the probability $1/V$, so its loss is
# $\log V$, here {{ uniform:.2f }} nats. How many nats better is each generator? (A negative number is *worse* than uniform.)

# %% tags=["hide-input"]
# @title Table: taught twice, and examined
lessons = frozen(data.train)
contexts, _, _, truth = frozen(test)
known = vocabulary.is_known(test.targets)
exams = {"easy": inside & known, "the others": ~inside & known}
whole_easy = 100 * opened.hit[exams["easy"]].mean()  # Acc@1 of the model
uniform = np.log(V)  # nats
taught = {"alone": teach(lessons, in_mixture=False)}
taught["in the mixture"] = teach(lessons, in_mixture=True)
taught["the model's"] = model.generator
table = {}
for exam, rows in exams.items():
    for how, layer in taught.items():
        row = table.setdefault(f"generator, {how}", {})
        log_p = layer(contexts[rows]).log_softmax(1).detach()
        own = log_p.gather(1, truth[rows][:, None]).mean().item()
        right = (log_p.argmax(1) == truth[rows]).double().mean().item()
        row[f"{exam}: nats better"] = own + uniform
        row[f"{exam}: Acc@1, %"] = 100 * right
pd.DataFrame(table).T.iloc[:, :3].round(2)

# %% [markdown]
# Compare the first two rows in both *easy* columns. Alone, the generator learns the usual places. In the mixture it learns
# little about them, because the pointer already explains them: the whole model is right in
# {{ whole_easy:.0f }} % of these easy windows.
#
# The model's own generator knows even less. That is why its bars in figure 8.2 were so short. (We did not test why it is less:
# its encoder was changing, and its labels were smoothed.)
#
# Now the last column, where the pointer is of no use. No generator is much better than a uniform guess: each of these places
# is seldom visited, so there is little to learn from. The one that was taught alone is *worse* than uniform. It is sure of the
# usual places, and pays for each miss.
#
# In a mixture, the expert that is better early gets most of the gradient.
#
# ## What to remember
#
# - The generator can name places out of sight, the pointer cannot. The gate $g$ is the weight of *copying*.
# - The gate is pulled by $r - g$: it learns which expert explains the target better. The loss knows nothing of returns. Where a
#   return is not in the window, $r$ is {{ by_kind.iloc[1, 0]:.0f }}, as for an exploration.
# - The generator's lesson is multiplied by $1 - r$, so it learns little about what the pointer already explains.
# - What a gate can win is in the loss, {{ gain["oracle"]:.2f }} nats, and hardly in the first guess. This one wins little of it,
#   {{ gain["the model's gate"]:.2f }}.
#
# ## Exercises
#
# **Exercise 1** (quick). Three places have $P_\text{ptr} = (0.7, 0.3, 0)$ and $P_\text{gen} = (0.1, 0.2, 0.7)$. Above
# which gate does the first place beat the third? And what is the pointer's responsibility for a target at the second
# place if $g = 0.5$?

# %% tags=["try"]
turn, responsibility = ..., ...
check.exercise("8.1", [turn, responsibility])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
turn = 0.6 / 1.3  # 0.7 g + 0.1 (1 - g) = 0.7 (1 - g)
responsibility = 0.3 / (0.3 + 0.2)  # the two halves cancel
check.exercise("8.1", [turn, responsibility])

# %% [markdown]
# **Exercise 2** (longer). Verify equation (8.8), the slope along the generator's scores, with autograd.

# %% tags=["try"]
with torch.no_grad():
    s = model.generator(c).double()  # (B, V)
    log_odds = my_gate(c).double()  # (B, 1)
log_p = mix(log_odds, lp.double(), s.requires_grad_().log_softmax(1))
own = log_p.gather(1, many.target[:, None])  # (B, 1) log P(l*)
own.neg().sum().backward()  # PyTorch's slope is in s.grad
slope = ...  # (B, V) by equation (8.8)
check.same(slope, s.grad, name="the generator's slope", atol=1e-10)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
# dL / d log P_gen(l*) = -(1 - g) P_gen(l*) / P = -(1 - r), and
# d log P_gen(l*) / ds = [l = l*] - P_gen(l).
copied = F.logsigmoid(log_odds)
copied = copied + lp.double().gather(1, many.target[:, None])
r = (copied - own).exp().detach()  # (B, 1)
truth = F.one_hot(many.target, V)
slope = (1 - r) * (s.detach().softmax(1) - truth)
check.same(slope, s.grad, name="the generator's slope", atol=1e-10)

# %% [markdown]
# **Exercise 3** (quick, on paper). A target is outside the window, and the generator gives it 0.05. What is the loss, in
# nats, with a gate of 0.9? And with 0.1? What does the wrong gate cost, whatever the generator says?

# %% tags=["try"]
sure_copy, sure_generate, cost = ..., ..., ...
check.exercise("8.3", [sure_copy, sure_generate, cost])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
sure_copy, sure_generate = -np.log([0.1 * 0.05, 0.9 * 0.05])
check.exercise("8.3", [sure_copy, sure_generate, np.log(9)])

# %% [markdown]
# **Next:** [The whole model](09_model.ipynb), where all parts meet.
