// Where Next? — exercises that have an answer, answered in the page (book/_ext/answers.py).
// Every text gets into the page as text.
"use strict";

// Pages from disk may have no store; then what was answered holds for the page.
function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* no store */ }
  return null;
}

// "33.8", "33,8", "33.8 %", "−2", "6/13", and "17,994" where whole numbers are asked for.
function typedNumber(text, field) {
  let plain = text.trim().replaceAll("\u2212", "-");
  if (field.unit && plain.endsWith(field.unit)) plain = plain.slice(0, -field.unit.length);
  plain = plain.replace(/%\s*$/, "").replace(/\s/g, "");
  if (field.within >= 0.5 && /^\d{1,3}(,\d{3})+$/.test(plain)) plain = plain.replaceAll(",", "");
  const parts = plain.replace(",", ".").split("/");
  if (parts.length > 2 || !parts.every((part) => /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(part))) return NaN;
  return parts.length === 2 ? parts[0] / parts[1] : Number(parts[0]);
}

function isSame(field, typed, value) {
  if (field.choices) return typed === value;
  return Math.abs(typed - value) <= field.within * 1.001 + 1e-9;
}

// What to say of an answer, and which of its fields are wrong.
function verdict(about, typed) {
  const { fields } = about;
  const several = fields.length > 1, lead = several ? "Not yet." : "Not yet:";
  const named = (i, said) => (several ? `${fields[i].label}: ${said}.` : `${said}.`);
  const all = fields.map((_, i) => i);
  const missing = all.filter((i) => (fields[i].choices ? !typed[i] : !Number.isFinite(typed[i])));
  if (missing.length) {
    const said = missing.map((i) => named(i, fields[i].choices ? "choose one" : "put in a number"));
    const text = missing.length > 2 ? `Not yet: ${missing.length} fields need an answer.` : `${lead} ${said.join(" ")}`;
    return { state: "open", text, wrong: missing };
  }
  const agrees = (answer, times = 1) =>
    all.every((i) => isSame(fields[i], fields[i].choices ? typed[i] : typed[i] * times, answer[i]));
  if (agrees(about.right)) return { state: "right", text: `Right. ${about.then}`, wrong: [] };
  const slip = about.slips.find(({ answer }) => agrees(answer));
  const wrong = all.filter((i) => !isSame(fields[i], typed[i], about.right[i]));
  if (slip) return { state: "wrong", text: `Not yet: ${slip.why}`, wrong };
  if (fields.every((field) => field.unit === "%") && agrees(about.right, 100)) {
    return { state: "wrong", text: "Nearly: give it in percent, times 100.", wrong };
  }
  const said = all.map((i) => {
    if (!wrong.includes(i)) return named(i, "right");
    if (fields[i].choices) return named(i, "another one");
    return named(i, typed[i] > about.right[i] ? "too high" : "too low");
  });
  return { state: "wrong", text: `${lead} ${said.join(" ")}`, wrong };
}

function make(name, parent, properties = {}) {
  const element = Object.assign(document.createElement(name), properties);
  parent.append(element);
  return element;
}

// A labelled field; its `read` gives what is typed, its `write` puts it there.
function buildField(parent, field, id) {
  if (field.choices) {
    const group = make("fieldset", parent);
    make("legend", group, { textContent: field.label });
    const buttons = field.choices.map((word) => {
      const label = make("label", group);
      const button = make("input", label, { type: "radio", name: id, value: word });
      label.append(` ${word}`);
      return button;
    });
    return {
      inputs: buttons,
      read: () => buttons.find((button) => button.checked)?.value || "",
      write: (word) => buttons.forEach((button) => { button.checked = button.value === word; }),
    };
  }
  const row = make("p", parent);
  make("label", row, { htmlFor: id, textContent: field.unit ? `${field.label}, ${field.unit}` : field.label });
  const input = make("input", row, { id, type: "text", inputMode: "decimal", autocomplete: "off", maxLength: 24 });
  return { inputs: [input], read: () => input.value, write: (text) => { input.value = text; } };
}

function prepareAnswer(place) {
  const { exercise, answer } = place.dataset;
  const about = JSON.parse(atob(answer)), key = `pgt-answer-${exercise}`;
  const id = key.replace(".", "-");
  const form = make("form", place, { noValidate: true });
  form.setAttribute("aria-label", `Your answer to exercise ${exercise}`);
  const body = make("div", form, { className: "answer-fields" });
  const built = about.fields.map((field, i) => buildField(body, field, `${id}-${i}`));
  const foot = make("p", form, { className: "answer-foot" });
  make("button", foot, { type: "submit", textContent: "Check" });
  if (about.hint) {
    make("span", foot, { id: `${id}-hint`, className: "answer-hint", textContent: about.hint });
    for (const { inputs } of built) {
      if (inputs[0].type === "text") inputs[0].setAttribute("aria-describedby", `${id}-hint`);
    }
  }
  const said = make("p", form, { className: "answer-said" });
  said.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");

  const values = () => built.map((field) => field.read());
  const keep = (checked) => remembered(key, JSON.stringify({ values: values(), checked }));
  const show = ({ state, text, wrong }) => {
    said.textContent = text;
    form.dataset.state = state;
    built.forEach(({ inputs }, i) => inputs.forEach((input) => {
      if (wrong.includes(i)) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }));
  };
  const judge = () => {
    const typed = values().map((text, i) => (about.fields[i].choices ? text : typedNumber(text, about.fields[i])));
    show(verdict(about, typed));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    judge();
    keep(true);
  });
  // What was said is about another answer as soon as one of them changes.
  form.addEventListener("input", () => {
    show({ state: "open", text: "", wrong: [] });
    keep(false);
  });

  try {
    const kept = JSON.parse(remembered(key));
    kept.values.forEach((text, i) => built[i]?.write(String(text)));
    if (kept.checked) judge();
  } catch { /* nothing is kept, or it is of another edition of the exercise */ }
  place.hidden = false;
}

document.querySelectorAll(".pgt-answer[data-answer]").forEach(prepareAnswer);
