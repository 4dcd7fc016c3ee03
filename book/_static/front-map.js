// The map of the front page: steps through one person's moments by slider or as a film.
"use strict";

(() => {
  const figure = document.getElementById("front-map");
  if (!figure) return;
  const { places, steps } = JSON.parse(figure.querySelector("script").textContent);
  const marks = figure.querySelector(".marks"), told = figure.querySelector("output");
  const slider = figure.querySelector("input"), play = figure.querySelector(".front-play");
  // On a phone the picture is small and its letters are large in the picture's own units.
  const tall = matchMedia("(max-width: 40rem)").matches ? 40 : 26;
  const at = (place) => places[place].slice(0, 2);

  const shape = (tag, attributes, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return marks.appendChild(element);
  };
  // A name beside its place, kept inside the picture and off a name that stands there already.
  const written = [];
  const label = (place) => {
    if (written.some((other) => other.place === place)) return;
    const [x, y] = at(place);
    let line = y - 34;
    const near = (other) => Math.abs(other.line - line) < tall && Math.abs(other.x - x) < 10 * tall;
    while (written.some(near)) line += 2 * tall;
    written.push({ place, x, line });
    const side = x > 780 ? "end" : x < 220 ? "start" : "middle";
    shape("text", { x, y: Math.max(24, line), "text-anchor": side }, places[place][2]);
  };

  const draw = () => {
    const number = Number(slider.value), step = steps[number];
    const here = step.visits[step.visits.length - 1];
    const [guess, sure] = step.candidates[0] || [null, 0];
    const went = step.truth[0];
    marks.replaceChildren();
    written.length = 0;
    step.visits.slice(1).forEach((place, i) => {
      const [[x1, y1], [x2, y2]] = [at(step.visits[i]), at(place)];
      const age = (i + 1) / Math.max(1, step.visits.length - 1);
      shape("line", { class: "way", x1, y1, x2, y2, opacity: 0.1 + 0.6 * age ** 2 });
    });
    for (const [place, weight] of step.attention) {
      const [cx, cy] = at(place);
      shape("circle", { class: "look", cx, cy, r: Math.max(4, 62 * Math.sqrt(weight)) });
    }
    const [x, y] = at(here);
    shape("circle", { class: "here", cx: x, cy: y, r: 7 });
    if (guess !== null) {
      const [cx, cy] = at(guess);
      shape("circle", { class: "guess", cx, cy, r: 24 });
    }
    const [tx, ty] = at(went);
    shape("path", { class: "truth", d: `M${tx} ${ty - 14}l14 14-14 14-14-14z` });
    label(went);
    if (guess !== null) label(guess);
    label(here);
    const right = guess === went;
    const most = step.attention[0];
    const said = [
      `${step.when}, at ${places[here][2]}.`,
      `The pointer looks most at ${places[most[0]][2]} (${Math.round(100 * most[1])} %).`,
      guess === null ? "" : `First guess: ${places[guess][2]} (${Math.round(100 * sure)} %).`,
      `Went to ${places[went][2]}: ${right ? "right" : "wrong"}.`,
    ];
    told.replaceChildren(...said.filter(Boolean).map((sentence, i) => {
      const part = document.createElement(i === said.length - 1 ? "strong" : "span");
      part.textContent = `${sentence} `;
      return part;
    }));
    slider.setAttribute("aria-valuetext", `${step.when}, moment ${number + 1} of ${steps.length}`);
  };

  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    told.setAttribute("aria-live", "polite");
    play.querySelector(".front-verb").textContent = "Play";
    play.firstElementChild.textContent = "▶";
  };
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) === steps.length - 1) slider.value = 0;
    told.setAttribute("aria-live", "off"); // a film read aloud would never end
    play.querySelector(".front-verb").textContent = "Pause";
    play.firstElementChild.textContent = "❚❚";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      draw();
      if (Number(slider.value) === steps.length - 1) stop();
    }, 3500);  // time to read the sentences
  });
  slider.addEventListener("input", () => { if (timer) stop(); draw(); });
  draw();
})();
