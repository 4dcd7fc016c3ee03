// The context kernel with its five numbers: one window opened, and the accuracy on many others.

// A window: {places, minutes} of its visits, oldest first, {now} in minutes of the day, {truth}.
const votesOf = ({ places, minutes, now }, { decay, base, same, clock, width }) =>
  places.map((_, i) => {
    const apart = Math.abs(minutes[i] - now), around = Math.min(apart, 1440 - apart);
    const fade = decay ** (places.length - 1 - i);
    const followed = i > 0 && places[i - 1] === places.at(-1) ? same : 0;
    return [fade * base, fade * followed, fade * clock * Math.exp(-around / width)];
  });
const totals = (window, numbers) => {
  const found = new Map();
  votesOf(window, numbers).forEach((vote, i) => {
    const place = window.places[i];
    found.set(place, (found.get(place) ?? 0) + sumOf(vote));
  });
  return found;
};
// Right, or the fair share of a tie at the top.
const hit = (window, numbers) => {
  const found = totals(window, numbers), most = Math.max(...found.values());
  const best = [...found].filter(([, votes]) => votes >= most * (1 - 1e-9)).map(([place]) => place);
  return best.includes(window.truth) ? 1 / best.length : 0;
};
const accuracy = (numbers) =>
  (100 * sumOf(page.windows.map((window) => hit(window, numbers)))) / page.windows.length;

const two = (value) => value.toFixed(2);
const KNOBS = {
  decay: ["decay: how fast old visits fade", { min: 0.5, max: 1, step: 0.01, write: two }],
  base: ["base: a vote for every visit", { min: 0, max: 1, step: 0.01, write: two }],
  same: ["same: what came after here", { min: 0, max: 5, step: 0.1, write: two }],
  clock: ["clock: the hour", { min: 0, max: 5, step: 0.1, write: two }],
  width: ["width of the hour", { min: 10, max: 480, step: 10, write: (n) => `${n} min` }],
};
const knobs = {};
const numbersOf = () => Object.fromEntries(Object.keys(KNOBS).map((name) => [name, knobs[name].get()]));

const KINDS = ["base", "after", "clock"];
const places = table(stage, "Where to? The votes, added up by place", ["place", "", "share"]);
const visits = table(stage, "The votes of each visit, newest first", ["visit", "", "vote"]);
addLegend([["base", "base"], ["after", "followed this place"], ["clock", "time of day"]]);
const SHOWN = 5; // places
const addRow = (body, name, shares, text) => {
  const row = add$(body, "tr");
  add$(row, "th", name, { scope: "row", title: name });
  addBar(add$(row, "td", "", { className: "bars" }), shares);
  add$(row, "td", text);
};
const draw = () => {
  const numbers = numbersOf(), { window } = page, votes = votesOf(window, numbers);
  const whole = sumOf(votes.map(sumOf)) || 1, most = Math.max(1e-9, ...votes.map(sumOf));
  const parts = new Map(); // by place: the three kinds of votes
  votes.forEach((vote, i) => {
    const place = window.places[i], before = parts.get(place) ?? [0, 0, 0];
    parts.set(place, before.map((value, kind) => value + vote[kind]));
  });
  const sorted = [...parts].sort((a, b) => sumOf(b[1]) - sumOf(a[1]));
  const scale = Math.max(1e-9, sumOf(sorted[0][1]) / whole);
  const label = (place) => (place === window.truth ? "✓ " : "") + window.names[place];
  places.replaceChildren();
  for (const [place, vote] of sorted.slice(0, SHOWN)) {
    const shares = vote.map((value, kind) => [KINDS[kind], value / whole / scale]);
    addRow(places, label(place), shares, percent(sumOf(vote) / whole));
  }
  const rest = sorted.slice(SHOWN);
  if (rest.length) {
    const share = sumOf(rest.map(([, vote]) => sumOf(vote))) / whole;
    addRow(places, many(rest.length, "other place"), [["other", share / scale]], percent(share));
  }
  visits.replaceChildren();
  for (let i = votes.length - 1; i >= 0; i--) {
    const shares = votes[i].map((value, kind) => [KINDS[kind], value / most]);
    addRow(visits, `${label(window.places[i])}, ${window.when[i]}`, shares, two(sumOf(votes[i])));
  }
  const change = accuracy(numbers) - accuracy(page.chosen), [[first]] = sorted;
  const against = Math.abs(change) < 0.05 ? "as many as with the chosen numbers"
    : `${Math.abs(change).toFixed(1)} points ${change > 0 ? "more" : "fewer"} than with the chosen numbers`;
  said.textContent = `First guess: ${window.names[first]}, ${first === window.truth ? "right" : "wrong"}. `
    + `On a sample of ${page.windows.length} validation windows: ${accuracy(numbers).toFixed(1)} % right, ${against}.`;
};
for (const [name, [text, about]] of Object.entries(KNOBS)) {
  knobs[name] = slider(text, { ...about, value: page.chosen[name] }, draw);
}
button("Back to the chosen numbers", () => {
  for (const name of Object.keys(KNOBS)) knobs[name].set(page.chosen[name]);
  draw();
});
addSaid();
draw();
root.touch = { accuracy, votes: (numbers) => votesOf(page.window, numbers), numbers: numbersOf };
