import { expect, it } from "vitest";
import { resetTime } from "./reset-time.ts";

const NOW = Date.parse("2026-10-05T11:20:30Z");
const told = (text: string) => {
  const at = resetTime(text, NOW);
  return at === undefined ? undefined : new Date(at).toISOString();
};

it.each([
  ["You've hit your session limit · resets 3pm (Europe/Berlin)", "2026-10-05T13:00:00.000Z"],
  ["You've hit your limit · resets 12:30pm (UTC)", "2026-10-05T12:30:00.000Z"],
  ["You've hit your weekly limit · resets Oct 9, 1am (America/New_York)", "2026-10-09T05:00:00.000Z"],
  ["You've hit your weekly limit · resets Oct 26 at 1pm (Europe/Berlin)", "2026-10-26T12:00:00.000Z"],
])("reads %s", (text, at) => expect(told(text)).toBe(at));

it.each([
  ["it names no time zone", "limit reached ∙ resets 3pm"],
  ["the time zone is unknown", "resets 3pm (Mars/Base)"],
  ["the time has passed, so it may be yesterday's", "resets 1pm (Europe/Berlin)"],
  ["the date has passed", "resets Oct 1, 1pm (UTC)"],
  ["there is no such day", "resets Feb 31, 1pm (UTC)"],
  ["there is no such hour", "resets 13pm (UTC)"],
])("returns nothing if %s", (_, text) => expect(told(text)).toBeUndefined());
