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

// ---- Tables: columns of numbers stand right, with their heads ------------------------------------

// 12, −3.5, +0.8 [−0.1, 1.7], 1,024 ± 3, 45 %, 2 h 10 min; an empty cell and a dash fit in as well.
const VALUE = "[~≈<>≤≥]?\\s*[-+−±]?\\d[\\d,.]*(e[-+−]?\\d+)?\\s*(%|[kMG]i?B|ms|s|min|h|d|k?m|×|points?)?";
const NUMBER = new RegExp(`^\\(?${VALUE}\\)?((\\s|[,;±()[\\]–−/-]|to|of)*${VALUE})*\\s*[\\])]*$`);

function alignTables() {
  for (const table of document.querySelectorAll(".bd-article table")) {
    const body = [...table.rows].filter((row) => !row.closest("thead"));
    if (table.querySelector("[colspan]:not([colspan='1']), [rowspan]:not([rowspan='1'])")) continue;
    for (let at = 0; at < (body[0]?.cells.length ?? 0); at++) {
      const said = body.map((row) => row.cells[at]?.textContent.trim() ?? "");
      const values = said.filter((text) => !/^([-–—…]|\.\.\.|nan)?$/i.test(text));
      if (!values.length || !values.every((text) => NUMBER.test(text))) continue;
      for (const row of table.rows) row.cells[at]?.classList.add("number");
    }
  }
}

alignTables();
document.body.classList.toggle("playground", /27_playground/.test(location.pathname));

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
