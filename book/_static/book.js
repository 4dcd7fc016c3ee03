// Where Next? — small helps that HTML and CSS alone don't give.
"use strict";

// A box that scrolls sideways must be reachable from the keyboard.
function makeScrollable() {
  const boxes = document.querySelectorAll(
    ".bd-article pre, .bd-article .output, .bd-article div.math, .pst-scrollable-table-container," +
      " figure.pgt-figure, .map-words details, .pgt-scroll"
  );
  for (const box of boxes) {
    if (box.scrollWidth > box.clientWidth + 1) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

window.addEventListener("load", makeScrollable);
window.addEventListener("resize", makeScrollable);
document.addEventListener("toggle", makeScrollable, true); // what was folded is measured once it opens

// ---- Code: what is folded opens all together -----------------------------------------------------

// Pages from disk may have no store; then the choice holds for the page.
function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* no store */ }
  return null;
}

function prepareCode() {
  const folded = document.querySelectorAll(".bd-article .tag_hide-input > details");
  const buttons = document.querySelector(".article-header-buttons");
  if (!folded.length || !buttons) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-sm pgt-code";

  const set = (all) => {
    for (const details of folded) details.open = all;
    button.setAttribute("aria-pressed", all);
    button.textContent = all ? "Hide drawing code" : "Show all code";
    makeScrollable();
  };
  button.addEventListener("click", () => {
    const all = button.getAttribute("aria-pressed") === "false";
    set(all);
    remembered("pgt-code", all ? "all" : "some");
  });
  set(remembered("pgt-code") === "all");
  buttons.prepend(button);
}

prepareCode();

// ---- Figures: on a phone they shrink, and a tap makes them large again ---------------------------

function prepareFigures() {
  for (const box of document.querySelectorAll("figure.pgt-figure > .pgt-scroll")) {
    const figure = box.parentElement, button = document.createElement("button");
    button.type = "button";
    button.className = "pgt-enlarge";
    box.after(button);

    const set = (large) => {
      figure.classList.toggle("large", large);
      button.setAttribute("aria-pressed", large);
      button.textContent = large ? "Fit to the screen" : "Enlarge";
      makeScrollable();
    };
    // Its style says how wide it was drawn; a little less is as legible.
    const watch = () => {
      const small = figure.clientWidth < 0.8 * parseFloat(box.style.maxWidth);
      button.hidden = !small;
      if (!small) set(false);
    };
    set(false);
    watch();
    window.addEventListener("resize", watch);
    button.addEventListener("click", () => set(!figure.classList.contains("large")));
    box.addEventListener("click", (event) => {
      if (!button.hidden && !event.target.closest("a, button, input")) button.click();
    });
  }
}

prepareFigures();

// ---- Print: everything that is folded is unfolded, but for solutions ------------------------------

let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll(".map-words details:not([open])")];
  for (const details of folded) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
