// The live model's page: a state, what changes it, and how it is shown.
//
// The state is all there is. Every change makes a new one, predicts anew and draws everything again.
// `page` holds the data: model, places, people with their moments; names are set as text only.

const root = document.querySelector(`#${page.id}:not([data-ready])`);
root.dataset.ready = "yes";
const find = (name) => root.querySelector(`[data-live="${name}"]`);
const model = unpack(page.model);
const DAY = 1440, WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

// ---- Words -----------------------------------------------------------------------------------

const name = (place) => (place === 1 ? "a place not seen in training" : page.names[place] || "?");
const day = (at) => Math.floor(at / DAY); // days since some Monday
const clock = (at) => {
  const minute = ((at % DAY) + DAY) % DAY, two = (n) => String(n).padStart(2, "0");
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
};
const weekday = (at) => WEEKDAYS[((day(at) % 7) + 7) % 7];
const long = (stay) => {
  const [hours, rest] = [Math.floor(stay / 60), stay % 60];
  return hours === 0 ? `${rest} min` : `${hours} h${rest ? ` ${rest}` : ""}`;
};
const copyOf = (value) => JSON.parse(JSON.stringify(value));

// ---- The state -------------------------------------------------------------------------------

// A visit is {place, at (minutes since some Monday, local time), stay (minutes)}, oldest first.
const visitsOf = (person, moment) => {
  const { visits, moments } = page.people[person], [first, target] = moments[moment];
  return visits.slice(first, target).map(([place, at, stay]) => ({ place, at, stay }));
};
const original = (person, moment) => ({
  person, moment, user: page.people[person].user, visits: visitsOf(person, moment),
  off: [], times: 1, hand: null, gap: gapOf(person, moment),
});
// How many days later the next visit begins: only a model that is told the day reads it.
const gapOf = (person, moment) => {
  const { visits, moments } = page.people[person], target = moments[moment][1];
  return page.model.config.target_time === "day" ? day(visits[target][1]) - day(visits[target - 1][1]) : 0;
};
// A day of one's own has no moment; `from` is the [person, moment] that it was made of.
const comesFrom = ({ person, moment, from }) =>
  moment === null ? from ?? [person, 0] : [person, moment];
const ownVisits = (state) =>
  state.moment === null && !same(state.visits, visitsOf(...comesFrom(state)));
// Where they went: of a day of one's own nobody knows it.
const went = (state) => {
  if (ownVisits(state)) return null;
  const [person, moment] = comesFrom(state), { visits, moments } = page.people[person];
  return visits[moments[moment][1]][0];
};
const asWindow = ({ user, visits, gap }) => ({
  user, gapDays: gap,
  visits: visits.map(({ place, at, stay }) => ({
    location: place, minute: ((at % DAY) + DAY) % DAY, weekday: (((day(at) % 7) + 7) % 7) + 1,
    daysAgo: day(visits.at(-1).at) - day(at), stay,
  })),
});
const ask = (state) => {
  if (state.visits.length === 0) return null;
  const hand = { off: new Set(state.off), biasTimes: state.times, setGate: state.hand };
  return predict(model, asWindow(state), hand);
};
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const changed = (state) => state.moment !== null && !same(state, original(state.person, state.moment));

let state = original(page.start[0], page.start[1]), past = [], editing = null;

// ---- Sharing: a state as text that fits behind the # of an address ---------------------------

const KEY = page.kind === "full" ? "live" : "live-" + page.kind;
const TIMES = [0, 1, 3, 10, 30, 100, 300];
const write = (state) => {
  const fields = [page.fingerprint, `p${state.person}`];
  if (state.moment !== null) fields.push(`m${state.moment}`);
  else fields.push(`f${comesFrom(state).join(".")}`);
  if (state.moment === null || !same(state.visits, visitsOf(state.person, state.moment))) {
    const visit = ({ place, at, stay }) => [place, at, stay].map((n) => n.toString(36)).join(".");
    fields.push("v" + state.visits.map(visit).join("_"));
  }
  if (state.moment === null && !state.user) fields.push("n");
  if (state.off.length) fields.push("o" + state.off.join("."));
  if (state.times !== 1) fields.push(`t${state.times}`);
  if (state.hand !== null) fields.push(`h${state.hand}`);
  if (page.model.config.target_time === "day") fields.push(`g${state.gap}`);
  return `${KEY}=${fields.join(",")}`;
};
// Text from a link may be anything: what does not fit gives null.
const read = (text) => {
  const [print, ...fields] = text.split(",");
  const field = Object.fromEntries(fields.map((one) => [one[0], one.slice(1)]));
  const whole = (digits, radix, low, high) => {
    const n = parseInt(digits, radix);
    return Number.isInteger(n) && n >= low && n <= high ? n : NaN;
  };
  const whoOf = (digits) => whole(digits, 10, 0, page.people.length - 1);
  const whenOf = (person, digits) => whole(digits, 10, 0, page.people[person].moments.length - 1);
  const person = whoOf(field.p);
  if (print !== page.fingerprint || Number.isNaN(person)) return null;
  const moment = "m" in field ? whenOf(person, field.m) : null;
  if (Number.isNaN(moment) || (moment === null && !("v" in field))) return null;
  const next = { ...original(person, moment ?? 0), moment };
  if (moment === null) { // links made before `f` was written do not say where the day comes from
    const [who, when] = (field.f ?? `${person}.0`).split(".");
    next.from = [whoOf(who), Number.isNaN(whoOf(who)) ? NaN : whenOf(whoOf(who), when)];
    if (next.from.some(Number.isNaN)) return null;
  }
  if ("v" in field) {
    next.visits = field.v.split("_").filter(Boolean).slice(0, 1000).map((one) => {
      const [place, at, stay] = one.split(".");
      return {
        place: whole(place, 36, 1, page.names.length - 1),
        at: whole(at, 36, -1e7, 1e7), stay: whole(stay, 36, 0, 1e5),
      };
    });
    if (next.visits.some((visit) => Object.values(visit).some(Number.isNaN))) return null;
    next.visits.sort((a, b) => a.at - b.at);
  }
  if ("n" in field) next.user = 0;
  next.off = (field.o || "").split(".").filter((part) => SWITCHES.some(([one]) => one === part));
  if (next.off.includes("pointer") && next.off.includes("generator")) return null; // one must stay
  if (TIMES.includes(Number(field.t))) next.times = Number(field.t);
  if (Number(field.h) >= 0 && Number(field.h) <= 1) next.hand = Number(field.h);
  next.gap = whole(field.g ?? String(next.gap), 10, 0, 30) || 0;
  return next;
};

// ---- The parts that can be switched off ------------------------------------------------------

const SWITCHES = [
  ["user", "who it is"], ["time", "time of day"], ["weekday", "weekday"], ["recency", "days ago"],
  ["duration", "duration"], ["position_from_end", "position from the end"],
  ["sinusoid", "sinusoids"], ["one_layer", "second layer"], ["position_bias", "position bias"],
  ["pointer", "pointer"], ["generator", "generator"], ["gate", "gate (off: one half)"],
].filter(([part]) => page.switches.includes(part));

// What "Undo" goes back to. All the steps of one gesture, such as pulling a slider, are one.
let lastGesture = "";
const remember = (gesture) => {
  if (gesture === "" || gesture !== lastGesture) past = [...past, copyOf(state)].slice(-100);
  lastGesture = gesture;
};
const change = (edit, gesture = "") => {
  remember(gesture);
  const next = copyOf(state);
  edit(next);
  state = next;
  draw();
};
const toggle = (part, on) => change((next) => {
  next.off = on ? next.off.filter((one) => one !== part) : [...next.off, part];
  const other = { pointer: "generator", generator: "pointer" }[part];
  if (!on && other) next.off = next.off.filter((one) => one !== other); // one of the two must stay
});

// ---- What changes the visits -----------------------------------------------------------------

const setVisit = (i, values) => change((next) => {
  const visit = Object.assign(next.visits[i], values);
  next.visits.sort((a, b) => a.at - b.at);
  editing = next.visits.indexOf(visit);
});
const remove = (i, event) => {
  editing = null;
  change((next) => next.visits.splice(i, 1));
  if (state.visits.length) focusRow(Math.min(i, state.visits.length - 1), "remove");
  else focusSearch(event, "undo");
};
// The places change seats; times and stays keep theirs, so that the list stays in order of time.
const swap = (i, j) => {
  change((next) => {
    [next.visits[i].place, next.visits[j].place] = [next.visits[j].place, next.visits[i].place];
    editing = j;
  });
  focusRow(j, j > i ? "later" : "earlier");
};
// How long this person usually stays there (the middle one of their stays), or an hour.
const usualStay = ({ person }, place) => {
  const stays = page.people[person].visits.filter((visit) => visit[0] === place)
    .map(([, , stay]) => stay).sort((a, b) => a - b);
  return stays.length ? stays[Math.floor(stays.length / 2)] : 60;
};
// A quarter of an hour on the way, and on to the next quarter.
const append = (next, place) => {
  const last = next.visits.at(-1);
  const at = last ? Math.ceil((last.at + Math.max(last.stay, 15) + 15) / 15) * 15 : 7 * DAY + 8 * 60;
  next.visits.push({ place, at, stay: usualStay(next, place) });
};
const addVisit = (place) => {
  if (!page.known_here.has(place)) return tell(`${name(place)} is not part of this small version.`);
  change((next) => {
    append(next, place);
    editing = next.visits.length - 1;
  });
  map?.reveal(place);
};
const goThere = (place) => {
  editing = null;
  change((next) => append(next, place));
  map?.reveal(place);
};
// Go to the likeliest place again and again, until midnight.
const LONGEST = 24; // visits
const rollOut = () => {
  const before = state.visits.length;
  editing = null;
  change((next) => {
    const { at, stay } = next.visits.at(-1), midnight = (day(at + stay) + 1) * DAY;
    while (next.visits.length < before + LONGEST) {
      append(next, likeliest(ask(next), 1)[0][0]);
      if (next.visits.at(-1).at < midnight) continue;
      next.visits.pop();
      break;
    }
  });
  fitAll();
  const went = state.visits.slice(before).map(({ place, at }) => `${clock(at)} ${name(place)}`);
  tell(went.length ? `Rolled out until midnight, always to the likeliest place: ${went.join(", ")}.`
    : "The last visit lasts until midnight; there is nothing to roll out.");
};
const focusRow = (i, what) => {
  const knob = (name) => root.querySelector(
    `:is([data-visit="${i}"],[data-editor="${i}"]) [data-do="${name}"]:not(:disabled)`);
  (knob(what) || knob("edit")).focus();
};
// After a click by keyboard (detail 0) only: a finger would get its keyboard over the map.
const focusSearch = (event, otherwise) => {
  find(event.detail ? otherwise : "search").focus({ preventScroll: true });
};

// ---- Drawing ---------------------------------------------------------------------------------

const perPlace = (visits, attention) => {
  const sums = new Map();
  const unread = visits.length - attention.length; // the oldest of a long list
  visits.slice(unread).forEach(({ place }, i) => sums.set(place, (sums.get(place) || 0) + attention[i]));
  return [...sums].sort((a, b) => b[1] - a[1]);
};
// [place, probability, copied part] of the likeliest; 0 is padding and no place.
const likeliest = (out, n) => {
  const best = [];
  out.probabilities.forEach((p, place) => {
    if (!place || p <= 0 || (best.length === n && p <= best.at(-1)[1])) return;
    best.push([place, p, out.gate * out.pointer[place]]);
    best.sort((a, b) => b[1] - a[1]);
    if (best.length > n) best.pop();
  });
  return best;
};

const bar = (cell, copied, generated, before, scale) => {
  const box = add$(cell, "div", "", { className: "bar" });
  const percent = (share) => `${(100 * share) / scale}%`;
  add$(box, "i", "", { className: "copied" }).style.width = percent(copied);
  add$(box, "i", "", { className: "generated" }).style.width = percent(generated);
  if (before !== null) add$(box, "b", "", { title: "before your changes" }).style.left = percent(before);
};

const drawTop = (out, before) => {
  const rows = likeliest(out, 10), truth = went(state);
  const were = rows.map(([place]) => (before ? before.probabilities[place] : null));
  const scale = Math.max(0.01, ...rows.map((row) => row[1]), ...were);
  const held = [...find("top").children].findIndex((row) => row.contains(document.activeElement));
  find("top").replaceChildren();
  find("rest").replaceChildren();
  const addRow = (body, title, p, copied, were) => {
    const row = add$(body, "tr"), generated = Math.max(0, p - copied);
    const go = add$(row, "td", "", { className: "go" });
    add$(row, "th", title, { scope: "row", title });
    const bars = add$(row, "td", "", { className: "bars" });
    if (were !== undefined) bar(bars, copied, generated, were, scale);
    bars.title = `${three(copied)} copied, ${three(generated)} generated`;
    for (const part of [copied, generated]) add$(row, "td", three(part), { className: "both" });
    add$(row, "td", three(p));
    return { row, go };
  };
  rows.forEach(([place, p, copied], i) => {
    const title = (place === truth ? "✓ " : "") + name(place);
    const { row, go } = addRow(find("top"), title, p, copied, were[i]);
    row.dataset.place = place;
    if (!page.known_here.has(place)) return;
    const button = add$(go, "button", "→", { type: "button", title: "Go there" });
    button.setAttribute("aria-label", `Go there: ${name(place)}`);
    button.addEventListener("click", () => goThere(place));
  });
  // All other probability, so that the column adds up to one.
  const named = new Set(rows.map(([place]) => place)), sum = (values) => values.reduce((a, b) => a + b, 0);
  const others = (here) => [out.probabilities, out.pointer.map((p) => out.gate * p)]
    .map((values) => sum(values.filter((_, place) => place > 0 && !named.has(place) && here(place))));
  if (!named.has(1)) addRow(find("rest"), name(1), ...others((place) => place === 1));
  const many = out.probabilities.length - 2 - rows.filter(([place]) => place > 1).length;
  const title = `${String(many).replace(/\B(?=(\d{3})+$)/g, ",")} other place${many === 1 ? "" : "s"}`;
  addRow(find("rest"), title, ...others((place) => place > 1));
  const buttons = [...find("top").querySelectorAll("button")];
  if (held >= 0) (buttons[held] ?? buttons[0] ?? find("undo")).focus();
  const first = page.people[comesFrom(state)[0]].name;
  const thin = state.moment === null ? `read as those of ${first}` : "before your changes";
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
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  find("copiedmass").textContent = `${percent(out.gate)} copied from the visits`;
  find("generatedmass").textContent = `${percent(1 - out.gate)} generated`;
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
  const unread = state.visits.length - n; // the oldest of a long list
  const centre = (values) => values.map((v) => v - values.reduce((a, b) => a + b, 0) / n);
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
    const visit = unread + i, about = { "data-visit": visit, "data-place": state.visits[visit].place };
    shape(box, "rect", { class: "room", x: x(i) - step * 0.5, width: step, y: 0, height: floor, ...about });
    shape(box, "rect", {
      class: "stick", x: x(i) - step * 0.3, width: step * 0.6, y: low, height: tall, ...about,
    });
    shape(box, "circle", { class: "dot", cx: x(i), cy: y(value), r, ...about });
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
  const cell = add$(add$(line, "td", "", { colSpan: 5 }), "div", "", { className: "fields" });
  Object.assign(line.dataset, { editor: i, place: visit.place });
  const field = (text, input) => {
    const label = add$(cell, "label", text + " ");
    input.dataset.do = text;
    return label.appendChild(input);
  };
  const days = add$(document.createElement("div"), "select");
  const last = day(state.visits.at(-1).at), back = last - day(visit.at);
  for (let ago = Math.min(-1, back); ago <= Math.max(8, back); ago++) {
    const before = `${ago} day${ago > 1 ? "s" : ""} before`;
    const when = ago < 0 ? "the day after the last" : ago === 0 ? "the last visit's day" : before;
    days.add(new Option(`${weekday((last - ago) * DAY)}, ${when}`, ago, ago === back, ago === back));
  }
  field("Day", days).addEventListener("change", () => {
    const { at } = state.visits[i], then = day(state.visits.at(-1).at) - Number(days.value);
    setVisit(i, { at: at + (then - day(at)) * DAY });
  });
  const input = (more) => Object.assign(document.createElement("input"), more);
  const time = input({ type: "time", value: clock(visit.at) });
  // A browser reports every digit as a change, and a visit that moves in the list takes the caret
  // with it: so the time counts once the typing has stopped.
  let waiting = 0, counted = time.value;
  const commit = () => {
    clearTimeout(waiting);
    if (editing !== i || !time.value || time.value === counted) return;
    counted = time.value; // taking the row away is a blur too, and must not count again
    const [hour, minute] = time.value.split(":").map(Number);
    setVisit(i, { at: day(state.visits[i].at) * DAY + hour * 60 + minute });
  };
  field("from", time).addEventListener("change", () => {
    clearTimeout(waiting);
    waiting = setTimeout(commit, 1200);
  });
  time.addEventListener("keydown", (event) => {
    if (event.key === "Enter") commit();
  });
  time.addEventListener("blur", ({ relatedTarget }) => {
    commit();
    // The rows may be new: whoever went on to the next field goes on to it.
    const what = relatedTarget?.dataset.do;
    if (what && !relatedTarget.isConnected) focusRow(editing, what);
  });
  const stay = input({ type: "number", min: 0, max: 4320, step: "any", value: visit.stay });
  field("for minutes", stay).addEventListener("change", () => {
    const minutes = within(Math.round(Number(stay.value)), 0, 4320);
    if (stay.value !== "") setVisit(i, { stay: minutes });
    stay.value = state.visits[i].stay; // what the field holds is what counts
  });
  const knob = (text, what, possible, run) => {
    const button = add$(cell, "button", text, { type: "button", disabled: !possible });
    button.dataset.do = what;
    button.addEventListener("click", run);
  };
  knob("Swap place with the later visit", "later", i < state.visits.length - 1, () => swap(i, i + 1));
  knob("… with the earlier", "earlier", i > 0, () => swap(i, i - 1));
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
  find("count").textContent = n === 1 ? "1 visit" : `${n} visits`;
  const most = Math.max(0.01, ...(out ? out.attention : []));
  for (const row of body.querySelectorAll("tr[data-visit]")) {
    const i = Number(row.dataset.visit), { place, at, stay } = visits[i];
    const part = (name) => row.querySelector(`[data-part=${name}]`);
    const seen = out ? i - (n - out.attention.length) : -1; // the model reads the most recent ones
    part("when").textContent = `${weekday(at)} ${clock(at)}, ${long(stay)}`;
    part("attention").replaceChildren();
    const bias = seen < 0 ? 0 : Math.round(100 * out.bias[seen]) / 100 || 0; // no minus zero
    part("bias").textContent = seen < 0 ? "" : bias.toFixed(2).replace("-", "−");
    for (const button of part("knobs").children) {
      const which = `visit ${n - i}, ${name(place)}, ${weekday(at)} ${clock(at)}`;
      button.setAttribute("aria-label", `${button.title}: ${which}`);
    }
    if (seen < 0) continue;
    bar(part("attention"), out.attention[seen], 0, null, most);
    add$(part("attention"), "small", three(out.attention[seen]));
  }
};

const addRow = (body, i) => {
  const { place } = state.visits[i], row = add$(body, "tr");
  Object.assign(row.dataset, { visit: i, place });
  const cell = (tag, part, more) => {
    const element = add$(row, tag, "", more);
    element.dataset.part = part;
    return element;
  };
  cell("td", "number", { className: "number" }).textContent = state.visits.length - i;
  const what = cell("th", "what", { scope: "row" });
  add$(what, "span", (place === went(state) ? "✓ " : "") + name(place), { title: name(place) });
  add$(what, "small").dataset.part = "when";
  cell("td", "attention", { className: "bars" });
  cell("td", "bias", { className: "bias" });
  const knobs = cell("td", "knobs", { className: "knobs" });
  const knob = (text, title, what, run) => {
    const button = add$(knobs, "button", text, { type: "button", title });
    button.dataset.do = what;
    button.addEventListener("click", run);
    return button;
  };
  const edit = () => {
    editing = editing === i ? null : i;
    draw();
    focusRow(i, "edit");
  };
  knob("✎", "Change", "edit", edit).setAttribute("aria-expanded", editing === i);
  knob("✕", "Delete", "remove", (event) => remove(i, event));
  if (editing === i) editor(row, i);
};

const tell = (text) => (find("told").textContent = text);
const summary = (out) => {
  if (!out) return "The day is empty: click a place on the map, or add one by its name.";
  const last = state.visits.at(-1), [[place, p, copied]] = likeliest(out, 1);
  const who = whose(state);
  const date = state.moment === null || changed(state) ? "" : `, ${dateOf(state)}`;
  const part = Math.round((100 * copied) / p);
  const source = ` (${part === 100 ? "all" : `${part} %`} of it copied; gate ${out.gate.toFixed(2)})`;
  return `${who}${date}: after ${name(last.place)} (${weekday(last.at)} ${clock(last.at)}) the model `
    + `expects ${name(place)} with probability ${three(p)}${page.has_both ? source : ""}.`;
};
const whose = (state) => {
  const person = page.people[state.person].name;
  if (state.moment !== null) return person;
  if (!state.user) return "Somebody new";
  const day = ownVisits(state) ? "Your own day" : "The same day";
  return `${day}, read as that of ${person}`;
};
const DATE = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC", day: "numeric", month: "long", year: "numeric",
});
const dateOf = ({ person, visits }) =>
  DATE.format(new Date((page.people[person].monday + day(visits.at(-1).at)) * 86400000));

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
  find("gap").value = state.gap;
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
  map?.draw({
    visits: state.visits.map(({ place }) => place),
    attention: out ? perPlace(state.visits, out.attention) : [],
    top: out && page.rings ? likeliest(out, 5) : [], truth: went(state),
  });
  if (out) {
    drawTop(out, before);
    drawGate(out);
    drawBias(out);
  } else {
    for (const body of ["top", "rest"]) find(body).replaceChildren();
    find("was").textContent = "";
  }
  light.again();
  find("linkrow").hidden = true;
  find("copied").textContent = "";
  // A button that has nothing more to do cannot keep the focus.
  if (held?.disabled) (find("moment").disabled ? find("person") : find("moment")).focus();
};

// ---- Wiring ----------------------------------------------------------------------------------

const map = page.ground ? makeMap(find, page, {
  add: addVisit,
  name,
  hover: (place) => light.set(place),
  say: (place) => {
    const seen = place > page.known ? " (not seen in training)" : "";
    return `${name(place)}${seen}` + (shown ? `: ${three(shown.probabilities[place])}` : "");
  },
}) : null;
const light = makeLight(root, (place) => map?.light(place));
find("frame").hidden = find("legend").hidden = !map;
const alone = page.kind === "pointer" || page.kind === "bias";
if (alone) find("heading").textContent = "Next place, by the pointer alone";

const onView = () => [...state.visits.map(({ place }) => place), went(state)].filter((one) => one !== null);
const fitAll = () => map?.fit(onView());
find("fit").addEventListener("click", fitAll);
const go = (next, gesture = "") => {
  remember(gesture);
  const stay = next.person === state.person && next.visits.length > 0 && past.length > 1;
  [state, editing, listed] = [next, null, ""];
  draw();
  if (stay) map?.keep(onView());
  else fitAll();
};
const ownDay = () => ({ ...copyOf(state), moment: null, from: comesFrom(state) });
page.people.forEach((person, i) => find("person").add(new Option(person.name, i)));
if (page.kind === "full") find("person").add(new Option("somebody new", "new"));
find("person").addEventListener("change", (event) => {
  const chosen = event.target.value;
  // Somebody new has no visits yet: the ones on show become theirs.
  if (chosen === "new") go({ ...ownDay(), user: 0 });
  else {
    const { user, moments } = page.people[chosen], person = Number(chosen);
    if (state.moment === null) go({ ...copyOf(state), person, user });
    else go(original(person, Math.floor(moments.length / 2)));
  }
});
const goTo = (person, moment, gesture) => {
  const { off, times, hand } = state; // the switches stay as they are
  go({ ...original(person, moment), off, times, hand }, gesture);
};
find("moment").addEventListener("input", (event) => {
  goTo(state.person, Number(event.target.value), "moment");
});
for (const [button, step] of [["back", -1], ["next", 1]]) {
  find(button).addEventListener("click", () => {
    const [person, moment] = comesFrom(state); // from a day of one's own first back to it
    goTo(person, moment + (state.moment === null ? 0 : step));
  });
}
find("empty").addEventListener("click", (event) => {
  go({ ...ownDay(), visits: [] });
  focusSearch(event, "empty");
});
find("undo").addEventListener("click", () => {
  [state, editing, listed, lastGesture] = [past.pop(), null, "", ""];
  draw();
});
find("roll").addEventListener("click", rollOut);
find("reset").addEventListener("click", () => go(original(...comesFrom(state))));
for (const [part, label] of SWITCHES) {
  const row = add$(find("switches"), "label");
  const box = add$(row, "input", "", { type: "checkbox", value: part, checked: true });
  row.append(" " + label);
  box.addEventListener("change", () => toggle(part, box.checked));
}
find("times").addEventListener("input", (event) => {
  change((next) => (next.times = TIMES[event.target.value]), "times");
});
find("gaprow").hidden = page.model.config.target_time !== "day";
find("gap").addEventListener("change", (event) => {
  change((next) => (next.gap = within(Math.round(Number(event.target.value)), 0, 30)));
});
const byHand = (gesture) => change((next) => {
  next.hand = find("byhand").checked ? Number(find("hand").value) / 100 : null;
}, gesture);
find("byhand").addEventListener("change", () => byHand());
find("hand").addEventListener("input", () => byHand("hand"));

page.known_here = new Set(page.here || page.names.keys());
const titles = new Map();
for (const place of page.known_here) if (place > 1) titles.set(page.names[place].toLowerCase(), place);
for (const place of titles.values()) {
  add$(root.querySelector("datalist"), "option", "", { value: page.names[place] });
}
find("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = find("search").value.trim().toLowerCase();
  const alike = () => [...titles].find(([title]) => title.includes(typed))?.[1];
  const place = titles.get(typed) ?? (typed && alike());
  if (!place) return tell(typed ? "There is no place of that name." : "Type the name of a place first.");
  find("search").value = "";
  addVisit(place);
});

find("share").addEventListener("click", async () => {
  // A notebook shows its outputs in a frame (VS Code) or on its own page (JupyterLab).
  const inLab = document.body.dataset.jpThemeLight !== undefined;
  const text = write(state), framed = window !== window.top || inLab;
  if (!framed) location.hash = text;
  find("linkname").textContent = framed ? "In a notebook" : "Link";
  find("link").value = framed ? `playground(${page.call}state="${text}")` : location.href;
  find("linkrow").hidden = false;
  find("link").select();
  try {
    await navigator.clipboard.writeText(find("link").value);
    find("copied").textContent = "Copied.";
  } catch {
    find("copied").textContent = "Select and copy it.";
  }
});
const follow = (text, scroll) => {
  if (!text.startsWith(KEY + "=")) return false;
  const next = read(text.slice(KEY.length + 1));
  if (next && write(next) === write(state)) return true;
  if (next) go(next);
  else tell("This link belongs to another model or is damaged, so the page shows its first moment.");
  if (scroll) keepInView();
  return true;
};
// A shared link opens at the figure, and stays there while formulas above it are still being set:
// for ten seconds, or until the reader does something.
const keepInView = () => {
  const watch = new ResizeObserver(() => root.scrollIntoView());
  watch.observe(document.body);
  setTimeout(() => watch.disconnect(), 10000);
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(kind, () => watch.disconnect(), { once: true, passive: true });
};
addEventListener("hashchange", () => follow(location.hash.slice(1), false));

go(state);
past = [];
draw();
if (!follow(location.hash.slice(1), true) && page.state) follow(page.state, false);
past = [];
find("undo").disabled = true;

// For the console of the browser: root.live.predict(root.live.window()) and so on.
root.live = { model, predict, page, window: () => asWindow(state), state: () => copyOf(state), show: go };
