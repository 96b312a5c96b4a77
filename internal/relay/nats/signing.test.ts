import { createUser, fromPublic } from "@nats-io/nkeys";
import { expect, it } from "vitest";
import { natsHeaders } from "./publish.ts";
import { MessageSigner, Signers } from "./signing.ts";

const user = createUser();
const seed = new TextDecoder().decode(user.getSeed());
/** The seed with a letter in the middle replaced. The last letter has unused bits: replacing it may change nothing. */
const damaged = seed.replace(/(?<=^.{20})./, (letter) => (letter === "A" ? "B" : "A"));
const signers = new Signers({ boss: user.getPublicKey() });
const MESSAGE = { subject: "sessions.s.work.coding", msgId: "s/coding/w1", body: "{}" };
const bytes = (text: string) => new TextEncoder().encode(text);

function came(more: Partial<typeof MESSAGE> = {}, headers: Record<string, string> = {}) {
  const { subject, msgId, body } = { ...MESSAGE, ...more };
  const signed = new MessageSigner("boss", `${seed}\n`).headersFor(MESSAGE);
  return { subject, data: bytes(body), headers: natsHeaders({ ...signed, "Nats-Msg-Id": msgId, ...headers }) };
}

it("signs subject, message id and the body's SHA-256 so that the nkeys library verifies it", () => {
  const { "Relay-Signature": signature = "" } = new MessageSigner("boss", seed).headersFor({ ...MESSAGE, body: "abc" });
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const text = bytes(`sessions.s.work.coding\ns/coding/w1\n${digest}`);
  const verified = fromPublic(user.getPublicKey()).verify(text, Buffer.from(signature, "base64url"));
  expect(verified).toBe(true);
});

it("accepts a signature only for its own message and by its own signer", () => {
  expect(signers.hasSigned(came())).toBe(true);
  expect(new Signers({ boss: createUser().getPublicKey() }).hasSigned(came())).toBe(false);
  for (const other of [
    came({ subject: "sessions.t.work.coding" }),
    came({ msgId: "s/coding/w2" }),
    came({ msgId: "" }),
    came({ body: "{ }" }),
    came({}, { "Relay-Signer": "else" }),
    came({}, { "Relay-Signer": "__proto__" }),
    came({}, { "Relay-Signature": "" }),
    came({}, { "Relay-Signature": "x".repeat(10_000) }),
    { ...came(), headers: undefined },
  ]) {
    expect(signers.hasSigned(other)).toBe(false);
  }
});

it("refuses what is not a seed, and what is not a user's public nkey", () => {
  for (const text of ["", "SU", user.getPublicKey(), damaged]) {
    expect(() => new MessageSigner("boss", text)).toThrow("it holds no seed of an nkey");
  }
  for (const key of ["", "U", seed, user.getPublicKey().replace(/.$/, "1")]) {
    expect(() => new Signers({ boss: key })).toThrow(`the key of "boss" is not a user's public nkey`);
  }
});
