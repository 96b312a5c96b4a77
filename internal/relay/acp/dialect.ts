/** A dialect of agents that dial in. */
type DialledDialect = "seed" | "mcp" | "acp";

/** A dialect of any agent; `bridge`: the relay reaches it through a BridgeService. */
export type Dialect = DialledDialect | "bridge";

/** Subprotocols of an upgrade and the dialect that each stands for. */
const SUBPROTOCOLS: ReadonlyMap<string, DialledDialect> = new Map([
  ["relay.seed", "seed"],
  ["mcp.sampling.2025-11-25", "mcp"],
  ["acp.v1", "acp"],
]);

/** Names that `Sec-WebSocket-Protocol` may ask for, as a refusal lists them. */
export const knownSubprotocols: readonly string[] = [...SUBPROTOCOLS.keys()];

export interface DialectChoice {
  readonly dialect: DialledDialect;
  /** To be echoed; undefined: none was asked for. */
  readonly subprotocol: string | undefined;
}

/**
 * The dialect that an upgrade asks for: the first known subprotocol, or the seed's where none is offered. A
 * `bearer.<jwt>` is a token and no dialect. Undefined: only unknown ones, or another `X-ACP-Version` than 1.0.
 */
export function chooseDialect(offered: readonly string[], acpVersion: string | undefined): DialectChoice | undefined {
  if (acpVersion !== undefined && acpVersion !== "1.0") return undefined;
  const dialects = offered.filter((name) => !name.startsWith("bearer."));
  if (dialects.length === 0) return offered.length === 0 ? { dialect: "seed", subprotocol: undefined } : undefined;
  for (const subprotocol of dialects) {
    const dialect = SUBPROTOCOLS.get(subprotocol);
    if (dialect !== undefined) return { dialect, subprotocol };
  }
  return undefined;
}
