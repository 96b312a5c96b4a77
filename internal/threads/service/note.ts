import type { Tx } from "../domain/store.ts";
import type { Metadata, Principal } from "../domain/types.ts";

/** Appends an action of the caller to the audit trail, as part of the transaction. */
export function note(tx: Tx, caller: Principal, action: string, detail: Metadata, threadId?: string): Promise<void> {
  const { agent: actor, session: actorSession, correlationId } = caller;
  return tx.audit({ actor, actorSession, action, correlationId, detail, threadId });
}
