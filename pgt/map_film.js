// Steps through predictions: a slider chooses the moment, a list chooses whose attention is drawn.
// Everything that comes from data is set as text, never as HTML.
(() => {
  const film = FILM, chart = CHART;
  const find = (name) => document.getElementById("film-" + name);
  const drawn = L.layerGroup().addTo(chart);
  const at = (place) => film.places[place].slice(0, 2);
  const name = (place) => film.places[place][2];

  const say = (layer, text) => {
    const note = document.createElement("span");
    note.textContent = text;
    return layer.bindTooltip(note).addTo(drawn);
  };

  // A curve that leaves the straight line to one side, so that both directions can be told apart.
  const arc = (from, to) => {
    const [a, b] = [at(from), at(to)];
    const bend = [(a[0] + b[0]) / 2 + (b[1] - a[1]) / 6, (a[1] + b[1]) / 2 - (b[0] - a[0]) / 6];
    return Array.from({ length: 17 }, (_, k) => {
      const t = k / 16;
      return [0, 1].map((i) =>
        (1 - t) ** 2 * a[i] + 2 * t * (1 - t) * bend[i] + t ** 2 * b[i]);
    });
  };

  // Visits to one place lie on top of each other: weights are added up before they are drawn.
  const perPlace = (step, weights) => {
    const sums = new Map();
    step.visits.forEach((place, i) => sums.set(place, (sums.get(place) || 0) + weights[i]));
    return [...sums].sort((one, other) => other[1] - one[1]);
  };

  const draw = () => {
    const step = film.steps[find("step").value], choice = find("head").value;
    const n = step.visits.length, here = step.visits[n - 1];
    drawn.clearLayers();
    for (let i = 1; i < n; i++) {
      L.polyline([at(step.visits[i - 1]), at(step.visits[i])], {
        color: "#1b1f24", weight: 2, opacity: 0.06 + 0.3 * (i / (n - 1)) ** 2, interactive: false,
      }).addTo(drawn);
    }
    if (choice === "pointer") {
      for (const [place, weight] of perPlace(step, step.attention)) {
        say(L.circleMarker(at(place), {
          radius: 4 + 26 * Math.sqrt(weight), color: film.colours.attention, weight: 1.5,
          fillOpacity: 0.45,
        }), name(place) + ": attention " + weight.toFixed(2));
      }
    } else {
      for (const [place, weight] of perPlace(step, step.heads[choice])) {
        const look = { color: film.colours.head, opacity: 0.85, weight: 1 + 14 * weight };
        const line = place === here
          ? L.circleMarker(at(place), { ...look, radius: 11, fill: false })
          : L.polyline(arc(here, place), look);
        say(line, name(place) + ": weight " + weight.toFixed(2));
      }
    }
    for (const [place, probability, copied] of step.candidates) {
      say(L.circleMarker(at(place), {
        radius: 5 + 26 * Math.sqrt(probability), color: film.colours.candidate, weight: 2.5,
        dashArray: "4 4", fill: false,
      }), name(place) + ": probability " + probability.toFixed(2) + ", of it copied " + copied.toFixed(2));
    }
    say(L.circleMarker(at(step.truth), {
      radius: 9, color: film.colours.truth, weight: 4, fill: false,
    }), "went to " + name(step.truth));
    const [guess, sure] = step.candidates[0];
    const told = step.when + ", at " + name(here) + ". Guess: " + name(guess) + ", " +
      Math.round(100 * sure) + " %. Went to: " + name(step.truth) + ".";
    find("step").setAttribute("aria-valuetext", told);
    find("told").textContent = told;
  };

  find("step").addEventListener("input", draw);
  find("head").addEventListener("change", draw);
  draw();
})();
