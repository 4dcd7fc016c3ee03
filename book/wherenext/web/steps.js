// The steps stand in the page already; this shows one of them at a time.

const root = document.querySelector(".pgt-steps:not([data-ready])");
root.dataset.ready = "yes";
const steps = [...root.querySelectorAll(".step")];
const buttons = [...root.querySelectorAll("[data-by]")];
const slider = root.querySelector("input[type=range]");
const told = root.querySelector(".steps-told");
const boxes = [...root.querySelectorAll("[data-part]")];
let now = 0;

const show = (next, quietly) => {
  now = Math.max(0, Math.min(steps.length - 1, next));
  const parts = steps[now].dataset.parts.split(" ");
  const title = steps[now].querySelector(".step-title").lastChild.textContent.trim();
  for (const [n, step] of steps.entries()) step.classList.toggle("now", n === now);
  for (const box of boxes) box.classList.toggle("lit", parts.includes(box.dataset.part));
  for (const button of buttons) button.disabled = !steps[now + Number(button.dataset.by)];
  slider.value = now + 1;
  const words = `Step ${now + 1} of ${steps.length}: ${title}`;
  slider.setAttribute("aria-valuetext", words);
  if (!quietly) told.textContent = words;
};
const stepAt = (address) => Number(/^#pgt-step-(\d+)$/.exec(address)?.[1] ?? 0);

for (const button of buttons) {
  button.addEventListener("click", () => {
    show(now + Number(button.dataset.by));
    // A button that can do no more would lose the focus.
    if (button.disabled) buttons.find((other) => !other.disabled).focus();
  });
}
slider.addEventListener("input", () => show(Number(slider.value) - 1));
root.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const plain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  if (by && plain && !event.target.matches("select, input")) {
    event.preventDefault();
    show(now + by);
  }
});
for (const box of boxes) {
  box.addEventListener("click", (event) => {
    event.preventDefault();
    show(stepAt(box.getAttribute("href")) - 1);
  });
}
const heads = root.querySelector(".heads");
heads?.querySelector("select").addEventListener("change", (event) => {
  for (const map of heads.querySelectorAll("[data-head]")) {
    map.hidden = map.dataset.head !== event.target.value;
  }
});
root.querySelector(".steps-bar").hidden = false;
show(Math.max(1, stepAt(location.hash)) - 1, true);
