/** A dialect of an agent that dials in. */
type DialledDialect = "seed" | "mcp" | "acp" | "acp2";

/** A dialect of any agent; `bridge`: the relay reaches the agent through a BridgeService. */
export type Dialect = DialledDialect | "bridge";

/** The subprotocols of an upgrade and their dialects. */
const SUBPROTOCOLS: ReadonlyMap<string, DialledDialect> = new Map([
  ["relay.seed", "seed"],
  ["mcp.sampling.2025-11-25", "mcp"],
  ["acp.v1", "acp"],
]);
/** The draft of the next version, which must be enabled. */
const DRAFT = ["acp.v2", "acp2"] as const;

export interface DialectOptions {
  /** True: `acp.v2` is known. */
  readonly acp2: boolean;
}

/** The names that `Sec-WebSocket-Protocol` may offer, for refusals to list. */
export function knownSubprotocols({ acp2 }: DialectOptions): readonly string[] {
  return [...SUBPROTOCOLS.keys(), ...(acp2 ? [DRAFT[0]] : [])];
}

export interface DialectChoice {
  readonly dialect: DialledDialect;
  /** The subprotocol to echo; undefined: none was offered. */
  readonly subprotocol: string | undefined;
}

/**
 * Chooses the dialect of an upgrade: that of the first known subprotocol, or the seed's if none is offered. A
 * `bearer.<jwt>` is a token, not a dialect. Undefined: no offered subprotocol is known, or `X-ACP-Version` is not 1.0.
 */
export function chooseDialect(
  offered: readonly string[],
  acpVersion: string | undefined,
  { acp2 }: DialectOptions,
): DialectChoice | undefined {
  if (acpVersion !== undefined && acpVersion !== "1.0") return undefined;
  const dialects = offered.filter((name) => !name.startsWith("bearer."));
  if (dialects.length === 0) return offered.length === 0 ? { dialect: "seed", subprotocol: undefined } : undefined;
  for (const subprotocol of dialects) {
    const dialect = acp2 && subprotocol === DRAFT[0] ? DRAFT[1] : SUBPROTOCOLS.get(subprotocol);
    if (dialect !== undefined) return { dialect, subprotocol };
  }
  return undefined;
}
