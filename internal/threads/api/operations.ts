import * as admin from "../service/administer.ts";
import { anyObjectField, enumField, type Fields, integerField, stringField } from "./fields.ts";
import { agent, id, TOOLS, type Tool } from "./tools.ts";

const name = stringField({ min: 1, max: 128 });
const limit = integerField(1, 500);
const state = enumField(["open", "acknowledged", "resolved"]);
const YEAR_MS = 366 * 86_400_000;

/** Creates an operation for people and programs: an RPC that is not a tool of agents. */
function operation(called: string, fields: Fields, required: readonly string[], run: Tool["run"]): Tool {
  return { name: called, description: "", fields, required, output: {}, readOnly: false, idempotent: false, run };
}

/** All operations of ThreadsService. */
export const OPERATIONS: readonly Tool[] = [
  ...TOOLS,
  operation("list_sessions", {}, [], admin.listSessions),
  operation("list_wakes", { agent_id: agent, thread_id: id, limit }, [], admin.listWakes),
  operation("cancel_wake", { wake_id: id }, ["wake_id"], admin.cancelWake),
  operation("pause", { agent_id: agent, thread_id: id, for_ms: integerField(1, YEAR_MS) }, [], admin.pause),
  operation("resume", { agent_id: agent, thread_id: id }, [], admin.resume),
  operation("list_escalations", { state, limit }, [], admin.listEscalations),
  operation("acknowledge_escalation", { escalation_id: id }, ["escalation_id"], admin.acknowledgeEscalation),
  operation(
    "resolve_escalation",
    { escalation_id: id, reason: stringField({ max: 1000 }) },
    ["escalation_id"],
    admin.resolveEscalation,
  ),
  operation("list_audit", { after_seq: integerField(0, Number.MAX_SAFE_INTEGER), limit }, [], admin.listAudit),
  operation("verify_audit", {}, [], admin.verifyAudit),
  operation("revoke_token", { jti: name, session_id: name }, [], admin.revokeToken),
  operation("get_policy", {}, [], admin.getPolicy),
  operation("set_policy", { policy: anyObjectField(16_384, 8) }, ["policy"], admin.setPolicy),
];
