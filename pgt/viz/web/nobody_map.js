// The map of one person's places: dots, what is likely next, and a scale. No network, no ground below.

const METRES = 111195; // of a degree of latitude
const FLAT = 0.56, EDGE = 34, NAMED = 3; // height by width; pixels to the edge; places with a name

// spots: [lon, lat] or null by place; likely: [[place, p], …] the likeliest first.
const drawMap = (svg, scale, { spots, titles, likely, here, truth }) => {
  const spot = (place) => (place === null ? null : spots[place - 2]);
  const shown = [...likely.map(([place]) => place), here, truth].map(spot).filter(Boolean);
  if (!shown.length) return false;
  // Whoever is hidden has no width yet.
  const wide = svg.parentElement.clientWidth || 480, high = Math.round(FLAT * wide);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [west, east] = span(shown.map(([lon]) => lon)), [south, north] = span(shown.map(([, lat]) => lat));
  const shrink = Math.max(0.01, Math.cos(((south + north) / 2) * (Math.PI / 180)));
  const metres = Math.max(((east - west) * METRES * shrink) / (wide - 2 * EDGE), ((north - south) * METRES) / (high - 2 * EDGE), 0.8);
  const at = ([lon, lat]) => [
    wide / 2 + ((lon - (west + east) / 2) * METRES * shrink) / metres,
    high / 2 - ((lat - (south + north) / 2) * METRES) / metres,
  ];
  const inside = ([x, y]) => x > 0 && x < wide && y > 0 && y < high;
  for (const one of spots) {
    const [cx, cy] = one ? at(one) : [-1, -1];
    if (inside([cx, cy])) shape(svg, "circle", { cx, cy, r: 2.5, class: "known" });
  }
  const taken = [], labels = [];
  likely.forEach(([place, p], i) => {
    if (!spot(place)) return;
    const [cx, cy] = at(spot(place)), r = 4 + 20 * Math.sqrt(p);
    shape(svg, "circle", { cx, cy, r, class: "attention" });
    if (i < NAMED) labels.push([[cx, cy], r, `${i + 1}: ${short(titles[place - 2])}`]);
  });
  const mark = (place, d, kind) => {
    if (!spot(place)) return;
    const [x, y] = at(spot(place));
    for (const more of ["halo", kind]) shape(svg, "path", { d, class: more, transform: `translate(${x} ${y})` });
    taken.push([x - 9, y - 9, x + 9, y + 9]);
  };
  mark(here, "M-5-5L5 5M5-5L-5 5", "here");
  mark(truth, "M0-9L9 0 0 9-9 0z", "truth");
  for (const [place, r, text] of labels) {
    const seat = seats(place, Math.min(r, 12), text).find(([, , , box]) => box[0] > 0 && box[2] < wide - 6
      && box[1] > 0 && box[3] < high && !taken.some((other) => meet(box, other)));
    if (!seat) continue;
    const [x, y, anchor, box] = seat;
    taken.push(box);
    shape(svg, "text", { x, y, "text-anchor": anchor, "font-size": SIZE }, text);
  }
  const most = (metres * wide) / 4, power = 10 ** Math.floor(Math.log10(most));
  const length = power * [5, 2, 1].find((n) => n * power <= most);
  scale.style.width = `${(100 * length) / (metres * wide)}%`;
  scale.textContent = length < 1000 ? `${length} m` : `${length / 1000} km`;
  return true;
};
