// The forward pass of the Pointer-Generator Transformer, in plain JavaScript.
//
// The same steps as pgt/model.py, for one window at a time and in double precision. A matrix of
// n rows is one flat array, row after row. L visits, D = d_model, H heads, V locations.

// ---- Weights ---------------------------------------------------------------------------------

// base64 -> {config, weights}: each weight is a whole number of three bytes times a unit.
const unpack = ({ config, tensors, data }) => {
  const bytes = atob(data);
  const weights = {};
  for (const [name, { shape, at, unit, rows }] of Object.entries(tensors)) {
    const width = shape.slice(1).reduce((product, size) => product * size, 1);
    const values = (weights[name] = new Float64Array(shape[0] * width));
    const count = rows ? rows.length : shape[0];
    for (let i = 0, b = 3 * at; i < count * width; i++, b += 3) {
      const low = bytes.charCodeAt(b), middle = bytes.charCodeAt(b + 1), high = bytes.charCodeAt(b + 2);
      const whole = low | (middle << 8) | (high << 16);
      const row = rows ? rows[Math.floor(i / width)] : Math.floor(i / width);
      values[row * width + (i % width)] = unit * ((whole << 8) >> 8); // the shifts keep the sign
    }
  }
  return { config, weights };
};

// ---- The bricks ------------------------------------------------------------------------------

// (n, inputs) -> (n, outputs): every row times the matrix, plus the bias.
const linear = (weights, name, x) => {
  const weight = weights[name + ".weight"], bias = weights[name + ".bias"];
  const outputs = bias.length, inputs = weight.length / outputs, n = x.length / inputs;
  const y = new Float64Array(n * outputs);
  for (let i = 0; i < n; i++) {
    for (let o = 0; o < outputs; o++) {
      let sum = bias[o];
      for (let k = 0; k < inputs; k++) sum += x[i * inputs + k] * weight[o * inputs + k];
      y[i * outputs + o] = sum;
    }
  }
  return y;
};

// Every row minus its mean, over its standard deviation, then scaled and shifted.
const layerNorm = (weights, name, x) => {
  const scale = weights[name + ".weight"], shift = weights[name + ".bias"], d = scale.length;
  const y = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += d) {
    let mean = 0, variance = 0;
    for (let k = 0; k < d; k++) mean += x[row + k] / d;
    for (let k = 0; k < d; k++) variance += (x[row + k] - mean) ** 2 / d;
    const shrink = 1 / Math.sqrt(variance + 1e-5);
    for (let k = 0; k < d; k++) y[row + k] = (x[row + k] - mean) * shrink * scale[k] + shift[k];
  }
  return y;
};

// The error function to 1.5e-7: Abramowitz and Stegun (1964), formula 7.1.26.
const erf = (x) => {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736
    + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
};
const gelu = (values) => values.map((x) => 0.5 * x * (1 + erf(x / Math.SQRT2)));
const add = (x, y) => x.map((value, i) => value + y[i]);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// The largest value is taken out first, so that no exponential overflows.
const softmax = (scores) => {
  const peak = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const raised = scores.map((score) => Math.exp(score - peak));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((value) => value / sum);
};

// ---- The parts -------------------------------------------------------------------------------

// Which row of each table a visit uses; 1 = first kind, 0 would be padding.
const indices = (config, window, i) => {
  const visit = window.visits[i];
  return {
    location: visit.location,
    user: window.user,
    time: 1 + Math.floor(visit.minute / 15),
    weekday: visit.weekday,
    recency: 1 + Math.max(0, Math.min(7, visit.daysAgo)),
    duration: 1 + Math.min(99, Math.floor(visit.stay / 30)),
    position_from_end: window.visits.length - i,
  };
};

// (L, D) one vector a visit: seven embeddings side by side, projected and normalised.
const embed = ({ config, weights }, window, off) => {
  const wide = config.d_model, narrow = wide / 4;
  const names = ["location", "user", "time", "weekday", "recency", "duration", "position_from_end"]
    .filter((name) => !config.without.includes(name));
  const widthOf = (name) => (name === "location" || name === "user" ? wide : narrow);
  const row = names.reduce((sum, name) => sum + widthOf(name), 0);
  const x = new Float64Array(window.visits.length * row);
  window.visits.forEach((_, i) => {
    const index = indices(config, window, i);
    let at = i * row;
    for (const name of names) {
      const width = widthOf(name);
      const table = weights[`embeddings.tables.${name}.weight`];
      const start = index[name] * width;
      if (!off.has(name)) x.set(table.subarray(start, start + width), at);
      at += width;
    }
  });
  return layerNorm(weights, "embeddings.norm", linear(weights, "embeddings.project", x));
};

// (L, D) where a visit stands in the window, as waves of many lengths: sine, cosine, sine, …
const sinusoids = (n, d) => Float64Array.from({ length: n * d }, (_, at) => {
  const position = Math.floor(at / d), k = at % d;
  const angle = position * Math.exp((-Math.log(10000) / d) * (k - (k % 2)));
  return k % 2 ? Math.cos(angle) : Math.sin(angle);
});

// (L, D) -> (L, D): every visit looks at every visit, in H heads.
const attend = (weights, name, x, heads, d) => {
  const n = x.length / d, width = d / heads;
  const all = linear(weights, name + ".project", x); // (L, 3 D): queries, keys, values
  const mixed = new Float64Array(n * d);
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < n; i++) {
      const query = i * 3 * d + h * width;
      const scores = new Float64Array(n);
      for (let j = 0; j < n; j++) {
        const key = j * 3 * d + d + h * width;
        for (let k = 0; k < width; k++) scores[j] += all[query + k] * all[key + k];
        scores[j] /= Math.sqrt(width);
      }
      softmax(scores).forEach((weight, j) => {
        const value = j * 3 * d + 2 * d + h * width;
        for (let k = 0; k < width; k++) mixed[i * d + h * width + k] += weight * all[value + k];
      });
    }
  }
  return linear(weights, name + ".out", mixed);
};

const encode = ({ config, weights }, x, off) => {
  const d = config.d_model;
  const waves = !config.without.includes("sinusoid") && !off.has("sinusoid");
  if (waves) x = add(x, sinusoids(x.length / d, d));
  const layers = off.has("one_layer") ? 1 : config.n_layers;
  for (let layer = 0; layer < layers; layer++) {
    const name = `encoder.layers.${layer}.`;
    const calm = layerNorm(weights, name + "norm_attention", x);
    x = add(x, attend(weights, name + "attention", calm, config.n_heads, d));
    const again = layerNorm(weights, name + "norm_feedforward", x);
    const inner = gelu(linear(weights, name + "feedforward.0", again));
    x = add(x, linear(weights, name + "feedforward.3", inner));
  }
  return x;
};

// The weight of each visit, (L,): content (query times key) plus the bias of its position.
const point = ({ config, weights }, context, x, off, biasTimes) => {
  const d = config.d_model, n = x.length / d;
  const query = linear(weights, "pointer.query", context), keys = linear(weights, "pointer.key", x);
  const table = off.has("position_bias") ? null : weights["pointer.position_bias"];
  const content = new Float64Array(n), bias = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < d; k++) content[i] += (query[k] * keys[i * d + k]) / Math.sqrt(d);
    if (table) bias[i] = biasTimes * table[n - i];
  }
  return { content, bias, attention: softmax(add(content, bias)) };
};

// ---- The whole -------------------------------------------------------------------------------

// window: {user, visits: [{location, minute, weekday, daysAgo, stay}, …] oldest first}.
// off: a Set of parts to silence; biasTimes: what the position bias is multiplied with; setGate: a
// gate chosen by hand. Returns the prediction and everything it was made of.
const predict = (model, window, { off = new Set(), biasTimes = 1, setGate = null } = {}) => {
  const { config, weights } = model;
  const recent = { ...window, visits: window.visits.slice(-config.max_len) };
  const x = encode(model, embed(model, recent, off), off); // (L, D)
  const context = x.subarray(x.length - config.d_model); // (D,) the last visit
  const has = (part, name) => !off.has(part) && name + ".weight" in weights;

  const copied = has("pointer", "pointer.query"), generated = has("generator", "generator");
  const pointer = new Float64Array(config.n_locations); // (V,) attention added up by place
  let look = { content: [], bias: [], attention: [] };
  if (copied) {
    look = point(model, context, x, off, biasTimes);
    recent.visits.forEach((visit, i) => (pointer[visit.location] += look.attention[i]));
  }
  const generator = generated
    ? softmax(linear(weights, "generator", context)) : new Float64Array(config.n_locations);

  let gate = copied && generated ? 0.5 : Number(copied);
  if (copied && generated && has("gate", "gate.0")) {
    gate = sigmoid(linear(weights, "gate.2", gelu(linear(weights, "gate.0", context)))[0]);
  }
  if (copied && generated && setGate !== null) gate = setGate;
  const probabilities = pointer.map((p, place) => gate * p + (1 - gate) * generator[place]);
  return { ...look, gate, pointer, generator, probabilities };
};
