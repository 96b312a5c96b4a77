import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { newAuthority } from "../../pki/authority.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { nextRotation, startRotation } from "./ca-rotation.ts";
import { afterStep, type CaSecretData, caId, readCaSecret } from "./ca-secret.ts";

const NOW = Date.UTC(2026, 0, 1);

async function authority(name: string) {
  const keys = await newKeyPair("ecdsa-p384");
  const pem = newAuthority(keys, { name, trustDomain: "town.example", days: 10, now: NOW });
  return { pem, key: privateKeyPem(keys.privateKey), id: caId(new X509Certificate(pem)) };
}

describe("the CA's Secret", () => {
  let old: Awaited<ReturnType<typeof authority>>;
  let next: typeof old;
  let data: CaSecretData;

  beforeAll(async () => {
    [old, next] = await Promise.all([authority("town 1"), authority("town 2")]);
    data = { "ca.crt": old.pem, "ca.key": old.key };
  });

  it("provides a CA that signs, and its certificate as every sidecar's bundle", () => {
    const material = readCaSecret(data, NOW);
    expect(material.bundle).toBe(old.pem);
    expect(material.state).toEqual({ type: "steady", current: old.id });
  });

  it("follows the replacement of the CA: both in the bundle, then the new one signs, then the old one is dropped", () => {
    let now: CaSecretData = { ...data, "next.crt": next.pem, "next.key": next.key };
    let state = startRotation(readCaSecret(now, NOW).state, next.id);
    const phases = [];
    for (const _ of [1, 2, 3, 4]) {
      now = afterStep(now, state);
      const material = readCaSecret(now, NOW);
      phases.push([state.type, caId(material.signer.certificate) === next.id, material.bundle]);
      state = nextRotation(material.state, [], NOW, { callersMs: 0 }).state;
    }
    expect(phases).toEqual([
      ["introducing", false, old.pem + next.pem],
      ["reissuing", true, next.pem + old.pem],
      ["retiring", true, next.pem],
      ["steady", true, next.pem],
    ]);
    expect(Object.keys(now).sort()).toEqual(["ca.crt", "ca.key", "rotation.json"]);
  });

  it("is the same if a step is written twice", () => {
    const before = { ...data, "next.crt": next.pem, "next.key": next.key };
    const state = { type: "reissuing", current: next.id, previous: old.id, since: NOW } as const;
    const once = afterStep(before, state);
    expect(afterStep(once, state)).toEqual(once);
  });

  it.for([
    ["no key", () => ({ "ca.crt": old.pem }), /ca\.key: is missing/],
    ["another CA's key", () => ({ ...data, "ca.key": next.key }), /ca\.crt: the CA's key is not the key/],
    ["no certificate", () => ({ ...data, "ca.crt": "none" }), /ca\.crt: no certificate/],
    [
      "the state of another CA",
      () => ({ ...data, "rotation.json": JSON.stringify({ type: "steady", current: next.id }) }),
      /rotation\.json: does not match/,
    ],
    [
      "a missing next CA",
      () => ({ ...data, "rotation.json": JSON.stringify({ type: "introducing", current: old.id, next: next.id }) }),
      /names a CA that is not in the Secret/,
    ],
    [
      "an invalid time",
      () => {
        const state = { type: "reissuing", current: old.id, previous: next.id, since: "yesterday" };
        return { ...data, "previous.crt": next.pem, "rotation.json": JSON.stringify(state) };
      },
      /rotation\.json: since is not a time/,
    ],
    ["a torn state", () => ({ ...data, "rotation.json": "{" }), /rotation\.json: cannot be read/],
  ] as const)("with %s is refused, and the error names its key", ([, make, message]) => {
    expect(() => readCaSecret(make(), NOW)).toThrow(
      expect.objectContaining({ kind: "precondition", message: expect.stringMatching(message) }),
    );
  });

  it("that has expired is refused", () => {
    expect(() => readCaSecret(data, NOW + 20 * 86_400_000)).toThrow(/has expired/);
  });
});
