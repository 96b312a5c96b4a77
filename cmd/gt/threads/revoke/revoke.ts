import type { Command } from "../../../../internal/cli/command/command.ts";
import { THREADS_CODES } from "../common/threads-flags.ts";
import { REVOKE_FLAGS } from "./revoke-flags.ts";

/** `gt threads revoke`: revokes a token, or the tokens of a session. */
export const revoke: Command<typeof REVOKE_FLAGS> = {
  name: "revoke",
  flags: REVOKE_FLAGS,
  help: {
    usage: "[jti]",
    summary: "revoke a token, or the tokens of a session",
    text: `The server refuses the token with this jti, or all tokens of a session, from now on. Calls and streams that they
admitted end within 5 seconds. For operators.`,
    notes: THREADS_CODES,
    examples: ["gt threads revoke 0b5c9b0e-5b52-4d0e-a5ad-6fd2a8f1f0a7", "gt threads revoke --session s-nux"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-revoke.ts")).runRevoke(given, context),
};
