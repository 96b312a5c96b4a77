import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { readPlainFile } from "../../files/plain-file.ts";
import type { TmuxPaneOptions } from "../pane/pane.ts";

/** A private folder (0700) for captures of a pane, which only its user can reach; its files are read by their paths. */
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
