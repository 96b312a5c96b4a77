import type { CommandFlags } from "../../../../internal/cli/command/command.ts";

/** What every command of `gt threads` takes. */
export const THREADS_FLAGS = {
  threads: { type: "string", env: "GT_THREADS", value: "URL", help: "the server; default: the one of this machine" },
  json: { type: "boolean", help: "print JSON" },
} as const satisfies CommandFlags;

export const THREADS_CODES = `Exit codes: 0 done, 2 usage, 3 no such thread, agent or wake, 4 unreachable or not trusted, 5 accepted and not
yet there, 6 refused, 7 a wake without proof.`;
