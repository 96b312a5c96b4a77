import type { CommandFlags } from "../../../../internal/cli/command/command.ts";
import { USED_PROFILE_FLAG } from "../../../../internal/terminal/places/place-flags.ts";

/** Flags of every command of `gt threads`. */
export const THREADS_FLAGS = {
  threads: {
    type: "string",
    env: "GT_THREADS",
    value: "URL",
    help: "the server; default: the profile's, or that of this machine",
  },
  ca: {
    ...{ type: "string", env: "GT_THREADS_CA", value: "FILE", complete: "file" },
    help: "the file with the CA of its certificate; default: that of this machine's server, else the system's",
  },
  cert: {
    ...{ type: "string", env: "GT_THREADS_CERT", value: "FILE", complete: "file" },
    help: "a certificate of your own, to which a token may be bound",
  },
  key: { type: "string", env: "GT_THREADS_KEY", value: "FILE", help: "its key", complete: "file" },
  ...USED_PROFILE_FLAG,
  json: { type: "boolean", help: "print JSON" },
} as const satisfies CommandFlags;

export const THREADS_CODES = `Exit codes: 0 done, 2 usage, 3 no such thread, agent or wake, 4 unreachable or not trusted, 5 accepted and not
yet there, 6 refused, 7 a wake without proof.`;
