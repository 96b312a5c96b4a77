import { describe, expect, it } from "vitest";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { hashOf, type RestoredNudge } from "../../session/nudge-record.ts";
import type { NudgeOutcome } from "../../session/types.ts";
import { textsLeftBy, UnconfirmedText } from "./unconfirmed-text.ts";

const TEXT = "please look at the tests";
const STANDING = screenOf(["$ make", "done", `$ ${TEXT}`]);
const QUIET = 2000;

function left(): UnconfirmedText {
  const leftover = new UnconfirmedText();
  leftover.left(TEXT);
  return leftover;
}

describe("a text that may still be in an unreadable prompt", () => {
  it("is kept until it is first seen on the screen, and while it stays there", () => {
    const leftover = left();
    expect(leftover.stands(screenOf(["$ make"]), QUIET)).toBe(true);
    expect(leftover.stands(STANDING, QUIET)).toBe(true);
    expect(leftover.stands(STANDING, QUIET)).toBe(true);
  });

  it.each([
    ["was cleared", screenOf(["$ make", "done", "$ "])],
    ["moved up because a person submitted it", screenOf([`$ ${TEXT}`, "please: not found", "$ "])],
  ])("is dropped once it %s", (_, after) => {
    const leftover = left();
    expect(leftover.stands(STANDING, QUIET)).toBe(true);
    expect(leftover.stands(after, QUIET)).toBe(false);
    expect(leftover.stands(STANDING, QUIET)).toBe(false);
  });

  it("is not judged by a screen that is still changing", () => {
    const leftover = left();
    expect(leftover.stands(STANDING, QUIET)).toBe(true);
    expect(leftover.stands(screenOf([""]), 10)).toBe(true);
    expect(leftover.stands(STANDING, QUIET)).toBe(true);
  });

  it("is dropped after someone pressed keys or the program ended", () => {
    const leftover = left();
    leftover.gone();
    expect(leftover.stands(STANDING, QUIET)).toBe(false);
  });

  it("is absent at first", () => {
    expect(new UnconfirmedText().stands(STANDING, QUIET)).toBe(false);
  });
});

describe("the text in the prompt after a restart of the serving half", () => {
  const ended = (text: string, outcome: NudgeOutcome, at: number): RestoredNudge => {
    const times = { acceptedAt: 0, expiresAt: 9 };
    const nudge = {
      requestId: text,
      messageHash: hashOf(text),
      message: text,
      text,
      mode: "wait-idle",
      priority: "normal",
      sender: "",
      ...times,
    } as const;
    const timings = {};
    const receipt = { requestId: text, outcome, error: "", sender: "", queuePosition: 0, evidence: [], timings };
    return { nudge, intent: false, ended: { receipt, at } };
  };

  it.each([
    ["the last one was stranded", [ended("a", "submitted", 1), ended("b", "stranded", 2)], ["b"]],
    ["the outcome of the last one is unknown", [ended("a", "unknown", 2)], ["a"]],
    ["the last one was submitted", [ended("b", "stranded", 1), ended("a", "submitted", 2)], []],
    ["it was typed to an earlier life of the agent", [ended("b", "stranded", -1)], []],
    ["the last one was never typed", [ended("b", "stranded", 1), ended("a", "expired", 2)], ["b"]],
    ["the last two were not submitted", [ended("b", "stranded", 1), ended("a", "unknown", 2)], ["b", "a"]],
    ["nothing was sent", [], []],
  ])("is known if %s", (_, nudges, texts) => {
    expect(textsLeftBy(nudges, 0).map(({ text }) => text)).toEqual(texts);
  });
});
