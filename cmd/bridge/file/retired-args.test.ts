import { expect, it } from "vitest";
import { withoutRetired } from "./retired-args.ts";

it("leaves out what Codex does not start with any more, with the values that belong to it", () => {
  const args = ["--quiet", "-c", "model=x", "--approval-mode", "suggest", "--approval-mode=suggest", "--search"];
  expect(withoutRetired("codex", args)).toEqual({
    kept: ["-c", "model=x", "--search"],
    retired: ["--quiet", "--approval-mode suggest", "--approval-mode=suggest"],
  });
});

it("keeps what the program knows, and names of objects", () => {
  expect(withoutRetired("claude", ["--print", "--verbose"]).kept).toEqual(["--print", "--verbose"]);
  expect(withoutRetired("codex", ["constructor"]).kept).toEqual(["constructor"]);
});
