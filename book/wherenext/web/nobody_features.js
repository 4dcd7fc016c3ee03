// The features of pgt/contextual/features.py: one fact about a past visit each, in relation to now.

const aroundTheClock = (one, other) => 720 - Math.abs(720 - Math.abs(one - other));
const alike = (one, other) =>
  Math.abs(Math.log2(Math.max(0, one) + 15) - Math.log2(Math.max(0, other) + 15));
const unlessUnseen = (seen, value) => (seen === NOT_SEEN ? NOT_SEEN : value());
// 0 = a working day and a weekend, 1 = of the same kind, 2 = the same weekday.
const weekdays = (one, other) => Number(one >= 6 === other >= 6) + Number(one === other);
const sameBefore = (visit, { last }) => {
  const one = visit.before === last.place && visit.before !== NOT_SEEN;
  const two = visit.twoBefore === last.before && visit.twoBefore !== NOT_SEEN;
  return one ? 1 + Number(two) : 3 * Number(two);
};

// (visit, question) -> the fact, as a number between the knots of the feature's table.
const FACTS = {
  age: (visit, { last }) => last.number - visit.number,
  days: (visit, { last }) => last.day - visit.day,
  clock: (visit, { now }) => aroundTheClock(visit.minute, now),
  ahead: (visit, { now }) => mod(visit.minute - now, DAY_MINUTES),
  weekday: (visit, { today }) => weekdays(visit.weekday, today),
  stay: (visit) => Math.log2(visit.stay + 15),
  before: sameBefore,
  left: (visit, { now }) => unlessUnseen(visit.endBefore, () => aroundTheClock(visit.endBefore, now)),
  stayed: (visit, { last }) => unlessUnseen(visit.stayBefore, () => alike(visit.stayBefore, last.stay)),
  gap: (visit) => unlessUnseen(visit.gapBefore, () => Math.log2(visit.gapBefore + 5)),
  here: ({ place }, { last }) => (place === last.place ? 1 : 2 * Number(place === last.before)),
  count: ({ place }, { counts }) => Math.log2(counts.get(place)),
  unknown: () => 0, // every place of a person's own past is known
  // Visits further back than the first that is listed one by one stand for all visits to their place.
  older: (visit, { first }) => (visit.number < first ? Math.log2(visit.there + 1) : 0),
  then_clock: (visit, { then }) => aroundTheClock(visit.minute, then.minute),
  then_weekday: (visit, { then }) => weekdays(visit.weekday, then.weekday),
  then_gap: (visit, { then }) =>
    unlessUnseen(visit.gapBefore, () => alike(Math.min(visit.gapBefore, WEEK), then.wait)),
};
const halfOctaves = (value) => Math.floor(2 * Math.log2(value + 1));
// What is known of now, as a row of a table: it scales the features.
const NOW = {
  hour: ({ now }) => Math.floor(now / 60),
  weekday: ({ today }) => today,
  stay: ({ last }) => halfOctaves(last.stay),
  visits: ({ visits }) => halfOctaves(visits.length),
  then_hour: ({ then }) => Math.floor(then.minute / 60),
  then_weekday: ({ then }) => then.weekday,
  wait: ({ then }) => halfOctaves(then.wait),
};

// Between which knots a value lies: the lower knot's row, and the upper one's share.
const between = (value, knots) => {
  let low = 0;
  while (low < knots.length - 2 && value >= knots[low + 1]) low++;
  return [low, within((value - knots[low]) / (knots[low + 1] - knots[low]), 0, 1)];
};
