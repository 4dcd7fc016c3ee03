// Where Next? — small helps that HTML and CSS alone don't give.
"use strict";

// A box that scrolls sideways must be reachable from the keyboard.
function makeScrollable() {
  const boxes = document.querySelectorAll(
    ".bd-article pre, .bd-article .output, .bd-article div.math, .pst-scrollable-table-container," +
      " figure.pgt-figure, figure.pgt-map details, .pgt-scroll"
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

// ---- Previews: what a link leads to, beside it -------------------------------------------------

// A citation brings its work in its title; equations, chapters and words are in the page's data.
const previews = JSON.parse(document.getElementById("previews")?.textContent || "{}");

function previewOf(link) {
  const address = link.getAttribute("href") || "";
  if (link.dataset.work) return { text: link.dataset.work };
  return previews[address];
}

function preparePreviews() {
  const links = [...document.querySelectorAll(".bd-article a.reference.internal")];
  let box = null, shown = null, timer = 0;

  const place = () => {
    if (!box) return;
    const at = shown.getClientRects()[0], size = box.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - size.width - 8);
    const below = at.bottom + 6 + size.height < window.innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
  };

  const hide = () => {
    clearTimeout(timer);
    if (shown) shown.removeAttribute("aria-describedby");
    if (box) box.remove();
    box = shown = null;
  };
  const show = (link, preview) => {
    hide();
    shown = link;
    box = document.createElement("div");
    box.className = "pgt-preview";
    box.id = "pgt-preview";
    box.setAttribute("role", "tooltip");
    if (preview.title) box.appendChild(document.createElement("strong")).textContent = preview.title;
    const body = box.appendChild(document.createElement("div"));
    body.textContent = preview.tex || preview.text;
    document.querySelector(".bd-article").appendChild(box);
    link.setAttribute("aria-describedby", box.id);
    place();
    if (preview.tex && window.MathJax?.typesetPromise) {
      body.className = "mathjax_process"; // in a page that MathJax else leaves alone
      // The number is in the link, and a second formula with it would be one too many for MathJax.
      body.textContent = preview.tex.replace(/\\tag\{[^}]*\}/, "");
      window.MathJax.typesetPromise([body]).then(place);
    }
    // The pointer may move onto the preview, to read or to copy.
    box.addEventListener("mouseenter", () => clearTimeout(timer));
    box.addEventListener("mouseleave", hide);
  };

  for (const link of links) {
    if (link.title) {
      // The browser's own yellow box would cover ours.
      link.dataset.work = link.title;
      link.removeAttribute("title");
    }
    const preview = previewOf(link);
    if (!preview || !(preview.tex || preview.text)) continue;
    const soon = (delay) => () => {
      clearTimeout(timer);
      timer = setTimeout(() => show(link, preview), delay);
    };
    link.addEventListener("mouseenter", soon(250));
    link.addEventListener("focus", soon(0));
    link.addEventListener("blur", hide);
    link.addEventListener("mouseleave", () => {
      clearTimeout(timer);
      timer = setTimeout(hide, 200);
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  // A link that has the focus may be scrolled into view just now; its preview goes with it.
  const follow = () => {
    if (shown === document.activeElement) place();
    else if (shown) hide();
  };
  window.addEventListener("scroll", follow, { passive: true });
}

preparePreviews();

// ---- Print: everything that is folded is unfolded, but for solutions ------------------------------

let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("figure.pgt-map details:not([open])")];
  for (const details of folded) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
