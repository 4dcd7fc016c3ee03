// What the live model's page shows: the guesses, the gate, the bias, the visits, and the words about them.
//
// Nothing here changes the state but by what `live_page.js` has for it; names are set as text only.

const perPlace = (visits, attention) => {
  const sums = new Map();
  visits.slice(visits.length - attention.length).forEach(({ place }, i) => sums.set(place, (sums.get(place) || 0) + attention[i]));
  return [...sums].sort((a, b) => b[1] - a[1]);
};
// [place, probability, copied part] of the likeliest; 0 is padding and no place.
const likeliest = ({ probabilities, gate, pointer }, n) => [...probabilities.keys()]
  .filter((place) => place && probabilities[place] > 0)
  .sort((a, b) => probabilities[b] - probabilities[a]).slice(0, n)
  .map((place) => [place, probabilities[place], gate * pointer[place]]);

const drawTop = (out, before) => {
  const rows = likeliest(out, 10), truth = went(state);
  const were = rows.map(([place]) => (before ? before.probabilities[place] : null));
  const scale = Math.max(0.01, ...rows.map((row) => row[1]), ...were);
  const held = [...find("top").children].findIndex((row) => row.contains(document.activeElement));
  find("top").replaceChildren();
  find("rest").replaceChildren();
  const addRow = (body, title, p, copied, were) => {
    const row = add$(body, "tr"), go = add$(row, "td", "", { className: "go" });
    add$(row, "th", title, { scope: "row", title });
    const bars = add$(row, "td", "", { className: "bars" });
    if (were !== undefined) {
      const bar = addBar(bars, [["copied", copied / scale], ["generated", (p - copied) / scale]]);
      if (were !== null) add$(bar, "b", "", { title: "before your changes" }).style.left = `${(100 * were) / scale}%`;
    }
    for (const part of [copied, p - copied]) add$(row, "td", three(Math.max(0, part)), { className: "both" });
    add$(row, "td", three(p));
    return go;
  };
  rows.forEach(([place, p, copied], i) => {
    const go = addRow(find("top"), (place === truth ? "✓ " : "") + name(place), p, copied, were[i]);
    if (!known_here.has(place)) return;
    const button = add$(go, "button", "→", { type: "button", title: "Go there" });
    button.setAttribute("aria-label", `Go there: ${name(place)}`);
    button.addEventListener("click", () => goThere(place));
  });
  // All other probability, so that the column adds up to one.
  const named = new Set(rows.map(([place]) => place));
  const others = (here) => [out.probabilities, out.pointer.map((p) => out.gate * p)]
    .map((values) => sumOf(values.filter((_, place) => place > 0 && !named.has(place) && here(place))));
  if (!named.has(1)) addRow(find("rest"), name(1), ...others((place) => place === 1));
  const rest = out.probabilities.length - 2 - rows.filter(([place]) => place > 1).length;
  addRow(find("rest"), many(rest, "other place"), ...others((place) => place > 1));
  const buttons = [...find("top").querySelectorAll("button")];
  if (held >= 0) (buttons[held] ?? buttons[0] ?? find("undo")).focus();
  const thin = state.moment === null ? `read as those of ${page.people[comesFrom(state)[0]].name}`
    : "before your changes";
  const notes = before ? [`The thin line: ${thin}.`] : [];
  if (truth !== null) {
    const p = out.probabilities[truth];
    const rank = 1 + out.probabilities.filter((other, place) => place && other > p).length;
    notes.unshift(`✓ ${name(truth)} is where they went: number ${rank}, with ${three(p)}.`);
  }
  find("was").textContent = notes.join(" ");
};

const drawGate = (out) => {
  // A single part leaves the gate nothing to mix.
  const both = !state.off.includes("pointer") && !state.off.includes("generator");
  const hand = both && state.hand !== null;
  find("gate").textContent = three(out.gate) + (hand ? ", set by hand" : "");
  find("copiedmass").textContent = `${(100 * out.gate).toFixed(1)} % copied from the visits`;
  find("generatedmass").textContent = `${(100 * (1 - out.gate)).toFixed(1)} % generated`;
  find("gatebar").style.width = `${100 * out.gate}%`;
  find("byhand").checked = state.hand !== null;
  find("byhand").disabled = !both;
  find("hand").disabled = !hand;
  find("hand").value = Math.round(100 * out.gate);
};

// A bar from zero for the bias, a dot for the content, both without the window's mean.
const drawBias = (out) => {
  const box = find("bias"), n = out.content.length, width = 340, height = 130, floor = 112;
  box.replaceChildren();
  box.setAttribute("viewBox", `0 0 ${width} ${height}`);
  find("biasing").hidden = !n; // without a pointer nothing is added up
  if (!n) return;
  const centre = (values) => values.map((v) => v - sumOf(values) / n);
  const content = centre(out.content), bias = centre(out.bias);
  const most = Math.max(...content.map(Math.abs), ...bias.map(Math.abs), 0.01);
  const y = (v) => 58 - (50 * v) / most, step = (width - 44) / n, x = (i) => 38 + step * (n - 1 - i + 0.5);
  shape(box, "path", { class: "axis", d: `M38 ${y(0)}H${width}` });
  for (const v of [most, 0, -most]) {
    const text = v ? v.toFixed(most < 0.095 ? 2 : 1).replace("-", "−") : "0";
    shape(box, "text", { x: 34, y: y(v) + 4, "text-anchor": "end" }, text);
  }
  content.forEach((value, i) => {
    const tall = Math.max(1, Math.abs(y(bias[i]) - y(0)));
    const low = Math.min(y(bias[i]), y(0)), r = Math.max(1.6, Math.min(3.5, step * 0.35));
    shape(box, "rect", { class: "stick", x: x(i) - step * 0.3, width: step * 0.6, y: low, height: tall });
    shape(box, "circle", { class: "dot", cx: x(i), cy: y(value), r });
    if ((n - i - 1) % Math.ceil(n / 12)) return; // not every number has room
    shape(box, "text", { x: x(i), y: floor + 12, "text-anchor": "middle" }, n - i);
  });
  const range = (values) => (Math.max(...values) - Math.min(...values)).toFixed(2);
  box.setAttribute("aria-label", `For ${n} visits: content spans ${range(content)} logits, `
    + `position bias times ${state.times} spans ${range(bias)}.`);
  find("timestext").textContent = state.times;
  find("times").value = TIMES.indexOf(state.times);
  find("times").setAttribute("aria-valuetext", `times ${state.times}`);
};

const editor = (row, i) => {
  const visit = state.visits[i], line = document.createElement("tr");
  line.className = "editor";
  row.after(line);
  // A cell over more columns than are shown would make another one.
  const shown = [...row.cells].filter((one) => getComputedStyle(one).display !== "none").length;
  const cell = add$(add$(line, "td", "", { colSpan: shown }), "div", "", { className: "fields" });
  line.dataset.editor = i;
  const field = (text, input) => {
    input.dataset.do = text;
    return add$(cell, "label", text + " ").appendChild(input);
  };
  const make = (tag, more) => Object.assign(document.createElement(tag), more);
  const days = make("select");
  const last = day(state.visits.at(-1).at), back = last - day(visit.at);
  for (let ago = Math.min(-1, back); ago <= Math.max(8, back); ago++) {
    const when = ago < 0 ? "the day after the last" : ago === 0 ? "the last visit's day"
      : `${many(ago, "day")} before`;
    days.add(new Option(`${weekday((last - ago) * DAY)}, ${when}`, ago, ago === back, ago === back));
  }
  field("Day", days).addEventListener("change", () => {
    const { at } = state.visits[i], then = day(state.visits.at(-1).at) - Number(days.value);
    setVisit(i, { at: at + (then - day(at)) * DAY });
  });
  const time = make("input", { type: "time", value: clock(visit.at) });
  // A browser reports every digit as a change, so the time counts once the typing has stopped.
  let counted = time.value;
  const commit = () => {
    if (editing !== i || !time.value || time.value === counted) return;
    counted = time.value; // taking the row away is a blur too, and must not count again
    const [hour, minute] = time.value.split(":").map(Number);
    setVisit(i, { at: day(state.visits[i].at) * DAY + hour * 60 + minute });
  };
  field("from", time).addEventListener("keydown", (event) => {
    if (event.key === "Enter") commit();
  });
  time.addEventListener("blur", ({ relatedTarget }) => {
    commit();
    // The rows may be new: whoever went on to the next field goes on to it.
    const what = relatedTarget?.dataset.do;
    if (what && !relatedTarget.isConnected) focusRow(editing, what);
  });
  const stay = make("input", { type: "number", min: 0, max: 4320, step: "any", value: visit.stay });
  field("for minutes", stay).addEventListener("change", () => {
    const minutes = within(Math.round(Number(stay.value)), 0, 4320);
    if (stay.value !== "") setVisit(i, { stay: minutes });
    stay.value = state.visits[i].stay; // what the field holds is what counts
  });
  const swapping = add$(cell, "button", "Swap place with the later visit", {
    type: "button", disabled: i === state.visits.length - 1,
  });
  swapping.dataset.do = "later";
  swapping.addEventListener("click", () => swap(i, i + 1));
};

// The rows are made anew only when other visits are listed, so that whoever types in one keeps it.
let listed = "";
const drawVisits = (out) => {
  const { visits } = state, n = visits.length, body = find("visits");
  const last = n ? day(visits.at(-1).at) : 0;
  const list = JSON.stringify([visits.map(({ place }) => place), editing, went(state), last]);
  if (list !== listed) {
    const held = body.contains(document.activeElement) ? document.activeElement.dataset.do : null;
    body.replaceChildren();
    for (let i = n - 1; i >= 0; i--) addRow(body, i);
    if (held && editing !== null) focusRow(editing, held);
    listed = list;
  }
  find("count").textContent = many(n, "visit");
  const most = Math.max(0.01, ...(out ? out.attention : []));
  for (const row of body.querySelectorAll("tr[data-visit]")) {
    const i = Number(row.dataset.visit), { place, at, stay } = visits[i];
    const part = (name) => row.querySelector(`.${name}`), bars = part("bars");
    const seen = out ? i - (n - out.attention.length) : -1; // the model reads the most recent ones
    part("when").textContent = `${weekday(at)} ${clock(at)}, ${long(stay)}`;
    bars.replaceChildren();
    const bias = seen < 0 ? 0 : Math.round(100 * out.bias[seen]) / 100 || 0; // no minus zero
    part("bias").textContent = seen < 0 ? "" : bias.toFixed(2).replace("-", "−");
    for (const button of part("knobs").children) {
      const which = `visit ${n - i}, ${name(place)}, ${weekday(at)} ${clock(at)}`;
      button.setAttribute("aria-label", `${button.title}: ${which}`);
    }
    if (seen < 0) continue;
    addBar(bars, [["copied", out.attention[seen] / most]]);
    add$(bars, "small", three(out.attention[seen]));
  }
};

const addRow = (body, i) => {
  const { place } = state.visits[i], row = add$(body, "tr");
  row.dataset.visit = i;
  add$(row, "td", state.visits.length - i, { className: "number" });
  const what = add$(row, "th", "", { scope: "row" });
  add$(what, "span", (place === went(state) ? "✓ " : "") + name(place), { title: name(place) });
  add$(what, "small", "", { className: "when" });
  for (const part of ["bars", "bias", "knobs"]) add$(row, "td", "", { className: part });
  const knobs = row.lastChild;
  const edit = () => {
    editing = editing === i ? null : i;
    draw();
    focusRow(i, "edit");
  };
  for (const [text, title, what, run] of [
    ["✎", "Change", "edit", edit], ["✕", "Delete", "remove", (event) => remove(i, event)],
  ]) {
    const button = add$(knobs, "button", text, { type: "button", title });
    button.dataset.do = what;
    button.addEventListener("click", run);
  }
  knobs.firstChild.setAttribute("aria-expanded", editing === i);
  if (editing === i) editor(row, i);
};

const tell = (text) => (find("told").textContent = text);
const summary = (out) => {
  if (!out) return "The day is empty: click a place on the map, or add one by its name.";
  const last = state.visits.at(-1), [[place, p, copied]] = likeliest(out, 1);
  const part = Math.round((100 * copied) / p);
  const source = ` (${part === 100 ? "all" : `${part} %`} of it copied; gate ${out.gate.toFixed(2)})`;
  return `${whose(state)}: after ${name(last.place)} (${weekday(last.at)} ${clock(last.at)}) `
    + `the ${page.rings ? "model" : "pointer"} expects ${name(place)} with probability ${three(p)}${page.has_both ? source : ""}.`;
};
const whose = (state) => {
  const person = page.people[state.person].name;
  if (state.moment !== null) return person;
  if (!state.user) return "Somebody new";
  const day = ownVisits(state) ? "Your own day" : "The same day";
  return `${day}, read as that of ${person}`;
};
// What the model says at a moment before any change, kept for the next change at the same moment.
let first = { of: "", out: null };
const atFirst = (person, moment) => {
  const of = `${person}.${moment}`;
  if (first.of !== of) first = { of, out: ask(original(person, moment)) };
  return first.out;
};

let shown = null; // the prediction on show
const draw = () => {
  const held = document.activeElement;
  const out = ask(state), own = state.moment === null, many = page.people[state.person].moments.length;
  const comparable = own ? !ownVisits(state) : changed(state);
  const before = comparable ? atFirst(...comesFrom(state)) : null;
  find("person").value = own && !state.user ? "new" : state.person;
  find("moment").max = many - 1;
  find("moment").value = own ? 0 : state.moment;
  find("moment").disabled = own;
  const asked = own ? null : visitsOf(state.person, state.moment).at(-1).at;
  find("moment").setAttribute("aria-valuetext", own ? "your own day"
    : `moment ${state.moment + 1} of ${many}, after ${weekday(asked)} ${clock(asked)}`);
  find("momenttext").textContent = own ? "Moment" : `Moment ${state.moment + 1} of ${many}`;
  find("back").disabled = !own && state.moment === 0;
  find("next").disabled = !own && state.moment === many - 1;
  find("undo").disabled = past.length === 0;
  find("reset").disabled = !own && !changed(state);
  for (const box of find("switches").querySelectorAll("input")) box.checked = !state.off.includes(box.value);
  root.classList.toggle("live-empty", !out);
  root.classList.toggle("live-own", went(state) === null);
  shown = out;
  tell(summary(out));
  drawVisits(out);
  map?.paint(() => paintPrediction(map, {
    visits: state.visits.map(({ place }) => place),
    attention: out ? perPlace(state.visits, out.attention) : [],
    top: out && page.rings ? likeliest(out, 5) : [], truth: went(state),
  }));
  if (out) {
    drawTop(out, before);
    drawGate(out);
    drawBias(out);
  } else {
    for (const body of ["top", "rest", "was"]) find(body).replaceChildren();
  }
  // A button that has nothing more to do cannot keep the focus.
  if (held?.disabled) (find("moment").disabled ? find("person") : find("moment")).focus();
};
