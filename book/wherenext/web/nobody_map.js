// The map of one person's places, with nothing below them: the visits may be anybody's, anywhere.

const UNITS = 1e5; // of the map in a degree

// find: the parts of the map by name. draw(person, { likely, here, truth }) -> whether there is
// anything to draw; likely: [[place, p], …], the likeliest first.
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
    const places = [...spots.keys()].filter((place) => spots[place]);
    const shrink = Math.max(0.01, Math.cos((middle * Math.PI) / 180));
    map.put({ spots, shrink }, places, [[{ class: "known" }, places]]);
  };
  const draw = (next, { likely, here, truth }) => {
    const seen = [...likely.map(([place]) => place), here, truth];
    inView = seen.filter((place) => place !== null && next.spots[place - 2]);
    find("frame").hidden = inView.length === 0;
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
