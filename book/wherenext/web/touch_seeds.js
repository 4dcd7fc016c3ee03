// One seed at a time, beside the mean of all and its interval.

const tables = page.tables; // {name, seeds, rows: {name, mean, low, high, each, claimed}}
const label = add$(controls, "label");
add$(label, "span", "Data");
const choice = add$(label, "select");
tables.forEach(({ name }, i) => choice.add(new Option(name, i)));
choice.value = page.start;

const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1).replace("-", "−");
const grid = table(stage, page.measure, ["row", "", "this seed", "mean"]);
const legend = add$(stage, "p", "", { className: "touch-legend" });
const KEYS = [["dot", "this seed"], ["mean", "mean of all seeds"], ["span", "its 95 % interval"]];
for (const [kind, text] of KEYS) {
  const key = add$(legend, "span");
  add$(key, "i", "", { className: kind });
  key.append(text);
}
const count = (rows, holds) => rows.filter(holds).length;
const draw = () => {
  const { seeds } = tables[choice.value], at = seed.get();
  const largest = tables[choice.value].rows.reduce((a, b) => (Math.abs(b.mean) > Math.abs(a.mean) ? b : a));
  const rows = tables[choice.value].rows.filter((row) => !cover.checked || row !== largest);
  const all = rows.flatMap(({ low, high, each }) => [low, high, 0, ...each]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const x = (value) => `${(96 * (value - least)) / (most - least) + 2}%`;
  grid.replaceChildren();
  for (const { name, mean, low, high, each } of rows) {
    const row = add$(grid, "tr");
    add$(row, "th", name, { scope: "row" });
    const track = add$(add$(row, "td", "", { className: "bars" }), "div", "", { className: "touch-track" });
    const mark = (kind, value) => (add$(track, "i", "", { className: kind }).style.left = x(value));
    mark("zero", 0);
    const span = add$(track, "i", "", { className: "span" });
    span.style.left = x(low);
    span.style.right = `calc(100% - ${x(high)})`;
    for (const value of each) mark("tick", value);
    mark("mean", mean);
    mark("dot", each[at]);
    add$(row, "td", signed(each[at]), { className: "one" });
    add$(row, "td", signed(mean));
  }
  const one = count(rows, ({ each }) => each[at] < 0), clear = count(rows, ({ high }) => high < 0);
  const apart = count(rows, ({ each, low, high }) => each[at] < low || each[at] > high);
  const turned = count(rows, ({ each, mean }) => each[at] < 0 !== mean < 0);
  said.textContent = `Seed ${seeds[at]} alone: ${one} of ${rows.length} rows below zero. Over ${seeds.length} seeds: `
    + `${clear} with an interval below zero. Rows in which this seed lies outside the interval: ${apart}; on the `
    + `other side of zero than the mean: ${turned}.`;
};
const most = Math.max(...tables.map(({ seeds }) => seeds.length)) - 1;
const seed = slider("Seed", {
  min: 0, max: most, step: 1, value: 0,
  write: (at) => `${tables[choice.value].seeds[at]} (${at + 1} of ${tables[choice.value].seeds.length})`,
}, draw);
choice.addEventListener("change", () => {
  seed.limit(tables[choice.value].seeds.length - 1);
  draw();
});
const covering = add$(controls, "label", "", { className: "check" });
const cover = add$(covering, "input", "", { type: "checkbox" });
covering.append(" Cover the largest row");
cover.addEventListener("change", draw);
addSaid();
draw();
