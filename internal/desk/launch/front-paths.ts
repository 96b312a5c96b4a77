import { createHash } from "node:crypto";
import { join } from "node:path";

/** The longest path of a socket in the front's folder. Linux allows 107 bytes. */
const MAX_SOCKET_PATH = 100;

/** The paths in the front's folder. */
export interface FrontPaths {
  readonly folder: string;
  readonly home: string;
  readonly tmp: string;
  readonly work: string;
  readonly cache: string;
  readonly settings: string;
  readonly journal: string;
  readonly audit: string;
  readonly log: string;
  readonly publicKey: string;
  /** The path of the credentials of the customer's agent in a sandbox. */
  readonly credentials: string;
  /** A file with the name of the start that launched this front. */
  readonly started: string;
  /** A file with the `folderId` of the folder that this front has opened as `/docs`. */
  readonly root: string;
  /** A file with the address of the socket, `unix:PATH`. */
  readonly address: string;
  /** Private folder of the two sockets. */
  readonly sockets: string;
  readonly socket: string;
  /** The socket on which callers stay connected while they need the front. */
  readonly presence: string;
}

/** The front's folder in a state folder, both absolute paths. */
export function frontPlace(stateDir: string, uid: number): FrontPaths {
  const folder = join(stateDir, "front");
  const below = (name: string) => join(folder, name);
  const isLong = Buffer.byteLength(below("presence.sock")) > MAX_SOCKET_PATH;
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const sockets = isLong ? `/tmp/desk-${uid}-${name}` : folder;
  return {
    folder,
    ...{ home: below("home"), tmp: below("tmp"), work: below("work"), cache: below("cache") },
    ...{ settings: below("settings.json"), journal: below("journal.jsonl"), audit: below("audit.jsonl") },
    ...{
      log: below("log.jsonl"),
      publicKey: below("bridge.pub"),
      address: below("address"),
      started: below("started"),
      root: below("root"),
      credentials: below("credentials.env"),
    },
    ...{ sockets, socket: join(sockets, "front.sock"), presence: join(sockets, "presence.sock") },
  };
}
