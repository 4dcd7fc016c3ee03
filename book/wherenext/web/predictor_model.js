// The predictor: experts who score past visits, and how they are weighed; as pgt/history.py,
// pgt/contextual.py and pgt/predictor.py, for one person.
//
// A visit is {place, start, end, wall, wallEnd}: the place's number from 2, moments in milliseconds,
// and what the clock on the wall showed then (as if it hung in UTC). Visits are in order of time.

const MINUTE = 60000, DAY_MINUTES = 1440, WEEK = 7 * DAY_MINUTES, NOT_SEEN = -1;
const dayOf = (wall) => Math.floor(wall / (DAY_MINUTES * MINUTE)); // days since 1970-01-01
const minuteOf = (wall) => Math.floor(wall / MINUTE) - DAY_MINUTES * dayOf(wall);
const weekdayOf = (wall) => mod(dayOf(wall) + 3, 7) + 1; // 1 = Monday

// Everything that is known of a visit by itself and by those before it.
const known = (visits) => {
  const there = new Map();
  return visits.map((visit, i) => {
    const { place, start, end, wall, wallEnd } = visit, last = visits[i - 1];
    there.set(place, (there.get(place) ?? 0) + 1);
    return {
      number: i, place, there: there.get(place), minute: minuteOf(wall), day: dayOf(wall), weekday: weekdayOf(wall),
      endMinute: minuteOf(wallEnd), endDay: dayOf(wallEnd), stay: Math.floor((end - start) / MINUTE),
      before: last?.place ?? NOT_SEEN, twoBefore: visits[i - 2]?.place ?? NOT_SEEN,
      endBefore: last ? minuteOf(last.wallEnd) : NOT_SEEN,
      stayBefore: last ? Math.floor((last.end - last.start) / MINUTE) : NOT_SEEN,
      gapBefore: last ? Math.max(0, Math.floor((start - last.end) / MINUTE)) : NOT_SEEN,
    };
  });
};

// The day on which a visit ended, by how long it lasted.
const weekdayNow = ({ weekday, minute, stay }) =>
  mod(weekday - 1 + Math.floor((minute + stay) / DAY_MINUTES), 7) + 1;

// The question where the visit with this number goes: the latest visits before it, and of the places
// that are only found further back the latest visit each. `then` is the moment at which it begins.
const questionOf = (rows, target, { memory, older }, then) => {
  const first = Math.max(0, target - memory), last = rows[target - 1];
  const seen = new Set(rows.slice(first, target).map(({ place }) => place)), old = [];
  for (let i = first - 1; i >= 0 && old.length < older; i--) {
    if (seen.has(rows[i].place)) continue;
    seen.add(rows[i].place);
    old.unshift(i);
  }
  return {
    visits: [...old.map((i) => rows[i]), ...rows.slice(first, target)], first,
    last, now: last.endMinute, today: weekdayNow(last), then: then && {
      ...then,
      wait: mod((then.day - last.endDay) * DAY_MINUTES + then.minute - last.endMinute, WEEK),
    },
  };
};
const momentOf = (wall) => ({ day: dayOf(wall), minute: minuteOf(wall), weekday: weekdayOf(wall) });

// The features of pgt/contextual.py: one fact about a past visit each, in relation to now.

const aroundTheClock = (one, other) => 720 - Math.abs(720 - Math.abs(one - other));
const alike = (one, other) =>
  Math.abs(Math.log2(Math.max(0, one) + 15) - Math.log2(Math.max(0, other) + 15));
const unlessUnseen = (seen, value) => (seen === NOT_SEEN ? NOT_SEEN : value());
// 0 = a working day and a weekend, 1 = of the same kind, 2 = the same weekday.
const weekdays = (one, other) => Number(one >= 6 === other >= 6) + Number(one === other);
const sameBefore = (visit, { last }) => {
  const one = visit.before === last.place && visit.before !== NOT_SEEN;
  const two = visit.twoBefore === last.before && visit.twoBefore !== NOT_SEEN;
  return one ? 1 + Number(two) : 3 * Number(two);
};

// (visit, question) -> the fact, as a number between the knots of the feature's table.
const FACTS = {
  age: (visit, { last }) => last.number - visit.number,
  days: (visit, { last }) => last.day - visit.day,
  clock: (visit, { now }) => aroundTheClock(visit.minute, now),
  ahead: (visit, { now }) => mod(visit.minute - now, DAY_MINUTES),
  weekday: (visit, { today }) => weekdays(visit.weekday, today),
  stay: (visit) => Math.log2(visit.stay + 15),
  before: sameBefore,
  left: (visit, { now }) => unlessUnseen(visit.endBefore, () => aroundTheClock(visit.endBefore, now)),
  stayed: (visit, { last }) => unlessUnseen(visit.stayBefore, () => alike(visit.stayBefore, last.stay)),
  gap: (visit) => unlessUnseen(visit.gapBefore, () => Math.log2(visit.gapBefore + 5)),
  here: ({ place }, { last }) => (place === last.place ? 1 : 2 * Number(place === last.before)),
  count: ({ place }, { counts }) => Math.log2(counts.get(place)),
  unknown: () => 0, // every place of a person's own past is known
  // Visits further back than the first that is listed one by one stand for all visits to their place.
  older: (visit, { first }) => (visit.number < first ? Math.log2(visit.there + 1) : 0),
  then_clock: (visit, { then }) => aroundTheClock(visit.minute, then.minute),
  then_weekday: (visit, { then }) => weekdays(visit.weekday, then.weekday),
  then_gap: (visit, { then }) =>
    unlessUnseen(visit.gapBefore, () => alike(Math.min(visit.gapBefore, WEEK), then.wait)),
};
const halfOctaves = (value) => Math.floor(2 * Math.log2(value + 1));
// What is known of now, as a row of a table: it scales the features.
const NOW = {
  hour: ({ now }) => Math.floor(now / 60),
  weekday: ({ today }) => today,
  stay: ({ last }) => halfOctaves(last.stay),
  visits: ({ visits }) => halfOctaves(visits.length),
  then_hour: ({ then }) => Math.floor(then.minute / 60),
  then_weekday: ({ then }) => then.weekday,
  wait: ({ then }) => halfOctaves(then.wait),
};

// Between which knots a value lies: the lower knot's row, and the upper one's share.
const between = (value, knots) => {
  let low = 0;
  while (low < knots.length - 2 && value >= knots[low + 1]) low++;
  return [low, within((value - knots[low]) / (knots[low + 1] - knots[low]), 0, 1)];
};

// (T * R) how much each feature counts for each reason, by what is known of now.
const scalesOf = ({ config, weights, facts }, question) => {
  const all = config.used_features.length * config.n_components;
  if (!config.scaled) return new Float64Array(all).fill(1);
  const now = facts.flatMap((name) => {
    const table = weights[`scorer.now.${name}.weight`], width = 8;
    const row = Math.min(NOW[name](question), table.length / width - 1);
    return [...table.subarray(width * row, width * (row + 1))];
  });
  const hidden = gelu(linear(weights, "scorer.scale.0", Float64Array.from(now)));
  return linear(weights, "scorer.scale.3", hidden).map((value) => 1 + value);
};
const logSumExp = (values) => {
  const peak = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return peak + Math.log(values.reduce((sum, value) => sum + Math.exp(value - peak), 0));
};

// Where each visit stands between the knots of each feature: [lower rows, upper shares], for all experts.
const placed = (features, knots, question) => features.map((name) => {
  const { visits } = question, low = new Int32Array(visits.length), share = new Float64Array(visits.length);
  visits.forEach((visit, i) => ([low[i], share[i]] = between(FACTS[name](visit, question), knots[name])));
  return [low, share];
});

// One expert's log-weight of each listed visit: reasons add up, within a reason features multiply.
const logWeights = (expert, question, facts) => {
  const { config, tables } = expert, n = config.n_components, count = question.visits.length;
  const scales = scalesOf(expert, question), reasons = new Float64Array(count * n);
  facts.forEach(([low, share], t) => {
    const table = tables[t];
    for (let i = 0; i < count; i++) {
      for (let r = 0, at = low[i] * n; r < n; r++, at++) {
        reasons[i * n + r] += scales[t * n + r] * (table[at] + share[i] * (table[at + n] - table[at]));
      }
    }
  });
  const scores = Float64Array.from({ length: count }, (_, i) => logSumExp(reasons.subarray(i * n, (i + 1) * n)));
  const all = logSumExp(scores);
  return scores.map((score) => score - all);
};

// Of each place in sight its probability, by each expert: Map(place -> [p, …]).
const byExpert = (experts, asked) => {
  const counts = new Map(), found = new Map();
  for (const { place } of asked.visits) {
    counts.set(place, (counts.get(place) ?? 0) + 1);
    found.set(place, new Float64Array(experts.length));
  }
  const question = { ...asked, counts }, [{ config, knots }] = experts;
  const facts = placed(config.used_features, knots, question);
  experts.forEach((expert, k) => {
    const weight = logWeights(expert, question, facts);
    asked.visits.forEach(({ place }, i) => (found.get(place)[k] += Math.exp(weight[i])));
  });
  return found;
};

// The weights that make these targets most likely, by expectation maximization. `likely` holds for
// each visit of the past what each expert had given to its place, as a part of the most.
const weighed = (likely, n, { steps, prior }) => {
  let weights = new Float64Array(n).fill(1 / n);
  if (n === 1) return weights;
  const shares = new Float64Array(n * likely.length);
  likely.forEach((each, i) => shares.set(each, n * i));
  for (let step = 0; step < steps; step++) {
    const owed = new Float64Array(n).fill(prior / n);
    for (let at = 0; at < shares.length; at += n) {
      let all = 0;
      for (let k = 0; k < n; k++) all += shares[at + k] * weights[k];
      for (let k = 0; k < n; k++) owed[k] += (shares[at + k] * weights[k]) / all;
    }
    const sum = owed.reduce((a, b) => a + b, 0), before = weights;
    weights = owed.map((value) => value / sum);
    if (weights.every((value, k) => Math.abs(value - before[k]) < 1e-12)) break; // no step moves it
  }
  return weights;
};

// A person's visits, and the model's answer after any number of them. What the experts said of a visit
// that has happened does not change when more is known, so it is kept.
const askAbout = (model, visits, kept = { next_place: [], at_a_time: [] }) => {
  const rows = known(visits);
  // What the experts say of the visit with this number, from those before it.
  const of = (part, i) => (kept[part][i] ??= byExpert(model[part],
    questionOf(rows, i, model, part === "at_a_time" ? momentOf(visits[i].wall) : null)));
  // How likely each made where they went, as a part of the most; null where nobody could name it.
  const shares = { next_place: [], at_a_time: [] };
  const foretold = (part, i) => {
    if (shares[part][i] === undefined) {
      const each = of(part, i).get(visits[i].place), most = each && Math.max(...each);
      shares[part][i] = each?.every((p) => p > 0) ? each.map((p) => p / most) : null;
    }
    return shares[part][i];
  };
  // Of the later half of the past, at most so many visits: by them the experts are weighed. Where there
  // are more, here the latest count, and in the package as many drawn at random.
  const begin = (count) => Math.max(3, Math.floor(count / 2), count - model.past);
  const judged = (count) => [...rows.keys()].slice(begin(count), count);
  const weightsAt = (part, count) =>
    weighed(judged(count).map((i) => foretold(part, i)).filter(Boolean), model[part].length, model);
  const partFor = (at) => (at === null ? "next_place" : "at_a_time");
  // The numbers of visits that an answer needs and that nobody has been asked about yet.
  const missing = (count, at = null) => judged(count).filter((i) => !kept[partFor(at)][i]);
  // After `count` visits; `at` is what the clock shows when the next one begins, if that is known.
  const answer = (count, at = null) => {
    const part = partFor(at), weights = weightsAt(part, count);
    const each = at === null && count < visits.length ? of(part, count)
      : byExpert(model[part], questionOf(rows, count, model, at === null ? null : momentOf(at)));
    const recent = rows.slice(Math.max(0, count - model.recent), count);
    const fresh = recent.filter(({ there }) => there === 1).length, { mean, strength } = model.novelty;
    const somewhereNew = (fresh + strength * mean) / (recent.length + strength);
    const share = (ps) => ps.reduce((sum, p, k) => sum + weights[k] * p, 0);
    const places = [...each].map(([place, ps]) => [place, (1 - somewhereNew) * share(ps)])
      .sort(([place, p], [other, q]) => q - p || place - other);
    return { places, somewhereNew, weights: [...weights] };
  };
  return { visits, rows, kept, of, missing, answer };
};

// The same past at a moment: a visit that goes on ends then, as far as anybody can know. `count` visits
// have begun; what was said of visits before the first that changes still holds.
const asOf = (model, about, count, moment) => {
  const past = about.visits.slice(0, count), first = past.findIndex(({ end }) => end > moment);
  if (first < 0) return about;
  const cut = past.map((visit) => (visit.end <= moment ? visit
    : { ...visit, end: moment, wallEnd: visit.wall + (moment - visit.start) }));
  const { next_place, at_a_time } = about.kept;
  return askAbout(model, cut, {
    next_place: next_place.slice(0, first + 1), at_a_time: at_a_time.slice(0, first + 1),
  });
};

const unpackPredictor = ({ knots, facts, next_place, at_a_time, ...rest }) => {
  const open = (packed) => {
    const expert = unpack(packed), { used_features, target_time } = expert.config;
    const tables = used_features.map((name) => expert.weights[`scorer.tables.${name}`]);
    return { ...expert, tables, knots, facts: facts[target_time] };
  };
  return { ...rest, next_place: next_place.map(open), at_a_time: at_a_time.map(open) };
};
