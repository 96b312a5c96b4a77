import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { systemClock as clock } from "../base/clock.ts";
import { TokenKeyFiles } from "./token-key-files.ts";

const pemOf = () => generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-keys-"));
  path = join(dir, "shop.pub");
});
afterEach(() => rm(dir, { recursive: true }));

const filesOf = (pollMs = 20) =>
  new TokenKeyFiles(
    { clock, logger: silentLogger },
    { files: [{ path, rule: { issuer: "shop" } }], pollMs, settleMs: 1 },
  );

describe("a key file", () => {
  it.each([
    ["is missing", undefined, ": there is no such file"],
    ["is empty", "", "is empty"],
    [
      "contains a private key",
      generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }),
      "private key",
    ],
    [
      "holds an RSA key",
      generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" }),
      "not Ed25519",
    ],
    ["holds an invalid key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "no readable public key"],
  ])("that %s is an error at the start", async (_, text, words) => {
    if (text !== undefined) await writeFile(path, text);
    await expect(filesOf().load()).rejects.toThrow(words);
  });

  it("that changes is followed: keys are added and dropped, a torn file changes nothing, a removed file drops its keys", async () => {
    const [first, second] = [pemOf(), pemOf()];
    await writeFile(path, first);
    const files = filesOf();
    await files.load();
    const count = () => files.current.get("shop")?.length ?? 0;
    const before = files.current.get("shop")?.[0];
    const stop = new AbortController();
    const running = files.run(stop.signal);
    await writeFile(path, first + second);
    await eventually("the second key is there", () => count() === 2);
    expect(files.current.get("shop")?.[0]).toBe(before);
    await writeFile(path, "");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count()).toBe(2);
    await writeFile(path, second);
    await eventually("the first key is gone", () => count() === 1);
    await rm(path);
    await eventually("no key is left", () => count() === 0);
    stop.abort();
    await running;
  });
});
