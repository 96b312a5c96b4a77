import { describe, expect, it } from "vitest";
import { type Key, KeyDecoder } from "./key-decoder.ts";

function decode(text: string, bursts = false): Key[] {
  const decoder = new KeyDecoder({ bursts });
  return [...decoder.push(Buffer.from(text)), ...decoder.flush()];
}

const key = (name: string) => ({ type: "key", name });
const text = (value: string) => ({ type: "text", text: value });
const paste = (value: string) => ({ type: "paste", text: value });

it.each([
  ["abc", [text("abc")]],
  ["日本 👍", [text("日本 👍")]],
  ["a\r", [text("a"), key("enter")]],
  ["a\nb", [text("a"), key("newline"), text("b")]],
  ["\x1b\r", [key("newline")]],
  ["\x7f\b", [key("backspace"), key("backspace")]],
  ["\x15\x17\x0b", [key("kill-line"), key("kill-word"), key("kill-to-end")]],
  ["\x03\x04", [key("interrupt"), key("end-of-input")]],
  ["\x1b[A\x1b[B\x1b[C\x1b[D", [key("up"), key("down"), key("right"), key("left")]],
  ["\x1bOA\x1bOH", [key("up"), key("home")]],
  ["\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", [key("home"), key("end"), key("home"), key("end"), key("delete")]],
  ["\x1b", [key("escape")]],
  ["\x1b\x1b", [key("escape"), key("escape")]],
  ["\x1b[1;5C", [key("right")]],
  ["\x1b[?99;1z\x00\x07a", [text("a")]],
  ["\x1b[200~one\r\ntwo\rthree\n\x1b[201~\r", [paste("one\ntwo\nthree\n"), key("enter")]],
  ["\x1b[200~a\x1b[31mb\x03\x1b[201~c", [paste("a\x1b[31mb\x03"), text("c")]],
  ["\x1b[200~\x1b[201~", [paste("")]],
  ["\x1b[", []],
] as const)("reads %j", (input, keys) => {
  expect(decode(input)).toEqual(keys);
});

it("returns the same keys, wherever the bytes are split", () => {
  const bytes = Buffer.from("é日\x1b[200~x\r\ny👍\x1b[201~\r\x1b[A\x1b\rz");
  const whole = new KeyDecoder({ bursts: false }).push(bytes);
  for (let at = 1; at < bytes.length; at++) {
    const decoder = new KeyDecoder({ bursts: false });
    const keys = [...decoder.push(bytes.subarray(0, at)), ...decoder.push(bytes.subarray(at)), ...decoder.flush()];
    expect(joined(keys), `split at ${at}`).toEqual(joined(whole));
  }
});

/** Joins neighbouring text keys: text that came in two chunks is two keys. */
function joined(keys: readonly Key[]): Key[] {
  const out: Key[] = [];
  for (const one of keys) {
    const last = out.at(-1);
    if (one.type === "text" && last?.type === "text")
      out[out.length - 1] = { type: "text", text: last.text + one.text };
    else out.push(one);
  }
  return out;
}

describe("a lone ESC", () => {
  it("waits for what may follow", () => {
    const decoder = new KeyDecoder({ bursts: false });
    expect(decoder.push(Buffer.from("\x1b"))).toEqual([]);
    expect(decoder.pending).toBe(true);
    expect(decoder.push(Buffer.from("[A"))).toEqual([key("up")]);
    expect(decoder.pending).toBe(false);
  });

  it("is the Escape key after the caller has waited", () => {
    const decoder = new KeyDecoder({ bursts: false });
    decoder.push(Buffer.from("\x1b"));
    expect(decoder.flush()).toEqual([key("escape")]);
  });
});

it("does not end a paste with the timer of the Escape key", () => {
  const decoder = new KeyDecoder({ bursts: false });
  decoder.push(Buffer.from("\x1b[200~half"));
  expect(decoder.pending).toBe(false);
  expect(decoder.push(Buffer.from(" and half\x1b[201~"))).toEqual([paste("half and half")]);
});

describe("without bracketed paste", () => {
  it("reads a burst with line ends as text", () => {
    expect(decode("one\rtwo\r", true)).toEqual([text("one\ntwo\n")]);
  });

  it("submits on a single Enter", () => {
    expect(decode("\r", true)).toEqual([key("enter")]);
  });
});
