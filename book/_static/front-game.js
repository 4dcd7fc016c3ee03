// The game of the front page: one week after the other; you answer, then everybody's answers show.
"use strict";

(() => {
  const game = document.getElementById("front-game");
  if (!game) return;
  const { players, weeks } = JSON.parse(game.querySelector("script").textContent);
  const pages = [...game.querySelectorAll(".game-week")];
  const told = game.querySelector(".told"), next = game.querySelector(".next");
  const scoreboard = game.querySelector(".scores");
  const scores = players.map(() => 0);
  let at = 0, answered = false;

  const of = (place) => pages[at].querySelectorAll(`[data-place="${place}"]`);
  const nameOf = (place) => {
    const [letter, name] = ["letter", "name"].map(
      (part) => pages[at].querySelector(`button[data-place="${place}"] .${part}`).textContent
    );
    return `${letter}, ${name}`;
  };
  const list = (names) => new Intl.ListFormat("en").format(names);

  const chip = (place, kind, text) => {
    const element = document.createElement("span");
    element.className = `chip ${kind}`;
    element.textContent = text;
    pages[at].querySelector(`button[data-place="${place}"] .said`).append(element, " ");
  };

  const showScores = () => {
    [...scoreboard.querySelectorAll("b")].forEach((b, i) => { b.textContent = scores[i]; });
  };

  const answer = (mine) => {
    if (answered) return;
    answered = true;
    const { truth, guesses } = weeks[at];
    const all = [mine, ...guesses];
    all.forEach((place, i) => { scores[i] += place === truth ? 1 : 0; });
    pages[at].classList.add("answered");
    for (const part of of(truth)) part.classList.add("truth");
    if (mine !== truth) for (const part of of(mine)) part.classList.add("missed");
    chip(truth, "went", "✓ here");
    all.forEach((place, i) => chip(place, i ? "model" : "mine", players[i]));
    for (const button of pages[at].querySelectorAll("button.place")) {
      button.setAttribute("aria-disabled", "true"); // disabled, it would lose the focus
    }
    const right = players.slice(1).filter((_, i) => guesses[i] === truth);
    const models = right.length === guesses.length ? "All three models say so too."
      : right.length ? `${list(right)} ${right.length > 1 ? "say" : "says"} so too.`
      : "No model says so.";
    told.textContent = `${mine === truth ? "Right" : "Wrong"}: they went to ${nameOf(truth)}. `
      + (mine === truth ? models : models.replace(" too", ""));
    showScores();
    next.textContent = at + 1 < weeks.length ? "Next question" : "Show the result";
    next.hidden = false;
    next.focus({ preventScroll: true });
  };

  const show = (number) => {
    pages[at].hidden = true;
    at = number;
    answered = false;
    const page = pages[at];
    page.hidden = false;
    page.classList.remove("answered");
    for (const part of page.querySelectorAll(".truth, .missed")) {
      part.classList.remove("truth", "missed");
    }
    for (const said of page.querySelectorAll(".said")) said.replaceChildren();
    for (const button of page.querySelectorAll("button.place")) {
      button.removeAttribute("aria-disabled");
    }
    told.textContent = "";
    next.hidden = true;
    const ask = page.querySelector(".ask");
    ask.focus({ preventScroll: true });
    ask.scrollIntoView({ block: "nearest" });
  };

  const finish = () => {
    const others = players.slice(1).map((name, i) => `${name} ${scores[i + 1]}`);
    told.textContent = `You got ${scores[0]} of ${weeks.length}; ${list(others)}. These scores are `
      + "from these few questions only, and a few others could turn the order around. The real "
      + "measurement, on thousands of questions, is in the chapters.";
    next.textContent = "Play again";
    at = weeks.length;
  };

  next.addEventListener("click", () => {
    if (at >= weeks.length) {
      at = weeks.length - 1;
      scores.fill(0);
      showScores();
      show(0);
    } else if (at + 1 < weeks.length) show(at + 1);
    else finish();
  });

  // A place is chosen by its button, or by its mark on the map; either shows the other.
  for (const page of pages) {
    for (const button of page.querySelectorAll("button.place")) {
      const place = Number(button.dataset.place);
      const mark = page.querySelector(`.spot[data-place="${place}"]`);
      button.disabled = false;
      button.addEventListener("click", () => answer(place));
      mark.addEventListener("click", () => answer(place));
      for (const [one, other] of [[button, mark], [mark, button]]) {
        one.addEventListener("pointerenter", () => other.classList.add("shown"));
        one.addEventListener("pointerleave", () => other.classList.remove("shown"));
      }
      button.addEventListener("focus", () => mark.classList.add("shown"));
      button.addEventListener("blur", () => mark.classList.remove("shown"));
    }
  }
})();
