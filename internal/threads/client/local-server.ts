import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemProcesses } from "../../process/process-alive.ts";
import { defaultStateDir } from "./local-issuer.ts";

/** A `threads` that runs on this machine. */
export interface LocalServer {
  readonly url: string;
  readonly pid: number;
  readonly workspace: string;
  /** If the server uses TLS: the file with the CA of its certificate. */
  readonly ca?: string | undefined;
}

const FILE = "server.json";

/** Announces a server in its state folder until it is disposed of. */
export function announceServer(stateDir: string, server: LocalServer): Disposable {
  const file = join(stateDir, FILE);
  const identity = systemProcesses.identity(server.pid);
  const text = `${JSON.stringify({ ...server, identity })}\n`;
  writeFileSync(file, text, { mode: 0o600 });
  return {
    [Symbol.dispose]: () => {
      if (readText(file) === text) rmSync(file, { force: true });
    },
  };
}

/** The server that runs with this state folder; undefined if none does. */
export function localServer(stateDir: string): LocalServer | undefined {
  const text = readText(join(stateDir, FILE));
  if (text === undefined) return undefined;
  try {
    const { url, pid, workspace, ca, identity } = JSON.parse(text) as LocalServer & { readonly identity?: string };
    if (typeof url !== "string" || typeof pid !== "number" || typeof workspace !== "string") return undefined;
    if (!systemProcesses.exists(pid)) return undefined;
    const now = systemProcesses.identity(pid);
    return identity === undefined || now === undefined || now === identity
      ? { url, pid, workspace, ca: typeof ca === "string" ? ca : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The state folders that a server of this user may have, most likely first. */
export function stateDirs(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const given = env["GT_THREADS_STATE_DIR"];
  if (given !== undefined && given !== "") return [given];
  return [...new Set([defaultStateDir(env, true), defaultStateDir(env, false)])];
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
