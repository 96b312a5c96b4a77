import { SENDER_HEADER, SENDER_ROLE_HEADER } from "../rpc/port/caller.ts";
import type { Caller } from "./session-backend.ts";

/** What tells a sidecar that believes us on whose behalf a call is made, and that it may do no more than that caller. */
export function senderHeaders({ identity, role }: Pick<Caller, "identity"> & Partial<Caller>): Record<string, string> {
  return { [SENDER_HEADER]: identity, ...(role && { [SENDER_ROLE_HEADER]: role }) };
}
