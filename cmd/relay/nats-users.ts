import { existsSync, writeFileSync } from "node:fs";
import { createUser, fromSeed } from "@nats-io/nkeys";
import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { Output } from "../../internal/cli/output.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { systemReason } from "../../internal/files/system-reason.ts";
import { type NatsPermissions, relayPermissions, sessionPermissions } from "../../internal/relay/nats/permissions.ts";
import { streamNames } from "../../internal/relay/nats/stream-specs.ts";
import type { NatsUserCommand, ServerConfigCommand } from "./nats-config.ts";

/** Prints an initial configuration of nats-server, with the relay as its only user. */
export function printServerConfig(
  { nkeyFile, streamPrefix, agentsProtocol }: ServerConfigCommand,
  out: Output,
): number {
  const permissions = relayPermissions(streamNames(streamPrefix), agentsProtocol);
  const relay = { nkey: nkeyFile, inbox_prefix: permissions.inboxPrefix };
  const lines = [
    "# nats-server -c nats.conf",
    `# In relay.yaml: nats: ${JSON.stringify(relay)}`,
    ...(agentsProtocol ? ["# and: agents_protocol: true"] : []),
    'listen: "127.0.0.1:4222"',
    "# Against loss of power, from 2.10 on: sync_interval: always",
    'jetstream: { store_dir: "jetstream" }',
    "authorization: {",
    "  users: [",
    "    # The relay. Below it the users of sessions, as relay nats user prints them.",
    ...userEntry(publicKeyOf(nkeyFile), permissions),
    "  ]",
    "}",
  ];
  for (const line of lines) out.line(printable`${line}`);
  return 0;
}

/** Prints a session's user, as an entry of `users` in the server's configuration. */
export function natsUser({ nkeyFile, streamPrefix, sessionId, can }: NatsUserCommand, out: Output): number {
  const permissions = sessionPermissions(streamNames(streamPrefix), sessionId, can);
  const about = `# The session ${sessionId}: ${can.join(", ")}. Its inboxes begin with ${permissions.inboxPrefix}`;
  for (const line of [`    ${about}`, ...userEntry(publicKeyOf(nkeyFile), permissions)]) out.line(printable`${line}`);
  return 0;
}

function userEntry(nkey: string, { publish, subscribe, answers }: NatsPermissions): readonly string[] {
  const list = (what: string, allow: readonly string[]) => {
    // An empty list would allow everything.
    const rule = allow.length === 0 ? { deny: [">"] } : { allow };
    return `        ${what}: ${JSON.stringify(rule)}`;
  };
  return [
    `    { nkey: ${JSON.stringify(nkey)}, permissions: {`,
    list("publish", publish),
    list("subscribe", subscribe),
    ...(answers ? [`        allow_responses: { max: ${answers.max}, expires: "${answers.expires}" }`] : []),
    "    } }",
  ];
}

/**
 * The public nkey of a seed file. Creates the file with a new seed, mode 0600, if it does not exist.
 * @throws DomainError `invalid`, naming the file
 */
function publicKeyOf(path: string): string {
  if (!existsSync(path)) writeSeed(path);
  const seed = readNamedFileSync(path).trim();
  try {
    const key = fromSeed(new TextEncoder().encode(seed)).getPublicKey();
    if (key.startsWith("U")) return key;
  } catch {
    // The error below does not quote the file.
  }
  throw new DomainError("invalid", `${path} holds no seed of a user's nkey`);
}

function writeSeed(path: string): void {
  const seed = new TextDecoder().decode(createUser().getSeed());
  try {
    writeFileSync(path, `${seed}\n`, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw new DomainError("invalid", `cannot write ${path}: ${systemReason(cause, "folder")}`, { cause });
  }
}
