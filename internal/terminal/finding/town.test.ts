import { describe, expect, it } from "vitest";
import { parseRigs } from "./town.ts";

describe("parseRigs", () => {
  it("reads each rig's prefix and skips unusable ones", () => {
    const text = JSON.stringify({
      version: 1,
      rigs: {
        gastown: { git_url: "x", beads: { repo: "local", prefix: "gt" } },
        beads: { beads: { prefix: "bd-" } },
        bare: { git_url: "x" },
        odd: { beads: { prefix: 7 } },
        hostile: { beads: { prefix: "=a b:" } },
      },
    });
    expect([...parseRigs(text)]).toEqual([
      ["gastown", "gt"],
      ["beads", "bd"],
    ]);
  });

  it.each(["{}", "[]", "null", '{"rigs":null}', '{"rigs":[]}'])("finds no rigs in %s", (text) => {
    expect(parseRigs(text).size).toBe(0);
  });
});
