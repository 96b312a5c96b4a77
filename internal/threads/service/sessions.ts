import { isoTime } from "../../base/text/iso-time.ts";
import type { Principal } from "../domain/types.ts";
import type { ServiceDeps } from "./access.ts";
import type { HeartbeatInput } from "./wire.ts";

/** The identity that the caller's token proves, and the limits that apply to it. */
export async function whoami(deps: ServiceDeps, caller: Principal) {
  const reads = deps.store.reads(caller.workspace);
  const session = await reads.session(caller.session);
  const { posts_per_minute, turns, hops } = await reads.policy();
  return {
    agent_id: caller.agent,
    role: caller.role,
    kind: caller.kind,
    workspace_id: caller.workspace,
    session_id: caller.session,
    managed: session?.managed ?? false,
    expires_at: isoTime(caller.expiresAt),
    api_version: "v1",
    limits: {
      ...{ text_bytes: 65_536, metadata_bytes: 16_384, metadata_depth: 8, participants: 64, wait_ms: 25_000 },
      ...{ posts_per_minute, turns, hops },
    },
  };
}

/**
 * Records that the caller's session is alive, and the id of its conversation. In the answer, `managed` means that a
 * runtime has confirmed the session.
 */
export async function heartbeatSession(deps: ServiceDeps, caller: Principal, input: HeartbeatInput) {
  await deps.store.seen(caller);
  if (input.agent_session_id !== undefined) await deps.store.conversation(caller, input.agent_session_id);
  const reads = deps.store.reads(caller.workspace);
  const session = await reads.session(caller.session);
  return {
    session_id: caller.session,
    managed: session?.managed ?? false,
    state: session?.state ?? "live",
    unread_total: await reads.unreadTotal(caller.agent),
    server_time: isoTime(await reads.now()),
  };
}
