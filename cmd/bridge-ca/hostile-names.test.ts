import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { Output } from "../../internal/cli/output.ts";
import { systemFileOps as ops } from "../../internal/files/file-ops.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import type { CaContext } from "./ca/context.ts";
import { runInspect } from "./commands/run-inspect.ts";
import { runRevoke } from "./commands/run-revoke.ts";
import { runVerify } from "./commands/run-verify.ts";

/** Characters that a terminal or an editor may obey, without the line feeds that the commands print. */
const OBEYED = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;
const HOSTILE: readonly (readonly [what: string, name: string])[] = [
  ["a line feed", "a\n  names       dns:forged.example"],
  ["an escape sequence", "a\x1b[2J\x1b]0;title\x07"],
  ["an unterminated C1 sequence", "a\x9d0;everything behind it"],
  ["a right-to-left override", "a\u202ecod.exe"],
  ["two names in one", "a.example, dns:forged.example"],
  ["10 KiB", "a".repeat(10_240)],
];

const dir = mkdtempSync(join(tmpdir(), "gt-hostile-names-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function printing() {
  let printed = "";
  const out = new Output({ write: (text) => (printed += text) }, {});
  const { signal } = new AbortController();
  const context: CaContext = { out, err: out, stdin: process.stdin, stderr: process.stderr, clock, signal, ops };
  return { context, printed: () => printed };
}

/** The files of a CA with that name, of one of its leaves with the same names, and of another CA. */
function filesOf(name: string) {
  const ca = new TestCa(name);
  const leaf = ca.issue({ cn: name, dns: [name, "last.example"], uris: [name] });
  const folder = mkdtempSync(join(dir, "case-"));
  const file = (base: string, text: string) => {
    writeFileSync(join(folder, base), text, { mode: 0o600 });
    return join(folder, base);
  };
  return {
    ca: file("ca.crt", ca.pem),
    caKey: file("ca.key", leaf.key),
    cert: file("leaf.crt", leaf.cert),
    list: file("list.pem", ca.revoke([])),
    other: file("other.crt", new TestCa("other").pem),
  };
}

describe.each(HOSTILE)("a certificate with hostile names: %s", (_, name) => {
  const paths = filesOf(name);

  it("is inspected with one row for each fact, none forged and none missing", async () => {
    const { context, printed } = printing();
    expect(await runInspect(context, { files: [paths.cert, paths.list] })).toBe(0);
    const rows = printed().split("\n");
    expect(rows.map((row) => row.trim().split(/\s/)[0])).toEqual([
      ...[paths.cert, "issuer", "valid", "names", "key", "serial", "SHA-256"],
      ...[paths.list, "number", "revoked", "valid", ""],
    ]);
    expect(printed()).not.toMatch(OBEYED);
    expect(rows[3]).toMatch(/, dns:last\.example$/);
    expect(rows[3]?.replaceAll(/"[^"]*"/g, "")).not.toContain("forged");
    for (const row of rows) expect(row.length).toBeLessThan(1000);
  });

  it("is verified or refused in printable words", async () => {
    const { context, printed } = printing();
    const command = { cert: paths.cert, lists: [], usage: undefined } as const;
    expect(await runVerify(context, { ...command, bundle: paths.ca })).toBe(0);
    expect(printed()).not.toMatch(OBEYED);
    expect(printed().split("\n").length).toBe(4);
    const refused = await runVerify(context, { ...command, bundle: paths.other }).catch((err: Error) => err.message);
    expect(refused).not.toMatch(OBEYED);
    expect(refused).toMatch(/"[^"]*" [a-z ]+/);
  });

  it("is revoked in printable words", async () => {
    const { context, printed } = printing();
    const { ca, caKey, cert } = paths;
    expect(await runRevoke(context, { cert, ca, caKey, reason: "unspecified" })).toBe(0);
    expect(printed()).toMatch(/revoked: .*, serial [0-9A-F]+\n/);
    expect(printed()).not.toMatch(OBEYED);
  });
});
