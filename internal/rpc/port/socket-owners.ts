import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { endianness } from "node:os";
import type { Clock } from "../../base/clock.ts";

/** One end of a TCP connection. */
interface SocketEnd {
  readonly host: string;
  readonly port: number;
}

/** Both ends of a TCP connection, as the server's socket reports them. */
export interface SocketEnds {
  readonly server: SocketEnd;
  readonly client: SocketEnd;
}

/** Reads the kernel's tables for this process's network; undefined: no such table. */
type ReadTables = () => Promise<readonly (string | undefined)[]>;

/** How often to read the tables: one that changes while it is read may lack an existing connection. */
const TRIES = 5;
const PAUSE_MS = 5;
/** States of the kernel's `tcp_states.h` in which a connection is established or one side has sent its FIN. */
const CONNECTED: ReadonlySet<string> = new Set(["01", "04", "05", "08"]);

/**
 * Determines which user's process is at the other end of a connection within this machine, from `/proc/net/tcp` and
 * `/proc/net/tcp6`. Concurrent queries share one read of the tables.
 */
export class SocketOwners {
  readonly #clock: Clock;
  readonly #read: ReadTables;
  #reading: Promise<unknown> | undefined;
  #next: ReturnType<ReadTables> | undefined;

  constructor(clock: Clock, read: ReadTables = readSystemTables) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The uid of the client; undefined if it cannot be determined: no such table, or the client has closed. */
  async ownerOf(ends: SocketEnds): Promise<number | undefined> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await this.#clock.sleep(PAUSE_MS);
      for (const table of await this.#tables()) {
        const uid = table === undefined ? undefined : ownerIn(table, ends);
        if (uid !== undefined) return uid;
      }
    }
    return undefined;
  }

  /** The result of a read that begins later: one in progress may have passed the row of a new connection already. */
  #tables(): ReturnType<ReadTables> {
    if (this.#next !== undefined) return this.#next;
    const next = (this.#reading ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      const tables = this.#read();
      this.#reading = tables.catch(() => {});
      return tables;
    });
    this.#next = next;
    return next;
  }
}

async function readSystemTables(): Promise<readonly (string | undefined)[]> {
  const read = (path: string) => readFile(path, "latin1").catch(() => undefined);
  return Promise.all([read("/proc/net/tcp"), read("/proc/net/tcp6")]);
}

/**
 * The uid in the table's row whose local address is the client's. Skips a socket that no process holds: it has inode 0
 * and the uid of root, even if another user opened it.
 * @internal
 */
export function ownerIn(table: string, { server, client }: SocketEnds, order = endianness()): number | undefined {
  for (const form of [nativeForm, mappedForm]) {
    const [from, to] = [form(client.host, order), form(server.host, order)];
    if (from === undefined || to === undefined) continue;
    const at = table.indexOf(` ${from}:${portForm(client.port)} ${to}:${portForm(server.port)} `);
    if (at < 0) continue;
    const end = table.indexOf("\n", at);
    const [, , state = "", , , , uid = "", , inode = "0"] = table
      .slice(at, end < 0 ? undefined : end)
      .trim()
      .split(/\s+/);
    if (CONNECTED.has(state) && /^\d+$/.test(uid) && inode !== "0") return Number(uid);
  }
  return undefined;
}

type Form = (host: string, order: "BE" | "LE") => string | undefined;

/** An IPv4 address as IPv4, even if mapped; an IPv6 address as IPv6. */
const nativeForm: Form = (host, order) => {
  const v4 = ipv4Of(host);
  return hexWords(v4 ?? ipv6Bytes(host), order);
};

/** An IPv4 address as it appears at an IPv6 socket. */
const mappedForm: Form = (host, order) => {
  const v4 = ipv4Of(host);
  return v4 && hexWords([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...v4], order);
};

function ipv4Of(host: string): readonly number[] | undefined {
  const plain = host.toLowerCase().replace(/^::ffff:/, "");
  return isIPv4(plain) ? plain.split(".").map(Number) : undefined;
}

function ipv6Bytes(host: string): readonly number[] | undefined {
  const [head = "", tail] = host.split("::");
  const words = (part: string) => (part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16)));
  const [first, last] = [words(head), words(tail ?? "")];
  const gap = tail === undefined ? 0 : 8 - first.length - last.length;
  const all = [...first, ...Array<number>(Math.max(0, gap)).fill(0), ...last];
  if (all.length !== 8 || !all.every((word) => word >= 0 && word <= 0xffff)) return undefined;
  return all.flatMap((word) => [word >> 8, word & 0xff]);
}

/** In words of 32 bits, each in this machine's byte order. */
function hexWords(bytes: readonly number[] | undefined, order: "BE" | "LE"): string | undefined {
  if (bytes === undefined) return undefined;
  const words = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(4 * i, 4 * i + 4));
  const hex = (byte: number) => byte.toString(16).padStart(2, "0");
  return words
    .map((word) => (order === "LE" ? word.toReversed() : word).map(hex).join(""))
    .join("")
    .toUpperCase();
}

function portForm(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
