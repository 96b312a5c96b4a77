import { describe, expect, it } from "vitest";
import { factsCommand, lastTyped, parseFacts, parseModes } from "./pane-facts.ts";

const SEPARATOR = "gt0123456789abcdef";
const facts = (numbers: string, ...names: string[]) =>
  parseFacts([[`${numbers},1`, ...names].join(SEPARATOR)], SEPARATOR);

describe("parseFacts", () => {
  it("reads a living pane", () => {
    expect(facts("0,,,0,123,0,80,24,7,3,4,1700000000", "claude", "✳ title")).toEqual({
      dead: false,
      alternate: false,
      pid: 123,
      piped: false,
      cols: 80,
      rows: 24,
      historySize: 7,
      cursorX: 3,
      cursorY: 4,
      panes: 1,
      activityAt: 1_700_000_000_999,
      currentCommand: "claude",
      title: "✳ title",
    });
  });

  it("reads flags that are set", () => {
    expect(facts("0,,,1,1,1,1,1,0,0,0,", "", "")).toMatchObject({
      alternate: true,
      piped: true,
    });
  });

  it("distinguishes an exit code, a signal, and an end that tmux missed", () => {
    expect(facts("1,0,,0,1,0,1,1,0,0,0,", "", "")).toMatchObject({ dead: true, deadStatus: 0 });
    const signal = facts("1,,9,0,1,0,1,1,0,0,0,", "", "");
    expect(signal).toMatchObject({ deadSignal: 9, deadStatus: undefined });
    const missed = facts("1,,,0,1,0,1,1,0,0,0,", "", "");
    expect(missed).toMatchObject({ deadStatus: undefined, deadSignal: undefined });
  });

  it("keeps commas and old separators in a title", () => {
    const title = `1,2,gtffffffffffffffff,${SEPARATOR}x`;
    expect(facts("0,,,0,1,0,1,1,0,0,0,", "c,d", title)).toMatchObject({
      currentCommand: "c,d",
      title,
    });
  });

  it.each([
    ["a width that is not a number", "0,,,0,1,0,abc,24,0,0,0,"],
    ["no width", "0,,,0,1,0,,24,0,0,0,"],
    ["a width of 0", "0,,,0,1,0,0,24,0,0,0,"],
    ["a height above tmux's limit", "0,,,0,1,0,80,99999,0,0,0,"],
    ["a height below 0", "0,,,0,1,0,80,-7,0,0,0,"],
    ["a fraction of a column", "0,,,0,1,0,80.5,24,0,0,0,"],
    ["an infinite history", "0,,,0,1,0,80,24,1e308,0,0,"],
    ["a cursor that is not a number", "0,,,0,1,0,80,24,0,x,0,"],
    ["an invalid time", "0,,,0,1,0,80,24,0,0,0,zzz"],
    ["an exit code above 255", "1,99999,,0,1,0,80,24,0,0,0,"],
    ["pid 0", "0,,,0,0,0,80,24,0,0,0,"],
    ["a pid above the kernel's limit", `0,,,0,${"9".repeat(30)},0,80,24,0,0,0,`],
  ])("refuses an answer that tmux never gives: %s", (_, numbers) => {
    expect(() => facts(numbers, "", "")).toThrow(expect.objectContaining({ kind: "unavailable" }));
  });

  it("reports a pane as gone if tmux answers with an empty format", () => {
    expect(() => facts("0,,,0,,0,,,,,", "", "")).toThrow(expect.objectContaining({ kind: "unavailable" }));
    expect(() => parseFacts([], SEPARATOR)).toThrow("it is gone");
  });
});

describe("factsCommand", () => {
  it("is one line, and lets tmux remove control characters from names that programs choose", () => {
    const line = factsCommand("%3", SEPARATOR);
    expect(line).not.toMatch(/[\x00-\x1f]/);
    for (const name of ["pane_current_command", "pane_title"]) {
      expect(line).toContain(`#{s/[\\001-\\037\\177]/ /:${name}}`);
    }
  });
});

it("treats a mode that is not a number as unset", () => {
  const modes = parseModes("x,,1e9,-1,NaN");
  for (const value of Object.values(modes)) expect([false, 0, "none"]).toContain(value);
});

describe("lastTyped", () => {
  const PERSON = "0,0,%3,1700000005";

  it("is the time of the latest key from a terminal that can type into the pane, at the end of its second", () => {
    expect(lastTyped(["0,0,%3,1700000001", PERSON, "0,0,%3,1700000002"], "%3")).toBe(1_700_000_005_999);
  });

  it.each([
    ["there is no client", []],
    ["a program controls tmux", ["1,0,%3,1700000005"]],
    ["a client is read-only", ["0,1,%3,1700000005"]],
    ["a client is at another pane", ["0,0,%31,1700000005"]],
    ["the answer is not tmux's", ["", "0,0,%3,", "0,0,%3,17e9", "0,0,%3,99999999999"]],
  ])("is unknown if %s", (_, clients) => {
    expect(lastTyped(clients, "%3")).toBeUndefined();
  });
});
