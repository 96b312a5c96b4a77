import type { PinnedFolder } from "../../files/pinned-folder.ts";
import type { Boundary } from "./boundary.ts";

/**
 * Reads and removes a file that tmux reports to have written into the captures' folder. The agent may control both the
 * tmux server and that folder.
 */
export function takeCapture(captures: PinnedFolder, boundary: Boundary) {
  return async (name: string, maxBytes: number): Promise<string | undefined> => {
    try {
      const text = await captures.readText(name, maxBytes);
      if (text === undefined) boundary.note("capture");
      return text;
    } finally {
      captures.remove(name);
    }
  };
}
