import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

it("runs or checks the file that is named, by flag before environment", () => {
  expect(readConfig(["--config", "a.yaml"], { GT_BRIDGE_CONFIG: "b.yaml" })).toMatchObject({
    type: "run",
    configPath: "a.yaml",
  });
  expect(readConfig(["check"], { GT_BRIDGE_CONFIG: "b.yaml" })).toMatchObject({ type: "check", configPath: "b.yaml" });
  expect(readConfig(["check", "-c", "a.yaml"], {})).toMatchObject({ type: "check", configPath: "a.yaml" });
});

it.each([
  ["--help", "help"],
  ["help", "help"],
  ["--version", "version"],
])("answers %s without a configuration", (word, type) => {
  expect(readConfig([word], {})).toEqual({ type });
});

describe("refuses", () => {
  it.each<[string, string[], string]>([
    ["no configuration", [], "--config FILE is missing"],
    ["an unknown word", ["serve", "-c", "x"], 'unexpected argument "serve"'],
    ["a word too many", ["check", "a.yaml"], 'unexpected argument "a.yaml"'],
    ["an unknown flag", ["--insecure"], "unknown flag --insecure"],
  ])("%s", (_, argv, words) => {
    expect(() => readConfig(argv, {})).toThrow(
      expect.objectContaining({ kind: "invalid", message: expect.stringContaining(words) }),
    );
  });
});
