import { request } from "node:https";
import { decodeToken } from "../../auth/token-format.ts";
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { DialCredentials } from "./dial-credentials.ts";

/** An open connection whose token `keepToken` renews. */
export interface KeptConnection {
  /** The URL of its upgrade. */
  readonly url: string;
  readonly connectionId: string;
  /** The token that opened it. */
  readonly token: string;
}

export interface KeepTokenDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reads the current credentials. */
  readonly credentials: () => Promise<DialCredentials>;
}

const LEAST_WAIT_MS = 1000;
const ANSWER_MS = 10_000;

/**
 * Sends the relay a newer token each time half of the current token's remaining time has passed, until the signal or
 * until the token expires.
 */
export async function keepToken(
  { clock, logger, credentials }: KeepTokenDeps,
  { url, connectionId, token }: KeptConnection,
  signal: AbortSignal,
): Promise<void> {
  let shown = token;
  for (;;) {
    const leftMs = endOf(shown) - clock.now();
    if (leftMs <= 0 || signal.aborted) return;
    await clock.sleep(Math.max(LEAST_WAIT_MS, leftMs / 2), signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const { token: next, tls = {} } = await credentials();
      if (next === undefined || next === shown) continue;
      const status = await show(url, { connectionId, token: next, tls }, signal);
      if (status === 204) shown = next;
      else logger.warn({ action: "renewal_refused", status }, "the relay does not accept the newer token");
    } catch (err) {
      if (!signal.aborted)
        logger.warn({ action: "renewal_failed", err: errorText(err) }, "no newer token was presented");
    }
  }
}

function show(
  url: string,
  { connectionId, token, tls }: { readonly connectionId: string; readonly token: string; readonly tls: object },
  signal: AbortSignal,
): Promise<number> {
  const { host, pathname } = new URL(url);
  const headers = { authorization: `Bearer ${token}`, "acp-connection-id": connectionId };
  const options = { ...tls, method: "POST", headers, agent: false, timeout: ANSWER_MS, signal };
  return new Promise((resolve, reject) => {
    const asked = request(`https://${host}${pathname}/token`, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer in time")));
    asked.on("error", reject);
    asked.end();
  });
}

/** The end of a token by the wall clock, ms; 0: the text is not a token. */
function endOf(token: string): number {
  try {
    const { exp } = decodeToken(token).claims;
    return typeof exp === "number" ? exp * 1000 : 0;
  } catch {
    return 0;
  }
}
