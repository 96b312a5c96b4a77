import { DomainError } from "../../base/errors.ts";
import { type Graph, nodeOf } from "../engine/engine.ts";
import type { FileTool } from "../tools/file-tool.ts";
import type { HalfAgent } from "../tools/half-agent.ts";
import { type UnsafeState, unsafeChannels } from "./unsafe-state.ts";

/** The customer's graph for one turn: one node, which answers a user or takes a briefing, with `read_file`. */
export function customerGraph(agent: HalfAgent, thread: string, files: FileTool): Graph<UnsafeState> {
  const customer = nodeOf<UnsafeState>()({
    name: "customer",
    reads: ["admin_input", "user_input", "history"],
    writes: ["answer"],
    async run({ admin_input, user_input, history }, { signal }) {
      const input = admin_input ?? user_input;
      if (input === null || (admin_input !== null && user_input !== null))
        throw new DomainError("precondition", "a turn has exactly one input");
      const isBriefing = admin_input !== null;
      return { answer: await agent.answer({ thread, input, isBriefing, history, files, signal }) };
    },
  });
  return { channels: unsafeChannels, first: customer };
}
