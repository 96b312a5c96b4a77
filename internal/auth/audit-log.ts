import type { Clock } from "../base/clock.ts";
import type { DomainError } from "../base/errors.ts";
import { inertJson } from "../base/quoted-text.ts";
import { callerKey } from "../rpc/port/caller.ts";
import type { ConnectionDecision } from "../rpc/port/connection-decision.ts";
import { peerKey } from "../rpc/port/peer.ts";
import { type CallContext, correlationKey } from "../rpc/server/call-facts.ts";
import type { Decisions } from "../rpc/server/decisions.ts";
import { tokenKey } from "./token-gate.ts";

/** The longest id of a session. */
const MAX_NAME = 128;

/** The subject of a decision, beyond the call itself. */
export interface AuditSubject {
  readonly project?: string | undefined;
  readonly session?: string | undefined;
  /** The caller is this agent of that session. */
  readonly agent?: { readonly id: string; readonly role: string };
}

/**
 * Writes one JSON line for each authorization decision. A line names the caller, the call, the outcome, the reason and
 * the correlation id that a refused caller receives; never a token, a text or any other part of a request's body.
 */
export class AuditLog implements Decisions {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;

  /** `write` receives a whole line with its line feed, and must not block. */
  constructor(deps: { readonly clock: Clock; readonly write: (line: string) => void }) {
    this.#clock = deps.clock;
    this.#write = deps.write;
  }

  call(context: CallContext, refusal: DomainError | undefined): void {
    this.#record("call", factsOf(context), refusal);
  }

  ended(context: CallContext, why: DomainError): void {
    this.#line({ event: "call", outcome: "ended", ...factsOf(context), code: why.kind, reason: why.message });
  }

  connection({ address, identity, serial, reason }: ConnectionDecision): void {
    this.#line({ event: "connection", outcome: "refused", address, identity, serial, reason });
  }

  /** Records a decision that needs the request, e.g. about the session that it names. */
  policy(context: CallContext, about: AuditSubject, refusal: DomainError | undefined): void {
    const { project, session, agent } = about;
    const names = { session: cut(session), session_project: cut(project), agent: agent?.id, agent_role: agent?.role };
    this.#record("policy", { ...factsOf(context), ...names }, refusal);
  }

  #record(event: string, facts: object, refusal: DomainError | undefined): void {
    const outcome = refusal === undefined ? "allowed" : "refused";
    this.#line({ event, outcome, ...facts, code: refusal?.kind, reason: refusal?.message });
  }

  #line(fields: object): void {
    const line = { time: new Date(this.#clock.now()).toISOString(), audit: true, ...fields };
    this.#write(`${inertJson(JSON.stringify(line))}\n`);
  }
}

/** Cuts a name from a request, which may be as long as the request allows. */
function cut(name: string | undefined): string | undefined {
  return name === undefined || name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`;
}

function factsOf({ values, service, method }: CallContext) {
  const peer = values.get(peerKey);
  const claims = values.get(tokenKey)?.claims;
  return {
    correlation_id: values.get(correlationKey),
    call: `${service.typeName}/${method.name}`,
    address: peer.address,
    identity: values.get(callerKey).identity || undefined,
    serial: peer.type === "certificate" ? peer.serial : undefined,
    issuer: claims?.issuer,
    subject: claims?.subject,
    project: claims?.project,
    ...(claims?.names ?? { scope: claims?.role }),
  };
}
