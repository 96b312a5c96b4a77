import { takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { needed } from "./readings.ts";
import type { JwtKeygenOptions } from "./run-jwt-keygen.ts";

const FLAGS = {
  out: { type: "string", value: "PREFIX", help: "PREFIX.key and PREFIX.pub", complete: "file" },
} as const satisfies CommandFlags;

/** `bridge-ca jwt-keygen`: creates an Ed25519 key pair for tokens. */
export const jwtKeygen = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "jwt-keygen",
  flags: FLAGS,
  help: {
    usage: "--out PREFIX",
    summary: "create an Ed25519 key pair for tokens",
    text: "Creates an Ed25519 key pair for tokens: PREFIX.key signs them, PREFIX.pub verifies them.",
    examples: ["bridge-ca jwt-keygen --out certs/jwt-signing"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-jwt-keygen.ts")).runJwtKeygen({ ...context, ops }, read(given)),
});

function read({ values, positionals, rest = [] }: Given<typeof FLAGS>): JwtKeygenOptions {
  takeArguments("bridge-ca jwt-keygen", [...positionals, ...rest], []);
  return {
    out: needed("jwt-keygen", "--out", values.out),
  };
}
