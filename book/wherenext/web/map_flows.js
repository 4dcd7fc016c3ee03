// Where people are, where attention points, where they go: discs for what stays in a district, arcs
// for what leads to another one. A list chooses what is drawn.

const describe = (from, to, value, layer) => {
  const way = from === to ? `within ${name(from)}` : `${name(from)} to ${name(to)}`;
  const size = Math.abs(value).toFixed(1);
  if (!layer.difference) return `${way}: ${size} %`;
  return `${way}: ${size} points ${value > 0 ? "more attention than trips" : "more trips than attention"}`;
};
const layer = () => page.layers[find("choice").value];
const about = (district) => {
  const now = layer(), mine = now.flows.filter((flow) => flow.slice(0, 2).includes(district));
  return mine.length
    ? mine.slice(0, 3).map((flow) => describe(...flow, now)).join("; ")
    : `${name(district)}: none of the largest`;
};
const map = figureMap({ say: about, margin: 350 });
const draw = () => {
  const now = layer();
  map.paint(() => {
    const pen = marksOn(map);
    for (const [from, to, value] of now.flows) {
      const size = Math.abs(value) / now.largest;
      // What is missing is dashed, so that its sign shows without colour.
      const look = {
        class: `flow ${value > 0 ? now.colour : now.other}`,
        ...(value > 0 ? {} : { "stroke-dasharray": "5 5" }),
      };
      if (from === to) pen.circle(map.spot(from), (3 + 19 * Math.sqrt(size)) * map.pixel(), { ...look, "stroke-width": 1.5, "fill-opacity": 0.4 });
      else pen.arc(map.spot(from), map.spot(to), { ...look, "stroke-width": 1 + 9 * size });
    }
  });
  find("told").textContent = `${now.about} The largest: ` +
    now.flows.slice(0, 3).map((flow) => describe(...flow, now)).join("; ") + ".";
};
find("choice").addEventListener("change", draw);
draw();
