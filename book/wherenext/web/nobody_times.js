// Times as files write them: ISO 8601 and its common sloppy forms, read by the clock on the wall.

const ISO = new RegExp(["^(\\d{4})[-/](\\d\\d?)[-/](\\d\\d?)(?:[T ](\\d\\d?):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?",
  "\\s*(Z|UTC|GMT|[+\\-−]\\d\\d?(?::?\\d\\d)?)?)?$"].join(""), "i");
const FIRST_YEAR = 1678, LAST_YEAR = 2261;

// -> {wall, moment, zone} in milliseconds (zone: the offset as it is written, or null), or null where
// no time can be read. A time without an offset is what the clock on the wall showed.
const timeOf = (text) => {
  const found = ISO.exec(text.trim());
  if (!found) return null;
  const [year, month, date, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const whole = Date.UTC(year, month - 1, date, hour, minute, second), back = new Date(whole);
  const same = back.getUTCFullYear() === year && back.getUTCMonth() === month - 1
    && back.getUTCDate() === date && back.getUTCHours() === hour && back.getUTCMinutes() === minute;
  if (!same || second > 59 || year < FIRST_YEAR || year > LAST_YEAR) return null;
  const wall = whole + 1000 * Number(`0.${found[7] ?? 0}`), zone = found[8]?.toUpperCase() ?? null;
  return { wall, moment: wall - MINUTE * offsetOf(zone), zone };
};
const offsetOf = (zone) => {
  if (zone === null || !/\d/.test(zone)) return 0;
  const [, hours, minutes = "0"] = /^.(\d\d?):?(\d\d)?$/.exec(zone);
  return (zone[0] === "+" ? 1 : -1) * (60 * Number(hours) + Number(minutes));
};
const isUtc = (zone) => zone !== null && offsetOf(zone) === 0;

// What the clock on the wall of a zone shows at a moment.
const clockOf = (timeZone) => {
  const whole = ["year", "month", "day", "hour", "minute", "second"];
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone, hourCycle: "h23", ...Object.fromEntries(whole.map((part) => [part, "numeric"])),
  });
  return (moment) => {
    const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
    const [year, month, ...rest] = whole.map((part) => Number(parts[part]));
    return Date.UTC(year, month - 1, ...rest) + mod(moment, 1000);
  };
};
// A table's visits by the clocks of a zone.
const inZone = (table, timeZone) => {
  const clock = clockOf(timeZone);
  const people = table.people.map((person) => ({
    ...person,
    visits: person.visits.map((visit) => ({ ...visit, wall: clock(visit.start), wallEnd: clock(visit.end) })),
  }));
  return { ...table, people };
};
