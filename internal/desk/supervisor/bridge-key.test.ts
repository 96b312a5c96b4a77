import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bridgeKey } from "./bridge-key.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bridge-key-"));
  path = join(folder, "bridge.key");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("is created once, for its owner alone", async () => {
  const { publicPem } = await bridgeKey(path);
  expect(await bridgeKey(path)).toMatchObject({ publicPem });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["bridge.key"]);
});

it("is created again if a full volume has left an empty file", async () => {
  writeFileSync(path, "");
  const { publicPem } = await bridgeKey(path);
  expect(await bridgeKey(path)).toMatchObject({ publicPem });
});

it("is not created again if the file holds something else", async () => {
  writeFileSync(path, "no key");
  await expect(bridgeKey(path)).rejects.toThrow(path);
});
