# %% [markdown]
# # Training
#
# The validation loss gets worse, and the model gives more right answers. How can both be true?
#
# *You will be able to* write an epoch of training yourself, read its curves without being fooled, and stop a run and resume it
# to the very same bits. *You need* PyTorch's basics, [Windows](03_windows.ipynb) and [the model](09_model.ipynb). *It takes* a
# quarter of an hour to read and about a minute to run on two CPU cores, less with a GPU.
#
# > **In one sentence.** The validation loss may rise while right answers still increase, because the loss also charges for
# > places that nobody could have known.

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
import math
import tempfile
from contextlib import suppress

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib import pyplot as plt
from torch import nn
from wherenext import city
from wherenext.exercises import check
from wherenext.figures import COPIED, EXTRA, GENERATED, MUTED, show
from wherenext.results import read_results

from pgt import plots
from pgt.baselines import MostFrequent, fit_baseline
from pgt.config import ModelConfig, TrainConfig
from pgt.metrics import evaluate, gains, interval, summarize
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.train import fit
from pgt.windows import prepare

# %%
data = prepare(city.load().visits, protocol="exact")
vocabulary = data.vocabulary
V = vocabulary.n_locations
blind = math.log(V)  # nats, to guess evenly among all places
size = ModelConfig(V, vocabulary.n_users)


def new_model():
    torch.manual_seed(42)
    return PointerGeneratorTransformer(size)


# %% [markdown]
# ## The loss and the steps
#
# Training makes the **cross-entropy** of the true next place $\ell^*$ small:
#
# $$
# \mathcal{L} = -\log P(\ell^*) . \tag{10.1}
# $$
#
# Its unit is the **nat**. To guess evenly among all $V$ places costs $\log V =$ {{ blind:.2f }} nats. Label smoothing
# ([chapter 9](09_model.ipynb)) also asks the model to keep a probability of about $\varepsilon / V$ for every place (figure
# 10.2).
#
# An **epoch** is one pass through all training windows, a batch at a time. (Windows of similar length share a batch, which
# saves padding: **bucketed batches**, counted in [Evidence: windows](evidence_windows.ipynb).) Each batch makes one step, and
# three things shape it:
#
# - **AdamW** ([Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101)) divides each weight's gradient by a running
#   estimate of its size, so that the weights of rare and of frequent places move at similar speed. It also shrinks all
#   weights a little.
# - The **learning rate** says how far a step goes. AdamW's estimate is poor at first, so the rate climbs in equal steps from
#   near zero for five epochs, the **warm-up**. Then it falls along a cosine to zero, the **cosine schedule**.
# - **Gradient clipping** looks at all gradients as one long vector and shortens it to a limit if it is longer. One strange
#   batch then cannot throw the model far off.
#
# **Change this.** The highest learning rate, `learning_rate`, is the first thing that one tunes. Everything below follows it.

# %%
learning_rate = 6.5e-4  # @param [1e-4, 6.5e-4, 2e-3, 5e-3] {type:"raw"}
config = TrainConfig(
    learning_rate=learning_rate,
    batch_size=128,
    warmup_epochs=5,
    clip=0.8,  # the longest gradient allowed
    label_smoothing=0.03,  # epsilon
    max_epochs=10,
    patience=10,  # as many: no early stop, see below
)

# %% [markdown]
# ## The loop
#
# Training is a step, again and again. Here it is, in five numbered lines:


# %%
def one_step(model, optimizer, b, c):
    """Train on one batch; -> how long the gradient was before clipping."""
    optimizer.zero_grad()
    log_probs = model(b).log_probs  # 1. predict: (B, V)
    losses = cross_entropy(log_probs, b.target, c.label_smoothing)  # 2.
    (losses * (1 / len(b))).sum().backward()  # 3. gradients of the mean
    norm = nn.utils.clip_grad_norm_(model.parameters(), c.clip)  # 4. clip
    optimizer.step()  # 5. move the weights
    return float(norm)


# %% [markdown]
# Who moves the weights is AdamW, with its settings:


# %%
def adamw(model, c):
    options = {"betas": c.betas, "eps": c.eps, "fused": True}
    options |= {"lr": c.learning_rate, "weight_decay": c.weight_decay}
    return torch.optim.AdamW(model.parameters(), **options)


# %% [markdown]
# And here is the first epoch, all of it in the warm-up.
#
# One line may surprise you: `manual_seed`. Dropout sets random entries of the vectors to zero in training. The seed and the
# epoch's number alone decide which ones. They decide the order of the windows, too. So any epoch can be repeated exactly.


# %%
def epoch_one(model, windows, c):
    optimizer, norms = adamw(model, c), []
    shuffle = np.random.default_rng([c.seed, 0])  # order of the windows
    torch.manual_seed(c.seed * 100_003)  # dropout; epoch k adds k
    warmup = c.warmup_epochs * math.ceil(len(windows) / c.batch_size)
    model.train()
    batches = windows.batches(c.batch_size, shuffle=shuffle)
    for step, b in enumerate(batches):
        for group in optimizer.param_groups:  # warm-up
            group["lr"] = c.learning_rate * (step + 1) / warmup
        norms.append(one_step(model, optimizer, b, c))
    return np.array(norms)


by_hand = new_model()
norms = epoch_one(by_hand, data.train, config)
clipped, median = 100 * (norms > config.clip).mean(), np.median(norms)

# %% [markdown]
# > **Pitfall.** We took clipping for an emergency brake. But {{ clipped:.0f }} % of the first epoch's steps were clipped: the
# > limit is 0.8, and the median gradient is {{ median:.1f }} long. With AdamW that matters less than it
# > sounds, because AdamW divides by the gradient's usual size anyway. Still, count before you believe the name.
#
# ## Ten epochs
#
# `pgt.train.fit` is that loop with validation, early stopping, checkpoints and a choice of device. We let it run for ten
# epochs and keep the weights of each, to look back later. After one epoch on a CPU, the package's weights must be ours to the
# last bit.

# %%
weights = []  # one dictionary of tensors an epoch
model = new_model()


def keep(row):
    state = model.state_dict().items()
    weights.append({name: tensor.cpu().clone() for name, tensor in state})


history = fit(
    model, data.train, data.valid, config, after_epoch=keep, progress=False
)
ours = by_hand.state_dict().values()
same = all(map(torch.equal, weights[0].values(), ours))
print("after epoch one, our loop's weights equal the package's:", same)
table = history.table()
by_loss = table.valid_loss.idxmin()  # the epoch of the lowest loss
by_accuracy = table["valid_acc@1"].idxmax()  # and of the best accuracy

# %% [markdown]
# Now the curves, with the puzzle of this chapter in them.

# %% tags=["hide-input"]
# @title Figure 10.1: loss and accuracy by epoch
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.4))
plots.loss_curves(table, axes=left)
right.plot(table["valid_acc@1"], color=GENERATED, ls="--")
for ax in (left, right):
    ax.axvline(by_loss, color=MUTED, lw=1, ls=":", label="lowest loss")
left.legend()
left.set_title("Loss")
right.set(xlabel="epoch", ylabel="Acc@1 (%)", title="Validation accuracy")
show(
    figure,
    alt="The training loss falls in every epoch, the validation loss rises "
    "again after a low point, and validation accuracy rises on.",
    caption="The dotted line marks the lowest validation loss.",
)

# %% [markdown]
# Validation loss is lowest in epoch {{ by_loss }}. Validation accuracy is highest in epoch {{ by_accuracy }}: it still rose
# while the loss got worse. (The training loss starts *above* that of validation because dropout and label smoothing raise it.)
#
# ## Why the loss rises
#
# The loss is a mean, and a few large terms can decide it. So take it apart by three kinds of target: places in the window,
# places that training knows but the window does not show, and places that neither of them shows.


# %%
@torch.no_grad()
def loss_of_each(model, windows):
    """(N,) the loss of each window, in nats."""
    out = np.zeros(len(windows))
    for b in windows.batches(512):
        log_probs = model.scores(b)  # (B, V), in evaluation mode
        out[b.index] = cross_entropy(log_probs, b.target)
    return out


# %% [markdown]
# We ask it for the weights of each epoch, and take the mean of each kind.

# %%
kinds = ["in the window", "known, not in the window", "never seen"]
known = vocabulary.is_known(data.valid.targets)
# Of the conditions that hold, the first one counts.
kind = np.select([data.valid.in_window, known], kinds[:2], kinds[2])
by_kind = {}
replay = new_model()  # takes the weights of one epoch after the other
for epoch, state in enumerate(weights, start=1):
    replay.load_state_dict(state)
    each = pd.Series(loss_of_each(replay, data.valid))
    by_kind[epoch] = each.groupby(kind).mean()
by_kind = pd.DataFrame(by_kind).T[kinds]  # (epochs, 3) mean loss

# %% tags=["hide-input"]
# @title Figure 10.2: the validation loss by kind of target
share = pd.Series(kind).value_counts(normalize=True)[kinds]
parts = by_kind * share  # a row adds up to the validation loss
plt.figure(figsize=(7.2, 2.3))
axes = sns.lineplot(by_kind, palette=[COPIED, GENERATED, EXTRA])
floor = -math.log(config.label_smoothing / V)  # nats
axes.axhline(floor, color=MUTED, lw=1)
axes.set(xlabel="epoch", ylabel="validation loss (nats)", ylim=(0, None))
show(
    axes.figure,
    alt="The loss falls for known targets. For those never seen it rises "
    "and flattens near a thin line.",
    caption="Mean validation loss by kind of target, in this one run. Thin "
    "line: what a place pays that has the probability of label smoothing.",
)

# %% [markdown]
# Only one kind climbs: *never seen*. Each step pushes the score of such a place in the generator down, and nothing pulls it up
# except label smoothing. So the curve climbs and flattens near the thin line, $-\log(\varepsilon / V) =$ {{ floor:.1f }} nats.
#
# (Why do *known* places outside the window cost more than an even guess? The gate leaves the generator about a third of the
# probability. Were that third spread evenly, each place would cost $\log 3 \approx 1.1$ nats more than the guess.)
#
# Now compare two epochs, that of the lowest loss and that of the best accuracy:

# %% tags=["hide-input"]
# @title Table: each kind of target in the two epochs, on validation
pair = sorted({by_loss, by_accuracy})
each = {"share, %": 100 * share}
each |= {f"loss, epoch {epoch}": by_kind.loc[epoch] for epoch in pair}
for epoch in pair:
    replay.load_state_dict(weights[epoch - 1])
    hits = 100 * gains(evaluate(replay, data.valid))["acc@1"]
    each[f"Acc@1, epoch {epoch}"] = hits.groupby(kind).mean()
dearer = (parts.loc[by_accuracy] - parts.loc[by_loss])["never seen"]
pd.DataFrame(each).loc[kinds].round(1)

# %% [markdown]
# The loss sees all three rows. *Never seen* has become dearer, and times its share of the windows that adds {{ dearer:.2f }}
# nats to the mean, more than the other two rows save. Accuracy sees only the first row, because first guesses at the other two
# kinds are always wrong.
#
# There, accuracy rises while the loss hardly moves. How? Between the two epochs the model grows *surer*. Say that in two
# windows it puts 20 % on the right place and 25 % on a wrong one. In the first window the right place rises to 30 % and wins;
# that saves $\log\tfrac{30}{20} = 0.41$ nats. In the second it falls to 13 %; that costs $\log\tfrac{20}{13} = 0.43$ nats. The
# mean loss is about the same, and there is one right answer more, for the second window was wrong before, too.
#
# The windows of the first row did just that:

# %% tags=["hide-input"]
# @title Table: the windows of the first row, by both first guesses
nats, words = [], []
for epoch in (by_loss, by_accuracy):  # with your settings perhaps the same
    replay.load_state_dict(weights[epoch - 1])
    nats.append(loss_of_each(replay, data.valid))
    right = gains(evaluate(replay, data.valid))["acc@1"] == 1
    words.append(np.where(right, "right", "wrong"))
both = pd.DataFrame({"first guess": words[0] + " → " + words[1]})
both["change"] = nats[1] - nats[0]
both = both[data.valid.in_window].groupby("first guess").change
turned = {"share, %": 100 * both.size() / both.size().sum()}
turned["change of the loss, nats"] = both.mean()
pd.DataFrame(turned).round({"share, %": 1}).round(2).iloc[::-1]

# %% [markdown]
# Where the guess stays wrong, the loss rises. Where it stays right, the loss falls about as much. Neither moves accuracy. The
# rest changes sides, and more windows turn right than wrong.
#
# That is how both can be true: accuracy rises because of the targets in the window, and the mean loss because of those never
# seen.
#
# ## Early stopping, replayed
#
# The rule: stop after `patience` epochs without a better validation score, and go back to the best epoch. `monitor` says what
# "better" means. Which should it be, loss or accuracy?
#
# - If you want the right place on top, watch the accuracy.
# - If you want **calibrated** probabilities, watch the loss. (They are, if of all places given 30 % about 30 % come true.
#   After the loss's best epoch, unseen places get ever less probability, and people keep going to them.)
#
# Decide before you look. We kept the weights of all epochs, so we can try both. Each monitor chooses its epoch on validation;
# only then do we look at the test windows.


# %%
def scores(ranks):
    return summarize(ranks, ["all"])[["acc@1", "acc@10"]].iloc[0]


chosen, ranks_of = {}, {}
for monitor, best in {"loss": by_loss, "acc@1": by_accuracy}.items():
    replay.load_state_dict(weights[best - 1])
    ranks_of[monitor] = evaluate(replay, data.test)
    right = scores(ranks_of[monitor])["acc@1"]
    nats = loss_of_each(replay, data.test).mean()
    chosen[monitor] = [best, right, nats]
heads = ["epoch", "test Acc@1, %", "test loss, nats"]
chosen = pd.DataFrame(chosen, index=heads).T.rename_axis("monitor")
chosen.astype({"epoch": int}).round(2)

# %% [markdown]
# In this run each monitor wins at what it watches: the loss pays fewer nats, and the accuracy names more places right. (Why
# not report the *validation* score of the chosen epoch? It is the best of ten noisy ones, so part of it is luck.)
#
# ## What training added
#
# How much of that accuracy is training's work? One would think all of it: random weights, random guesses. So score the model
# as it was *before* the first step. The table has it beside the trained model (the epoch that accuracy chose) and two rules of
# [Baselines](04_baselines.ipynb). *Most frequent* names the most frequent place of the window. The *context kernel* is five
# numbers, chosen by trying values on validation, without a gradient.

# %% tags=["hide-input"]
# @title Table: the model before and after training, and two rules
trained = ranks_of["acc@1"]
kernel = fit_baseline("kernel", data.train, data.valid)
ranked = {
    "most frequent": evaluate(MostFrequent().fit(data.train), data.test),
    "untrained model": evaluate(new_model(), data.test),
    "context kernel": evaluate(kernel, data.test),
    "trained model": trained,
}
for name in ("untrained model", "context kernel"):
    low, high = interval(trained, against=ranked[name])
    print(f"trained minus {name}: {low:+.1f} to {high:+.1f} points, 95 %")
guesses = {name: scores(ranks) for name, ranks in ranked.items()}
newborn, guessing = guesses["untrained model"]["acc@1"], 100 / V
pd.DataFrame(guesses).T.astype(float).round(1)

# %% [markdown]
# Guessing among {{ V:, }} places is right in {{ guessing:.2f }} % of the test windows; the untrained model is right in
# {{ newborn:.1f }} %. With small random weights the pointer attends to all visits about equally, and adding up equal weights
# per place is *counting* ([chapter 7](07_pointer.ipynb)). So the number to look at is what training *adds*.
#
# The two lines above the table are intervals over people ([chapter 4](04_baselines.ipynb)). The first lies above zero:
# training has added something. The second holds zero: among other people, this run could also come out ahead of five numbers.
#
# With ten guesses in place of one, the untrained model is as good as the trained one. A window (a week) holds few different
# places, so ten guesses nearly exhaust it. **Training hardly changes *how many* true places are on the list. It moves them
# up.**
#
# An interval over people tells nothing about another thing that is drawn: the random numbers of training. The next figure puts
# your run beside five of the book's: the same model, five seeds. Change `learning_rate` above, run all, and see where your dot
# goes. (Only look. To *choose* a learning rate, compare validation scores; choosing on the test set is one of the
# [traps](15_traps.ipynb).)

# %% tags=["hide-input"]
# @title Figure 10.3: the book's runs, and yours
runs = read_results("city").select(variant="full")  # on the test windows
names = {"most_frequent": "most frequent", "kernel": "context kernel"}
runs = runs[runs.model.isin([*names, "pgt"])]
named = runs.model.replace(names | {"pgt": "PGT, five seeds"})
town = runs.assign(model=named, whose="the book's")
yours = scores(trained)[["acc@1"]].to_frame().T
mine = yours.assign(whose="yours", model="yours").astype({"acc@1": float})
plt.figure(figsize=(7.2, 1.7))
axes = sns.stripplot(pd.concat([town, mine]), x="acc@1", y="model",
                     hue="whose", palette=[COPIED, EXTRA],
                     jitter=False)  # fmt: skip
axes.set(xlabel="test Acc@1 (%)", ylabel="")
axes.get_legend().remove()  # the rows say it
show(
    axes.figure,
    alt="A row of dots each: two rules, five runs of PGT, and yours. The "
    "dots of PGT lie apart, all of them between the two rules.",
    caption="First guesses on the town's test windows. A rule has no seed "
    "and one dot; PGT has a dot a run.",
)

# %% [markdown]
# All five lie left of the kernel's, so on these people no seed catches up with it. But they scatter nearly as much as the two
# monitors above differ. When two learning rates differ by less than that, a comparison with one seed each is a coin toss.
#
# ## Stop it, resume it
#
# If seeds matter so much, a run that was interrupted must go on as *the same run*, not a similar one. A checkpoint holds the
# weights, the best weights so far, AdamW's running estimates and the history; the order of the windows and dropout follow from
# the seed and the epoch's number. We press "stop" after two of four epochs, resume, and compare with a run that nobody
# disturbed.

# %%
few, some = data.train.subset(slice(600)), data.valid.subset(slice(300))
quick = TrainConfig(max_epochs=4, patience=4, warmup_epochs=2, seed=7)


def run(**how):
    torch.manual_seed(7)
    student = PointerGeneratorTransformer(size)
    fit(student, few, some, quick, device="cpu", progress=False, **how)
    return student.state_dict()


def stop_after_two(row):
    if row["epoch"] == 2:
        raise KeyboardInterrupt  # what the stop button does


# %% [markdown]
# The second call of `run` below finds the file that the first one left, and goes on.

# %%
undisturbed = run()
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/run.safetensors"
    with suppress(KeyboardInterrupt):
        run(checkpoint=path, after_epoch=stop_after_two)
    resumed = run(checkpoint=path)  # finds the file, and goes on
same = [torch.equal(undisturbed[name], resumed[name]) for name in resumed]
print(f"{sum(same)} of {len(same)} tensors are equal to the bit")

# %% [markdown]
# Equal bits need the same machine, device and number of threads, because sums of floats depend on their order.
#
# ## What to remember
#
# - Loss and accuracy look at different windows. From epoch {{ by_loss }} to epoch {{ by_accuracy }} targets that training never
#   saw add {{ dearer:.2f }} nats to the validation loss. Accuracy does not notice them.
# - So loss and accuracy may ask for different epochs. Decide beforehand which one you want, and distrust the best of many.
# - An untrained pointer counts visits. It is a baseline in disguise; always score it. Training moves true places up.
# - One seed is one draw. Look at how far seeds scatter before you compare.
#
# What PyTorch does that a careful person would not expect:
# [Traps of libraries](https://where-next-book.github.io/where-next/book/traps_of_libraries.html), under *Train*.
#
# ## Exercises
#
# **Exercise 1** (quick). A model always gives ten places 9 % each and spreads the rest evenly over all
# {{ V:, }} places. How many nats does it pay when the target is one of the ten? And when it is not?

# %% tags=["try"]
hit, miss = ..., ...  # nats
check.exercise("10.1", [hit, miss])

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 1", "code_prompt_hide": "Hide solution 1"}
# @title Solution 1
inside, outside = -math.log(0.09), -math.log((1 - 10 * 0.09) / (V - 10))
check.exercise("10.1", [inside, outside])
print(f"one miss costs as much as {outside / inside:.1f} hits")

# %% [markdown]
# **Exercise 2** (medium). Write `replay(score, patience)`: early stopping on a list of validation scores, lower is better.
# Which epoch is kept (the first is 1), and how many epochs would you have paid for? Then replay every patience from 1 to 5,
# for both monitors, on `table`.

# %% tags=["try"]
few = [3.0, 2.0, 2.5, 1.0, 1.5, 1.6]


def replay(score, patience):
    return ...  # the epoch that is kept, and the epochs that are paid for


check.same(replay(few, 1), (2, 3), name="a patience of 1")
check.same(replay(few, 2), (4, 6), name="a patience of 2")

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 2", "code_prompt_hide": "Hide solution 2"}
# @title Solution 2
def replay(score, patience):
    best = epoch = 1
    while epoch - best < patience and epoch < len(score):
        epoch += 1
        best = epoch if score[epoch - 1] < score[best - 1] else best
    return best, epoch


check.same(replay(few, 1), (2, 3), name="a patience of 1")
check.same(replay(few, 2), (4, 6), name="a patience of 2")
curves = {"loss": table.valid_loss, "acc@1": -table["valid_acc@1"]}
for name, score in curves.items():  # lower is better
    for patience in range(1, 6):
        kept, paid = replay(score.to_list(), patience)
        print(f"{name}, patience {patience}: {kept} of {paid} epochs")
# Here patience costs epochs and gains nothing for the loss. For the accuracy
# a patience of one stops too early.

# %% [markdown]
# **Exercise 3** (quick, on paper). In three windows the best wrong place has 0.3, and the true place 0.28, 0.5 and 0.1. One
# epoch later the true place has 0.4, 0.5 and 0.05, and the best wrong one 0.3 as before. What is the mean loss, in nats, before
# and after? How many windows are right, before and after?

# %% tags=["try"]
loss_before, loss_after = ..., ...
right_before, right_after = ..., ...
answer = [loss_before, loss_after, right_before, right_after]
check.exercise("10.3", answer)

# %% tags=["hide-cell", "solution"] cellView="form" mystnb={"code_prompt_show": "Show solution 3", "code_prompt_hide": "Hide solution 3"}
# @title Solution 3
epochs = np.array([[0.28, 0.5, 0.1], [0.4, 0.5, 0.05]])
check.exercise("10.3", [*-np.log(epochs).mean(1), *(epochs > 0.3).sum(1)])
# Both rise: the mean pays for the third window, which is wrong anyway.

# %% [markdown]
# **Next:** [The gate](11_gate.ipynb), the first of the trained parts that we look into.
