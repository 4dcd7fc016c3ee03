// The model that was trained on nobody: experts who score past visits, and how they are weighed.
//
// As pgt/contextual/scorer.py, pgt/predictor/experts.py and pgt/predictor/answers.py, for one person.

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
  const weightsAt = (part, count) => {
    const likely = [];
    for (let i = begin(count); i < count; i++) {
      const each = foretold(part, i);
      if (each) likely.push(each);
    }
    return weighed(likely, model[part].length, model);
  };
  const partFor = (at) => (at === null ? "next_place" : "at_a_time");
  // The numbers of visits that an answer needs and that nobody has been asked about yet.
  const missing = (count, at = null) => {
    const found = [];
    for (let i = begin(count); i < count; i++) if (!kept[partFor(at)][i]) found.push(i);
    return found;
  };
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
    return { places, somewhereNew, weights: [...weights], judged: count - Math.min(count, begin(count)) };
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

const unpackNobody = ({ knots, facts, next_place, at_a_time, ...rest }) => {
  const open = (packed) => {
    const expert = unpack(packed), { used_features, target_time } = expert.config;
    const tables = used_features.map((name) => expert.weights[`scorer.tables.${name}`]);
    return { ...expert, tables, knots, facts: facts[target_time] };
  };
  return { ...rest, next_place: next_place.map(open), at_a_time: at_a_time.map(open) };
};
