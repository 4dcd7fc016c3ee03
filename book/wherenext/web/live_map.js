// A map: the town's ground, dots for places, and one prediction on it. Plain SVG; one unit is 1e-5
// degree of latitude, about a metre, and whatever should keep its size on the screen is given in
// pixels. Names are set as text, never as HTML.

const NAMES = 8; // so many places are named at most
const SIZE = 12; // of the letters, in pixels
const METRES = 1.11319; // of a unit
const INSET = { top: 16, right: 54, bottom: 34, left: 16 }; // pixels, free for the buttons and the scale
const STEPS = [1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)); // metres
const STEADY = { "vector-effect": "non-scaling-stroke" }; // a line's width in pixels, at any zoom
const short = (text) => (text.length > 26 ? `${text.slice(0, 25)}…` : text);
// Boxes are [left, top, right, bottom], in pixels.
const meet = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

// say(place) -> text of a place; name(place). add(place), when a place is clicked, may be missing.
// The map is empty until `put` gives it places.
const makeMap = (find, { say, name, add }) => {
  const svg = find("map"), tip = find("tip");
  const [ground, labels, dots, marks, names] =
    ["ground", "labels", "dots", "marks", "names"].map((kind) => shape(svg, "g", { class: kind }));
  let town = { spots: [], shrink: 1 };
  let shown = [], whole = null; // the places that answer to a finger; a rectangle around them
  const spot = (place) => {
    const at = town.spots[place];
    return at ? [at[0] * town.shrink, -at[1]] : null;
  };
  // next: shrink, spots, and a ground if there is one; layers: [class, places] each.
  const put = (next, layers) => {
    [town, shown] = [next, layers.flatMap(([, places]) => places).filter((place) => next.spots[place])];
    for (const group of [ground, dots]) {
      group.replaceChildren();
      group.setAttribute("transform", `scale(${town.shrink} -1)`);
    }
    for (const [kind, width, path] of town.ground?.layers ?? []) {
      shape(ground, "path", { class: kind, d: path, "stroke-width": width, ...STEADY });
    }
    for (const [kind, some] of layers) {
      const path = some.filter(spot).map((place) => `M${town.spots[place].join(" ")}h0`).join("");
      shape(dots, "path", { class: kind, d: path, ...STEADY });
    }
    whole = box(shown.map(spot), 150);
    tip.hidden = true;
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
    const [xs, ys] = [0, 1].map((axis) => spots.map((at) => at[axis]));
    const [x, y] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
    return { x, y, w: Math.max(...xs) + margin - x, h: Math.max(...ys) + margin - y };
  };
  const show = () => {
    svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" "));
    svg.style.touchAction = zoomed ? "none" : "pan-y";
    dots.style.strokeWidth = `${within(5 / pixel(), 2.2, 7)}px`;
    const metres = STEPS.filter((step) => step / METRES / pixel() <= 110).pop() || 10;
    find("scale").style.width = `${metres / METRES / pixel()}px`;
    find("scale").textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
    draw();
  };
  const look = (rectangle) => { // the smallest view with the frame's proportions around a rectangle
    const { top, right, bottom, left } = INSET;
    const [wide, high] = [size.w - left - right, size.h - top - bottom];
    const unit = Math.max(rectangle.w / wide, rectangle.h / high, 300 / size.w);
    view = {
      x: rectangle.x + (rectangle.w - unit * wide) / 2 - unit * left,
      y: rectangle.y + (rectangle.h - unit * high) / 2 - unit * top, w: unit * size.w, h: unit * size.h,
    };
    show();
  };
  const onScreen = ([x, y]) => [(x - view.x) / pixel(), (y - view.y) / pixel()]; // in pixels
  const zoom = (factor) => {
    if (!whole) return;
    // A tall town in a wide frame is seen from further away.
    const most = Math.max(view.w, 2 * Math.max(whole.w, (whole.h * size.w) / size.h));
    const w = within(view.w * factor, 150, most), h = (view.h * w) / view.w;
    view = { x: view.x + (view.w - w) / 2, y: view.y + (view.h - h) / 2, w, h };
    show();
  };
  const move = (dx, dy) => {
    view = { ...view, x: view.x + dx * view.w, y: view.y + dy * view.h };
    show();
  };
  let unseen = null; // what was fitted while the map had no size
  const fit = (places) => {
    if (!whole) return;
    zoomed = false;
    unseen = size.w === 1 ? places : null;
    const spots = places.map(spot).filter(Boolean);
    look(spots.length ? box(spots, 100) : whole);
  };
  // The same view as long as all of them are seen in it, so that the map stands still.
  const keep = (places) => {
    const hidden = ([x, y]) => Math.min(x, y, size.w - x, size.h - y) < 12
      || covers().some((cover) => meet(cover, [x, y, x, y]));
    if (places.map(spot).filter(Boolean).map(onScreen).some(hidden)) fit(places);
  };

  // ---- Names ----
  const covers = () => [[size.w - 52, 0, size.w, 130], [0, size.h - 30, 130, size.h]]; // buttons, scale
  let taken = []; // where no name can stand
  // The first free seat around a spot whose mark reaches `gap` pixels gets the text.
  const write = (group, at, gap, text) => {
    const [x, y] = onScreen(at), w = 0.66 * SIZE * text.length + 2;
    const side = gap === null ? -w / 2 : gap + 4; // without a gap the text stands on the spot
    for (const [left, low] of [
      [x + side, y + 4], [x - side - w, y + 4], [x - w / 2, y - side - 2], [x - w / 2, y + side + SIZE],
    ]) {
      const box = [left, low - SIZE, left + w, low + 4];
      if (box[0] <= 2 || box[1] <= 2 || box[2] >= size.w - 2 || box[3] >= size.h - 2
        || taken.some((other) => meet(box, other))) continue;
      shape(group, "text", {
        x: view.x + (left + w / 2) * pixel(), y: view.y + low * pixel(), "text-anchor": "middle",
        "font-size": SIZE * pixel(), "stroke-width": 3 * pixel(),
      }, text);
      return taken.push(box);
    }
    return 0;
  };
  // Names beside marks that reach wide(place) pixels, the first ones first, as long as there is room.
  const writeNames = (places, wide) => {
    for (const place of places) {
      const [x, y] = onScreen(spot(place)), r = Math.min(12, wide(place));
      taken.push([x - r, y - r, x + r, y + r]);
    }
    let written = 0;
    for (const place of places) {
      if (written < NAMES && write(names, spot(place), wide(place), short(name(place)))) written += 1;
    }
  };
  const draw = () => {
    for (const group of [marks, names, labels]) group.replaceChildren();
    taken = covers();
    painter?.();
    for (const [x, y, text] of town.ground?.labels ?? []) write(labels, [x * town.shrink, -y], null, text);
  };
  const paint = (next) => {
    painter = next;
    draw();
  };

  // ---- Mouse, finger, keys ----
  const nearest = (event, reach) => {
    const frame = svg.getBoundingClientRect();
    const x = view.x + (event.clientX - frame.left) * pixel(), y = view.y + (event.clientY - frame.top) * pixel();
    const apart = (place) => Math.hypot(spot(place)[0] - x, spot(place)[1] - y);
    const best = shown.reduce((a, b) => (a !== null && apart(a) <= apart(b) ? a : b), null);
    return best !== null && apart(best) < reach * pixel() ? best : null;
  };
  const tell = (place) => {
    tip.hidden = place === null;
    if (place === null) return;
    const [left, top] = onScreen(spot(place));
    tip.textContent = say(place);
    tip.style.left = `${Math.min(left, size.w - 130)}px`;
    tip.style.top = `${top + 20}px`;
  };
  let held = null;
  svg.addEventListener("pointerdown", (event) => {
    // A second finger or another button is no click.
    held = event.button === 0 && event.isPrimary ? { x: event.clientX, y: event.clientY, moved: false } : null;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!event.isPrimary) return;
    if (held && event.buttons) {
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.moved && Math.hypot(dx, dy) < 5) return;
      if (!held.moved) svg.setPointerCapture(event.pointerId);
      move(-dx / size.w, -dy / size.h);
      held = { x: event.clientX, y: event.clientY, moved: true };
    }
    tell(held?.moved ? null : nearest(event, 14));
  });
  svg.addEventListener("pointerleave", () => tell(null));
  svg.addEventListener("pointerup", (event) => {
    if (!event.isPrimary) return;
    const reach = event.pointerType === "mouse" ? 14 : 22; // a finger hides what it points at
    const place = held && !held.moved ? nearest(event, reach) : null;
    held = null;
    tell(add ? null : place);
    if (place !== null) add?.(place);
  });
  svg.addEventListener("pointercancel", () => (held = null));
  const zoomIn = () => {
    zoomed = true;
    zoom(0.7);
  };
  const zoomOut = () => zoom(1 / 0.7);
  const keys = {
    ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0),
    ArrowUp: () => move(0, -0.15), ArrowDown: () => move(0, 0.15), "+": zoomIn, "=": zoomIn, "-": zoomOut,
  };
  svg.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  find("in").addEventListener("click", zoomIn);
  find("out").addEventListener("click", zoomOut);
  // Another width of the page: the same middle, the same width of the town. What was hidden had no
  // size, and is fitted when it is first seen.
  new ResizeObserver(() => {
    measure();
    if (!whole || size.w === 1) return;
    if (unseen) return fit(unseen);
    const h = (view.w * size.h) / size.w;
    view = { ...view, y: view.y + (view.h - h) / 2, h };
    show();
  }).observe(svg);
  return { marks, spot, pixel, put, paint, writeNames, fit, keep };
};

// One prediction. visits: places, the oldest first; attention: [place, weight] each; top: [place,
// probability, of it copied] each; truth: a place or null.
const paintPrediction = ({ marks, spot, pixel, writeNames }, { visits, attention, top, truth }) => {
  const path = (kind, d, more) => shape(marks, "path", { class: kind, d, ...more });
  const radius = (weight) => Math.max(3, 30 * Math.sqrt(weight)); // pixels
  const circle = (kind, place, weight, more) => {
    const [cx, cy] = spot(place);
    return shape(marks, "circle", { class: kind, cx, cy, r: radius(weight) * pixel(), ...STEADY, ...more });
  };
  const sign = (place, d, kind) => {
    const transform = `translate(${spot(place).join(" ")}) scale(${pixel()})`;
    for (const one of [`halo ${kind}`, kind]) path(one, d, { transform });
  };
  const trail = visits.map(spot), last = visits.at(-1);
  for (let i = 1; i < trail.length; i++) {
    if (!trail[i] || !trail[i - 1]) continue;
    const opacity = 0.12 + 0.68 * (i / (trail.length - 1)) ** 2;
    path("path", `M${trail[i - 1].join(" ")}L${trail[i].join(" ")}`, { opacity, ...STEADY });
  }
  const seen = ([place, weight]) => spot(place) && weight > 0;
  for (const [place, weight] of attention.filter(seen)) circle("attention", place, weight);
  // A ring with the area of the whole; a solid arc is what is copied, a dashed one is the rest.
  for (const [place, p, copied] of top.filter(seen)) {
    const part = Math.round(100 * Math.min(1, copied / p)), dash = 2 + 12 / radius(p), dashes = [0, part];
    for (let from = part; from < 100; from += 2 * dash) dashes.push(Math.min(dash, 100 - from), dash);
    circle("halo", place, p);
    // A line that scales, because browsers do not agree on the dashes of one that keeps its width.
    const arc = (kind, dashing) => circle(kind, place, p, {
      transform: `rotate(-90 ${spot(place).join(" ")})`, pathLength: 100, "vector-effect": "none",
      style: `stroke-width:${3.5 * pixel()}`, "stroke-dasharray": dashing,
    });
    if (part < 100) arc("dashed", dashes.join(" "));
    if (part > 0) arc("solid", `${part} 100`);
  }
  if (visits.length && spot(last)) sign(last, "M-6-6L6 6M6-6L-6 6", "here");
  if (truth !== null && spot(truth)) sign(truth, "M0-11L11 0 0 11-11 0z", "truth");
  // The likeliest place is named first, because later names give way.
  const guessed = top.filter(seen).map(([place]) => place);
  const order = [...guessed.slice(0, 1), last, truth, ...guessed, ...attention.map(([place]) => place)];
  const wide = new Map();
  for (const [place, weight] of [...attention, ...top]) {
    wide.set(place, Math.max(wide.get(place) ?? 0, radius(weight)));
  }
  writeNames([...new Set(order)].filter((place) => place != null && spot(place)),
    (place) => Math.max(8, wide.get(place) ?? 0));
};
