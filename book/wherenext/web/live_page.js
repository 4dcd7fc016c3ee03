// The live model's page: a state, and what changes it; `live_draw.js` shows it.
//
// The state is all there is. Every change makes a new one, predicts anew and draws everything again.
// `page` holds the data: model, places, people with their moments; names are set as text only.

const root = figureOf(page.id);
const find = (name) => root.querySelector(`[data-live="${name}"]`);
const model = unpack(page.model);
const DAY = 1440, WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

// ---- Words -----------------------------------------------------------------------------------

const name = (place) => (place === 1 ? "a place outside the vocabulary" : page.names[place] || "?");
const day = (at) => Math.floor(at / DAY); // days since some Monday
const two = (n) => String(n).padStart(2, "0");
const clock = (at) => `${two(Math.floor(mod(at, DAY) / 60))}:${two(mod(at, 60))}`;
const weekday = (at) => WEEKDAYS[mod(day(at), 7)];
const long = (stay) => {
  const [hours, rest] = [Math.floor(stay / 60), stay % 60];
  return hours === 0 ? `${rest}\u00a0min` : `${hours}:${two(rest)}\u00a0h`;
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
  off: [], times: 1, hand: null,
});
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
const asWindow = ({ user, visits }) => ({
  user,
  visits: visits.map(({ place, at, stay }) => ({
    location: place, minute: mod(at, DAY), weekday: mod(day(at), 7) + 1,
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

const TIMES = [0, 1, 3, 10, 30, 100, 300]; // the bias

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
  change(({ visits }) => {
    [visits[i].place, visits[j].place] = [visits[j].place, visits[i].place];
    editing = j;
  });
  focusRow(j, "later");
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
  if (!known_here.has(place)) return tell(`${name(place)} is not part of this small version.`);
  change((next) => {
    append(next, place);
    editing = next.visits.length - 1;
  });
  map?.keep(onView());
};
const goThere = (place) => {
  editing = null;
  change((next) => append(next, place));
  map?.keep(onView());
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

// ---- Wiring ----------------------------------------------------------------------------------

const known_here = new Set(page.here || page.names.keys()); // what can be added
const makeTown = () => {
  const say = (place) => name(place) + (place > page.known ? " (not seen in training)" : "")
    + (shown ? `: ${three(shown.probabilities[place])}` : "");
  const map = makeMap(find, { add: addVisit, name, say }), places = [...page.spots.keys()];
  const here = places.filter((place) => known_here.has(place));
  map.put(page, [
    ["unknown", here.filter((place) => place > page.known)], ["known", here.filter((place) => place <= page.known)],
  ]);
  return map;
};
const map = page.ground ? makeTown() : null;
find("frame").hidden = find("legend").hidden = !map;
if (page.kind === "full") find("switching").before(find("biasing")); // below both columns
if (page.kind === "pointer") find("heading").textContent = "Next place, by the pointer alone";

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
const byHand = (gesture) => change((next) => {
  next.hand = find("byhand").checked ? Number(find("hand").value) / 100 : null;
}, gesture);
find("byhand").addEventListener("change", () => byHand());
find("hand").addEventListener("input", () => byHand("hand"));

const titles = new Map();
for (const place of known_here) if (place > 1) titles.set(page.names[place].toLowerCase(), place);
for (const place of titles.values()) {
  add$(root.querySelector("datalist"), "option", "", { value: page.names[place] });
}
find("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = find("search").value.trim().toLowerCase();
  const similar = () => [...titles].find(([title]) => title.includes(typed))?.[1];
  const place = titles.get(typed) ?? (typed && similar());
  if (!place) return tell(typed ? "There is no place of that name." : "Type the name of a place first.");
  find("search").value = "";
  addVisit(place);
});

go(state);
past = [];
draw();

// For the console of the browser: root.live.predict(root.live.window()) and so on.
root.live = { model, predict, page, window: () => asWindow(state), state: () => copyOf(state), show: go };
