import { tmpdir } from "node:os";
import { makeTemporaryFolder, parentOfSockets } from "../../../internal/files/temporary-folder.ts";
import { LONGEST_SOCKET } from "../../../internal/providers/terminal/terminal-folder.ts";

/** The bridge's folder of sessions, below the tour's. */
const SESSIONS = "state/t";

/**
 * Makes the tour's folder, among the temporary files or in /tmp if `usual` is too long for the sockets of sessions: the
 * bridge would put them elsewhere, where a folder would stay.
 * @throws as `makeTemporaryFolder`
 */
export function makeTourFolder(usual = tmpdir()): Promise<string> {
  return makeTemporaryFolder("gt-bridge-", parentOfSockets(`gt-bridge-XXXXXX/${SESSIONS}/${LONGEST_SOCKET}`, usual));
}
