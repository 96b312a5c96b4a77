import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { signClaims, signingKeyOf } from "../../auth/mint-token.ts";
import { codeOf, DomainError } from "../../base/errors.ts";
import { makeStateFolders, unusableStateDir } from "../../files/make-folders.ts";
import { isMissing, readNamedFileSync } from "../../files/named-file.ts";

/** The names of the local issuers: one key signs for people, one for agents. */
export const LOCAL_ISSUERS = { person: "local-people", agent: "local-agents" } as const;
export const AUDIENCE = "threads";

export const PERSON_TTL_MS = 5 * 60_000;
export const AGENT_TTL_MS = 3_600_000;

export interface LocalToken {
  readonly kind: "person" | "agent";
  readonly workspace: string;
  readonly agent: string;
  readonly role: string;
  readonly session: string;
  readonly ttlMs: number;
}

/**
 * The default state folder of `threads`. For a private database of root it is a folder that PostgreSQL's user can
 * reach.
 */
export function defaultStateDir(env: Readonly<Record<string, string | undefined>>, ownsDatabase: boolean): string {
  if (ownsDatabase && process.getuid?.() === 0) return "/var/lib/gastown-threads";
  const state = env["XDG_STATE_HOME"];
  const base = state?.startsWith("/") ? state : join(env["HOME"] || homedir(), ".local/state");
  return join(base, "gastown-threads");
}

/** The file with the public key of an issuer. */
export function publicKeyPath(stateDir: string, kind: LocalToken["kind"]): string {
  return join(stateDir, "keys", `${kind}.pub`);
}

/**
 * Creates the local keys that are missing. Processes that do this at the same time agree on one pair for each issuer.
 * @throws DomainError `denied` when the keys cannot be created or read
 */
export function makeLocalKeys(stateDir: string): void {
  const folder = join(stateDir, "keys");
  makeStateFolders(folder);
  try {
    makeKeyFiles(folder);
  } catch (cause) {
    if (codeOf(cause) === "") throw cause; // not an error of the system
    throw unusableStateDir(`cannot make the local keys in ${folder}`, cause, "file");
  }
}

function makeKeyFiles(folder: string): void {
  for (const kind of ["person", "agent"] as const) {
    const file = join(folder, `${kind}.key`);
    if (!existsSync(file)) {
      const { privateKey } = generateKeyPairSync("ed25519");
      const part = join(folder, `.${kind}.${randomUUID()}`);
      writeFileSync(part, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
      try {
        linkSync(part, file);
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err;
      } finally {
        rmSync(part, { force: true });
      }
    }
    writePublic(folder, kind);
  }
}

/**
 * Signs a token with a local key.
 * @throws DomainError `not-found` without a local key that can be read: `threads` has never run with this state folder,
 * or runs as another user
 */
export function mintLocal(stateDir: string, token: LocalToken, now: number): string {
  const path = join(stateDir, "keys", `${token.kind}.key`);
  let pem: string;
  try {
    pem = readNamedFileSync(path, "not-found");
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new DomainError("not-found", `there is no local key ${path}`, {
      fields: { hint: "start threads serve once, or give the --state-dir that it has" },
      cause,
    });
  }
  return mintFor(signingKeyOf(pem, path), LOCAL_ISSUERS[token.kind], token, now);
}

/** Signs a token for `threads`. `now`: wall clock, ms. */
export function mintFor(key: KeyObject, issuer: string, token: Omit<LocalToken, "kind">, now: number): string {
  const iat = Math.floor(now / 1000);
  return signClaims(key, {
    ...{ iss: issuer, sub: token.agent, aud: AUDIENCE, workspace_id: token.workspace },
    ...{ agent_id: token.agent, role: token.role, session_id: token.session, jti: randomUUID() },
    ...{ iat, exp: iat + Math.floor(token.ttlMs / 1000) },
  });
}

function writePublic(folder: string, kind: LocalToken["kind"]): void {
  const file = join(folder, `${kind}.pub`);
  const key = signingKeyOf(readFileSync(join(folder, `${kind}.key`), "utf8"), kind);
  const text = publicPem(key);
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  writeFileSync(file, text, { mode: 0o644 });
}

function publicPem(key: ReturnType<typeof signingKeyOf>): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}
