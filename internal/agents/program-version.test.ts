import { expect, it } from "vitest";
import type { ProfileName } from "./known-programs.ts";
import { versionCommand, versionIn } from "./program-version.ts";

const cases: readonly (readonly [ProfileName, [string, ...string[]], readonly string[] | undefined])[] = [
  ["claude", ["/usr/bin/claude", "--model", "opus"], ["/usr/bin/claude", "--version"]],
  ["claude", ["/opt/claude-2.1.330"], ["/opt/claude-2.1.330", "--version"]],
  ["codex", ["/usr/bin/codex"], ["/usr/bin/codex", "--version"]],
  ["opencode", ["/usr/bin/opencode", "."], ["/usr/bin/opencode", "--version"]],
  ["demo", ["/usr/bin/gt-demo-agent"], ["/usr/bin/gt-demo-agent", "--version"]],
  [
    "demo",
    ["/bin/node", "--no-warnings", "/x/demo-agent/main.ts", "--work", "1s"],
    ["/bin/node", "--no-warnings", "/x/demo-agent/main.ts", "--version"],
  ],
  ["claude", ["/bin/sh", "-c", "claude"], undefined],
  ["claude", ["/bin/sh", "/usr/bin/claude"], undefined],
  ["claude", ["/usr/bin/codex"], undefined],
  ["demo", ["/bin/node", "other.ts", "/x/demo-agent/main.ts"], undefined],
  ["generic", ["/usr/bin/claude"], undefined],
];

it.each(cases)("the version command of %s, started as %j, is %j", (name, command, asked) => {
  expect(versionCommand(name, command)).toEqual(asked);
});

it.each([
  ["2.1.330 (Claude Code)\n", "2.1.330"],
  ["codex-cli 0.150.0\n", "0.150.0"],
  ["codex-cli 0.150.0-alpha.3\n", "0.150.0-alpha.3"],
  ["1.17.4\n", "1.17.4"],
  ["demo-agent v0.4.0\n", "0.4.0"],
  ["no version here 7\n", undefined],
  ["\u001b]0;1.2.3.4.5.6\u0007", undefined],
  ["", undefined],
])("reads the version in %j", (printed, version) => {
  expect(versionIn(printed)).toBe(version);
});
