// The marks that are painted on a map. Areas are true to the numbers: a mark of weight 1 has a radius
// of 30 pixels.

const marksOn = (map) => {
  const { marks, pixel } = map;
  const radius = (weight) => Math.max(3, 30 * Math.sqrt(weight)) * pixel();
  const circle = (at, r, more) =>
    shape(marks, "circle", { cx: at[0], cy: at[1], r, ...STEADY, ...more });
  const disc = (at, weight, more) => circle(at, radius(weight), more);
  // A ring with the area of the whole; a solid arc is the first part, a dashed one is the rest.
  const ring = (at, whole, first) => {
    const r = radius(whole), part = Math.round(100 * Math.min(1, first / whole));
    const dash = 2 + (12 * pixel()) / r;
    const turn = `rotate(-90 ${at[0]} ${at[1]})`, dashes = [0, part];
    for (let from = part; from < 100; from += 2 * dash) {
      dashes.push(Math.min(dash, 100 - from), dash);
    }
    circle(at, r, { class: "halo" });
    // A line that scales, because browsers do not agree on the dashes of one that keeps its width.
    const about = { transform: turn, pathLength: 100, "vector-effect": "none" };
    const arc = (kind, dashing) => {
      const line = circle(at, r, { ...about, class: kind, "stroke-dasharray": dashing });
      line.style.strokeWidth = 3.5 * pixel();
    };
    if (part < 100) arc("dashed", dashes.join(" "));
    if (part > 0) arc("solid", `${part} 100`);
  };
  const sign = (at, path, kind) => {
    for (const more of ["halo ", ""]) {
      shape(marks, "path", {
        class: more + kind, d: path, transform: `translate(${at[0]} ${at[1]}) scale(${pixel()})`,
      });
    }
  };
  const line = (path, more) => shape(marks, "path", { d: path, fill: "none", ...STEADY, ...more });
  // A way that leaves the straight line to its left, so that there and back can be told apart.
  const arc = ([x, y], [toX, toY], more) => {
    const bend = [(x + toX) / 2 + (toY - y) / 6, (y + toY) / 2 - (toX - x) / 6];
    return line(`M${x} ${y}Q${bend.join(" ")} ${toX} ${toY}`, more);
  };
  return { radius, circle, disc, ring, sign, line, arc };
};

// One prediction. visits: places, the oldest first; attention: [place, weight] each; top: [place,
// probability, of it copied] each; truth: a place or null; rays: [place, weight] each, as the last
// visit looks; the path steps back behind them.
const paintPrediction = (map, { visits, attention, top, truth, rays = [] }) => {
  const { spot, pixel } = map, draw = marksOn(map);
  const trail = visits.map(spot), last = visits.at(-1), strength = rays.length ? 0.35 : 1;
  for (let i = 1; i < trail.length; i++) {
    if (!trail[i] || !trail[i - 1]) continue;
    draw.line(`M${trail[i - 1].join(" ")}L${trail[i].join(" ")}`, {
      class: "path", opacity: strength * (0.12 + 0.68 * (i / (trail.length - 1)) ** 2),
    });
  }
  for (const [place, weight] of attention) {
    if (spot(place)) draw.disc(spot(place), weight, { class: "attention" });
  }
  for (const [place, weight] of rays) {
    const look = { class: "ray", "stroke-width": 1 + 20 * weight };
    // To itself, and to other visits to the same place, there is no way: a ring.
    if (place === last) draw.circle(spot(place), 16 * pixel(), look);
    else draw.arc(spot(last), spot(place), look);
  }
  for (const [place, p, copied] of top) if (spot(place) && p > 0) draw.ring(spot(place), p, copied);
  if (visits.length && spot(last)) draw.sign(spot(last), "M-6-6L6 6M6-6L-6 6", "here");
  if (truth !== null && spot(truth)) draw.sign(spot(truth), "M0-11L11 0 0 11-11 0z", "truth");
  // The likeliest place is named first, because later names give way.
  const guessed = top.filter((row) => row[1] > 0).map(([place]) => place);
  const order = [...guessed.slice(0, 1), last, truth, ...guessed,
    ...[...attention, ...rays].map(([place]) => place)];
  const places = [...new Set(order)].filter((place) => place != null && spot(place));
  const wide = new Map();
  for (const [place, weight] of [...attention, ...top]) {
    wide.set(place, Math.max(wide.get(place) ?? 0, draw.radius(weight) / pixel()));
  }
  map.writeNames(places, (place) => Math.max(8, wide.get(place) ?? 0));
};
