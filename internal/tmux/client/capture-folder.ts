import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { readPlainFile } from "../../files/plain-file.ts";
import type { TmuxPaneOptions } from "../pane/pane.ts";

/** Uses a private folder (0700), which only its owner can reach, for captures of a pane. */
export function captureFolder(dir: string): TmuxPaneOptions {
  const take = async (name: string, maxBytes: number) => {
    const path = join(dir, name);
    try {
      return await readPlainFile(path, maxBytes);
    } finally {
      await unlink(path).catch(() => {});
    }
  };
  return { dir, take };
}
