import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { configIn, HelmBed } from "../support/cluster/helm.ts";

/** A value at its key; all other values are the chart's defaults. */
type Case = readonly [key: string, value: unknown];

/** Values that the controller would refuse when it starts. */
const REFUSED: readonly Case[] = [
  ...["1s", "1999ms", "0h0m1.9s", "61m", "1h1ms"].map((ttl): Case => ["sessionTokens.ttl", ttl]),
  ...["61s", "1m1s", "1h", "60.001s"].map((skew): Case => ["auth.clockSkew", skew]),
  ["ca.keepPrevious", "87601h"],
  ["sessions.retention", "999999999999999999h"],
  ["agents.a.grace", "87600h1s"],
  ["agents.a.user", 4_294_967_295],
  ["agents.a.user", 0],
  ["agents.a.nodeSelector", { "": "x" }],
  ["agents.a.resources", { requests: { "": 1 } }],
  ["agents.a.resources", { limits: { memory: 1e21 } }],
  ["agents.a.workspace.git", { url: "https://" }],
  ["agents.a.workspace.git", { url: "https://a b" }],
  ["agents.a.workspace.git", { url: "https://a", ref: "a b" }],
  ["agents.a.workspace.git", { url: "https://a", depth: 2 ** 31 }],
  ...[
    "a.",
    "a..b",
    "-a",
    "a:1",
    "http://a",
    "1.2.3",
    "256.1.1.1",
    "*",
    "1.2.3.4/8",
    "x".repeat(64),
    "[::1]",
    "::1::",
  ].map((name): Case => ["service.names", [name]]),
  ...["a:65536", "a:x", "a:", "1.2.3.999", "a.1", "[::1", "[1::2::3]", "a b", "", ":80", "a^b", "a:1:2"].map(
    (place): Case => ["tracing.otlpEndpoint", `http://${place}`],
  ),
  ["trustDomain", null],
  ["ca.keepPrevious", null],
  ["clients.directRead", null],
  ["sessions.maxGlobal", null],
  ["limits.maxInputBytes", null],
  ["logLevel", null],
];

/** Values that the controller accepts, just within its limits; those of one row are set together. */
const TAKEN: readonly (readonly Case[])[] = [
  [
    ["sessionTokens", { secretName: "s", ttl: "2s" }],
    ["auth.clockSkew", "1m"],
    ["ca.keepPrevious", "87600h"],
    ["sessions.retention", "0"],
    ["tracing.otlpEndpoint", "https://u:p@[::1]:65535/x"],
    ["service.names", ["*.town.example", "Town.Example", "10.0.0.1", "fe80::1", "::"]],
    ["agents", { null: { image: "a", user: 4_294_967_294 }, "07": { image: "a", workspace: { size: 10_000_000 } } }],
    ["namespaces", [{ name: "1e3", project: "0x1", providers: ["null", "07"] }]],
  ],
  [
    ["sessionTokens", { secretName: "s", ttl: "59m60s" }],
    ["auth.clockSkew", "0"],
    ["tracing.otlpEndpoint", "http://3d.example:1"],
    ["agents", { "0x1": { image: "a", user: null, workspace: { git: { url: "file:///a", ref: "größe" } } } }],
    ["namespaces", [{ name: "null", project: "null", providers: ["0x1"] }]],
  ],
];

describe("the chart's values", () => {
  const bed = new HelmBed("values");

  async function rendered(context: TestContext, name: string, cases: readonly Case[]): Promise<string> {
    const helm = await bed.here(context);
    const file = join(bed.dir, `${name}.json`);
    await writeFile(file, JSON.stringify(valuesOf(cases)));
    return await helm.template("gastown", "-f", file);
  }

  it("are refused by key wherever the controller would refuse them at its start", async (context) => {
    const wrong: string[] = [];
    const check = async (one: Case, i: number) => {
      const said = await rendered(context, `refused-${i}`, [one]).then(
        () => "nothing",
        (err: Error) => err.message,
      );
      const key = one[0].split(".").at(-1) ?? "";
      if (!said.includes(key)) wrong.push(`${JSON.stringify(one)}: ${said}`);
    };
    for (let i = 0; i < REFUSED.length; i += 4)
      await Promise.all(REFUSED.slice(i, i + 4).map((one, at) => check(one, i + at)));
    expect(wrong).toEqual([]);
  });

  it("are accepted up to the controller's limits, and the controller reads them unchanged", async (context) => {
    const [first, second] = await Promise.all(
      TAKEN.map(async (cases, i) => configIn(await rendered(context, `taken-${i}`, cases))),
    );
    expect(first?.settings).toMatchObject({
      sessionTokens: { ttlMs: 2_000 },
      namespaces: [{ name: "1e3", project: "0x1" }],
    });
    const templates = first?.settings.namespaces[0]?.templates;
    expect(templates?.get("null")).toMatchObject({ user: 4_294_967_294 });
    expect(templates?.get("07")).toMatchObject({ workspace: { sizeLimit: "10000000" } });
    expect(second?.settings).toMatchObject({ sessionTokens: { ttlMs: 3_600_000 }, namespaces: [{ name: "null" }] });
    expect(second?.settings.namespaces[0]?.templates.get("0x1")).toMatchObject({ workspace: { ref: "größe" } });
  });
});

function valuesOf(cases: readonly Case[]): object {
  const values: Record<string, unknown> = {};
  for (const [key, value] of cases) {
    const parts = key.split(".");
    const last = parts.pop() ?? "";
    let at = values;
    for (const part of parts) {
      const below = (at[part] ?? {}) as Record<string, unknown>;
      at[part] = below;
      at = below;
    }
    at[last] = value;
  }
  const { a } = (values["agents"] ?? {}) as Record<string, Record<string, unknown> | undefined>;
  if (a !== undefined) a["image"] = "a";
  return values;
}
