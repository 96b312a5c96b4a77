const RESETS =
  /\bresets (?:([A-Z][a-z]{2}) (\d{1,2})(?:,| at) )?(\d{1,2})(?::(\d{2}))? ?(am|pm) \(([A-Za-z_]+(?:\/[A-Za-z_+\-\d]+)*)\)/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const HOUR_MS = 3_600_000;
/** A time without a date belongs to a limit of five hours; a time further ahead than this is yesterday's. */
const NEAR_MS = 6 * HOUR_MS;
const FAR_MS = 32 * 24 * HOUR_MS;

/**
 * The end of a limit as the agent wrote it, e.g. `resets 3pm (Europe/Berlin)` or `resets Oct 6, 1pm (UTC)`; wall clock,
 * ms. `now`: when the text was first seen. Undefined if the text has no time with am or pm and a time zone, if that
 * local time does not exist, or if the moment is too far away.
 */
export function resetTime(text: string, now: number): number | undefined {
  const match = RESETS.exec(text.slice(0, 400));
  if (match === null) return undefined;
  const [, month, day, hours, minutes = "0", half, zone = ""] = match;
  if (Number(hours) < 1 || Number(hours) > 12 || Number(minutes) > 59) return undefined;
  const hour = (Number(hours) % 12) + (half === "pm" ? 12 : 0);
  const local = localTime(now, zone);
  if (local === undefined) return undefined;
  const date = new Date(local);
  const isDated = month !== undefined;
  const at = isDated
    ? Date.UTC(date.getUTCFullYear(), MONTHS.indexOf(month), Number(day), hour, Number(minutes))
    : Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), hour, Number(minutes));
  if (isDated && (MONTHS.indexOf(month) < 0 || new Date(at).getUTCDate() !== Number(day))) return undefined;
  const next = isDated ? new Date(at).setUTCFullYear(date.getUTCFullYear() + 1) : at + 24 * HOUR_MS;
  const wanted = at >= local ? at : next;
  const found = instantOf(wanted, zone);
  if (found === undefined || found - now > (isDated ? FAR_MS : NEAR_MS)) return undefined;
  return found;
}

/** The local time in the zone at `at`, as if it were UTC; undefined for an unknown time zone. */
function localTime(at: number, zone: string): number | undefined {
  try {
    const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  } catch {
    return undefined;
  }
}

/** The moment at which the zone's clock shows `local`; undefined in an hour that a change of clocks leaves out. */
function instantOf(local: number, zone: string): number | undefined {
  let at = local;
  for (let i = 0; i < 2; i++) at += local - (localTime(at, zone) ?? Number.NaN);
  return localTime(at, zone) === local ? at : undefined;
}
