import { hash, type KeyObject, randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { nodeOf } from "../engine/engine.ts";
import { checkCrossing } from "./bridge-checks.ts";
import type { Crossing, CrossingOutcome, GlobalState } from "./global-state.ts";
import { type OriginClaims, originToken } from "./origin-token.ts";

/** The only field of a crossing's message. */
interface AdminInput {
  readonly admin_input: string;
}

/** The end of a crossing. */
export interface Delivery {
  readonly outcome: CrossingOutcome;
  /** Why the text was refused, or why the customer's turn failed: one of the front's reasons. */
  readonly reason?: string;
  /** The customer agent's words, untrusted. */
  readonly answer?: string;
}

export interface BridgeDeps {
  readonly clock: Clock;
  readonly key: KeyObject;
  readonly maxBytes: number;
  /** Resolves once the front can be called; throws when it cannot, before anything is recorded. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** Records "intended"; throws when it cannot. Nothing leaves before it returns. */
  readonly onIntended: (envelope: OriginClaims) => void;
  /** Called once the text's outcome is known, before the customer's answer. */
  readonly onOutcome: (envelope: OriginClaims, outcome: CrossingOutcome, reason: string | undefined) => void;
  /** Called when the text has crossed without a reply. `reason`: one of the front's reasons, or `not waited for`. */
  readonly onReplyFailed: (reason: string) => void;
  readonly deliver: Deliver;
}

/** Sends one message; calls `onOutcome` as soon as the outcome is known, before the customer's answer. */
export type Deliver = (
  message: AdminInput,
  token: string,
  envelope: OriginClaims,
  hooks: { readonly signal: AbortSignal; readonly onOutcome: (outcome: CrossingOutcome, reason?: string) => void },
) => Promise<Delivery>;

/**
 * The node between the halves. It accepts only turns over the supervisor's edge and passes one field on, as typed. The
 * message is built from that field alone, not by removing fields from the state.
 */
export function bridgeNode(deps: BridgeDeps, to: string) {
  return nodeOf<GlobalState>()({
    name: "bridge",
    reads: ["admin_input", "intent"],
    writes: ["crossing", "reply"],
    async run({ admin_input, intent }, step) {
      checkCrossing({ admin_input, intent, step, maxBytes: deps.maxBytes });
      await deps.ready(step.signal);
      step.signal.throwIfAborted();
      const envelope = {
        ...{ id: randomUUID(), thread: to },
        ...{ bytes: Buffer.byteLength(admin_input), sha256: hash("sha256", admin_input, "hex") },
      };
      deps.onIntended(envelope);
      const token = originToken(deps.key, envelope, deps.clock.now());
      const { outcome, answer, reason } = await deps.deliver({ admin_input }, token, envelope, {
        signal: step.signal,
        onOutcome: (outcome, reason) => deps.onOutcome(envelope, outcome, reason),
      });
      // The customer's turn continues even if the administrator's turn is cut.
      const isCut = step.signal.aborted && answer === undefined;
      if (outcome === "SUBMITTED" && reason !== undefined) deps.onReplyFailed(isCut ? "not waited for" : reason);
      const crossing: Crossing = { ...envelope, outcome };
      return { crossing, reply: answer ?? null };
    },
  });
}
