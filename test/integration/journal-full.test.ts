import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";

const JOURNAL = fileURLToPath(new URL("../../internal/eventlog/journal.ts", import.meta.url));

/** Writes records until the file reaches its limit, then makes room by a rewrite and continues. */
const WRITER = `
import { statSync } from "node:fs";
import { Journal } from ${JSON.stringify(JOURNAL)};
const { journal } = Journal.open(process.argv[1], { parse: (value) => value, take: () => {} });
let written = 0;
let failure = "";
try {
  for (;;) { journal.append({ n: written, fill: "x".repeat(99) }); written++; }
} catch (err) { failure = err.code; }
const full = statSync(process.argv[1]).size;
journal.rewrite([{ n: "kept" }]);
journal.append({ n: "more" });
console.log(JSON.stringify({ written, failure, full, after: journal.bytes }));
`;

it("a full volume leaves no partial record, and earlier records stay", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gt-full-"));
  try {
    const path = join(dir, "journal");
    // A limit for the size of files replaces the full volume; it counts in blocks of 512 bytes.
    const script = 'ulimit -f 4; exec "$@"';
    const node = [process.execPath, "--input-type=module", "-e", WRITER, path];
    const { stdout } = await execa("sh", ["-c", script, "sh", ...node], { env: { ...process.env, NODE_OPTIONS: "" } });
    const { written, failure, full, after } = JSON.parse(stdout);
    expect(failure).toBe("EFBIG");
    expect(written).toBeGreaterThan(5);
    expect(full).toBe(
      Array.from({ length: written }, (_, n) => `01234567 {"n":${n},"fill":"${"x".repeat(99)}"}\n`).join("").length,
    );
    const text = await readFile(path, "utf8");
    expect(text).toMatch(/^[0-9a-f]{8} {"n":"kept"}\n[0-9a-f]{8} {"n":"more"}\n$/);
    expect(after).toBe(text.length);
  } finally {
    await rm(dir, { recursive: true });
  }
});
