import { closeSync, constants, readSync, statSync } from "node:fs";
import { glob, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../../internal/base/environment.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { asText, objectAt, parseObject } from "../../internal/base/json-fields.ts";
import { openChecked } from "../../internal/files/open-below.ts";
import { isOpenSomewhere } from "../../internal/process/open-files.ts";

/** A conversation of Codex that no process has open. */
export interface FreeConversation {
  readonly id: string;
  /** Its file. */
  readonly path: string;
  /** The folder of all conversations. */
  readonly sessions: string;
  /** The folder in which Codex works for this conversation. */
  readonly cwd: string;
}

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The first line holds Codex's own instructions, some 30 KB. */
const FIRST_LINE_BYTES = 256 * 1024;

/**
 * Finds a conversation by its id among those of this user. Undefined: there is none, its file is a link, another user's
 * or not Codex's, its folder is missing, or it may be open. Codex also keeps a lock file open that is named after the
 * id; its terminal opens the conversation's file only for the first message.
 */
export async function findFree(id: string, env: Environment): Promise<FreeConversation | undefined> {
  if (!ID.test(id)) return undefined;
  const { CODEX_HOME, HOME } = env;
  try {
    const sessions = await realpath(join(CODEX_HOME || join(HOME || homedir(), ".codex"), "sessions"));
    const names = await Array.fromAsync(glob(`*/*/*/rollout-*-${id}.jsonl`, { cwd: sessions }));
    const path = join(sessions, names[0] ?? "");
    if (names.length !== 1 || (await realpath(path)) !== path || isOpenSomewhere(id) !== false) return undefined;
    const { id: own, cwd } = objectAt(parseObject(firstLine(path)), "payload");
    const folder = asText(cwd);
    return own === id && isAbsolute(folder) && statSync(folder).isDirectory()
      ? { id, path, sessions, cwd: folder }
      : undefined;
  } catch (err) {
    if (err instanceof DomainError || (err as NodeJS.ErrnoException).code !== undefined) return undefined;
    throw err;
  }
}

/** The first line of a file of this user, cut after 256 KiB. */
function firstLine(path: string): string {
  const fd = openChecked(path, "file", constants.O_RDONLY, (uid) => uid === process.getuid?.());
  try {
    const data = Buffer.alloc(FIRST_LINE_BYTES);
    const [line = ""] = data.toString("utf8", 0, readSync(fd, data, 0, data.length, 0)).split("\n", 1);
    return line;
  } finally {
    closeSync(fd);
  }
}
