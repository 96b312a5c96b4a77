import { describe, expect, it } from "vitest";
import { type KeyView, PersonKeys } from "./attach-person-keys.ts";
import { parseDetachKeys } from "./detach-keys.ts";

const view: KeyView = { x: 0, y: 0, cols: 80, rows: 24, sgrMouse: true };

function pressed(keys: PersonKeys, text: string, at: Partial<KeyView> = {}) {
  const { data, detach } = keys.push(Buffer.from(text), { ...view, ...at });
  return detach ? `${data.toString()}⏏` : data.toString();
}
const keysFor = (text = "ctrl-]") => new PersonKeys(parseDetachKeys(text));

describe("keys", () => {
  it.each([
    ["plain text 日本", "plain text 日本"],
    ["\x1b", "\x1b"],
    ["\x1b[A\x1bOA\x1b[1;5C\x1b[3~\x1b[Z", "\x1b[A\x1bOA\x1b[1;5C\x1b[3~\x1b[Z"],
    ["\x1b[H\x1b[F\x1bOH\x1bOF", "\x1b[1~\x1b[4~\x1b[1~\x1b[4~"],
    ["\x03\x1a\x1c\0", "\x03\x1a\x1c\0"],
    ["\x1bx", "\x1bx"],
  ])("%j reach the agent as %j", (typed, sent) => {
    expect(pressed(keysFor(), typed)).toBe(sent);
  });

  it.each([
    ["focus", "\x1b[I\x1b[O"],
    ["attributes", "\x1b[?62;22c\x1b[>0;276;0c"],
    ["modes", "\x1b[?2026;2$y"],
    ["keyboard", "\x1b[?0u"],
    ["colours", "\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]10;rgb:ff/ff/ff\x07"],
    ["strings", "\x1bP1$r0m\x1b\\\x1bP>|xterm(1)\x1b\\"],
  ])("unrequested answers about %s do not reach the agent", (_what, answer) => {
    expect(pressed(keysFor(), `a${answer}b`)).toBe("ab");
  });

  it("are passed on unchanged in a paste, the detach keys included", () => {
    const paste = "\x1b[200~\x1b[H \x1d \x1b[I\n\x1b[201~";
    expect(pressed(keysFor(), `${paste}\x1d`)).toBe(`${paste}⏏`);
    for (let at = 2; at < paste.length; at++) {
      const keys = keysFor();
      expect(pressed(keys, paste.slice(0, at)) + pressed(keys, paste.slice(at))).toBe(paste);
    }
  });

  it("that were cut are joined, or passed on as they are if nothing follows", () => {
    const keys = keysFor();
    expect(pressed(keys, "a\x1b[")).toBe("a");
    expect(keys.isHolding).toBe(true);
    expect(pressed(keys, "H")).toBe("\x1b[1~");
    expect(pressed(keys, "\x1bO")).toBe("");
    expect(keys.flush().toString()).toBe("\x1bO");
    expect(keys.isHolding).toBe(false);
  });
});

describe("the mouse", () => {
  it("is reported at its position in the window, and not outside it", () => {
    const keys = keysFor();
    expect(pressed(keys, "\x1b[<0;3;4M", { x: 10, y: 20 })).toBe("\x1b[<0;13;24M");
    expect(pressed(keys, "\x1b[<0;3;5M", { x: 10, y: 20 })).toBe("");
    expect(pressed(keys, "\x1b[<64;81;1M")).toBe("");
  });

  it("is reported in the old encoding, within its range, to a program without the new one", () => {
    const keys = keysFor();
    expect(pressed(keys, "\x1b[<0;3;4M\x1b[<0;3;4m", { sgrMouse: false })).toBe("\x1b[M #$\x1b[M##$");
    expect(pressed(keys, "\x1b[<0;224;4M", { sgrMouse: false, cols: 300 })).toBe("");
  });
});

describe("the detach keys", () => {
  it("detach at once, and what follows them is dropped", () => {
    expect(pressed(keysFor(), "a\x1db")).toBe("a⏏");
  });

  it("reach the agent if they are not pressed one after the other", () => {
    const keys = keysFor("ctrl-p,ctrl-q");
    expect(pressed(keys, "\x10")).toBe("");
    expect(pressed(keys, "x\x10\x10")).toBe("\x10x\x10");
    expect(pressed(keys, "\x11")).toBe("⏏");
  });
});

describe("parseDetachKeys", () => {
  it.each([
    ["ctrl-]", "1d", "Ctrl-]"],
    ["ctrl-p,ctrl-q", "1011", "Ctrl-p Ctrl-q"],
    ["Ctrl-@", "00", "Ctrl-@"],
    ["ctrl-a,d", "0164", "Ctrl-a d"],
    ["ctrl-\\", "1c", "Ctrl-\\"],
  ])("%j", (text, bytes, shown) => {
    const keys = parseDetachKeys(text);
    expect([keys.bytes.toString("hex"), keys.text]).toEqual([bytes, shown]);
  });

  it.each(["", "escape", "ctrl-", "ctrl-é", "a,,b", "a,b,c,d,e", "ctrl-1"])("refuses %j", (text) => {
    expect(() => parseDetachKeys(text)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});
