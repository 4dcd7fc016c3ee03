"""Answers to the exercises of Parts II to V: the model, what it knows, and what lies beyond it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from pgt.checkpoint import load_model, shipped
from pgt.config import PRESETS, ModelConfig
from pgt.look import look
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.memory import with_history
from pgt.windows import prepare
from wherenext import city
from wherenext.exercises import Worked, works_out
from wherenext.exercises.part_one import windows_of
from wherenext.walkthrough import story


@works_out("5.1", ["Locations for 1.3 million", "Numbers in ours"], digits=0, atol=0.5)
def _numbers_of_tables() -> Worked:
    """Nearly all of ours are rows of the table of locations."""
    vocabulary = windows_of().vocabulary
    model = PointerGeneratorTransformer(ModelConfig(vocabulary.n_locations, vocabulary.n_users))
    numbers = sum(weight.numel() for weight in model.embeddings.parameters())
    width, places = model.config.d_model, 1_300_000 / 64
    return [places, numbers], {
        "LayerNorm has a scale and a shift for each number.": [places, numbers - 2 * width],
        "the projection has a bias, too.": [places, numbers - width],
    }


@works_out("5.3", ["What it finds"], choices=("a kind", "a district", "a visitor"), code=True)
def _profiles() -> Worked:
    """Hours and lengths of stay tell what a place is for, and not where it is."""
    return ("a kind",), {"compare the share with that by chance.": ("a visitor",)}


@works_out("6.1", [f"Visit {visit}" for visit in (1, 2, 3)], digits=2, atol=0.005)
def _weights_of_three() -> Worked:
    """The scores are 0 and log 3, so the weights are as 1 to 3; the padding is not asked."""
    leaking = np.array([1.0, 3.0, math.exp(5.0 / 2)])
    return [0.25, 0.75, 0.0], {
        "the dot products were not divided by the root of d.": [0.1, 0.9, 0.0],
        "the padding has taken a share; its score must not count.": leaking / leaking.sum(),
        "a score of 0 is not a weight of 0; the padding's becomes minus infinity.": [0.2, 0.6, 0.2],
    }


@works_out("7.1", [f"Place {place}" for place in range(5)], digits=2)
def _pointed() -> Worked:
    """The visit to place 2 has the largest weight, and place 4 wins."""
    right = np.array([0.0, 0.0, 5.0, 1.0, 6.0])  # places 0 to 4, by e to the score
    leaking = right + math.exp(7.0) * np.eye(5)[0]
    return right / right.sum(), {
        "the padding has taken a share; its score must not count.": leaking / leaking.sum(),
        "place 4 was visited twice, and collects both weights.": [0, 0, 5 / 12, 1 / 12, 3 / 12],
        "these are the weights before they are divided by their sum.": [0, 0, 5, 1, 6],
    }


@works_out("7.2", ["P, hot", "P, cold"], digits=2, atol=0.005)
def _temperatures() -> Worked:
    """Hot, the pointer counts: three visits of eleven. Cold, it trusts the one largest weight."""
    test = windows_of().test
    visits = look(load_model(shipped("city"))[0], test, story(test)).visits
    home = visits.kind == "home"
    colder = (visits.attention / visits.attention.max()) ** 100  # scores divided by 0.01
    right = [home.mean(), colder[home].sum() / colder.sum()]
    return right, {"home was visited three times.": [right[0] / 3, right[1]]}


FIELDS = ["The first place wins above a gate of", "Responsibility of the pointer"]


@works_out("8.1", FIELDS, digits=2, atol=0.005)
def _turning() -> Worked:
    """The pointer's favourite wins below an even gate already: the generator gives it something."""
    turn = (0.7 - 0.1) / (0.7 + 0.7 - 0.1)  # where 0.7 g + 0.1 (1 - g) = 0.7 (1 - g)
    taken = "you took the gate for the weight of generating; it is that of copying."
    return [turn, 0.6], {taken: [1 - turn, 0.4]}


@works_out(
    "8.3",
    ["With a gate of 0.9 [nats]", "With 0.1 [nats]", "The wrong gate costs [nats]"],
    digits=2,
    atol=0.01,
)
def _wrong_gate() -> Worked:
    """The generator cancels: only the two gates are left."""
    copy, generate = -math.log(0.1 * 0.05), -math.log(0.9 * 0.05)
    return [copy, generate, math.log(9)], {
        "the gate weighs copying, and this place cannot be copied.":
            [generate, copy, math.log(9)],
        "without the generator's 0.05 you have only its weight.":
            [-math.log(0.1), -math.log(0.9), math.log(9)],
    }  # fmt: skip


@works_out("9.1", ["Places"], digits=0, atol=0.5)
def _nine_tenths() -> Worked:
    """With more places than that, nearly all of the model is two tables of them."""
    few = 100
    model = PointerGeneratorTransformer(ModelConfig(few, 2_000, **PRESETS["diy"].model))
    per_place = 2 * model.config.d_model + 1  # a row here, a row and a bias there
    rest = 9 * (model.n_parameters() - few * per_place)
    bias = "the generator has a bias for each place, too."
    return rest // per_place + 1, {bias: rest // (per_place - 1) + 1}


@works_out("9.2", ["Log-odds"], digits=1, atol=0.01)
def _half() -> Worked:
    """The sigmoid of 0 is one half, so such a gate needs no weights."""
    return 0.0, {"that is the gate; its log-odds are asked for.": 0.5}


@works_out("9.3", ["Parameters"], digits=0, atol=0.5, code=True)
def _tied() -> Worked:
    """More than a third of the model was a second table of the same places."""
    vocabulary = windows_of().vocabulary
    model = PointerGeneratorTransformer(ModelConfig(vocabulary.n_locations, vocabulary.n_users))
    whole, table = model.n_parameters(), vocabulary.n_locations * model.config.d_model
    return whole - table, {
        "a number that is used twice counts once.": whole,
        "one of the two tables is still there.": whole - 2 * table,
    }


ORDERS = ("padding", "neighbours", "batch order", "visit order")


@works_out("9.4", ["What changes the answer"], choices=ORDERS)
def _what_matters() -> Worked:
    """Position, recency and the last visit's role all follow the order of the visits."""
    return ("visit order",), {
        "masks keep attention off the padding, and the context is read at the last real visit.":
            ("padding",),
        "each window has a row of its own; a longer one beside it only adds padding.":
            ("neighbours",),
        "the rows move, and each brings its answer along.": ("batch order",),
    }  # fmt: skip


@works_out("10.1", ["A hit [nats]", "A miss [nats]"], digits=2, atol=0.01)
def _nats() -> Worked:
    """One miss costs as much as 4.1 hits."""
    places = windows_of().vocabulary.n_locations
    inside, outside = -math.log(0.09), -math.log(0.1 / (places - 10))
    bits = [inside / math.log(2), outside / math.log(2)]
    return [inside, outside], {
        "these are bits; nats have the natural logarithm.": bits,
        "the remaining tenth is shared by all the other places.": [inside, -math.log(0.1)],
    }


@works_out(
    "10.3",
    ["Loss before [nats]", "Loss after [nats]", "Right before", "Right after"],
    digits=(2, 2, 0, 0),
    atol=0.01,
)
def _both_rise() -> Worked:
    """The mean pays for a window that is wrong before and after."""
    before, after = np.array([0.28, 0.5, 0.1]), np.array([0.4, 0.5, 0.05])
    losses = [-float(np.log(one).mean()) for one in (before, after)]
    return [*losses, 1, 2], {
        "the mean of the logarithms is not the logarithm of the mean.": [
            -math.log(before.mean()),
            -math.log(after.mean()),
            1,
            2,
        ],
        "these are sums; divide by three.": [3 * losses[0], 3 * losses[1], 1, 2],
    }


@works_out("11.1", ["Brier score", "Score of the average-sayer", "Skill"], digits=4)
def _four_forecasts() -> Worked:
    """One bold error costs more than three good forecasts gain."""
    forecast, happened = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0, 0, 1, 0])
    score, average = float(np.mean((forecast - happened) ** 2)), float(happened.var())
    return [score, average, 1 - score / average], {
        "the score is the mean of the squares, without a root.":
            [math.sqrt(score), average, 1 - score / average],
        "the average of what happened is a quarter; score a forecast that always says so.":
            [score, 0.25, 1 - score / 0.25],
        "the skill is what is removed of the average-sayer's error, not what is left.":
            [score, average, score / average],
    }  # fmt: skip


@works_out("11.2", ["Best stretch", "Skill [%]"], digits=2, atol=0.3, code=True)
def _hedging() -> Worked:
    """Who hedges loses no knowledge, and stretching gets it back: so "no gain" means something."""
    return [1.75, 4.6], {}


@works_out("12.1", ["Slow memory alone", "Beside the control"], atol=0.3, code=True)
def _beside_a_control() -> Worked:
    """What the same people do in both worlds cancels, so a control saves most of the towns."""
    bounds = np.array([13.17, 4.05])
    return bounds, {
        "the interval is two standard errors wide on each side, not one.": bounds / 4,
        "a sample's standard deviation divides by n - 1 (`ddof=1`).": 0.9 * bounds,
    }


@works_out("12.2", ["Bias", "Content", "Sum"], digits=2, atol=0.02)
def _exchanged() -> Worked:
    """The predictions are the same, and now the bias says all of it, and more."""
    bias, total, moved = 0.02, 0.77, 0.1 * (4 - 13)
    right = [bias - moved, total - bias + moved, total]
    return right, {
        "the bias loses what the content gains, and xi rises with p.":
            [bias + moved, total - bias - moved, total],
        "positions 4 and 13, the middles of the two groups, are nine steps apart.":
            [bias + 0.8, total - bias - 0.8, total],
        "what one part loses, the other gains; their sum stays.":
            [bias - moved, total - bias, total - moved],
    }  # fmt: skip


@works_out("12.3", atol=0.1, code=True)
def _weekly() -> Worked:
    """The sum has the peak, whoever says it."""
    step = -math.log(0.8)
    return [5 * step, 5 * step], {
        "from position 6 up to the height of position 1 there are five steps.": [6 * step] * 2,
        "kappa is a probability; scores are its logarithm.": [5 * step, 1 - 0.8**5],
    }


@works_out("13.1", ["Attention", "If the true place had all"], digits=1, atol=0.06, code=True)
def _the_hour() -> Worked:
    """The pointer does not use this cue."""
    return [1.01, 1.3], {}


@works_out("13.2", ["Sure [%]", "Right [%]"], digits=0, atol=2, code=True)
def _surest() -> Worked:
    """Over all windows it is right as often as it is sure; not among these."""
    return [68, 55], {}


@works_out("13.3", ["The last visit [%]", "Most attention [%]"], digits=0, atol=2, code=True)
def _favourite() -> Worked:
    """The picture is nearly the same as for the true place: attention does not show it."""
    return [59, 28], {}


@works_out("13.4", ["Points"], digits=2, atol=0.03, code=True)
def _staying() -> Worked:
    """In most districts the pointer looks at more than people stay there."""
    return 1.16, {
        "attention minus answers, so that too much attention is above zero.": -1.16,
        "that is the sum over all districts; take each by itself.": 4.32,
    }


@works_out("13.5", ["Change without the first", "Change without the third"], digits=2, atol=0.005)
def _taken_out() -> Worked:
    """The visit with most attention is the one whose loss helps."""
    gate, here, other = 0.8, 0.3, 0.5  # attention on the visit itself, and on the one elsewhere
    copied = 1 - other

    def change(left: float, kept: float) -> float:
        return gate * (left / kept - copied)

    first, third = change(copied - here, 1 - here), change(copied, 1 - other)
    return [first, third], {
        "the gate multiplies what is copied.": [first / gate, third / gate],
        "the attention of the others adds up to one again.": [-gate * here, 0],
        "the sign is the other way round: after minus before.": [-first, -third],
        "that is the attention alone, which is the naive reading.": [-here, -other],
    }


@works_out("14.1", ["The reason"], choices=("rare", "seldom first", "pointer", "gate"))
def _never_first() -> Worked:
    """What a part is worth depends on what is counted: look at Acc@10, too."""
    return ("seldom first",), {
        "they are not rare: look at the share of targets in the window.": ("rare",),
        "the pointer has no place outside the window to give probability to.": ("pointer",),
        "a gate can only weigh two answers; without the generator there is one.": ("gate",),
    }


@works_out("14.2", ["Without the generator", "Without the gate"], digits=0, atol=0.5, code=True)
def _clear_losses() -> Worked:
    """What is missed depends on what you count: the first guess did not miss the generator."""
    return [1, 0], {"an interval that holds zero shows no loss.": [2, 3]}


@works_out("14.3", ["Seeds"], digits=0, atol=0.5, code=True)
def _seeds() -> Worked:
    """That is for the generator, whose differences spread most."""
    return 13, {"one standard error is not enough: take two.": 4}


@works_out("14.4", ["What came out"], choices=("something is lost", "nothing is lost"), code=True)
def _without_order() -> Worked:
    """So the parts do not stand in for each other: this model does not miss the order of visits."""
    return ("nothing is lost",), {"compare with the same seeds of the whole model.":
                                  ("something is lost",)}  # fmt: skip


@works_out("15.1", ["The protocol"], choices=("published", "exact"))
def _eighty_four() -> Worked:
    """Merged into one place, most unknown targets are in the window; with real names fewer are."""
    return ("published",), {"with real names fewer targets are in the window.": ("exact",)}


@works_out("15.2", ["Most frequent place", "Last place"], atol=0.15, code=True)
def _merged() -> Worked:
    """Merged, the last place is right whenever somebody goes from one new place to another."""
    return [1.9, 5.3], {}


@works_out("15.3", ["It also stands in"], choices=("later windows", "earlier windows"))
def _in_the_middle() -> Worked:
    """These may see its time, and would change without any leak."""
    return ("later windows",), {"a window holds what came before its target.": ("earlier windows",)}


@works_out("15.5", ["As they are [%]", "Merged [%]"], atol=0.05)
def _two_ceilings() -> Worked:
    """The ceiling has risen, and no place has become easier to name."""
    unknown, of_known = 1 / 5, 4 / 5
    right = [100 * ((1 - unknown) * of_known + unknown * share) for share in (2 / 5, 19 / 20)]
    return right, {
        "the two groups differ in size; weigh each by its share of targets.": [60.0, 87.5],
    }


@works_out("16.1", ["Numbers of a row", "Number of the word", "Always zero"], digits=0, atol=0.1)
def _extended() -> Worked:
    """A lent number means another word in each text."""
    return [125, 124, 2], {
        "all rows of a batch are as wide as the text that lends most.": [123, 124, 2],
        "the vocabulary has the numbers 0 to 119, so the first lent word has 120.": [125, 125, 2],
    }


@works_out("16.2", ["The same word", "One after the other", "Evenly"], digits=0, atol=0.05)
def _looking() -> Worked:
    """Looking everywhere costs as much as staring at one word."""
    return [3, 0, 3], {
        "before the first step nothing has been looked at, so it is free.": [4, 0, 4],
        "from the second step on, an even look repeats all of the one before.": [3, 0, 0],
    }


@works_out("16.3", ["Up to p_gen", "Best of the four [%]"], digits=[2, 0], atol=0.005, code=True)
def _switch() -> Worked:
    """No constant will do: this gate is a switch, copying at some words, generating at others."""
    return [0.8 / 1.5, 0], {
        "“the” is copied, too, with attention 0.1.": [0.9 / 1.6, 0],
        "what must be equal is what the two words get, not the two weights.": [0.5, 0],
    }


@works_out("17.1", ["Copied by the summarizer", "Copied by PGT"], digits=2)
def _copied() -> Worked:
    """Both are shares of probability, and neither of them counts words."""
    return [0.1, 0.9], {}


@works_out("17.2", ["From this many visits on"], digits=0, atol=0.5)
def _encoder_or_lstm() -> Worked:
    """Until the window is as long as the vectors are wide, attention is the cheaper of the two."""
    width = 64
    return width + 1, {
        "there both make equally many; one visit more decides.": width,
        "that counts the scores alone; the weighted mean makes L D more for each visit.": 2 * width
        + 1,
    }


@works_out(
    "17.3",
    ["Steps of the BiLSTM", "Steps of PGT", "Times as much work"],
    digits=(0, 0, 2),
    atol=0.01,
)
def _depth() -> Worked:
    """Depth is where a Transformer wins, and work is where it loses."""
    work = 2 * (8 + 2 * 36 / 64) / 6
    return [36, 2, work], {
        "the two directions run side by side.": [72, 2, work],
        "PGT's encoder has two layers.": [36, 2, work / 2],
    }


@works_out("18.1", ["Edge 1–2", "Edge 1–3", "Loop of 4"], digits=1, atol=0.005)
def _co_occurrence() -> Worked:
    """The loop of 4 is there although 4 is not in the first set: the blind spot again."""
    return [1.0, 0.5, 0.5], {
        "divide by the largest count, which is 2.": [2.0, 1.0, 1.0],
        "an element has a loop in every set, visited or not.": [1.0, 0.5, 0.0],
    }


@works_out("18.2", ["Test [points]", "Validation [points]"], digits=1, atol=0.4, code=True)
def _both_repairs() -> Worked:
    """Here both together bring about the sum of the two."""
    return [6.4, 4.0], {
        "these are the scores themselves; subtract those of `trained`.": [65.4, 62.6],
        "this is the gate left out alone; hand over `knows_presence=True`, too.": [4.2, 2.7],
        "this is the presence alone; leave the gate out, too.": [1.6, 1.9],
    }


@works_out("18.3", code=True)
def _loops_that_tell() -> Worked:
    """The graphs of the two weeks differ now, so the network can."""
    week = [{0}, {0, 1}, {1, 2, 3}, {4}, {5}, {0, 1, 6}, {0}]

    def graphs(loop: Callable[[int, set[int]], bool]) -> list[np.ndarray]:
        """For the week, and with the repair shop, 4, on its first day."""
        return [
            np.array([[[_edge(a, b, held, days, loop) for b in range(7)] for a in range(7)]
                      for held in days])
            for days in (week, [{4}, *week[1:]])
        ]  # fmt: skip

    everywhere, nowhere = graphs(lambda _, held: True), graphs(lambda _, held: False)
    return graphs(lambda one, held: one in held), {
        "a loop is still there in sets that do not hold the element.": everywhere,
        "the loops are gone from the sets that hold the element, too.": nowhere,
    }


def _edge(
    a: int, b: int, held: set[int], days: list[set[int]], loop: Callable[[int, set[int]], bool]
) -> float:
    """Equation (18.1), where the largest number is 2."""
    if a == b:
        return loop(a, held) / 2
    return ({a, b} <= held) * sum({a, b} <= day for day in days) / 2


@works_out("19.2", ["Units of an expert"], digits=0, atol=0.5, code=True)
def _narrow_experts() -> Worked:
    """Less than a quarter of the plain network's 128: biases and the router cost, too."""
    return 31, {"the biases of four experts count, too.": 32}


@works_out("19.3", ["Leave out zero", "At least one [%]"], digits=1, atol=0.06)
def _luck() -> Worked:
    """A winner among 22 is what luck brings more often than not."""
    none = 0.95**22
    return [22 * 0.05, 100 * (1 - none)], {"that is how often none does.": [1.1, 100 * none]}


@works_out("20.1", ["The third alone", "All three"], digits=2, atol=0.005)
def _three_reasons() -> Worked:
    """One strong reason is enough to raise a visit, whatever the others say."""
    e = math.exp
    weight = e(0) + e(-1) + e(-3)
    return [(e(0) + e(-1) + e(1)) / weight, e(1)], {
        "the reasons are added after the exponential, not before it.": [e(4), e(3)],
        "only the third part of the sum rises by that factor.": [e(4), e(1)],
    }


@works_out("20.2", ["Missed least"], choices=("any visit", "same route", "same hour"), code=True)
def _least_missed() -> Worked:
    """The others were trained beside it; trained anew, they could do more of its work."""
    return ("same hour",), {"look for the smallest fall of the accuracy.": ("same route",)}


@works_out("20.3", ["At 61 minutes", "At 105 minutes", "Times as much"], digits=2, atol=0.01)
def _curves() -> Worked:
    """Curves are logarithms: their difference is a factor."""
    near, far = -1 - 1 / 30, -3.0
    return [near, far, math.exp(near - far)], {
        "a curve is the logarithm of a factor: take the exponential.": [near, far, near - far],
        "the factor is the other way round.": [near, far, math.exp(far - near)],
        "61 lies a thirtieth of the way from 60 to 90.": [-1 - 29 / 30, far, math.exp(1 + 1 / 30)],
    }


SPLIT = ["Memory, if first", "Model, if second", "Memory, mean", "Model, mean"]


@works_out("21.1", SPLIT, digits=1, atol=0.05)
def _split() -> Worked:
    """The order matters, the sum does not."""
    rule_week, rule_long, net_week, net_long = 40.0, 44.0, 43.0, 45.0
    memory, model = rule_long - rule_week, net_long - rule_long
    last, first = net_long - net_week, net_week - rule_week  # the model first
    means = [(memory + last) / 2, (model + first) / 2]
    return [memory, model, *means], {
        "that is the model first.": [last, first, *means],
        "model and memory are exchanged.": [model, memory, *means[::-1]],
    }


@works_out("21.3", ["The last", "Two before", "Seven before"], digits=1, atol=0.05, code=True)
def _how_far_back() -> Worked:
    """Each target among the places of the ten visits before it."""
    windows = with_history(prepare(city.load().visits, protocol="exact"), memory=10).test
    place = windows.visits.location_id.tolist()
    spans: Counter[int] = Counter()
    for start, target in zip(windows.first, windows.target, strict=True):
        back = (k for k in range(1, target - start + 1) if place[target - k] == place[target])
        latest = next(back, 0)
        spans[0 if latest == 0 else 1 + (latest > 1) + (latest > 3)] += 1
    last, two, seven = (100 * spans[k] / len(windows) for k in (1, 2, 3))
    return [last, two, seven], {
        "count the targets in each span alone: subtract what is nearer.": [
            last, last + two, last + two + seven,
        ],
        "of all targets, in percent.": [last / 100, two / 100, seven / 100],
    }  # fmt: skip


@works_out("22.1", ["Answers", "The three together", "At most"], digits=(0, 2, 2), atol=0.005)
def _new_places() -> Worked:
    """A place that training never showed can have as much as the gate, and no more."""
    gate, attention = 0.6, 0.25
    answers, together = 1003, gate * attention
    by_number = [answers, gate * 3 / 7, gate]
    return [answers, together, gate], {
        "four of the seven are known, and among the thousand.": [1007, together, gate],
        "what the pointer gives is multiplied by the gate.": [answers, attention, 1.0],
        "their share is their attention, not their number among the places.": by_number,
    }


@works_out("22.2", ["Hold the answer [%]", "Hold it by name [%]"], atol=1.5, code=True)
def _sets() -> Worked:
    """The rest hold it as "somewhere new", which names no place."""
    return [88.5, 71.0], {}


@works_out("22.3", ["The second answer from", "The first answer from"], digits=2, atol=0.005)
def _from_when() -> Worked:
    """The places share what the forecast leaves, so it needs less than its rival has now."""
    return [0.3 / 1.3, 0.6 / 1.6], {
        "the forecast takes its share from the places, too.": [0.3, 0.6],
    }


@works_out("23.2", ["Better for", "Worse for", "Part of one person [points]"], digits=(0, 0, 1),
           atol=0.06, code=True)  # fmt: skip
def _whose_lead() -> Worked:
    """More than half of the people share the lead, but nearly a third of it comes from one."""
    return [28, 9, 1.7], {}


@works_out("24.1", ["Visits"], digits=0, atol=0.5, code=True)
def _few_visits() -> Worked:
    """At first every visit is to a new place; then the person begins to return."""
    return 5, {"with one visit the made-up worlds still decide.": 1}


@works_out("24.2", ["The first place in the pool"], digits=2, atol=0.005)
def _share() -> Worked:
    """A weight is a power, and the places share what the products leave."""
    votes = [0.6**2 * 0.1, 0.3**2 * 0.3, 0.1**2 * 0.6]
    even = [0.6 * 0.1, 0.3 * 0.3, 0.1 * 0.6]
    return votes[0] / sum(votes), {
        "the products have to sum to one over the three places.": votes[0],
        "each probability is raised to the power of its weight.": even[0] / sum(even),
        "that is a mixture; a log-linear pool multiplies.": (2 * 0.6 + 0.1) / 3,
    }


@works_out("25.1", ["One array [GB]", "A stretch [MB]"], digits=2, atol=0.001)
def _sizes() -> Worked:
    """A stretch is small whatever the number of places, and that is why it exists."""
    every, stretch = 4 * 128 * 1_000_000, 4 * 2**20
    powers = [every / 2**30, stretch / 2**20]
    return [every / 1e9, stretch / 1e6], {
        "these are powers of two; the exercise counts in powers of ten.": powers,
        "these are numbers and not bytes; each number has four.": [every / 4e9, stretch / 4e6],
    }


@works_out("25.3", ["The same [%]"], digits=0, atol=1.5, code=True)
def _in_parts() -> Worked:
    """Its weights come from the past of all who are asked about, and the parts are alike."""
    return 99.0, {}


@works_out("26.1", ["Two agree", "Ceiling", "Root"], digits=2, atol=0.005)
def _one_half_and_five_tenths() -> Worked:
    """One place stands out, and the others hardly count."""
    squares = 0.5**2 + 5 * 0.1**2
    return [squares, 0.5, math.sqrt(squares)], {
        "there are five other places.": [0.26, 0.5, math.sqrt(0.26)],
        "of the agreement, not of the ceiling.": [squares, 0.5, math.sqrt(0.5)],
    }


@works_out(
    "26.2", ["Like stays", "Pairs agree", "Most led"], digits=(0, 2, 2), atol=0.005, code=True
)
def _wider() -> Worked:
    """Three times the hour gives more stays, and a guess that rests on more."""
    visits = city.load().visits.query("user_id == 8").reset_index(drop=True)
    ended, place = visits.finished_at.dt, visits.location_id.tolist()
    minute = 60 * ended.hour + ended.minute
    weekend = (visits.started_at.dt.day_of_week >= 5).tolist()

    def ends(minutes: int, itself: bool = False) -> list[float]:
        led_to = Counter(
            place[row + 1]
            for row in range(1, 624)
            if (place[row], place[row - 1], weekend[row]) == (place[624], place[623], weekend[624])
            and abs(minute[row] - minute[624]) <= minutes
        )
        n = led_to.total()
        squares = sum(times * (times - (not itself)) for times in led_to.values())
        agree = squares / (n * (n - (not itself)))
        return [n, agree, max(led_to.values()) / n]

    return ends(180), {
        "that is within one hour.": ends(60),
        "a stay makes no pair with itself.": ends(180, itself=True),
    }


@works_out("26.3", ["Without", "With itself", "Mean of roots"], digits=2, atol=0.01)
def _four_fridays() -> Worked:
    """All ways in which four days can go, each with its chance."""
    chances, without, roots = (0.6, 0.3, 0.1), 0.0, 0.0
    for days in itertools.product(range(3), repeat=4):
        likely = math.prod(chances[day] for day in days)
        pairs = sum(one == other for one, other in itertools.combinations(days, 2)) / 6
        without, roots = without + likely * pairs, roots + likely * math.sqrt(pairs)
    with_itself = (12 * without + 4) / 16
    return [without, with_itself, roots], {
        "that is the root of the mean.": [without, with_itself, math.sqrt(without)],
        "a day makes no pair with itself in the first.": [with_itself, without, roots],
    }


@works_out("27.1", ["Most attention", "Most missed"], digits=0, atol=0.5, code=True)
def _missed() -> Worked:
    """Attention is not effect: the other visits are encoded anew without the one that went."""
    return [10, 3], {}


@works_out("27.2", ["Bits"], digits=0, atol=0.5, code=True)
def _bits() -> Worked:
    """The page keeps more, so that every digit it shows is PyTorch's."""
    return 8, {"six bits change more than one guess in a hundred.": 6}
