// The map of the live model: a dot for every place, and the marks of one prediction.

// callbacks: as of makeMap.
const liveMap = (find, page, callbacks) => {
  // A small version draws only the places that can be added; rings find the others too.
  const here = page.here && new Set(page.here);
  const places = page.spots.map((at, place) => (at ? place : -1))
    .filter((place) => place >= 0 && (!here || here.has(place)));
  const map = makeMap(find, callbacks);
  map.put(page, places, [
    [{ class: "unknown" }, places.filter((place) => place > page.known)],
    [{ class: "known" }, places.filter((place) => place <= page.known)],
  ]);
  return { ...map, draw: (prediction) => map.paint(() => paintPrediction(map, prediction)) };
};
