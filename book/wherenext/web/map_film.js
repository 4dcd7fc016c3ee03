// Steps through predictions: a slider or Play chooses the moment, a list whose attention is drawn.
// Without slider and list (a single window), the pointer's attention of the first step is drawn.

let shown = { step: page.steps[0], choice: "pointer" };
const looksOf = ({ step, choice }) => (choice === "pointer" ? step.attention : step.heads[choice]);
const split = (probability, copied) =>
  `${probability.toFixed(2)} = ${copied.toFixed(2)} copied + ` +
  `${Math.max(0, probability - copied).toFixed(2)} generated`;
const about = (place) => {
  const { step, choice } = shown, parts = [];
  const look = looksOf(shown).find((one) => one[0] === place);
  const guess = step.candidates.find((one) => one[0] === place);
  const who = choice === "pointer" ? "attention" : "weight";
  if (look) parts.push(`${who} ${look[1].toFixed(2)}, ${look[2] === 1 ? "1 visit" : `${look[2]} visits`}`);
  if (guess) parts.push(`probability ${split(guess[1], guess[2])}`);
  if (place === step.truth[0]) parts.push("they went here");
  return [name(place), ...parts].join("; ");
};
// Rings of unlikely places may lie outside the view of a single window.
const map = figureMap({ say: about, view: page.view });

const picture = () => map.paint(() => {
  const { step, choice } = shown, byPointer = choice === "pointer";
  paintPrediction(map, {
    visits: step.visits, attention: byPointer ? step.attention : [],
    rays: byPointer ? [] : step.heads[choice], top: step.candidates, truth: step.truth[0],
  });
});

// ---- The same in words and bars, below the map ----------------------------------------------

const guess = ([place, probability, copied], step) => {
  const row = add$(find("guesses"), "tr");
  add$(row, "th", (place === step.truth[0] ? "✓ " : "") + name(place), { scope: "row" });
  const bar = add$(add$(row, "td", "", { className: "bars" }), "div", "", { className: "bar" });
  const generated = Math.max(0, probability - copied);
  add$(bar, "i", "", { className: "copied" }).style.width = `${100 * copied}%`;
  add$(bar, "i", "", { className: "generated" }).style.width = `${100 * generated}%`;
  for (const value of [copied, generated, probability]) add$(row, "td", value.toFixed(2));
};
const words = () => {
  const { step, choice } = shown, [here, went] = [step.visits.at(-1), step.truth[0]];
  const right = step.candidates.length && step.candidates[0][0] === went;
  find("told").textContent = `${step.when}, at ${name(here)}. Went to ${name(went)}: ` +
    `${right ? "guessed" : "not guessed"}. Gate ${step.gate.toFixed(2)}.`;
  const most = looksOf(shown);
  const who = choice === "pointer" ? "The pointer" : "L" + page.heads[choice].slice(1);
  find("most").textContent = `${who} looks at ` +
    most.slice(0, 4).map(([place, weight]) => `${name(place)} ${weight.toFixed(2)}`).join(", ") +
    (most.length > 4 ? ` and ${most.length - 4} more.` : ".");
  find("guesses").replaceChildren();
  step.candidates.forEach((one) => guess(one, step));
  if (!step.candidates.some(([place]) => place === went)) guess(step.truth, step);
};
const draw = () => {
  if (find("step")) {
    const number = Number(find("step").value), step = page.steps[number];
    shown = { step, choice: find("head").value };
    const which = `${step.when}, moment ${number + 1} of ${page.steps.length}`;
    find("step").setAttribute("aria-valuetext", which);
    words();
  }
  picture();
};

// ---- Play: one moment after the other, until the end or until somebody takes over ------------

const PAUSE = 1500;  // milliseconds a moment stays
let playing = 0;
const rest = () => {
  clearInterval(playing);
  playing = 0;
  find("play").textContent = "Play";
  find("told").setAttribute("aria-live", "polite");
};
const go = (number) => { find("step").value = number; draw(); };
const last = () => shown.step === page.steps.at(-1);
const advance = () => {
  go(Number(find("step").value) + 1);
  if (last()) rest();
};
find("play")?.addEventListener("click", () => {
  if (playing) return rest();
  if (last()) go(0);
  find("play").textContent = "Pause";
  find("told").setAttribute("aria-live", "off");  // a moment is over before it is read aloud
  playing = setInterval(advance, PAUSE);
});
find("step")?.addEventListener("input", () => { rest(); draw(); });
find("head")?.addEventListener("change", draw);
draw();
