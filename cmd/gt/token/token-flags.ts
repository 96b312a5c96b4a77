import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { USED_PROFILE_FLAG } from "../../../internal/terminal/places/place-flags.ts";

export const TOKEN_FLAGS = {
  "jwt-key": { type: "string", value: "FILE", help: "your project's private Ed25519 key (PEM)", complete: "file" },
  "jwt-issuer": { type: "string", value: "NAME", help: "the issuer of the key, as the server knows it" },
  project: { type: "string", value: "NAME", help: "the project whose sessions the token is for" },
  audience: { type: "string", value: "NAME", help: "the audience (bridge; a sidecar: gt-sidecar)" },
  subject: { type: "string", value: "NAME", help: "the caller's name (user@host)" },
  scope: {
    type: "string",
    value: "SCOPE",
    help: "what it allows: read, nudge or operate (operate)",
    complete: ["read", "nudge", "operate"],
  },
  ttl: { type: "duration", value: "TIME", help: "how long it is valid, 5m at most (5m)" },
  cert: {
    type: "string",
    value: "FILE",
    help: "bind it to this certificate: it is not valid over others",
    complete: "file",
  },
  ...USED_PROFILE_FLAG,
} as const satisfies CommandFlags;

export type TokenFlags = typeof TOKEN_FLAGS;
