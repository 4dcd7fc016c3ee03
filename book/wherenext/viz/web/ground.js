// A map: the town's ground, dots for places, and whatever somebody paints on it. Plain SVG; one unit
// is 1e-5 degree of latitude, about a metre, and whatever should keep its size on the screen is
// given in pixels. Names are set as text, never as HTML.

const METRES = 1.11319; // of a unit
const INSET = { top: 16, right: 54, bottom: 34, left: 16 }; // pixels, free for the buttons and the scale
const BARE = { ground: { layers: [], labels: [] } };
// Of the scale, in metres.
const STEPS = [1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));
const STEADY = { "vector-effect": "non-scaling-stroke" }; // a line's width in pixels, at any zoom

// ---- Names: where one can stand, beside its mark, above or below it ----

const NAMES = 8; // so many places are named at most
const SIZE = 12; // of the letters, in pixels

// Boxes are [left, top, right, bottom], in pixels.
const meet = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
// Around a spot whose mark reaches `gap` pixels: [x, y of the baseline, anchor, box] each, the best first.
const seats = ([x, y], gap, text) => {
  const w = 0.66 * SIZE * text.length + 2, h = SIZE + 2, side = gap + 4;
  const seat = (left, low, at, anchor) => [at, low, anchor, [left, low - h + 2, left + w, low + 4]];
  return [
    seat(x + side, y + 4, x + side, "start"), seat(x - side - w, y + 4, x - side, "end"),
    seat(x - w / 2, y - side - 2, x, "middle"), seat(x - w / 2, y + side + SIZE, x, "middle"),
  ];
};
const short = (text) => (text.length > 26 ? `${text.slice(0, 25)}…` : text);

// ---- The map ----

// say(place) -> text of a place; name(place). hover(place or null) and add(place), when a place is
// clicked, may be missing. The map is empty until `put` gives it places.
const makeMap = (find, { say, name, hover, add }) => {
  const { top, right, bottom, left } = INSET;
  const svg = find("map");
  const [ground, labels, dots, marks, names, glow] =
    ["ground", "labels", "dots", "marks", "names", "glow"].map((kind) => shape(svg, "g", { class: kind }));
  let town = { spots: [], shrink: 1, ...BARE };
  let shown = [], whole = null; // the places that answer to a finger; a rectangle around them
  const spot = (place) => {
    const at = town.spots[place];
    return at ? [at[0] * town.shrink, -at[1]] : null;
  };
  // next: shrink, spots, and a ground if there is one. places: those that answer to a finger;
  // layers: [attributes, places] each.
  const put = (next, places, layers = []) => {
    [town, shown] = [{ ...BARE, ...next }, places.filter((place) => next.spots[place])];
    for (const group of [ground, dots]) {
      group.replaceChildren();
      group.setAttribute("transform", `scale(${town.shrink} -1)`);
    }
    for (const [kind, width, path] of town.ground.layers) {
      shape(ground, "path", { class: kind, d: path, "stroke-width": width, ...STEADY });
    }
    for (const [attributes, some] of layers) {
      const path = some.filter(spot).map((place) => `M${town.spots[place].join(" ")}h0`).join("");
      shape(dots, "path", { ...attributes, d: path, ...STEADY });
    }
    whole = box(shown.map(spot), 150);
    lit = null;
    find("tip").hidden = true;
    measure();
  };

  // ---- The view: a rectangle of the town, with the frame's proportions ----
  let view = { x: 0, y: 0, w: 1, h: 1 }, painter = null;
  let zoomed = false; // by the reader: until then a finger that moves up or down scrolls the page
  // Measured once, not at each mark: a measure between two changes makes the browser lay out the page.
  let size = { w: 1, h: 1 };
  const measure = () => (size = { w: Math.max(1, svg.clientWidth), h: Math.max(1, svg.clientHeight) });
  const pixel = () => view.w / size.w; // units in a pixel
  const box = (spots, margin) => {
    const end = (axis, pick) => spots.reduce((so_far, at) => pick(so_far, at[axis]), spots[0][axis]);
    const [west, north] = [end(0, Math.min) - margin, end(1, Math.min) - margin];
    const [east, south] = [end(0, Math.max) + margin, end(1, Math.max) + margin];
    return { x: west, y: north, w: east - west, h: south - north };
  };

  const show = () => {
    svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" "));
    svg.style.touchAction = zoomed ? "none" : "pan-y";
    dots.style.strokeWidth = `${Math.min(7, Math.max(2.2, 5 / pixel()))}px`;
    dots.style.setProperty("--near", within(Math.sqrt(10 / pixel()), 0.5, 2.5).toFixed(2));
    const metres = STEPS.filter((step) => step / METRES / pixel() <= 110).pop() || 10;
    find("scale").style.width = `${metres / METRES / pixel()}px`;
    find("scale").textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
    draw();
  };
  const look = (rectangle) => { // the smallest view with the frame's proportions around a rectangle
    const [wide, high] = [size.w - left - right, size.h - top - bottom];
    const unit = Math.max(rectangle.w / wide, rectangle.h / high, 300 / size.w);
    const [w, h] = [unit * size.w, unit * size.h];
    view = {
      x: rectangle.x + (rectangle.w - unit * wide) / 2 - unit * left,
      y: rectangle.y + (rectangle.h - unit * high) / 2 - unit * top, w, h,
    };
    show();
  };
  const onScreen = ([x, y]) => [(x - view.x) / pixel(), (y - view.y) / pixel()]; // in pixels
  const zoom = (factor, x = view.x + view.w / 2, y = view.y + view.h / 2) => {
    if (!whole) return;
    // A tall town in a wide frame is seen from further away.
    const most = Math.max(view.w, 2 * Math.max(whole.w, (whole.h * size.w) / size.h));
    const w = Math.min(most, Math.max(150, view.w * factor)), real = w / view.w;
    view = { x: x - (x - view.x) * real, y: y - (y - view.y) * real, w, h: view.h * real };
    show();
  };
  const move = (dx, dy) => {
    view = { ...view, x: view.x + dx * view.w, y: view.y + dy * view.h };
    show();
  };

  const draw = () => {
    marks.replaceChildren();
    names.replaceChildren();
    taken = covers();
    painter?.();
    district();
    light(lit);
  };
  const paint = (next) => {
    painter = next;
    draw();
  };

  // ---- Names, where `seats` says ----
  const write = (group, [x, y, anchor], text, more = {}) => shape(group, "text", {
    x: view.x + x * pixel(), y: view.y + y * pixel(), "text-anchor": anchor,
    "font-size": SIZE * pixel(), "stroke-width": 3 * pixel(), ...more,
  }, text);
  const covers = () => [[size.w - 52, 0, size.w, 130], [0, size.h - 30, 130, size.h]]; // buttons, scale
  let taken = []; // where no name can stand
  // Names beside marks that reach wide(place) pixels, the first ones first, as long as there is room.
  const writeNames = (places, wide) => {
    for (const place of places) {
      const [x, y] = onScreen(spot(place)), r = Math.min(12, wide(place));
      taken.push([x - r, y - r, x + r, y + r]);
    }
    let written = 0;
    for (const place of places) {
      if (written === NAMES) break;
      const text = short(name(place));
      const free = seats(onScreen(spot(place)), wide(place), text).find(([, , , box]) =>
        box[0] > 2 && box[1] > 2 && box[2] < size.w - 2 && box[3] < size.h - 2
        && !taken.some((other) => meet(box, other)));
      if (!free) continue;
      write(names, free, text).dataset.place = place;
      taken.push(free[3]);
      written += 1;
    }
  };
  const district = () => {
    labels.replaceChildren();
    const full = [...taken];
    for (const [x, y, text] of town.ground.labels) {
      const [left, top] = onScreen([x * town.shrink, -y]), w = 0.31 * SIZE * text.length;
      const box = [left - w, top - SIZE, left + w, top + 3];
      if (full.some((other) => meet(box, other))) continue;
      full.push(box);
      write(labels, [left, top, "middle"], text, { "font-size": 11 * pixel() });
    }
  };
  let lit = null;
  const light = (place) => {
    lit = place;
    glow.replaceChildren();
    const at = place === null ? null : spot(place);
    if (!at) return;
    for (const kind of ["halo", "lit"]) {
      shape(glow, "circle", { class: kind, cx: at[0], cy: at[1], r: 15 * pixel(), ...STEADY });
    }
    const [x, y] = onScreen(at), text = short(name(place));
    if (names.querySelector(`[data-place="${place}"]`)) return;
    const all = seats([x, y], 15, text);
    write(glow, all.find(([, , , box]) => box[0] > 2 && box[2] < size.w - 2) ?? all[0], text);
  };
  let unseen = null; // what was fitted while the map had no size
  const fit = (places, margin = 100) => {
    if (!whole) return;
    zoomed = false;
    unseen = size.w === 1 ? [places, margin] : null;
    const spots = places.map(spot).filter(Boolean);
    look(spots.length ? box(spots, margin) : whole);
  };
  // The same view as long as all of them are seen in it, so that the map stands still.
  const keep = (places) => {
    const edge = ([x, y]) => Math.min(x, y, size.w - x, size.h - y) < 12;
    const under = ([x, y]) => covers().some(([west, north, east, south]) =>
      x > west && x < east && y > north && y < south);
    const hidden = (at) => edge(at) || under(at);
    if (places.map(spot).filter(Boolean).map(onScreen).some(hidden)) fit(places);
  };
  // Pan only as far as needed for a place that lies outside.
  const reveal = (place) => {
    const at = spot(place);
    if (!at) return;
    const [dx, dy] = [(at[0] - view.x) / view.w, (at[1] - view.y) / view.h];
    if (Math.min(dx, dy) > 0 && Math.max(dx, dy) < 1) return;
    look(box([at, [view.x + view.w / 2, view.y + view.h / 2]], 250));
  };

  // ---- Mouse, finger, keys ----
  const where = (event) => {
    const frame = svg.getBoundingClientRect();
    const [right, down] = [event.clientX - frame.left, event.clientY - frame.top];
    return [view.x + right * pixel(), view.y + down * pixel()];
  };
  const nearest = (event, reach) => {
    const [x, y] = where(event);
    let best = null, distance = reach * pixel();
    for (const place of shown) {
      const at = spot(place), apart = Math.hypot(at[0] - x, at[1] - y);
      if (apart < distance) [best, distance] = [place, apart];
    }
    return best;
  };
  const tell = (place) => {
    const tip = find("tip"), [left, top] = onScreen(spot(place));
    tip.hidden = false;
    tip.textContent = say(place);
    tip.style.left = `${Math.min(left, size.w - 130)}px`;
    tip.style.top = `${top + 20}px`;
  };
  let held = null;
  svg.addEventListener("pointerdown", (event) => {
    held = null; // a second finger or another button is no click
    if (event.button !== 0 || !event.isPrimary) return;
    held = { x: event.clientX, y: event.clientY, moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!event.isPrimary) return;
    const tip = find("tip");
    if (held && event.buttons) {
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.moved && Math.hypot(dx, dy) < 5) return;
      if (!held.moved) svg.setPointerCapture(event.pointerId);
      move(-dx / size.w, -dy / size.h);
      held = { x: event.clientX, y: event.clientY, moved: true };
    }
    const place = nearest(event, 14);
    tip.hidden = place === null || Boolean(held?.moved);
    hover?.(tip.hidden ? null : place);
    if (!tip.hidden) tell(place);
  });
  svg.addEventListener("pointerleave", () => {
    find("tip").hidden = true;
    hover?.(null);
  });
  svg.addEventListener("pointerup", (event) => {
    if (!event.isPrimary) return;
    const reach = event.pointerType === "mouse" ? 14 : 22; // a finger hides what it points at
    const place = held && !held.moved ? nearest(event, reach) : null;
    held = null;
    find("tip").hidden = true;
    if (place === null) return;
    if (add) add(place);
    else tell(place);
  });
  svg.addEventListener("pointercancel", () => (held = null));
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page's; two fingers on a pad come with ctrl
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 200), ...where(event));
  }, { passive: false });
  const zoomIn = () => {
    zoomed = true;
    zoom(0.7);
  };
  const keys = {
    ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0),
    ArrowUp: () => move(0, -0.15), ArrowDown: () => move(0, 0.15),
    "+": zoomIn, "=": zoomIn, "-": () => zoom(1 / 0.7),
  };
  svg.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  find("in").addEventListener("click", zoomIn);
  find("out").addEventListener("click", () => zoom(1 / 0.7));
  // Another width of the page: the same middle, the same width of the town. What was hidden had no
  // size, and is fitted when it is first seen.
  new ResizeObserver(() => {
    measure();
    if (!whole || size.w === 1) return;
    if (unseen) return fit(...unseen);
    const h = (view.w * size.h) / size.w;
    view = { ...view, y: view.y + (view.h - h) / 2, h };
    show();
  }).observe(svg);
  return { marks, spot, pixel, put, paint, writeNames, fit, keep, light, reveal };
};

// ---- Marks: areas are true to the numbers, a mark of weight 1 has a radius of 30 pixels ----

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
  return { radius, disc, ring, sign, line };
};

// One prediction. visits: places, the oldest first; attention: [place, weight] each; top: [place,
// probability, of it copied] each; truth: a place or null.
const paintPrediction = (map, { visits, attention, top, truth }) => {
  const { spot, pixel } = map, draw = marksOn(map);
  const trail = visits.map(spot), last = visits.at(-1);
  for (let i = 1; i < trail.length; i++) {
    if (!trail[i] || !trail[i - 1]) continue;
    draw.line(`M${trail[i - 1].join(" ")}L${trail[i].join(" ")}`, {
      class: "path", opacity: 0.12 + 0.68 * (i / (trail.length - 1)) ** 2,
    });
  }
  for (const [place, weight] of attention) {
    if (spot(place)) draw.disc(spot(place), weight, { class: "attention" });
  }
  for (const [place, p, copied] of top) if (spot(place) && p > 0) draw.ring(spot(place), p, copied);
  if (visits.length && spot(last)) draw.sign(spot(last), "M-6-6L6 6M6-6L-6 6", "here");
  if (truth !== null && spot(truth)) draw.sign(spot(truth), "M0-11L11 0 0 11-11 0z", "truth");
  // The likeliest place is named first, because later names give way.
  const guessed = top.filter((row) => row[1] > 0).map(([place]) => place);
  const order = [...guessed.slice(0, 1), last, truth, ...guessed, ...attention.map(([place]) => place)];
  const places = [...new Set(order)].filter((place) => place != null && spot(place));
  const wide = new Map();
  for (const [place, weight] of [...attention, ...top]) {
    wide.set(place, Math.max(wide.get(place) ?? 0, draw.radius(weight) / pixel()));
  }
  map.writeNames(places, (place) => Math.max(8, wide.get(place) ?? 0));
};
