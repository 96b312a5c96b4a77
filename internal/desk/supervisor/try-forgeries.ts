import { hash, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import { DeliverRequestSchema, FrontService } from "../../gen/desk/v1/desk_pb.ts";
import { newTokenKeyPair } from "../../pki/key-pair.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import { type ForgeryMaterial, forgedTokens } from "./forged-tokens.ts";

/** A forged crossing and how it was answered. */
export interface TriedForgery {
  readonly name: string;
  /** The kind of the refusal; undefined: the front accepted it. */
  readonly refusal?: string;
}

const TEXT = "a forged text";
const LIMIT_MS = 30_000;

/** Sends the front one crossing of each forged kind. @throws any error that is not a refusal */
export async function tryForgeries(
  transport: Transport,
  own: Pick<ForgeryMaterial, "key" | "publicPem">,
  now: number,
): Promise<readonly TriedForgery[]> {
  const { privateKey: foreignKey } = await newTokenKeyPair();
  const envelope = {
    ...{ id: randomUUID(), thread: "main" },
    ...{ bytes: Buffer.byteLength(TEXT), sha256: hash("sha256", TEXT, "hex") },
  };
  const client = createClient(FrontService, transport);
  const tried: TriedForgery[] = [];
  for (const { name, authorization } of forgedTokens({ ...own, foreignKey, envelope, now })) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const request = create(DeliverRequestSchema, { adminInput: TEXT });
    try {
      for await (const _ of client.deliver(request, { headers, timeoutMs: LIMIT_MS })) break;
      tried.push({ name });
    } catch (err) {
      const known = domainErrorOf(err);
      if (!(known instanceof DomainError) || known.kind === "unavailable") throw known;
      tried.push({ name, refusal: known.kind });
    }
  }
  return tried;
}
