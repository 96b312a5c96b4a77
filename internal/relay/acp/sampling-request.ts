import { type ExactJson, writeJson } from "./json-text.ts";
import type { ChatMessage } from "./user-message.ts";

/** The parameters of a role's sampling requests. */
export interface SamplingSettings {
  readonly model: string;
  readonly maxTokens: number;
  readonly system: string;
  readonly tools: readonly ExactJson[] | undefined;
}

/** The settings of a role that the configuration does not name. */
export function defaultSampling(role: string): SamplingSettings {
  return { model: "claude-sonnet-4", maxTokens: 4096, system: `You are a ${role} agent.`, tools: undefined };
}

/** Writes the JSON-RPC request of a turn in the seed's dialect. `id` stays a string. */
export function seedRequest(id: string, messages: readonly ChatMessage[], settings: SamplingSettings): string {
  const { model, maxTokens, system, tools } = settings;
  const params = { messages, model, max_tokens: maxTokens, system, tools };
  return writeJson({ jsonrpc: "2.0", id, method: "sampling/createMessage", params });
}
