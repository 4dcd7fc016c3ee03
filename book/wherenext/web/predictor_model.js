// The predictor: experts who score past visits, fixed kernels, and how they are weighed; as pgt/history.py,
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

// A kernel's vote for each listed visit, as ContextKernel.weights in pgt/baselines.py.
const votes = ({ decay, base, same, clock, width }, { visits, last, now, then }) => {
  const minute = then ? then.minute : now;
  return visits.map((visit, i) => decay ** (visits.length - 1 - i) * (base
    + same * Number(i > 0 && visits[i - 1].place === last.place)
    + clock * Math.exp(-aroundTheClock(visit.minute, minute) / width)));
};

// Of each place in sight what each speaker says, as a logarithm: Map(place -> [log p, …]). The speakers
// are the networks; beside several also the kernels, whether one is there, and whether one was before.
const said = (experts, asked, { kernels, least }) => {
  const counts = new Map();
  for (const { place } of asked.visits) counts.set(place, (counts.get(place) ?? 0) + 1);
  const question = { ...asked, counts }, [{ config, knots }] = experts, several = experts.length > 1;
  const facts = placed(config.used_features, knots, question);
  const shares = experts.map((expert) => logWeights(expert, question, facts).map(Math.exp));
  for (const kernel of several ? kernels : []) {
    const vote = votes(kernel, question), all = vote.reduce((sum, one) => sum + one, 0);
    shares.push(vote.map((one) => one / all));
  }
  const found = new Map([...counts.keys()].map((place) => [place, new Array(shares.length).fill(0)]));
  asked.visits.forEach(({ place }, i) => shares.forEach((share, k) => (found.get(place)[k] += share[i])));
  const { place: here, before } = asked.last, floor = several ? least : 0;
  return new Map([...found].map(([place, ps]) => [place, [
    ...ps.map((p) => Math.log(p + floor)),
    ...(several ? [Number(place === here), Number(place === before)] : []),
  ]]));
};

const dot = (one, other) => one.reduce((sum, value, k) => sum + value * other[k], 0);
// What the speakers say together: log p = Σ weight · log p of each, made to add up to 1.
const together = (rows, weights) => {
  const scores = rows.map((row) => dot(row, weights)), all = logSumExp(scores);
  return scores.map((score) => Math.exp(score - all));
};

// x of A x = b, by elimination; A is symmetric and positive definite, and is used up.
const solved = (A, b) => {
  const n = b.length, x = [...b];
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const part = A[j][i] / A[i][i];
      for (let k = i; k < n; k++) A[j][k] -= part * A[i][k];
      x[j] -= part * x[i];
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= A[i][k] * x[k];
    x[i] /= A[i][i];
  }
  return x;
};

// The weights that make where one went likeliest, drawn to equal ones by a ridge: Newton's steps down
// a convex loss. `past` holds for each visit what was said of the places, and which one it was.
const weighed = (past, networks, ridge, width) => {
  const start = Array.from({ length: width }, (_, k) => (k < networks ? 1 / networks : 0));
  if (networks === 1) return start;
  const loss = (weights) => past.reduce(
    (sum, { rows, hit }) => sum - Math.log(together(rows, weights)[hit]),
    ridge * weights.reduce((sum, weight, k) => sum + (weight - start[k]) ** 2, 0));
  let weights = start, now = loss(start);
  for (let step = 0; step < 50; step++) {
    const slope = weights.map((weight, k) => 2 * ridge * (weight - start[k]));
    const bend = slope.map((_, k) => slope.map((__, l) => (k === l ? 2 * ridge : 0)));
    for (const { rows, hit } of past) {
      const share = together(rows, weights), mean = new Array(width).fill(0);
      rows.forEach((row, i) => row.forEach((value, k) => (mean[k] += share[i] * value)));
      mean.forEach((value, k) => (slope[k] += value - rows[hit][k]));
      rows.forEach((row, i) => {
        for (let k = 0; k < width; k++) {
          const part = share[i] * (row[k] - mean[k]);
          for (let l = 0; l < width; l++) bend[k][l] += part * (row[l] - mean[l]);
        }
      });
    }
    const way = solved(bend, slope);
    let size = 1, next, then;
    do {
      next = weights.map((weight, k) => weight - size * way[k]);
      then = loss(next);
      size /= 2;
    } while (then > now && size > 1e-6);
    const moved = Math.max(...next.map((weight, k) => Math.abs(weight - weights[k])));
    if (then <= now) [weights, now] = [next, then];
    if (moved < 1e-7) break;
  }
  return weights;
};

// A person's visits, and the model's answer after any number of them. What the experts said of a visit
// that has happened does not change when more is known, so it is kept.
const askAbout = (model, visits, kept = { next_place: [], at_a_time: [] }) => {
  const rows = known(visits);
  // What is said of the visit with this number, from those before it.
  const of = (part, i) => (kept[part][i] ??= said(model[part],
    questionOf(rows, i, model, part === "at_a_time" ? momentOf(visits[i].wall) : null), model));
  // Of the later half of the past, at most so many visits: by them the speakers are weighed. Where there
  // are more, here the latest count, and in the package as many drawn at random.
  const begin = (count) => Math.max(3, Math.floor(count / 2), count - model.past);
  const judged = (count) => [...rows.keys()].slice(begin(count), count);
  const weightsAt = (part, count) => {
    const networks = model[part].length, width = networks > 1 ? networks + model.kernels.length + 2 : 1;
    const past = judged(count).map((i) => {
      const places = of(part, i);
      return { rows: [...places.values()], hit: [...places.keys()].indexOf(visits[i].place) };
    });
    return weighed(past.filter(({ hit }) => hit >= 0), networks, model.ridge, width);
  };
  const partFor = (at) => (at === null ? "next_place" : "at_a_time");
  // The numbers of visits that an answer needs and that nobody has been asked about yet.
  const missing = (count, at = null) => judged(count).filter((i) => !kept[partFor(at)][i]);
  // After `count` visits; `at` is what the clock shows when the next one begins, if that is known.
  const answer = (count, at = null) => {
    const part = partFor(at), weights = weightsAt(part, count);
    const each = at === null && count < visits.length ? of(part, count)
      : said(model[part], questionOf(rows, count, model, at === null ? null : momentOf(at)), model);
    const recent = rows.slice(Math.max(0, count - model.recent), count);
    const fresh = recent.filter(({ there }) => there === 1).length, { mean, strength } = model.novelty;
    const somewhereNew = (fresh + strength * mean) / (recent.length + strength);
    const shares = together([...each.values()], weights);
    const places = [...each.keys()].map((place, i) => [place, (1 - somewhereNew) * shares[i]])
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
