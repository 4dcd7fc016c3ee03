// Where the name of a place can stand on the map: beside its mark, above or below it.

const NAMES = 8; // so many places are named at most
const SIZE = 12; // of the letters, in pixels

// Boxes are [left, top, right, bottom], in pixels.
const meet = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
// Around a spot whose mark reaches `gap` pixels: [x, y of the baseline, anchor, box] each, the best first.
const seats = ([x, y], gap, text) => {
  const w = 0.66 * SIZE * text.length + 2, h = SIZE + 2, side = gap + 4;
  const seat = (left, low, at, anchor) => [at, low, anchor, [left, low - h + 2, left + w, low + 4]];
  return [
    seat(x + side, y + 4, x + side, "start"), seat(x - side - w, y + 4, x - side, "end"),
    seat(x - w / 2, y - side - 2, x, "middle"), seat(x - w / 2, y + side + SIZE, x, "middle"),
  ];
};
const short = (text) => (text.length > 26 ? `${text.slice(0, 25)}…` : text);
