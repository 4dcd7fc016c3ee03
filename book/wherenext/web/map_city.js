// A town's places: a dot each, in the colour of its kind and as large as its visits are many.
const dots = page.layers.map(([colour, size, some]) =>
  [{ stroke: colour, style: `stroke-width:calc(${size}px*var(--near))` }, some]);
const words = (place) => `${name(place)}, ${page.about[place]}`;
figureMap({ say: words, dots });
