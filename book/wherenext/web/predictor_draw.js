// What the page of the predictor shows. Text from a file is set as text only.

const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const WHEN = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC", weekday: "short", day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit",
});
const DATE = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" });
const percent = (share) => `${(100 * share).toFixed(0)} %`;

const sayRead = (table) => {
  const all = table.people.flatMap(({ visits }) => visits);
  const places = new Set(table.people.flatMap(({ titles }) => titles)).size;
  const span = all.reduce(([a, b], { wall }) => [Math.min(a, wall), Math.max(b, wall)], [Infinity, -Infinity]);
  const dates = [...new Set(span.map((wall) => DATE.format(wall)))].join(" to ");
  const skipped = table.skipped.map(([why, n, line]) => `${many(n, "row")} left out: ${why} (line ${line}${n > 1 ? " first" : ""}).`);
  const what = page.sample && table.own ? "A sample, not a real person: " : `${table.name}: `;
  return [`${what}${many(all.length, "visit")} of ${many(table.people.length, "person", "people")} to `
    + `${many(places, "place")}, ${dates}.`, ...skipped, ...table.notes].join(" ");
};

// Where a place stands among the answers; "somewhere new" is nobody's name.
const rankOf = (answer, place) => 1 + answer.places.findIndex(([one]) => one === place) || Infinity;

const sayAnswer = (person, { count, at }, answer) => {
  const last = person.visits[count - 1], next = person.visits[count] ?? null;
  const title = (place) => person.titles[place - 2], [[place, p]] = answer.places;
  const stayed = Math.floor((last.end - last.start) / MINUTE);
  const minutes = stayed ? `, for ${stayed < 120 ? `${stayed} min` : `${Math.round(stayed / 60)} h`}` : "";
  const asked = at === null ? "" : ` The next visit begins on ${WHEN.format(at)}.`;
  const before = `After ${title(last.place)} (${WHEN.format(last.wall)}${minutes}).${asked}`;
  const guess = answer.somewhereNew > p
    ? `Somewhere new is likeliest (${three(answer.somewhereNew)}); of the known places ${title(place)} (${three(p)}).`
    : `The first guess is ${title(place)}, with probability ${three(p)}.`;
  if (!next) return `${before} ${guess} This was the last visit: nobody knows yet.`;
  const rank = rankOf(answer, next.place);
  const truth = rank === Infinity
    ? `They went to ${title(next.place)}, ${person.visits.slice(0, count).some((one) => one.place === next.place)
      ? "where they had not been for long" : "where they had never been"}.`
    : `They went to ${title(next.place)}: ${rank === 1 ? "right" : `wrong, it was number ${rank}`}.`;
  return `${before} ${guess} ${truth}`;
};

const addGuess = (body, rank, title, p, kind, scale) => {
  const row = add$(body, "tr");
  add$(row, "td", rank);
  add$(row, "th", title, { scope: "row", title });
  const bars = add$(row, "td", "", { className: "bars" });
  if (kind) addBar(bars, [[kind, p / scale]]);
  add$(row, "td", three(p));
  return row;
};
const drawAnswer = (find, person, count, answer) => {
  const truth = person.visits[count]?.place ?? null, top = answer.places.slice(0, 10);
  const scale = Math.max(0.01, answer.somewhereNew, top[0][1]);
  find("top").replaceChildren();
  find("rest").replaceChildren();
  top.forEach(([place, p], i) => {
    const right = place === truth, title = `${right ? "✓ " : ""}${person.titles[place - 2]}`;
    addGuess(find("top"), i + 1, title, p, "copied", scale).classList.toggle("right", right);
  });
  const came = truth !== null && rankOf(answer, truth) === Infinity;
  addGuess(find("rest"), "", `${came ? "✓ " : ""}somewhere new`, answer.somewhereNew, "new", scale)
    .classList.toggle("right", came);
  const others = answer.places.slice(10), sum = sumOf(others.map(([, p]) => p));
  if (others.length) addGuess(find("rest"), "", many(others.length, "other place"), sum, "", scale);
  find("heading").textContent = `Where next: the ${top.length === 10 ? "ten " : ""}likeliest`;
};
// ranks, usual: of each visit that could be asked about, the rank of its place.
const drawScore = (find, ranks, usual, of) => {
  const body = find("score"), n = ranks.length;
  body.replaceChildren();
  find("scored").textContent = n === 0 ? "(no visit to ask about yet)"
    : `(${many(n, "visit")}, each from those before it${n < of ? `; ${percent(n / of)} worked out` : ""})`;
  for (const [title, list] of [["the model", ranks], ["the most visited places", usual]]) {
    const row = add$(body, "tr");
    add$(row, "th", title, { scope: "row" });
    for (const k of [1, 5]) {
      const right = list.filter((rank) => rank <= k).length;
      add$(row, "td", n ? percent(right / n) : "–");
    }
  }
};

// The map of one person's places, with nothing below them: the visits may be anybody's, anywhere.

const UNITS = 1e5; // of the map in a degree

// find: the parts of the map by name. likely: [[place, p], …], the likeliest first.
const ownMap = (find) => {
  let person = null, chances = new Map(), inView = [];
  const name = (place) => person.titles[place - 2];
  const say = (place) => name(place) + (chances.has(place) ? `: ${three(chances.get(place))}` : "");
  const map = makeMap(find, { name, say });
  find("fit").addEventListener("click", () => map.fit(inView));
  const put = () => {
    const known = person.spots.filter(Boolean), [west, south] = known[0];
    const latitudes = known.map(([, lat]) => lat).sort((a, b) => a - b);
    const middle = latitudes[latitudes.length >> 1];
    // Counted from the first place, so that the numbers stay small; east over the date line is east.
    const eastOf = (lon) => ((lon - west + 540) % 360) - 180;
    const at = ([lon, lat]) => [Math.round(UNITS * eastOf(lon)), Math.round(UNITS * (lat - south))];
    const spots = [null, null, ...person.spots.map((one) => one && at(one))];
    const shrink = Math.max(0.01, Math.cos((middle * Math.PI) / 180));
    map.put({ spots, shrink }, [["known", [...spots.keys()]]]);
  };
  const draw = (next, count, answer) => {
    const here = next.visits[count - 1].place, truth = next.visits[count]?.place ?? null;
    const likely = answer.places.slice(0, 10);
    const seen = [...likely.map(([place]) => place), here, truth];
    inView = seen.filter((place) => place !== null && next.spots[place - 2]);
    if (!inView.length) return false;
    const other = next !== person;
    person = next;
    chances = new Map(likely);
    if (other) put();
    map.paint(() => paintPrediction(map, {
      visits: [here], attention: [], top: likely.map(([place, p]) => [place, p, p]), truth,
    }));
    if (other) map.fit(inView);
    else map.keep(inView);
    return true;
  };
  return draw;
};
