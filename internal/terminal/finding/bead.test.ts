import { describe, expect, it } from "vitest";
import { type BeadDeps, lookUpBead } from "../../beads/bead.ts";
import type { CommandResult } from "../../process/run-command.ts";
import { parseAgentAddress } from "./address.ts";
import { beadIds } from "./bead-id.ts";
import type { Town } from "./town.ts";

const town: Town = {
  root: "/town",
  prefixes: new Map([
    ["gastown", "gt"],
    ["ff", "ff"],
  ]),
};

describe("beadIds", () => {
  it.each([
    ["mayor", ["hq-mayor"]],
    ["gastown/witness", ["gt-gastown-witness"]],
    ["gastown/polecats/nux", ["gt-gastown-polecat-nux"]],
    ["gastown/crew/max", ["gt-gastown-crew-max"]],
    ["gastown/nux", ["gt-gastown-crew-nux", "gt-gastown-polecat-nux"]],
    ["ff/polecats/nux", ["ff-polecat-nux"]],
    ["ff/refinery", ["ff-refinery"]],
    ["other/polecats/nux", ["gt-other-polecat-nux"]],
    ["gt-gastown-polecat-nux", ["gt-gastown-polecat-nux"]],
    ["nux", []],
  ])("%s: %j", (text, ids) => {
    expect(beadIds(parseAgentAddress(text), town)).toEqual(ids);
  });

  it("reads a bare name in the current rig", () => {
    const ids = ["ff-crew-nux", "ff-polecat-nux"];
    expect(beadIds(parseAgentAddress("nux"), { ...town, cwdRig: "ff" })).toEqual(ids);
  });
});

function exit(code: number, stdout = "", stderr = ""): CommandResult {
  return { type: "exit", code, stdout, stderr };
}

function deps(answers: Record<string, CommandResult>): BeadDeps & { asked: string[][] } {
  const asked: string[][] = [];
  const run: BeadDeps["run"] = async (program, args) => {
    asked.push([program, ...args]);
    return answers[args[1] ?? ""] ?? exit(1, "", `Error: issue ${args[1]} not found`);
  };
  return { run, env: {}, cwd: "/town", timeoutMs: 1000, asked };
}

const signal = new AbortController().signal;

describe("lookUpBead", () => {
  it("asks bd for each ID until one exists", async () => {
    const bead = '[{"metadata":{"backend":"k8s","sidecar_host":"h","sidecar_port":9090}}]';
    const fake = deps({ b: exit(0, bead) });
    expect(await lookUpBead(["a", "b", "c"], fake, signal)).toEqual({
      type: "k8s",
      id: "b",
      muted: false,
      host: "h",
      port: 9090,
    });
    expect(fake.asked).toEqual([
      ["bd", "show", "a", "--json"],
      ["bd", "show", "b", "--json"],
    ]);
  });

  it.each<[string, CommandResult]>([
    ["no bd", { type: "missing" }],
    ["no such bead", exit(1, "", "Error: no issue found matching x")],
    ["no such bead, reported in JSON", exit(1, '{"error":"issue x not found"}')],
    ["no database", exit(1, "", "Error: no beads database found")],
    ["an empty answer", exit(0, "[]\n")],
  ])("returns undefined with %s", async (_, result) => {
    expect(await lookUpBead(["x"], deps({ x: result }), signal)).toEqual({ type: "absent" });
  });

  it.each<[string, CommandResult, string]>([
    ["bd failing", exit(2, "", "panic: database is locked\ntrace"), "bd show x: exit 2: panic: database is locked"],
    ["bd hanging", { type: "failed", reason: "took longer than 1000 ms" }, "bd show x: took longer than 1000 ms"],
    ["bd printing something else", exit(0, "warning: hello"), "bd show x: did not print a bead as JSON"],
    [
      "half a record",
      exit(0, '[{"metadata":{"backend":"k8s"}}]'),
      "bead x does not say where its agent is: backend=k8s without sidecar_host",
    ],
  ])("fails with %s, and never falls back to local", async (_, result, message) => {
    expect(await lookUpBead(["x", "y"], deps({ x: result }), signal)).toMatchObject({ type: "error", message });
  });
});
