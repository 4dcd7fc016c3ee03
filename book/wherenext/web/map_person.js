// One person's places: the past as discs, as large as their shares; the guesses as rings.

const guessed = new Map(page.guesses.map(([place, rank, p]) => [place, [rank, p]]));
const about = (place) => {
  const visits = page.visits[place], [rank, p] = guessed.get(place) ?? [];
  const guess = rank ? `; guess ${rank}, probability ${three(p)}` : "";
  return `${name(place)}: ${visits === 1 ? "1 visit" : `${visits} visits`}${guess}`;
};
const map = figureMap({ say: about, view: page.view });
map.paint(() => {
  const pen = marksOn(map), shares = page.visits.map((visits) => visits / page.all);
  shares.forEach((share, place) => pen.disc(map.spot(place), share, { class: "past" }));
  for (const [place, , p] of page.guesses) pen.ring(map.spot(place), p, p);
  pen.sign(map.spot(page.last), "M-6-6L6 6M6-6L-6 6", "here");
  const wide = (place) =>
    Math.max(8, pen.radius(Math.max(shares[place], guessed.get(place)?.[1] ?? 0)) / map.pixel());
  map.writeNames([...new Set([...guessed.keys(), page.last])], wide);
});
