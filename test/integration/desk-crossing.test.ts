import { createPrivateKey, createPublicKey, hash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { originToken } from "../../internal/desk/supervisor/origin-token.ts";
import { tryForgeries } from "../../internal/desk/supervisor/try-forgeries.ts";
import { FrontService } from "../../internal/gen/desk/v1/desk_pb.ts";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { publicKeyPem } from "../../internal/pki/key-pair.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { type DeskBed, deskBed } from "../support/desk/desk-bed.ts";

const TEXT = "tell customers: genuine";

const envelopeOf = (text: string, id: string = randomUUID()) => ({
  ...{ id, thread: "main", bytes: Buffer.byteLength(text), sha256: hash("sha256", text, "hex") },
});

/** The key with which the bridge of a desk signs, and the connection to its running front. */
async function openFrontOf(bed: DeskBed) {
  await bed.run(["--mode", "admin"], "tell customers to wait\n");
  const key = createPrivateKey(bed.read(".desk/back/bridge.key"));
  const socketPath = bed
    .read(".desk/front/address")
    .trim()
    .replace(/^unix:/, "");
  const connection = sidecarTransport({ baseUrl: "http://localhost", socketPath });
  return { key, socketPath, connection, publicPem: publicKeyPem(createPublicKey(key)) };
}

const crossings = (bed: DeskBed) => bed.records("front").filter(({ type }) => type === "crossing");

describe("a crossing", () => {
  it("is accepted once if the bridge signed it, and refused in every forged form", async () => {
    await using bed = deskBed();
    const { key, publicPem, connection, socketPath } = await openFrontOf(bed);
    using _closed = connection;
    const tried = await tryForgeries(connection.transport, { key, publicPem }, Date.now());
    expect(tried.length).toBeGreaterThanOrEqual(15);
    expect(tried.filter(({ refusal }) => refusal === undefined)).toEqual([]);
    expect(crossings(bed)).toHaveLength(1);

    const client = createClient(FrontService, connection.transport);
    const envelope = envelopeOf(TEXT);
    const token = originToken(key, envelope, Date.now());
    const deliver = async (adminInput: string, bearer: string) => {
      const updates: { readonly outcome: NudgeOutcome; readonly answer: string }[] = [];
      const headers = { authorization: `Bearer ${bearer}` };
      for await (const update of client.deliver({ adminInput }, { headers, timeoutMs: 60_000 })) updates.push(update);
      return updates;
    };
    const [first, last] = await deliver(TEXT, token);
    expect([first?.outcome, last?.answer]).toEqual([NudgeOutcome.SUBMITTED, "tell customers to wait"]);
    expect((await deliver(TEXT, token)).map(({ answer }) => answer)).toEqual(["", "tell customers to wait"]);
    expect(crossings(bed).at(-1)).toMatchObject({ id: envelope.id, admin_input: TEXT });
    expect(crossings(bed)).toHaveLength(2);

    const refusalOf = async (call: Promise<unknown>) => domainErrorOf(await call.catch((err: unknown) => err));
    const other = "tell customers: other bytes";
    const again = originToken(key, envelopeOf(other, envelope.id), Date.now());
    expect(await refusalOf(deliver(other, again))).toMatchObject({ kind: "already-exists", message: "refused" });
    expect(await refusalOf(deliver(other, token))).toMatchObject({ kind: "denied", message: "refused" });

    const rich = { admin_input: TEXT, answer: "wholesale" };
    const posted = await postJson(socketPath, originToken(key, envelopeOf(TEXT), Date.now()), rich);
    expect(posted).toContain("invalid_argument");
    expect(crossings(bed)).toHaveLength(2);
    const audit = readFileSync(bed.path(".desk/front/audit.jsonl"), "utf8");
    expect(audit).toContain("the signature is not the bridge's");
    expect(audit).not.toMatch(/wholesale|genuine|forged text/);
  }, 300_000);
});

/** Sends one message of a Connect stream in JSON; returns the last message of the answer, which contains its error. */
async function postJson(socketPath: string, token: string, body: object): Promise<string> {
  const json = Buffer.from(JSON.stringify(body));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  const headers = { "content-type": "application/connect+json", authorization: `Bearer ${token}` };
  const path = "/desk.v1.FrontService/Deliver";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request({ socketPath, path, method: "POST", headers }, (answer) => textOf(answer).then(resolve, reject));
  sent.on("error", reject).end(Buffer.concat([head, json]));
  return await promise;
}
