// The marks that maps share. `data` and `chart` are given; whatever comes from data is set as text,
// never as HTML. Areas are true to the numbers: a mark of weight 1 has a radius of 30 pixels.
const drawn = L.layerGroup().addTo(chart);
const radius = (weight) => Math.max(3, 30 * Math.sqrt(weight));

// The words around the map decide its height, so the view is chosen when they stand.
const fit = () => chart.invalidateSize({ animate: false }).fitBounds(data.bounds);
addEventListener("resize", fit);

const say = (mark, text) => {
  const note = document.createElement("span");
  note.textContent = text;
  return mark.bindTooltip(note).addTo(drawn);
};

const disc = (at, weight, colour) =>
  L.circleMarker(at, { radius: radius(weight), color: colour, weight: 1.5, fillOpacity: 0.45 });

// A small drawing that keeps its size; `r` is half its width, `parts` are SVG made of numbers.
const drawing = (at, r, parts) =>
  L.marker(at, {
    keyboard: false,
    icon: L.divIcon({
      className: "pgt-mark",
      html: `<svg viewBox="${-r} ${-r} ${2 * r} ${2 * r}" fill="none">${parts}</svg>`,
      iconSize: [2 * r, 2 * r],
    }),
  });

// A ring with the area of the whole; a solid arc is the first part, a dashed one is the rest.
const ring = (at, whole, first, solid, dashed) => {
  const r = radius(whole), part = Math.round(100 * Math.min(1, first / whole));
  const circle = (more) => `<circle r="${r}" pathLength="100" transform="rotate(-90)" ${more}/>`;
  const dash = 2 + 12 / r;
  const dashes = [0, part];
  for (let at = part; at < 100; at += 2 * dash) dashes.push(Math.min(dash, 100 - at), dash);
  return drawing(at, r + 4, circle('stroke="#fff" stroke-width="6" opacity="0.8"') +
    (part < 100 ? circle(`stroke="${dashed}" stroke-width="3.5" stroke-dasharray="${dashes}"`) : "") +
    (part > 0 ? circle(`stroke="${solid}" stroke-width="3.5" stroke-dasharray="${part} 100"`) : ""));
};

const diamond = (at, colour) => {
  const path = (width, paint) =>
    `<path d="M0-11L11 0 0 11-11 0z" stroke="${paint}" stroke-width="${width}"/>`;
  return drawing(at, 15, path(7, "#fff") + path(3.5, colour));
};

// A curve that leaves the straight line to one side, so that both directions can be told apart.
const arc = (from, to) => {
  const shrink = Math.cos((from[0] * Math.PI) / 180); // a degree of longitude is shorter
  const bend = [
    (from[0] + to[0]) / 2 + ((to[1] - from[1]) * shrink) / 6,
    (from[1] + to[1]) / 2 - (to[0] - from[0]) / shrink / 6,
  ];
  return Array.from({ length: 17 }, (_, k) => {
    const t = k / 16;
    return [0, 1].map((i) => (1 - t) ** 2 * from[i] + 2 * t * (1 - t) * bend[i] + t ** 2 * to[i]);
  });
};
