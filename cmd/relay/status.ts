import { printable } from "../../internal/base/printable-text.ts";
import type { ConnectionFacts } from "../../internal/relay/lanes/registry.ts";
import { subjects } from "../../internal/relay/nats/subjects.ts";
import type { StatusCommand } from "./config.ts";
import { type Printing, withBus } from "./open-bus.ts";

interface ReplicaStatus {
  readonly relay_id: string;
  readonly instance: string;
  readonly turns_open: number;
  readonly connections: readonly ConnectionFacts[];
}

/** The time during which relays' answers are collected. */
const WAIT_MS = 1000;

/** Prints the connections of every relay. */
export function status({ nats, json }: StatusCommand, printing: Printing): Promise<number> {
  const { out } = printing;
  return withBus(nats, printing, async (bus) => {
    const replicas: ReplicaStatus[] = [];
    const answers = await bus.nc.requestMany(subjects.status, "", { strategy: "timer", maxWait: WAIT_MS });
    try {
      for await (const answer of answers) replicas.push(answer.json<ReplicaStatus>());
    } catch {
      // No relay is listening.
    }
    if (json) {
      out.line(printable`${JSON.stringify({ relays: replicas })}`);
      return 0;
    }
    if (replicas.length === 0) out.line(printable`no relay answers`);
    for (const { relay_id, instance, turns_open, connections } of replicas) {
      out.line(printable`${relay_id} ${instance}: ${connections.length} connections, ${turns_open} turns open`);
      for (const { session_id, role, agent_id, dialect, connected_at, alive } of connections) {
        const state = alive ? "alive" : "closing";
        out.line(printable`  ${session_id}:${role}  ${agent_id}  ${dialect}  ${state}  since ${connected_at}`);
      }
    }
    return 0;
  });
}
