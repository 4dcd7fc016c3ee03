// The map: the town's ground, a dot for every place, and the marks of one prediction. Plain SVG; one
// unit is 1e-5 degree of latitude, about a metre, and whatever should keep its size on the screen is
// given in pixels. Names are set as text, never as HTML.

const METRES = 1.11319; // of a unit
const STEADY = { "vector-effect": "non-scaling-stroke" }; // a line's width in pixels, at any zoom
// callbacks: add(place) when a place is clicked, hover(place or null), say(place) -> text of a place,
// name(place).
const makeMap = (find, page, callbacks) => {
  const svg = find("map"), shrink = page.shrink;
  const spot = (place) => {
    const at = page.spots[place];
    return at ? [at[0] * shrink, -at[1]] : null;
  };
  const ground = shape(svg, "g", { transform: `scale(${shrink} -1)` });
  for (const [kind, width, path] of page.ground.layers) {
    shape(ground, "path", { class: kind, d: path, "stroke-width": width, ...STEADY });
  }
  const labels = shape(svg, "g", { class: "labels" });
  const dots = shape(svg, "g", { class: "dots", transform: `scale(${shrink} -1)` });
  const marks = shape(svg, "g", { class: "marks" });
  const names = shape(svg, "g", { class: "names" });
  const glow = shape(svg, "g", { class: "glow" });
  const dot = (places, kind) => {
    const path = places.map((place) => `M${page.spots[place].join(" ")}h0`).join("");
    shape(dots, "path", { class: kind, d: path, ...STEADY });
  };
  // A small version draws only the places that can be added; rings find the others too.
  const here = page.here && new Set(page.here);
  const shown = page.spots.map((at, place) => (at ? place : -1))
    .filter((place) => place >= 0 && (!here || here.has(place)));
  dot(shown.filter((place) => place > page.known), "unknown");
  dot(shown.filter((place) => place <= page.known), "known");

  // ---- The view: a rectangle of the town, with the frame's proportions ----
  let view = { x: 0, y: 0, w: 1, h: 1 }, prediction = null;
  let zoomed = false; // by the reader: until then a finger that moves up or down scrolls the page
  // Measured once, not at each mark: a measure between two changes makes the browser lay out the page.
  let size = { w: 1, h: 1 };
  const measure = () => (size = { w: Math.max(1, svg.clientWidth), h: Math.max(1, svg.clientHeight) });
  const pixel = () => view.w / size.w; // units in a pixel
  const all = shown.map(spot);
  const box = (spots, margin) => {
    const xs = spots.map((at) => at[0]), ys = spots.map((at) => at[1]);
    const [west, north] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
    const [east, south] = [Math.max(...xs) + margin, Math.max(...ys) + margin];
    return { x: west, y: north, w: east - west, h: south - north };
  };
  const whole = box(all, 150);

  const show = () => {
    svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" "));
    svg.style.touchAction = zoomed ? "none" : "pan-y";
    dots.style.strokeWidth = `${Math.min(7, Math.max(2.2, 5 / pixel()))}px`;
    const steps = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
    const metres = steps.filter((step) => step / METRES / pixel() <= 110).pop() || 10;
    find("scale").style.width = `${metres / METRES / pixel()}px`;
    find("scale").textContent = metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
    if (prediction) draw(prediction);
    else district([]);
  };
  const look = (rectangle) => { // the smallest view with the frame's proportions around a rectangle
    const ratio = size.w / size.h;
    const w = Math.max(rectangle.w, rectangle.h * ratio, 300), h = w / ratio;
    const [x, y] = [rectangle.x + (rectangle.w - w) / 2, rectangle.y + (rectangle.h - h) / 2];
    view = { x, y, w, h };
    show();
  };
  const onScreen = ([x, y]) => [(x - view.x) / pixel(), (y - view.y) / pixel()]; // in pixels
  const zoom = (factor, x = view.x + view.w / 2, y = view.y + view.h / 2) => {
    const w = Math.min(2 * (whole.w + whole.h), Math.max(150, view.w * factor)), real = w / view.w;
    view = { x: x - (x - view.x) * real, y: y - (y - view.y) * real, w, h: view.h * real };
    show();
  };
  const move = (dx, dy) => {
    view = { ...view, x: view.x + dx * view.w, y: view.y + dy * view.h };
    show();
  };

  // ---- The marks of a prediction: areas are true to the numbers ----
  const radius = (weight) => Math.max(3, 30 * Math.sqrt(weight)) * pixel();
  const circle = (at, r, more) =>
    shape(marks, "circle", { cx: at[0], cy: at[1], r, ...STEADY, ...more });
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
  const draw = (next) => {
    prediction = next;
    marks.replaceChildren();
    const { visits, attention, top, truth } = next;
    const trail = visits.map(spot);
    for (let i = 1; i < trail.length; i++) {
      if (!trail[i] || !trail[i - 1]) continue;
      shape(marks, "path", {
        class: "path", d: `M${trail[i - 1].join(" ")}L${trail[i].join(" ")}`,
        opacity: 0.12 + 0.68 * (i / (trail.length - 1)) ** 2, ...STEADY,
      });
    }
    for (const [place, weight] of attention) {
      if (spot(place)) circle(spot(place), radius(weight), { class: "attention" });
    }
    for (const [place, p, copied] of top) if (spot(place) && p > 0) ring(spot(place), p, copied);
    if (visits.length && spot(visits.at(-1))) sign(spot(visits.at(-1)), "M-6-6L6 6M6-6L-6 6", "here");
    if (truth !== null && spot(truth)) sign(spot(truth), "M0-11L11 0 0 11-11 0z", "truth");
    // The likeliest place is named first, because later names give way.
    const guessed = top.filter((row) => row[1] > 0).map(([place]) => place);
    const order = [...guessed.slice(0, 1), visits.at(-1), truth, ...guessed,
      ...attention.map(([place]) => place)];
    const places = [...new Set(order)].filter((place) => place != null && spot(place));
    const wide = new Map();
    for (const [place, weight] of [...attention, ...top]) {
      wide.set(place, Math.max(wide.get(place) ?? 0, radius(weight) / pixel()));
    }
    district(writeNames(places, (place) => Math.max(8, wide.get(place) ?? 0)));
    light(lit);
  };

  // ---- Names (live_names.js says where) ----
  const write = (group, [x, y, anchor], text, more = {}) => shape(group, "text", {
    x: view.x + x * pixel(), y: view.y + y * pixel(), "text-anchor": anchor,
    "font-size": SIZE * pixel(), "stroke-width": 3 * pixel(), ...more,
  }, text);
  const writeNames = (places, wide) => {
    names.replaceChildren();
    // The buttons and the scale lie over the map.
    const taken = [[size.w - 52, 0, size.w, 130], [0, size.h - 30, 130, size.h]];
    for (const place of places) {
      const [x, y] = onScreen(spot(place)), r = Math.min(12, wide(place));
      taken.push([x - r, y - r, x + r, y + r]);
    }
    let written = 0;
    for (const place of places) {
      if (written === NAMES) break;
      const text = short(callbacks.name(place));
      const free = seats(onScreen(spot(place)), wide(place), text).find(([, , , box]) =>
        box[0] > 2 && box[1] > 2 && box[2] < size.w - 2 && box[3] < size.h - 2
        && !taken.some((other) => meet(box, other)));
      if (!free) continue;
      write(names, free, text).dataset.place = place;
      taken.push(free[3]);
      written += 1;
    }
    return taken;
  };
  const district = (taken) => {
    labels.replaceChildren();
    for (const [x, y, text] of page.ground.labels) {
      const [left, top] = onScreen([x * shrink, -y]), w = 0.31 * SIZE * text.length;
      if (taken.some((other) => meet([left - w, top - SIZE, left + w, top + 3], other))) continue;
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
    const [x, y] = onScreen(at), text = short(callbacks.name(place));
    if (names.querySelector(`[data-place="${place}"]`)) return;
    const all = seats([x, y], 15, text);
    write(glow, all.find(([, , , box]) => box[0] > 2 && box[2] < size.w - 2) ?? all[0], text);
  };
  const fit = (places) => {
    zoomed = false;
    const spots = places.map(spot).filter(Boolean);
    look(spots.length ? box(spots, 250) : whole);
  };
  // The same view as long as all of them are in it, so that the map stands still.
  const keep = (places) => {
    const edge = ([x, y]) => Math.min(x, y, size.w - x, size.h - y) < 12;
    if (places.map(spot).filter(Boolean).map(onScreen).some(edge)) fit(places);
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
    callbacks.hover(tip.hidden ? null : place);
    if (tip.hidden) return;
    tip.textContent = callbacks.say(place);
    const [left, top] = onScreen(spot(place));
    tip.style.left = `${Math.min(left, size.w - 130)}px`;
    tip.style.top = `${top + 20}px`;
  });
  svg.addEventListener("pointerleave", () => {
    find("tip").hidden = true;
    callbacks.hover(null);
  });
  svg.addEventListener("pointerup", (event) => {
    if (!event.isPrimary) return;
    const reach = event.pointerType === "mouse" ? 14 : 22; // a finger hides what it points at
    const place = held && !held.moved ? nearest(event, reach) : null;
    held = null;
    find("tip").hidden = true;
    if (place !== null) callbacks.add(place);
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
  // Another width of the page: the same middle, the same width of the town.
  measure();
  new ResizeObserver(() => {
    measure();
    const h = (view.w * size.h) / size.w;
    view = { ...view, y: view.y + (view.h - h) / 2, h };
    show();
  }).observe(svg);
  return { draw, fit, keep, light, reveal, point: spot, view: () => view };
};
