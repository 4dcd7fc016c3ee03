// The page of the predictor: which file, which person, which moment; and what changes them.

const root = figureOf(page.id);
const find = (name) => root.querySelector(`[data-own="${name}"]`);
const drawMap = ownMap((name) => root.querySelector(`[data-live="${name}"]`));
const networks = unpackPredictor(page.model);
const PATIENT = 30; // milliseconds of work, after which the page may breathe

// What is on show: a table, one of its people with what was worked out about them, and how many of
// their visits are known. `time` says what is known of the next one's.
let table = null, person = null, about = null, scores = null;
let state = { person: 0, count: 1, time: "unknown" };

const longest = () => person.visits.length;
// What the clock shows when the next visit begins: [wall, moment], or null.
const nextTime = () => {
  const last = person.visits[state.count - 1], next = person.visits[state.count];
  if (state.time === "true" && next) return [next.wall, next.start];
  if (state.time !== "chosen") return null;
  const weekday = Number(find("weekday").value), minutes = 60 * Number(find("hour").value);
  let day = dayOf(last.wallEnd);
  const wall = () => (day * DAY_MINUTES + minutes) * MINUTE;
  while (weekdayOf(wall()) !== weekday || wall() < last.wallEnd) day++;
  return [wall(), last.end + (wall() - last.wallEnd)];
};

// Work that may take long is cut to pieces; a new question ends the work on an old one.
let job = 0;
const inPieces = (step, done, progress = () => {}) => {
  const mine = job, again = () => {
    if (mine !== job) return;
    const until = performance.now() + PATIENT;
    let more = true;
    while (more && performance.now() < until) more = step();
    if (!more) return done();
    progress();
    setTimeout(again);
  };
  again();
};

// The place's rank among the latest visits by how often it was visited, the latest first if alike.
const usualRank = (count) => {
  const counts = new Map(), recent = about.rows.slice(Math.max(0, count - networks.memory), count).reverse();
  for (const { place } of recent) counts.set(place, (counts.get(place) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1]).map(([place]) => place);
  return 1 + order.indexOf(person.visits[count].place) || Infinity;
};
const score = () => {
  const of = Math.min(state.count, longest() - 1), { ranks, usual } = scores;
  const show = () => drawScore(find, ranks.slice(0, of), usual.slice(0, of), of);
  show();
  inPieces(() => {
    if (ranks.length >= of) return false;
    const count = ranks.length + 1;
    ranks.push(rankOf(about.answer(count), person.visits[count].place));
    usual.push(usualRank(count));
    return true;
  }, () => {
    show();
    delete root.dataset.busy;
  }, show);
};

const draw = () => {
  job++;
  root.dataset.busy = "yes";
  const { count } = state, time = nextTime(), at = time?.[0] ?? null;
  find("count").max = longest();
  find("count").value = count;
  find("counttext").textContent = `After visit ${count} of ${longest()}`;
  find("count").setAttribute("aria-valuetext", `after visit ${count} of ${longest()}`);
  find("back").disabled = count === 1;
  find("next").disabled = count === longest();
  const known = find("time").querySelector("[value=true]");
  known.disabled = count === longest();
  find("time").value = state.time;
  find("chosen").hidden = state.time !== "chosen";
  const asked = time ? asOf(networks, about, count, time[1]) : about;
  const waiting = asked.missing(count, at);
  inPieces(() => {
    if (waiting.length) asked.of(at === null ? "next_place" : "at_a_time", waiting.pop());
    return waiting.length > 0;
  }, () => {
    const answer = asked.answer(count, at);
    find("told").textContent = sayAnswer(person, { count, at }, answer);
    drawAnswer(find, person, count, answer);
    find("places").hidden = !drawMap(person, count, answer);
    root.own.shown = answer;
    score();
  }, () => {
    find("told").textContent = "The experts look at the past …";
  });
};

const change = (more) => {
  state = { ...state, ...more };
  if (state.count === longest() && state.time === "true") state.time = "unknown";
  draw();
};
const choose = (number, count) => {
  person = table.people[number];
  about = askAbout(networks, person.visits);
  scores = { ranks: [], usual: [] };
  find("person").value = number;
  change({ person: number, count: within(count, 1, longest()) });
};
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const show = (next) => {
  // Times in UTC are read by the clocks of this browser's zone.
  table = next.utc && ZONE !== "UTC" ? inZone(next, ZONE) : next;
  find("wrong").textContent = "";
  find("read").textContent = sayRead(table);
  find("person").replaceChildren();
  table.people.forEach(({ name, visits }, i) =>
    find("person").add(new Option(`${name || "One person"} (${many(visits.length, "visit")})`, i)));
  find("again").hidden = table.own;
  // Of a person in a file the question is what comes next; the sample shows what came.
  choose(0, table.own && page.sample ? Math.floor(table.people[0].visits.length / 2) : Infinity);
};
const own = () => ({ ...readTable(page.table, page.name), own: true });

// ---- The file --------------------------------------------------------------------------------

const take = async (file) => {
  if (!file) return;
  try {
    show(readTable(textOf(new Uint8Array(await file.arrayBuffer()), file.name), file.name));
  } catch (error) {
    find("wrong").textContent = error instanceof Unreadable ? error.message
      : `${file.name} cannot be read; choose a CSV file.`;
  }
};
find("file").addEventListener("change", ({ target }) => take(target.files[0]));
const box = find("drop"), carriesFile = (event) => event.dataTransfer?.types.includes("Files");
for (const kind of ["dragenter", "dragover", "drop"]) box.addEventListener(kind, (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  box.classList.toggle("over", kind !== "drop");
  if (kind !== "drop") return;
  find("file").files = event.dataTransfer.files;
  take(event.dataTransfer.files[0]);
});
box.addEventListener("dragleave", (event) => {
  if (!box.contains(event.relatedTarget)) box.classList.remove("over");
});
find("again").textContent = page.sample ? "Back to the sample" : "Back to the visits of this page";
find("again").addEventListener("click", () => {
  find("file").value = "";
  show(own());
  find("file").focus();
});

// ---- The moment ------------------------------------------------------------------------------

DAYS.forEach((day, i) => find("weekday").add(new Option(day, i + 1)));
for (let hour = 0; hour < 24; hour++) find("hour").add(new Option(`${String(hour).padStart(2, "0")}:00`, hour));
find("person").addEventListener("change", ({ target }) => choose(Number(target.value), Infinity));
find("count").addEventListener("input", ({ target }) => change({ count: Number(target.value) }));
for (const [button, step] of [["back", -1], ["next", 1]]) find(button).addEventListener("click", () => {
  change({ count: state.count + step });
  if (find(button).disabled) find("count").focus(); // a button that has nothing more to do
});
find("time").addEventListener("change", ({ target }) => {
  if (target.value === "chosen") { // begin with the next full hour
    const soon = person.visits[state.count - 1].wallEnd + 60 * MINUTE;
    find("weekday").value = weekdayOf(soon);
    find("hour").value = Math.floor(minuteOf(soon) / 60);
  }
  change({ time: target.value });
});
for (const name of ["weekday", "hour"]) find(name).addEventListener("change", () => change({}));

// For the console of the browser: the answer on show is root.own.shown.
root.own = { model: networks, readTable, timeOf, askAbout, asOf, shown: null };
show(own());
