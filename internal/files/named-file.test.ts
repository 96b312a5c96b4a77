import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DomainError } from "../base/errors.ts";
import { isMissing, readNamedFile, readNamedFileSync, readNamedInput } from "./named-file.ts";

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gt-named-"));
  writeFileSync(at("text"), "grün");
  writeFileSync(at("large"), "");
  truncateSync(at("large"), 16 * 1024 * 1024 + 1);
});
afterAll(() => rmSync(folder, { recursive: true }));

const readers: Readonly<Record<string, typeof readNamedFile>> = {
  readNamedFile,
  readNamedFileSync: async (path, kind) => readNamedFileSync(path, kind),
  readNamedInput,
};

describe.each(Object.entries(readers))("%s", (_, read) => {
  it("returns the text", async () => {
    expect(await read(at("text"))).toBe("grün");
  });

  it.each([
    ["a missing file", () => at("none"), "there is no such file"],
    ["a path through a file", () => at("text/more"), "a part of the path is not a folder"],
    ["a folder", () => folder, "it is a folder"],
    ["a file of more than 16 MiB", () => at("large"), "it has more than 16777216 bytes"],
  ])("reports why %s cannot be read", async (_, path, reason) => {
    const failure = { kind: "precondition", message: `cannot read ${path()}: ${reason}` };
    await expect(read(path(), "precondition")).rejects.toMatchObject(failure);
  });

  it("keeps the system's message as the cause", async () => {
    const err = await read(at("none")).catch((thrown: unknown) => thrown);
    expect([err instanceof DomainError && err.kind, isMissing(err)]).toEqual(["invalid", true]);
    expect(isMissing(await read(folder).catch((thrown: unknown) => thrown))).toBe(false);
  });
});
