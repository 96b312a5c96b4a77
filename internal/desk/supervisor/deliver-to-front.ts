import { create } from "@bufbuild/protobuf";
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import { DeliverRequestSchema, FrontService } from "../../gen/desk/v1/desk_pb.ts";
import { NudgeOutcome } from "../../gen/gastown/v1/common_pb.ts";
import { abortOnExit } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { Deliver, Delivery } from "./bridge-node.ts";
import type { CrossingOutcome } from "./global-state.ts";

/**
 * Delivers over the front's socket. A refusal by the front itself means that the front did not accept the text. If a
 * call is cut before its outcome, `isTaken` looks for the text in the front's journal.
 */
export function deliverToFront(
  transport: Transport,
  isTaken: (envelope: { readonly id: string; readonly sha256: string }) => boolean,
): Deliver {
  return async ({ admin_input }, token, envelope, { signal, onOutcome }) => {
    const request = create(DeliverRequestSchema, { adminInput: admin_input });
    let outcome: CrossingOutcome | undefined;
    const settle = (found: CrossingOutcome, reason?: string): CrossingOutcome => {
      if (outcome === undefined) onOutcome(found, reason);
      outcome ??= found;
      return outcome;
    };
    try {
      const client = createClient(FrontService, transport);
      const headers: CallOptions = { headers: { authorization: `Bearer ${token}` } };
      let delivery: Omit<Delivery, "outcome"> = {};
      for await (const update of abortOnExit((left) => client.deliver(request, { ...headers, signal: left }), signal)) {
        if (update.outcome === NudgeOutcome.SUBMITTED) settle("SUBMITTED");
        if (update.reason !== "") delivery = { ...delivery, reason: update.reason };
        if (update.answer !== "") delivery = { ...delivery, answer: update.answer };
      }
      return { ...delivery, outcome: settle(isTaken(envelope) ? "SUBMITTED" : "UNKNOWN") };
    } catch (err) {
      const reason = statedReason(err);
      if (reason !== undefined) return { outcome: settle("REFUSED", reason), reason };
      const found = settle(isTaken(envelope) ? "SUBMITTED" : "UNKNOWN");
      return { outcome: found, reason: signal.aborted ? "interrupted" : "agent unavailable" };
    }
  };
}

/** The reason of each refusal by the front itself; the front refuses only before it accepts a text. */
function statedReason(err: unknown): string | undefined {
  const known = domainErrorOf(err);
  const reason = known instanceof DomainError ? known.fields["reason"] : undefined;
  return typeof reason === "string" ? reason : undefined;
}
