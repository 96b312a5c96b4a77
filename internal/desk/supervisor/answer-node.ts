import { hash } from "node:crypto";
import { nodeOf } from "../engine/engine.ts";
import type { FileTool } from "../tools/file-tool.ts";
import type { HalfAgent } from "../tools/half-agent.ts";
import type { GlobalState } from "./global-state.ts";

/** Gives one turn access to the administrator's files. `onText` gets each text that is read. */
export type OpenFiles = (onText: (path: string, text: string) => void) => FileTool;

/** The node that answers the administrator, with `read_file` on `/admin/**`. It cannot reach the bridge. */
export function answerNode(agent: HalfAgent, thread: string, openFiles: OpenFiles) {
  return nodeOf<GlobalState>()({
    name: "answer",
    reads: ["admin_input", "intent", "history"],
    writes: ["answer", "files_read"],
    async run({ admin_input, history }, { signal }) {
      const read: { path: string; bytes: number; sha256: string }[] = [];
      const files = openFiles((path, text) => {
        read.push({ path, bytes: Buffer.byteLength(text), sha256: hash("sha256", text, "hex") });
      });
      const answer = await agent.answer({ thread, input: admin_input, isBriefing: false, history, files, signal });
      return { answer, files_read: read };
    },
  });
}
