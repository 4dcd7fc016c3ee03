// What every drawing in a page needs: elements that hold text as text, and shapes of SVG.

const SVG = "http://www.w3.org/2000/svg";
const shape = (parent, tag, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return parent.appendChild(element);
};
// The figure of a script; where a cell ran twice, the one that no script has taken yet.
const figureOf = (id) => {
  const root = document.querySelector(`#${id}:not([data-ready])`);
  root.dataset.ready = "yes";
  return root;
};
const add$ = (parent, tag, text = "", more = {}) => {
  const element = Object.assign(document.createElement(tag), more);
  if (text !== "") element.textContent = text;
  return parent.appendChild(element);
};
// Stacked shares of a whole: [kind, share] each.
const addBar = (cell, shares) => {
  const bar = add$(cell, "div", "", { className: "bar" });
  for (const [kind, share] of shares) {
    add$(bar, "i", "", { className: kind }).style.width = `${100 * Math.max(0, share)}%`;
  }
  return bar;
};
const three = (value) => value.toFixed(3);
const many = (n, one, more = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;
const sumOf = (values) => values.reduce((a, b) => a + b, 0);
const mod = (value, size) => ((value % size) + size) % size;
const within = (value, low, high) => Math.max(low, Math.min(high, value));
