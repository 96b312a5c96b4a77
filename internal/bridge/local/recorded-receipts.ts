import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import { NudgeOutcome, type NudgeReceipt, NudgeReceiptSchema } from "../../gen/gastown/v1/common_pb.ts";
import { type SidecarNudgeResponse, SidecarNudgeResponseSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { Actor } from "../session-backend.ts";

/** The most receipts to keep of a session; the newest are kept. */
const KEPT = 1000;

/** The receipts that a sidecar reported, for calls after it has ended. */
export class RecordedReceipts {
  /** Kept encoded: decoded messages take several times as much memory. */
  readonly #receipts = new Map<string, Uint8Array>();

  record(receipt: NudgeReceipt): void {
    this.#receipts.delete(receipt.requestId);
    this.#receipts.set(receipt.requestId, toBinary(NudgeReceiptSchema, receipt));
    const [oldest] = this.#receipts.keys();
    if (this.#receipts.size > KEPT && oldest !== undefined) this.#receipts.delete(oldest);
  }

  /**
   * The receipt without `delivered_text`, which no event contains.
   *
   * @throws DomainError `not-found` for an unknown id, and for another caller's receipt without the role operate
   */
  get(requestId: string, { identity, role }: Actor): SidecarNudgeResponse {
    const bytes = this.#receipts.get(requestId);
    const receipt = bytes && fromBinary(NudgeReceiptSchema, bytes);
    if (receipt === undefined || (role !== "operate" && !isFrom(receipt.sender, identity)))
      throw new DomainError("not-found", `no message with request id ${JSON.stringify(requestId.slice(0, 128))}`);
    const { outcome, error, evidence, timings } = receipt;
    const delivered = outcome === NudgeOutcome.SUBMITTED;
    return create(SidecarNudgeResponseSchema, { delivered, requestId, outcome, error, evidence, timings });
  }
}

/** The sender of a receipt is the caller, possibly followed by ` via ` and how the message arrived. */
const isFrom = (sender: string, identity: string) => sender === identity || sender.startsWith(`${identity} via `);
