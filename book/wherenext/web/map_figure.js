// A figure with a map: its parts by name, and a map that answers to a finger with words.

const root = figureOf(page.id);
const find = (name) => root.querySelector(`[data-live="${name}"]`);
const places = page.spots.map((_, place) => place);
const name = (place) => page.names[place];
// say(place) -> what is known of it; dots: layers of the map's `put`; view: the places that are in view at first,
// with a margin in metres.
const figureMap = ({ say, dots, view = places, margin }) => {
  const map = makeMap(find, { say, name });
  map.put(page, places, dots);
  const fit = () => map.fit(view, margin);
  find("fit").addEventListener("click", fit);
  fit();
  return map;
};
