// Times as files write them: ISO 8601 and its common sloppy forms, read by the clock on the wall.

const ISO = new RegExp(["^(\\d{4})[-/](\\d\\d?)[-/](\\d\\d?)(?:[T ](\\d\\d?):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d+))?)?",
  "\\s*(Z|UTC|GMT|[+\\-−]\\d\\d?(?::?\\d\\d)?)?)?$"].join(""), "i");

// -> {wall, moment, zone} in milliseconds (zone: the offset as it is written, or null), or null where
// no time can be read. A time without an offset is what the clock on the wall showed.
const timeOf = (text) => {
  const found = ISO.exec(text.trim());
  if (!found) return null;
  const [year, month, date, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const whole = Date.UTC(year, month - 1, date, hour, minute, second), back = new Date(whole);
  const same = back.getUTCMonth() === month - 1 && back.getUTCDate() === date && back.getUTCHours() === hour;
  if (!same || minute > 59 || second > 59 || year < 1678 || year > 2261) return null; // the package's too
  const wall = whole + 1000 * Number(`0.${found[7] ?? 0}`), zone = found[8]?.toUpperCase() ?? null;
  return { wall, moment: wall - MINUTE * offsetOf(zone), zone };
};
const offsetOf = (zone) => {
  if (zone === null || !/\d/.test(zone)) return 0;
  const [, hours, minutes = "0"] = /^.(\d\d?):?(\d\d)?$/.exec(zone);
  return (zone[0] === "+" ? 1 : -1) * (60 * Number(hours) + Number(minutes));
};
const isUtc = (zone) => zone !== null && offsetOf(zone) === 0;

// What the clock on the wall of a zone shows at a moment: Swedes write 2024-05-01 18:30:00.
const clockOf = (timeZone) => {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return (moment) => Date.parse(`${format.format(moment).replace(" ", "T")}Z`) + mod(moment, 1000);
};
// A table's visits by the clocks of a zone.
const inZone = (table, timeZone) => {
  const clock = clockOf(timeZone);
  const people = table.people.map((person) => ({
    ...person,
    visits: person.visits.map((visit) => ({ ...visit, wall: clock(visit.start), wallEnd: clock(visit.end) })),
  }));
  const notes = [...table.notes, `Its times are in UTC and read by the clocks of ${timeZone}, the zone of this browser.`];
  return { ...table, people, notes };
};

// A person's own file, read in the page: CSV -> people with their visits, or one sentence.
//
// `page.reading` has the names of columns and the kinds of files from the package's readers, so that
// both know the same. What cannot be used is left out, counted, and its reason given.

const MOST_BYTES = 64 * 2 ** 20;
const MISSING = new Set(["", "na", "nan", "null", "none", "n/a", "#n/a", "<na>"]);
const REQUIRED = ["location_id", "started_at"];
const MEANS = { location_id: "the place", started_at: "when a visit begins" };
class Unreadable extends Error {}

const textOf = (bytes, name) => {
  if (bytes.length > MOST_BYTES) throw new Unreadable(
    `${name} is larger than 64 MB; choose a part of it, or use the package: python -m pgt predict.`);
  const head = String.fromCharCode(...bytes.subarray(0, 64)).replace(/^[ \r\n\t]+/, "").toLowerCase();
  const other = page.reading.others.find(([magic]) => head.startsWith(magic.toLowerCase()));
  if (other) throw new Unreadable(`${name} is ${other[1]}, not a table in CSV; ${other[2]}.`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch { /* said below */ }
  throw new Unreadable(`${name} is no text in UTF-8; save it as "CSV UTF-8", or check the file.`);
};

// The fields of all lines that are not empty, and the line in which each row begins.
const rowsOf = (text) => {
  const bare = (text.split(/\r?\n|\r/).find((line) => line.trim()) ?? "").split('"')
    .filter((_, i) => i % 2 === 0).join("");
  const times = (sign) => bare.split(sign).length;
  const separator = [",", ";", "\t", "|"].reduce((a, b) => (times(b) > times(a) ? b : a));
  const plain = `[^${separator}\n]*`;
  const pattern = new RegExp(`(?:"((?:[^"]+|"")*)"(${plain})|(${plain}))(\\${separator}|\n|$)`, "g");
  const rows = [];
  let fields = [], line = 1, begins = 1;
  for (const [all, quoted, after, bare, end] of text.matchAll(pattern)) {
    const field = quoted === undefined ? bare : quoted.replaceAll('""', '"') + after;
    // An apostrophe before a formula is a spreadsheet's "this is text"; the package's too.
    fields.push(field.replace(/\r$/, "").replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, ""));
    line += all.split("\n").length - 1;
    if (end === separator) continue;
    if (fields.length > 1 || fields[0].trim() !== "") rows.push({ fields, line: begins });
    [fields, begins] = [[], line];
  }
  return rows;
};

// Which column is which: our own names first, then the usual ones.
const columnsOf = (header, name) => {
  const plain = header.map((one) => one.toLowerCase().replace(/[^a-z0-9]/g, ""));
  const doubled = header.find((one, i) => one !== "" && header.indexOf(one) !== i);
  if (doubled !== undefined) throw new Unreadable(`Column "${doubled}" appears twice in ${name}; keep one of them.`);
  const at = {};
  for (const [ours, aliases] of Object.entries(page.reading.columns)) {
    const exact = header.indexOf(ours), alike = [];
    plain.forEach((one, i) => aliases.includes(one) && alike.push(i));
    if (exact >= 0) at[ours] = exact;
    else if (alike.length === 1) at[ours] = alike[0];
    else if (alike.length > 1 && !["lon", "lat"].includes(ours)) throw new Unreadable(
      `Both "${header[alike[0]]}" and "${header[alike[1]]}" could be ${ours}; rename the one that is ${ours}.`);
  }
  const missing = REQUIRED.find((ours) => !(ours in at));
  if (missing === "location_id" && "lon" in at && "lat" in at) throw new Unreadable(
    `${name} has positions and no column for the place: if it is a recording, make visits of it first `
    + "with python -m pgt visits; if a column names the place, rename it to location_id.");
  if (missing) throw new Unreadable(`${name} has no column for ${MEANS[missing]} (it has `
    + `${header.slice(0, 8).join(", ") || "no columns"}${header.length > 8 ? ", …" : ""}); rename that column to ${missing}.`);
  if (!("lon" in at && "lat" in at)) ["lon", "lat"].forEach((one) => delete at[one]);
  return at;
};

const degrees = (text, most) => {
  const value = text.trim() === "" ? NaN : Number(text.replace(",", "."));
  return Math.abs(value) <= most ? value : null;
};

// -> {name, utc (all times are in it), skipped: [[reason, count, first line]], notes,
//     people: [{name, visits, titles, spots}]}
const readTable = (text, name) => {
  const [head, ...rows] = rowsOf(text);
  if (!head) throw new Unreadable(`${name} is empty; choose a CSV with a header line and a row for each visit.`);
  const header = head.fields.map((one) => one.trim()), at = columnsOf(header, name);
  const skipped = new Map(), people = new Map(), seen = new Set(), zones = { started_at: null, finished_at: null };
  const skip = (why, line) => skipped.set(why, [(skipped.get(why)?.[0] ?? 0) + 1, skipped.get(why)?.[1] ?? line]);
  let lost = 0, utc = true;
  const moment = (fields, ours, line) => {
    const found = timeOf(fields[at[ours]]);
    if (!found) return null;
    const zoned = found.zone !== null;
    if (zones[ours] !== null && zones[ours] !== zoned) throw new Unreadable(
      `${header[at[ours]]} has a time zone in some rows and none in others (line ${line} is unlike the `
      + "lines before it); write all of them the same way.");
    zones[ours] = zoned;
    utc &&= isUtc(found.zone);
    return found;
  };
  for (const { fields, line } of rows) {
    if (fields.length > header.length) { skip("more fields than the header line", line); continue; }
    while (fields.length < header.length) fields.push("");
    const field = (ours) => (ours in at ? fields[at[ours]] : null);
    const absent = ["user_id", ...REQUIRED, "finished_at"].find(
      (ours) => ours in at && MISSING.has(field(ours).trim().toLowerCase()));
    if (absent) { skip(`${absent} is empty`, line); continue; }
    const start = moment(fields, "started_at", line);
    const end = "finished_at" in at ? moment(fields, "finished_at", line) : start;
    if (!start || !end) { skip("a time that is not ISO 8601, such as 2024-05-01 09:00", line); continue; }
    if ((start.zone === null) !== (end.zone === null)) throw new Unreadable(
      `started_at and finished_at differ in line ${line}: one has a time zone; write both the same way.`);
    if (end.moment < start.moment) { skip("it ends before it begins", line); continue; }
    const who = field("user_id") ?? "", where = field("location_id");
    const key = JSON.stringify([who, where, start.moment, end.moment]);
    if (seen.has(key)) { skip("the same visit stands twice", line); continue; }
    seen.add(key);
    const spot = "lon" in at ? [degrees(field("lon"), 180), degrees(field("lat"), 90)] : [null, null];
    if ("lon" in at && spot.includes(null)) lost++;
    if (!people.has(who)) people.set(who, []);
    people.get(who).push({
      where, spot: spot.includes(null) ? null : spot,
      start: start.moment, wall: start.wall, end: end.moment, wallEnd: end.wall,
    });
  }
  const list = [...people].map(([who, visits]) => personOf(who, visits));
  const reasons = [...skipped].map(([why, [count, line]]) => [why, count, line]);
  if (!list.length) throw new Unreadable(reasons.length
    ? `${name} has no row that can be used: ${reasons[0][0]} (line ${reasons[0][2]}).`
    : `${name} has a header line and no visits; choose a file with a row for each visit.`);
  const named = !zones.started_at && /(^|[^a-z0-9])utc([^a-z0-9]|$)|^utctime$/i.test(header[at.started_at]);
  return { name, utc: utc || named, skipped: reasons, notes: notesOf(at, lost), people: list };
};
const personOf = (name, found) => {
  found.sort((a, b) => a.start - b.start);
  const titles = [...new Set(found.map(({ where }) => where))], spots = titles.map(() => null);
  const numbers = new Map(titles.map((where, i) => [where, i + 2]));
  const visits = found.map(({ where, spot, ...times }) => {
    spots[numbers.get(where) - 2] = spot ?? spots[numbers.get(where) - 2];
    return { place: numbers.get(where), ...times };
  });
  return { name, visits, titles, spots };
};
const notesOf = (at, lost) => [
  "user_id" in at ? "" : "There is no column user_id: all rows are one person's.",
  "finished_at" in at ? "" : "There is no column finished_at: the visits are check-ins, which end when they begin.",
  lost ? `${lost} positions cannot be read and stay off the map.` : "",
].filter(Boolean);
