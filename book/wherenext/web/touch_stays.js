// The sliding rule with its two thresholds: one day, and the staypoints that each pair of them finds.

const HEIGHT = 250, FLOOR = 170, LEFT = 44;
// The hours from the first fix to the last, in whole hours.
const FROM = Math.floor(Math.min(...page.hours)), TO = Math.ceil(Math.max(...page.hours, FROM + 1));
const box = shape(stage, "svg", { role: "img", class: "touch-day" });
addLegend([["stay", "staypoint"], ["line", "distance from the anchor"], ["truth", "true visit"]]);
const draw = () => {
  const metres = page.metres[far.get()], minutes = page.minutes[long.get()];
  const stays = page.stays[far.get()][long.get()], apart = page.apart[far.get()];
  const width = Math.max(280, stage.clientWidth), x = (hour) => LEFT + ((width - LEFT - 24) * (hour - FROM)) / (TO - FROM);
  const y = (value) => FLOOR - ((FLOOR - 14) * value) / (1.1 * metres);
  box.replaceChildren();
  box.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  for (const [begin, end] of stays) {
    shape(box, "rect", { class: "stay", x: x(begin), y: 8, width: Math.max(1, x(end) - x(begin)), height: FLOOR - 8 });
  }
  shape(box, "path", { class: "limit", d: `M${LEFT} ${y(metres)}H${x(TO)}` });
  const path = apart.map((value, i) => `${x(page.hours[i]).toFixed(1)} ${y(value).toFixed(1)}`);
  shape(box, "path", { class: "line", d: `M${path.join("L")}` });
  shape(box, "path", { class: "axis", d: `M${LEFT} ${FLOOR}H${x(TO)}` });
  for (const value of [0, metres]) {
    shape(box, "text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, `${value} m`);
  }
  page.visits.forEach(([begin, end, kind], i) => {
    const at = x(begin), wide = Math.max(2, x(end) - at);
    shape(box, "rect", { class: "truth", x: at, y: FLOOR + 5, width: wide, height: 14 });
    const low = FLOOR + 32 + 13 * (i % 2); // neighbours' words do not meet
    shape(box, "text", { x: at, y: low, "text-anchor": at > width - 60 ? "end" : "start" }, kind);
  });
  const step = Math.ceil((TO - FROM) / (width > 500 ? 12 : 6));
  for (let hour = FROM; hour <= TO; hour += step) {
    shape(box, "text", { x: x(hour), y: HEIGHT - 4, "text-anchor": "middle" }, `${hour}:00`);
  }
  const found = page.visits.filter(([begin, end]) => stays.some(([from, to]) => {
    const common = Math.min(end, to) - Math.max(begin, from);
    return common > 0.5 * Math.max(end - begin, to - from);
  })).length;
  const text = `${many(stays.length, "staypoint")} where ${many(page.visits.length, "visit")} were made; `
    + `${found} of the visits ${found === 1 ? "shares" : "share"} more than half of the time with one staypoint.`;
  said.textContent = text;
  box.setAttribute("aria-label", `Distance from the anchor over the day, at most ${metres} m: ${text}`);
};
const over = (text, values, start, unit) => slider(text, {
  min: 0, max: values.length - 1, step: 1, value: values.indexOf(start), write: (at) => `${values[at]} ${unit}`,
}, draw);
const far = over("Radius: a fix this far away ends the stretch", page.metres, page.start[0], "m");
const long = over("Duration: a shorter stretch is no staypoint", page.minutes, page.start[1], "minutes");
button("Back to the published thresholds", () => {
  far.set(page.metres.indexOf(page.start[0]));
  long.set(page.minutes.indexOf(page.start[1]));
  draw();
});
addSaid();
new ResizeObserver(draw).observe(stage);
