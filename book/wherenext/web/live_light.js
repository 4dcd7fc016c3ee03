// One place lights up wherever it stands: in the list, on the map, among the guesses, in the bars.
//
// Whatever shows a place has `data-place`, and what shows one visit of it has `data-visit` as well.

// onMap(place or null) draws it on the map.
const makeLight = (root, onMap) => {
  let lit = null; // {place, visit}; without a visit all visits to the place
  const of = (target) => {
    const { place, visit } = target?.closest?.("[data-place]")?.dataset ?? {};
    if (place === undefined) return null;
    return { place: Number(place), visit: visit === undefined ? null : Number(visit) };
  };
  const shows = ({ place, visit }) => lit !== null && Number(place) === lit.place
    && (lit.visit === null || visit === undefined || Number(visit) === lit.visit);
  const paint = () => {
    for (const part of root.querySelectorAll("[data-place]")) {
      part.classList.toggle("lit", shows(part.dataset));
    }
    onMap(lit && lit.place);
  };
  const set = (next) => {
    if (next?.place === lit?.place && next?.visit === lit?.visit) return;
    lit = next;
    paint();
  };
  // Where the pointer is on nothing, the place that has the focus is lit.
  const rest = () => set(root.contains(document.activeElement) ? of(document.activeElement) : null);
  root.addEventListener("pointerover", ({ target }) => {
    const next = of(target);
    if (next) set(next);
    else rest();
  });
  root.addEventListener("pointerleave", rest);
  root.addEventListener("focusin", rest);
  root.addEventListener("focusout", () => set(null));
  return {
    set: (place) => (place === null ? rest() : set({ place, visit: null })),
    // After a redraw other visits stand in the rows.
    again: () => {
      if (lit === null) return;
      const [row] = root.querySelectorAll(":is(tr:hover, tr:focus-within)[data-place]");
      lit = of(row) ?? { place: lit.place, visit: null };
      paint();
    },
  };
};
