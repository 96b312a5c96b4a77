import { describe, expect, it } from "vitest";
import { z } from "zod";
import { block, together } from "./block.ts";
import { ConfigError } from "./config-fault.ts";
import { readConfigText } from "./config-file.ts";
import { byteCount, duration, filePath, listOf, oneOf, text, wholeNumber } from "./values.ts";

const schema = (folder: string) =>
  together(
    block({
      name: text().optional(),
      least: wholeNumber(0, 9).default(1),
      most: wholeNumber(0, 9).default(5),
      retention: duration("1m", "1h").default(600_000),
      body: byteCount(1, 1_048_576).default(65_536),
      key_path: filePath(folder).optional(),
      log: block({ level: oneOf("info", "warn").default("info") }),
      env: z
        .record(
          text("a name in capitals", (name) => name === name.toUpperCase()),
          z.string(),
        )
        .default({}),
      from: listOf(z.union([block({ secret: text() }), block({ map: text() })]), "a list of sources").default([]),
      is_open: z.boolean().default(false),
    }),
    ["least", "most"],
    ({ least, most }, wrong) => {
      if (least > most) wrong(["least"], "exceeds most");
    },
  );

const read = (yaml: string) => readConfigText(yaml, schema, { file: "f.yaml", folder: "/etc/f" });

function faultsOf(yaml: string): readonly string[] {
  try {
    read(yaml);
  } catch (err) {
    if (err instanceof ConfigError) return err.lines;
    throw err;
  }
  return [];
}

it("returns values in one unit, absolute paths, and defaults", () => {
  expect(read("retention: 1m30s\nbody: 64KiB\nkey_path: keys/a.pem\n").value).toEqual({
    ...{ least: 1, most: 5, retention: 90_000, body: 65_536, key_path: "/etc/f/keys/a.pem" },
    ...{ log: { level: "info" }, env: {}, from: [], is_open: false },
  });
  expect(read("").value).toMatchObject({ retention: 600_000, body: 65_536 });
});

it("knows which keys the text contains, and on which lines", () => {
  const file = read("log:\n  level: info\nfrom:\n  - secret: a\n");
  expect([["log", "level"], ["from", 0, "secret"], ["least"], ["from", 1]].map(file.has)).toEqual([
    ...[true, true, false, false],
  ]);
  file.findings.fault(["from", 0, "secret"], "is not there");
  file.findings.warning(["log", "colour"], "is missed");
  expect(file.findings).toMatchObject({
    faults: [{ line: 4, key: "from[0].secret", reason: "is not there" }],
    warnings: [{ line: 1, key: "log.colour", reason: "is missed" }],
  });
  expect(() => file.findings.assertUsable()).toThrow("cannot use f.yaml: it has one fault");
});

describe("names a fault by line, key and reason", () => {
  it.each([
    ["naem: x", "f.yaml:1: naem: is not known here; did you mean name?"],
    ["log:\n  levle: info", "f.yaml:2: log.levle: is not known here; did you mean level?"],
    ["log: { xyz: 1 }", "f.yaml:1: log.xyz: is not known here; the known keys are level"],
    ["log: info", "f.yaml:1: log: must be a block of keys"],
    ["is_open: 1", "f.yaml:1: is_open: must be true or false"],
    ["name: [a]", "f.yaml:1: name: must be a non-empty string"],
    ["\nleast: 7\nmost: 3", "f.yaml:2: least: exceeds most"],
    ["body: 2MiB", "f.yaml:1: body: must be a whole number of bytes, or a size such as 64KiB, from 1 to 1048576"],
    ["body: 64K", "f.yaml:1: body: must be a whole number of bytes, or a size such as 64KiB, from 1 to 1048576"],
    ["body: 1.5", "f.yaml:1: body: must be a whole number of bytes, or a size such as 64KiB, from 1 to 1048576"],
    ["env:\n  A: x\n  b: y", "f.yaml:3: env.b: must be a name in capitals"],
    ["env: [a]", "f.yaml:1: env: must be a block of keys"],
    ["env: { A: 1 }", "f.yaml:1: env.A: must be text"],
    [
      "from:\n  - secret: a\n  - map: b\n    keys: c",
      "f.yaml:4: from[1].keys: is not known here; the known keys are map",
    ],
    ["from: { secret: a }", "f.yaml:1: from: must be a list of sources"],
    ["- a", "f.yaml:1: must be a block of keys"],
  ])("%j", (yaml, line) => {
    expect(faultsOf(yaml)).toContain(line);
  });

  it("all at once, in the order of the file, also for keys that contradict each other", () => {
    const faults = faultsOf("least: 7\nmost: 3\nretention: 2\nlog: { level: loud }\nnaem: x\nis_open: maybe\n");
    expect(faults.map((line) => line.split(": ").slice(0, 2).join(" "))).toEqual([
      ...["f.yaml:1 least", "f.yaml:3 retention", "f.yaml:4 log.level", "f.yaml:5 naem", "f.yaml:6 is_open"],
    ]);
  });
});
