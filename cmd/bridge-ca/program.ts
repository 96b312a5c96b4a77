import type { Program } from "../../internal/cli/command/command.ts";
import type { FileOps } from "../../internal/files/file-ops.ts";
import { STEPS } from "./steps.ts";

const PASSPHRASE = `bridge-ca asks for the passphrase of the CA's key, or takes it from --passphrase-file, --passphrase-fd or
BRIDGE_CA_PASSPHRASE.`;

const EXIT_CODES = `Exit codes: 0 done; 2 wrong usage, or a file with the wrong content; 3 a file is missing, already exists, or
cannot be read or written; 4 refused or not trusted; 5 the CA's key cannot be used: wrong passphrase, or readable by others;
6 another process is writing to the folder, try again; 1 a bug.`;

/** The program `bridge-ca`; it changes files through `ops`. */
export const bridgeCa = (ops: FileOps): Program => ({
  name: "bridge-ca",
  help: {
    summary: "manage a project's certificate authority",
    text: "bridge-ca manages a project's certificate authority and its certificates, trust bundles and token keys.",
    notes: [PASSPHRASE, STEPS, EXIT_CODES].join("\n\n"),
    examples: ["bridge-ca help issue"],
  },
  commands: {
    init: async () => (await import("./commands/init.ts")).init(ops),
    issue: async () => (await import("./commands/issue.ts")).issue(ops),
    "cross-sign": async () => (await import("./commands/cross-sign.ts")).crossSign(ops),
    bundle: async () => (await import("./commands/bundle.ts")).bundle(ops),
    "jwt-keygen": async () => (await import("./commands/jwt-keygen.ts")).jwtKeygen(ops),
    renew: async () => (await import("./commands/renew.ts")).renew(ops),
    verify: async () => (await import("./commands/verify.ts")).verify(ops),
    revoke: async () => (await import("./commands/revoke.ts")).revoke(ops),
    crl: async () => (await import("./commands/crl.ts")).crl(ops),
    inspect: async () => (await import("./commands/inspect.ts")).inspect,
  },
});
