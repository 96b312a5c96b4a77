import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";

/** What one flooding process does: keeps a number of connections open, and opens another for each that is cut. */
export interface FloodOrder {
  /**
   * `idle`: no byte. `half`: the beginning of a handshake, and no more. `slow`: a byte each second. `client`: a whole
   * HTTP/2 connection without a call, with a PING each second. `resets`: streams that are opened and reset without a
   * pause.
   */
  readonly kind: "idle" | "half" | "slow" | "client" | "resets";
  readonly port: number;
  readonly count: number;
  /** What `half` says, and `slow` byte by byte, as latin1. */
  readonly words: string;
  /** Of `client` and `resets`. */
  readonly tls?: TlsMaterial;
}

export interface FloodCounts {
  readonly made: number;
  readonly mostOpen: number;
}

/** A flood by name, and who has to bear it. */
export interface FloodKind {
  readonly name: string;
  readonly order: FloodOrder["kind"];
  readonly port: "rpc" | "health";
  /** Whose certificate the flood has. */
  readonly identity?: "stranger" | "reader";
  /** Clients, where it is not the number of connections that counts. */
  readonly clients?: number;
}

export const KINDS: readonly FloodKind[] = [
  { name: "RPC port, idle", order: "idle", port: "rpc" },
  { name: "RPC port, half handshakes", order: "half", port: "rpc" },
  { name: "RPC port, slow handshakes", order: "slow", port: "rpc" },
  { name: "RPC port, a certificate without a role", order: "client", port: "rpc", identity: "stranger" },
  { name: "RPC port, a certificate with a role", order: "client", port: "rpc", identity: "reader" },
  { name: "health port, idle", order: "idle", port: "health" },
  { name: "health port, slow", order: "slow", port: "health" },
  { name: "RPC port, resets", order: "resets", port: "rpc", identity: "reader", clients: 50 },
];

/** The beginning of a handshake, and of a request. */
export const WORDS: Readonly<Record<FloodKind["port"], string>> = {
  rpc: "\x16\x03\x01\x02\x00",
  health: "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
};
