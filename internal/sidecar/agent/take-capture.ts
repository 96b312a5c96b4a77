import type { PinnedFolder } from "../../files/pinned-folder.ts";
import type { Boundary } from "./boundary.ts";

/**
 * Reads and removes what tmux says it wrote into the captures' folder. The server is the agent's, and so is that
 * folder.
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
