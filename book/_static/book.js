// Where Next? — small helps that HTML and CSS alone don't give.
"use strict";

// A box that scrolls sideways must be reachable from the keyboard.
function makeScrollable() {
  const boxes = document.querySelectorAll(
    ".bd-article pre, .bd-article .output, .bd-article div.math, figure.pgt-figure, .pgt-scroll"
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
