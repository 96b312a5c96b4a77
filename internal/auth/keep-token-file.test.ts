import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { keepTokenFile } from "./keep-token-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gt-token-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const keep = (name: string) =>
  keepTokenFile(join(folder, name), () => "secret", 1000, new FakeClock(), new AbortController().signal);

it("does not replace a link with a token, and does not write through it", async () => {
  writeFileSync(join(folder, "target"), "mine");
  symlinkSync("target", join(folder, "token"));
  await expect(keep("token")).rejects.toMatchObject({
    kind: "invalid",
    message: `${join(folder, "token")} is a link to target: it is not replaced by a file`,
  });
  expect(readFileSync(join(folder, "token"), "utf8")).toBe("mine");
});

it("names a file that cannot be written, with the reason", async () => {
  mkdirSync(join(folder, "taken"));
  for (const [name, reason] of [
    ["taken", "it is a folder"],
    ["none/token", "there is no such folder"],
  ] as const) {
    const message = `cannot write ${join(folder, name)}: ${reason}`;
    await expect(keep(name)).rejects.toMatchObject({ kind: "invalid", message });
  }
  expect(readdirSync(folder)).toEqual(["taken"]);
});
