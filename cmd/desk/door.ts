import { DomainError } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { isLoopbackHost } from "../../internal/base/loopback.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { hostPort } from "../../internal/base/text/host-name.ts";
import { takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Command } from "../../internal/cli/command/command.ts";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { pathPattern } from "../../internal/files/path-patterns.ts";
import { parseAddress } from "../../internal/rpc/port/parse-address.ts";

const flags = {
  root: { type: "string", value: "/NAME=DIR", help: "the prefix of paths, and the folder that it stands for" },
  listen: {
    type: "string",
    value: "ADDRESS",
    help: "a loopback address, such as 127.0.0.1:7070; port 0 is any free one",
  },
  "token-file": {
    type: "string",
    value: "FILE",
    complete: "file",
    help: "the bearer token of callers, at least 32 characters",
  },
} as const;

const MAX_FILE_BYTES = 262_144;
const MIN_TOKEN = 32;

export const door: Command<typeof flags> = {
  name: "door",
  flags,
  help: {
    usage: "--root /docs=DIR --listen HOST:PORT …",
    summary: "serve read_file of one folder as an MCP server",
    text: "Serves the tool read_file, and nothing else, over the Model Context Protocol (HTTP, at /mcp) on loopback, for any client that has the token.",
    examples: ["desk door --root /docs=./docs --listen 127.0.0.1:7070 --token-file door.token"],
  },
  completion: [],
  async run({ values, positionals }, { out, clock, signal }) {
    takeArguments("desk door", positionals, []);
    const [, prefix = "", folder = ""] = /^(\/[A-Za-z0-9._-]+)=(.+)$/.exec(values.root ?? "") ?? [];
    if (folder === "") throw usage("--root is a prefix and a folder, such as /docs=./docs");
    const listen = parseAddress(values.listen ?? "");
    if (listen === undefined || !isLoopbackHost(listen.host))
      throw usage("--listen is a loopback address with a port, such as 127.0.0.1:7070");
    const token = tokenIn(values["token-file"]);
    using files = new AllowedFiles(folder, prefix);
    const allowed = { patterns: [pathPattern(`${prefix}/**`)], maxBytes: MAX_FILE_BYTES };
    const { Door } = await import("../../internal/desk/tools/door.ts");
    const served = new Door({ clock, logger: createLogger("desk", "warn") }, { ...listen, prefix });
    using _admitted = served.admit(token, { read: (path) => files.read(path, allowed) });
    const running = served.run(signal);
    running.catch(() => {});
    const { host: bound, port: boundPort } = await served.listening;
    out.line(printable`serving http://${hostPort(bound, boundPort)}/mcp`);
    await running;
    return 0;
  },
};

function tokenIn(path: string | undefined): string {
  if (path === undefined) throw usage("which --token-file?");
  const token = readNamedFileSync(path).trim();
  if (token.length >= MIN_TOKEN && /^[\x21-\x7e]+$/.test(token)) return token;
  throw usage(`${path} has no token of at least ${MIN_TOKEN} characters`);
}

function usage(message: string): DomainError {
  return new DomainError("invalid", message, { fields: { hint: "see desk door --help" } });
}
