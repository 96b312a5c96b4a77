import { expect, it } from "vitest";
import { UpdateKind, WatchMode } from "../gen/gastown/v1/sidecar_pb.ts";
import { enumWords } from "./enum-words.ts";

const modes = enumWords<"screen" | "raw">()(WatchMode, { screen: WatchMode.SCREEN, raw: WatchMode.RAW });

it("converts by one table in both directions", () => {
  expect(modes.values).toEqual({ screen: 1, raw: 2 });
  expect([0, 1, 2, 3].map(modes.word)).toEqual([undefined, "screen", "raw", undefined]);
});

it("reads an unspecified value as the given default, and refuses a newer value", () => {
  expect([0, 1, 2].map((value) => modes.asked("mode", value, "raw"))).toEqual(["raw", "screen", "raw"]);
  expect(() => modes.asked("mode", 3, "raw")).toThrow(
    expect.objectContaining({ kind: "invalid", message: "mode has no value 3" }),
  );
});

it("does not compile if a word has no value, or a value no word", () => {
  // The compiler is the one that fails this test: an `@ts-expect-error` without an error is one.
  // @ts-expect-error: no value for raw
  enumWords<"screen" | "raw">()(WatchMode, { screen: WatchMode.SCREEN });
  // @ts-expect-error: no word for RAW
  enumWords<"screen">()(WatchMode, { screen: WatchMode.SCREEN });
  // @ts-expect-error: a value of another enum
  enumWords<"screen" | "raw">()(WatchMode, { screen: WatchMode.SCREEN, raw: UpdateKind.END });
});
