// What the model that was trained on nobody sees of one person, as pgt/contextual/history.py has it.
//
// A visit is {place, start, end, wall, wallEnd}: the place's number from 2, moments in milliseconds,
// and what the clock on the wall showed then (as if it hung in UTC). Visits are in order of time.

const MINUTE = 60000, DAY_MINUTES = 1440, WEEK = 7 * DAY_MINUTES, NOT_SEEN = -1;
const mod = (value, size) => ((value % size) + size) % size;
const dayOf = (wall) => Math.floor(wall / (DAY_MINUTES * MINUTE)); // days since 1970-01-01
const minuteOf = (wall) => Math.floor(wall / MINUTE) - DAY_MINUTES * dayOf(wall);
const weekdayOf = (wall) => mod(dayOf(wall) + 3, 7) + 1; // 1 = Monday

// Everything that is known of a visit by itself and by those before it.
const known = (visits) => {
  const there = new Map();
  return visits.map((visit, i) => {
    const { place, start, end, wall, wallEnd } = visit, last = visits[i - 1];
    there.set(place, (there.get(place) ?? 0) + 1);
    return {
      number: i, place, there: there.get(place), minute: minuteOf(wall), day: dayOf(wall), weekday: weekdayOf(wall),
      endMinute: minuteOf(wallEnd), endDay: dayOf(wallEnd), stay: Math.floor((end - start) / MINUTE),
      before: last?.place ?? NOT_SEEN, twoBefore: visits[i - 2]?.place ?? NOT_SEEN,
      endBefore: last ? minuteOf(last.wallEnd) : NOT_SEEN,
      stayBefore: last ? Math.floor((last.end - last.start) / MINUTE) : NOT_SEEN,
      gapBefore: last ? Math.max(0, Math.floor((start - last.end) / MINUTE)) : NOT_SEEN,
    };
  });
};

// The day on which a visit ended, by how long it lasted.
const weekdayNow = ({ weekday, minute, stay }) =>
  mod(weekday - 1 + Math.floor((minute + stay) / DAY_MINUTES), 7) + 1;

// The question where the visit with this number goes: the latest visits before it, and of the places
// that are only found further back the latest visit each. `then` is the moment at which it begins.
const questionOf = (rows, target, { memory, older }, then) => {
  const first = Math.max(0, target - memory), last = rows[target - 1];
  const seen = new Set(rows.slice(first, target).map(({ place }) => place)), old = [];
  for (let i = first - 1; i >= 0 && old.length < older; i--) {
    if (seen.has(rows[i].place)) continue;
    seen.add(rows[i].place);
    old.unshift(i);
  }
  return {
    visits: [...old.map((i) => rows[i]), ...rows.slice(first, target)], first,
    last, now: last.endMinute, today: weekdayNow(last), then: then && {
      ...then,
      wait: mod((then.day - last.endDay) * DAY_MINUTES + then.minute - last.endMinute, WEEK),
    },
  };
};
const momentOf = (wall) => ({ day: dayOf(wall), minute: minuteOf(wall), weekday: weekdayOf(wall) });
