import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";

/** The task of one flooding process, which keeps a number of connections open and replaces each one that is cut. */
export interface FloodOrder {
  /**
   * `idle`: no byte. `half`: only the beginning of a handshake. `slow`: a byte each second. `client`: a whole HTTP/2
   * connection without a call, with a PING each second. `resets`: streams that are opened and reset without a pause.
   */
  readonly kind: "idle" | "half" | "slow" | "client" | "resets";
  readonly port: number;
  readonly count: number;
  /** The bytes that `half` sends at once, and `slow` one by one, as latin1. */
  readonly words: string;
  /** For `client` and `resets`. */
  readonly tls?: TlsMaterial;
}

export interface FloodCounts {
  readonly made: number;
  readonly mostOpen: number;
}

/** A flood and the port that it attacks. */
export interface FloodKind {
  readonly name: string;
  readonly order: FloodOrder["kind"];
  readonly port: "rpc" | "health";
  /** The holder of the flood's certificate. */
  readonly identity?: "stranger" | "reader";
  /** The number of clients, if it differs from the number of connections. */
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
