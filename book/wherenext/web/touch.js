// The context kernel with its five numbers: one window opened, and the accuracy on many others.
//
// The still figure stays for paper and for a page without JavaScript. `page` holds the data; whatever
// comes from data is set as text.

const root = figureOf(page.id);
const body = root.querySelector(".touch-body");
body.hidden = false;
const controls = add$(body, "div", "", { className: "touch-controls" });
const stage = add$(body, "div", "", { className: "touch-stage" });
const two = (value) => value.toFixed(2);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A window: {places, minutes} of its visits, oldest first, {now} in minutes of the day, {truth}.
const votesOf = ({ places, minutes, now }, { decay, base, same, clock, width }) =>
  places.map((_, i) => {
    const apart = Math.abs(minutes[i] - now), around = Math.min(apart, 1440 - apart);
    const fade = decay ** (places.length - 1 - i);
    const followed = i > 0 && places[i - 1] === places.at(-1) ? same : 0;
    return [fade * base, fade * followed, fade * clock * Math.exp(-around / width)];
  });
// By place: the three kinds of votes.
const byPlace = ({ places }, votes) => {
  const found = new Map();
  votes.forEach((vote, i) => {
    const before = found.get(places[i]) ?? [0, 0, 0];
    found.set(places[i], before.map((value, kind) => value + vote[kind]));
  });
  return found;
};
// Right, or the fair share of a tie at the top.
const hit = (window, numbers) => {
  const found = [...byPlace(window, votesOf(window, numbers))].map(([place, vote]) => [place, sumOf(vote)]);
  const most = Math.max(...found.map(([, votes]) => votes));
  const best = found.filter(([, votes]) => votes >= most * (1 - 1e-9)).map(([place]) => place);
  return best.includes(window.truth) ? 1 / best.length : 0;
};
const accuracy = (numbers) =>
  (100 * sumOf(page.windows.map((window) => hit(window, numbers)))) / page.windows.length;

// A table with a head; returns its body.
const table = (caption, heads) => {
  const made = add$(stage, "table");
  add$(made, "caption", caption);
  const row = add$(add$(made, "thead"), "tr");
  for (const head of heads) {
    if (head) add$(row, "th", head, { scope: "col" });
    else add$(row, "td"); // a head without a word would be read out
  }
  return add$(made, "tbody");
};
const KINDS = { base: "base", after: "came from here", clock: "the clock" };
const places = table("Where to? The votes, added up by place", ["place", "", "share"]);
const visits = table("The votes of each visit, newest first", ["visit", "", "vote"]);
const legend = add$(stage, "p", "", { className: "touch-legend" });
for (const [kind, text] of Object.entries(KINDS)) {
  const key = add$(legend, "span");
  add$(key, "i", "", { className: kind });
  key.append(text);
}

const KNOBS = {
  decay: ["decay: how fast old visits fade", { min: 0.5, max: 1, step: 0.01 }, two],
  base: ["base: a vote for every visit", { min: 0, max: 1, step: 0.01 }, two],
  same: ["same: came from here", { min: 0, max: 5, step: 0.1 }, two],
  clock: ["clock: the same hour", { min: 0, max: 5, step: 0.1 }, two],
  width: ["width of the clock", { min: 10, max: 480, step: 10 }, (n) => `${n} min`],
};
let numbers = { ...page.chosen };
const shows = []; // what each knob shows of its number
for (const [name, [text, range, write]] of Object.entries(KNOBS)) {
  const label = add$(controls, "label"), top = add$(label, "span", text + " "), shown = add$(top, "b");
  const input = add$(label, "input", "", { type: "range", ...range });
  input.setAttribute("aria-label", text);
  shows.push(() => {
    input.value = numbers[name];
    shown.textContent = write(numbers[name]);
    input.setAttribute("aria-valuetext", shown.textContent);
  });
  input.addEventListener("input", () => draw({ ...numbers, [name]: Number(input.value) }));
}
add$(controls, "button", "Back to the chosen numbers", { type: "button" })
  .addEventListener("click", () => draw({ ...page.chosen }));
const said = add$(controls, "output", "", { className: "touch-said" }); // what a step changed

const SHOWN = 5; // places
const addRow = (body, name, shares, text) => {
  const row = add$(body, "tr");
  add$(row, "th", name, { scope: "row", title: name });
  addBar(add$(row, "td", "", { className: "bars" }), shares);
  add$(row, "td", text);
};
const draw = (next) => {
  numbers = next;
  for (const show of shows) show();
  const { window } = page, votes = votesOf(window, numbers);
  const whole = sumOf(votes.map(sumOf)) || 1, most = Math.max(1e-9, ...votes.map(sumOf));
  const parts = (vote, all) => Object.keys(KINDS).map((kind, i) => [kind, vote[i] / all]);
  const sorted = [...byPlace(window, votes)].sort((a, b) => sumOf(b[1]) - sumOf(a[1]));
  const label = (place) => (place === window.truth ? "✓ " : "") + window.names[place];
  places.replaceChildren();
  for (const [place, vote] of sorted.slice(0, SHOWN)) {
    addRow(places, label(place), parts(vote, whole), percent(sumOf(vote) / whole));
  }
  const rest = sorted.slice(SHOWN), left = sumOf(rest.map(([, vote]) => sumOf(vote)));
  if (rest.length) addRow(places, many(rest.length, "other place"), [["other", left / whole]], percent(left / whole));
  visits.replaceChildren();
  for (let i = votes.length - 1; i >= 0; i--) {
    addRow(visits, `${label(window.places[i])}, ${window.when[i]}`, parts(votes[i], most), two(sumOf(votes[i])));
  }
  const change = accuracy(numbers) - accuracy(page.chosen), [[first]] = sorted;
  const against = Math.abs(change) < 0.05 ? "as many as with the chosen numbers"
    : `${Math.abs(change).toFixed(1)} points ${change > 0 ? "more" : "fewer"} than with the chosen numbers`;
  said.textContent = `First guess: ${window.names[first]}, ${first === window.truth ? "right" : "wrong"}. `
    + `On a sample of ${page.windows.length} validation windows: ${accuracy(numbers).toFixed(1)} % right, ${against}.`;
};
draw(numbers);
root.touch = { accuracy, votes: (numbers) => votesOf(page.window, numbers) };
