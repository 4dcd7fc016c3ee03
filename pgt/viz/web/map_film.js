// Steps through predictions: a slider chooses the moment, a list chooses whose attention is drawn.
// Without slider and list (a single window), the pointer's attention of the first step is drawn.
const find = (name) => document.getElementById("film-" + name);
const at = (place) => data.places[place].slice(0, 2);
const name = (place) => data.places[place][2];
const colours = data.colours;

const split = (probability, copied) =>
  `${probability.toFixed(2)} = ${copied.toFixed(2)} copied + ` +
  `${Math.max(0, probability - copied).toFixed(2)} generated`;

// The path fades with age, and steps back when arcs are drawn over it.
const path = (visits, strength) => {
  for (let i = 1; i < visits.length; i++) {
    L.polyline([at(visits[i - 1]), at(visits[i])], {
      color: "#1b1f24", weight: 2, interactive: false,
      opacity: strength * (0.12 + 0.68 * (i / (visits.length - 1)) ** 2),
    }).addTo(drawn);
  }
};

const picture = (step, choice) => {
  const here = step.visits[step.visits.length - 1];
  drawn.clearLayers();
  path(step.visits, choice === "pointer" ? 1 : 0.3);
  for (const [place, weight, visits] of choice === "pointer" ? step.attention : []) {
    say(disc(at(place), weight, colours.copied),
      `${name(place)}: attention ${weight.toFixed(2)}, visits: ${visits}`);
  }
  for (const [place, weight] of choice === "pointer" ? [] : step.heads[choice]) {
    const look = { color: colours.head, opacity: 0.85, weight: 1 + 20 * weight };
    // To itself, and to other visits to the same place, there is no way: a ring.
    say(place === here
      ? L.circleMarker(at(place), { ...look, radius: 16, fill: false })
      : L.polyline(arc(at(here), at(place)), look),
    `${name(place)}: weight ${weight.toFixed(2)}`);
  }
  for (const [place, probability, copied] of step.candidates) {
    say(ring(at(place), probability, copied, colours.copied, colours.generated),
      `${name(place)}: probability ${split(probability, copied)}`);
  }
  say(diamond(at(step.truth[0]), colours.truth), `went to ${name(step.truth[0])}`)
    .setZIndexOffset(1000);
};

// ---- The same in words and bars, below the map ----------------------------------------------

const add = (parent, tag, text, className = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = className;
  return parent.appendChild(element);
};

const guess = ([place, probability, copied], step) => {
  const row = add(find("guesses"), "tr", "");
  add(row, "th", (place === step.truth[0] ? "✓ " : "") + name(place)).scope = "row";
  const bar = add(add(row, "td", "", "bar"), "div", "");
  add(bar, "i", "", "copied").style.width = `${100 * copied}%`;
  add(bar, "i", "", "generated").style.width = `${100 * Math.max(0, probability - copied)}%`;
  for (const value of [copied, Math.max(0, probability - copied), probability]) {
    add(row, "td", value.toFixed(2));
  }
};

const words = (step, choice) => {
  const [here, went] = [step.visits[step.visits.length - 1], step.truth[0]];
  const right = step.candidates.length && step.candidates[0][0] === went;
  find("told").textContent = `${step.when}, at ${name(here)}. Went to ${name(went)}: ` +
    `${right ? "guessed" : "not guessed"}. Gate ${step.gate.toFixed(2)}.`;
  const most = choice === "pointer" ? step.attention : step.heads[choice];
  const who = choice === "pointer" ? "The pointer" : "L" + data.heads[choice].slice(1);
  find("most").textContent = `${who} looks at ` +
    most.slice(0, 4).map(([place, weight]) => `${name(place)} ${weight.toFixed(2)}`).join(", ") +
    (most.length > 4 ? ` and ${most.length - 4} more.` : ".");
  find("guesses").replaceChildren();
  step.candidates.forEach((one) => guess(one, step));
  if (!step.candidates.some(([place]) => place === went)) guess(step.truth, step);
};

const draw = () => {
  if (!find("step")) {
    picture(data.steps[0], "pointer");
    return;
  }
  const number = Number(find("step").value), choice = find("head").value;
  const step = data.steps[number];
  find("step").setAttribute(
    "aria-valuetext", `${step.when}, moment ${number + 1} of ${data.steps.length}`);
  picture(step, choice);
  words(step, choice);
};

find("step")?.addEventListener("input", draw);
find("head")?.addEventListener("change", draw);
draw();
fit();
