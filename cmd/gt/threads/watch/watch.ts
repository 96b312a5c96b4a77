import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES, THREADS_FLAGS } from "../common/threads-flags.ts";

/** `gt threads watch`: a live screen of who waits for whom and why. */
export const watch: Command<typeof THREADS_FLAGS> = {
  name: "watch",
  flags: THREADS_FLAGS,
  help: {
    usage: "",
    summary: "a live screen: who waits for whom, and why",
    text: `Shows who waits for whom and why, the threads, and the messages of the one that is chosen, as they change. On a terminal
keys act on the chosen thread: arrows (or j, k) choose, n goes to the next that waits, p posts (@AGENT first: to one), o sets its status for a reason,
w wakes those for whom it waits, z pauses its wakes or lets them go on, a acknowledges its escalations, q leaves. Elsewhere
a line is printed for each thing that happens; with --json each update of the server.`,
    notes: THREADS_CODES,
    examples: ["gt threads watch", "gt threads watch --json | jq -r 'select(.message).message.text'"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-watch.ts")).runThreadsWatch(given, context),
};
