import { expect, it } from "vitest";
import { usableArgs } from "./usable-args.ts";

it.each([
  ["codex", ["--quiet"], [], ["--quiet"]],
  ["claude", ["--print", "--verbose"], [], []],
  ["opencode", [], [], []],
  ["claude", ["-p", "--output-format", "text", "--model", "opus"], ["--model", "opus"], []],
  [
    "claude",
    ["--model=opus", "--add-dir", "/a", "/b", "--bare"],
    ["--model", "opus", "--add-dir", "/a", "/b", "--bare"],
    [],
  ],
  ["claude", ["--no-such", "value", "--bare"], ["--bare"], ["--no-such"]],
  ["claude", ["--model"], [], ["--model"]],
  ["claude", ["a prompt"], [], ["a prompt"]],
  ["codex", ["-m", "o3", "--sandbox", "read-only"], ["-c", 'model="o3"', "-c", 'sandbox_mode="read-only"'], []],
  ["codex", ["exec", "--json"], [], ["exec", "--json"]],
  ["codex", ["-c", "features.x=true"], ["-c", "features.x=true"], []],
  ["opencode", ["--port", "4096", "--pure"], ["--pure"], ["--port"]],
  ["demo", ["--turn-ms", "100", "--stdio"], ["--turn-ms", "100"], []],
  ["nobody", ["--x"], [], ["--x"]],
  ["claude", ["constructor", "__proto__"], [], ["constructor", "__proto__"]],
])("%s %j", (provider, given, args, dropped) => {
  const usable = usableArgs(provider, given);
  expect(usable.args).toEqual(args);
  expect(usable.dropped.map(({ arg }) => arg)).toEqual(dropped);
});
