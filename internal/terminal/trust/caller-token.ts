import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { mintToken, signingKeyOf } from "../../auth/mint-token.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { readNamedInput } from "../../files/named-file.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { ServerClock } from "../../rpc/client/server-clock.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { TokenSource } from "./token-source.ts";

/** A token is replaced when less than this is left of its life. */
const LEAST_LEFT_MS = 60_000;
const TTL_MS = 300_000;

export interface CallerTokenDeps {
  readonly clock: Clock;
  /** The certificate in use (PEM, leaf first): tokens created here are bound to it. */
  readonly certificate: () => string;
  readonly subject: string;
}

/** Sends a token with each call. To be used over TLS only. */
export function callerToken({ clock, certificate, subject }: CallerTokenDeps, source: TokenSource): Interceptor {
  let made = { text: "", boundTo: "", until: Number.NEGATIVE_INFINITY };
  const server = new ServerClock(() => clock.now());
  const learn = (headers: Headers) => {
    if (server.learn(headers)) made = { ...made, until: Number.NEGATIVE_INFINITY };
  };
  const tokenNow = async () => {
    if (source.type === "given") return source.text;
    const boundTo = certificate();
    if (made.boundTo === boundTo && made.until - clock.now() > LEAST_LEFT_MS) return made.text;
    const { keyPath, issuer, project, audience } = source;
    const key = signingKeyOf(await readNamedInput(keyPath), keyPath);
    const now = clock.now();
    const request = { issuer, subject, project, audience, ttlMs: TTL_MS, certificate: certificatesOf(boundTo)[0] };
    made = { text: mintToken(key, request, server.now()), boundTo, until: now + TTL_MS };
    return made.text;
  };
  return (next) => async (req) => {
    const ask = async () => {
      req.header.set("authorization", `Bearer ${await tokenNow()}`);
      const res = await next(req);
      learn(res.header);
      return res;
    };
    try {
      return await ask();
    } catch (err) {
      if (!(err instanceof ConnectError)) throw err;
      learn(err.metadata);
      // The call was refused unread, so it can be repeated. Its new token uses the server's clock.
      if (req.stream || source.type === "given" || !isAboutTimes(err)) throw err;
      return await ask();
    }
  };
}

function isAboutTimes(err: ConnectError): boolean {
  const failure = domainErrorOf(err);
  const fault = failure instanceof DomainError ? failure.fields["token"] : undefined;
  return fault === "expired" || fault === "early";
}
