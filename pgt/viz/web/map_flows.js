// Where people are, where attention points, where they go: discs for what stays in a district, arcs
// for what leads to another one. A list chooses what is drawn.
const choice = document.getElementById("flows-choice");
const told = document.getElementById("flows-told");
const at = (district) => data.districts[district].slice(0, 2);
const name = (district) => data.districts[district][2];
const percent = (value) => `${Math.abs(value).toFixed(1)} %`;

const describe = (from, to, value, layer) => {
  const way = from === to ? `within ${name(from)}` : `${name(from)} to ${name(to)}`;
  if (!layer.difference) return `${way}: ${percent(value)}`;
  return `${way}: ${percent(value)} ${value > 0 ? "more attention than trips" : "more trips than attention"}`;
};

const draw = () => {
  const layer = data.layers[choice.value];
  drawn.clearLayers();
  for (const [from, to, value] of layer.flows) {
    const colour = value > 0 ? layer.colour : layer.other;
    const size = Math.abs(value) / layer.largest;
    // What is missing is dashed, so that its sign shows without colour.
    const dashes = value > 0 ? null : "5 5";
    say(from === to
      ? L.circleMarker(at(from), {
        radius: 3 + 19 * Math.sqrt(size), color: colour, weight: 1.5, fillOpacity: 0.4, dashArray: dashes })
      : L.polyline(arc(at(from), at(to)), {
        color: colour, opacity: 0.8, weight: 1 + 9 * size, dashArray: dashes, lineCap: "butt" }),
    describe(from, to, value, layer));
  }
  told.textContent = `${layer.about} The largest: ` +
    layer.flows.slice(0, 3).map(([from, to, value]) => describe(from, to, value, layer)).join("; ") + ".";
};

choice.addEventListener("change", draw);
draw();
fit();
