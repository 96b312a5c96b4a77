import type { Command } from "../../../internal/cli/command/command.ts";
import { TOKEN_FLAGS, type TokenFlags } from "./token-flags.ts";

/** `gt token`: prints a token for scripts and curl. */
export const token: Command<TokenFlags> = {
  name: "token",
  flags: TOKEN_FLAGS,
  help: {
    usage: "[--jwt-key FILE --jwt-issuer NAME --project NAME]",
    summary: "print a token for scripts and curl",
    text: `Prints a token that a bridge or a sidecar accepts in "authorization: Bearer", and nothing else. It is valid only over a
certificate of its issuer, and for 5 minutes at most. Key, issuer and project that are not given are those of your
profile (gt config). Other commands make their own tokens in the same way, or send what GT_TOKEN holds.`,
    examples: [
      "gt token --jwt-key shop.key --jwt-issuer shop --project shop",
      "gt token --project shop --scope read --ttl 1m --cert tls.crt",
      'curl --cert tls.crt --key tls.key -H "authorization: Bearer $(gt token)" ...',
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./run-token.ts")).runToken(given, context),
};
