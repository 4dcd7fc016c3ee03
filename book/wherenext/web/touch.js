// A figure that one can touch: its controls, and a stage that is drawn anew at every step of them.
//
// The still figure stays for paper and for a page without JavaScript. `page` holds the data; whatever
// comes from data is set as text.

const root = figureOf(page.id);
const body = root.querySelector(".touch-body");
body.hidden = false;
const controls = add$(body, "div", "", { className: "touch-controls" });
const stage = add$(body, "div", "", { className: "touch-stage" });
const said = document.createElement("output"); // what a step changed, in a sentence

// A slider with its name and its value; `write` says the value in words.
const slider = (text, { min, max, step, value, write = String }, run) => {
  const label = add$(controls, "label");
  const top = add$(label, "span", text + " ");
  const shown = add$(top, "b");
  const input = add$(label, "input", "", { type: "range", min, max, step, value });
  const show = () => {
    shown.textContent = write(Number(input.value));
    input.setAttribute("aria-label", text);
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  input.addEventListener("input", () => {
    show();
    run();
  });
  show();
  const set = (next) => {
    input.value = next;
    show();
  };
  return { get: () => Number(input.value), set };
};
const button = (text, run) => {
  const made = add$(controls, "button", text, { type: "button" });
  made.addEventListener("click", run);
  return made;
};
// After the controls that it reports on.
const addSaid = () => {
  said.className = "touch-said";
  controls.appendChild(said);
};
// A table with a head; returns its body.
const table = (parent, caption, heads) => {
  const made = add$(parent, "table");
  add$(made, "caption", caption);
  const row = add$(add$(made, "thead"), "tr");
  for (const head of heads) {
    if (head) add$(row, "th", head, { scope: "col" });
    else add$(row, "td"); // a head without a word would be read out
  }
  return add$(made, "tbody");
};
// What the signs of a drawing stand for: [kind, text] each.
const addLegend = (keys) => {
  const legend = add$(stage, "p", "", { className: "touch-legend" });
  for (const [kind, text] of keys) {
    const key = add$(legend, "span");
    add$(key, "i", "", { className: kind });
    key.append(text);
  }
};
const percent = (share) => `${(100 * share).toFixed(1)} %`;
