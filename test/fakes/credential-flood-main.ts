// Calls a server with wrong credentials at full speed, from an address of its own. Reads a CredentialFlood as JSON from
// stdin, prints a line when it runs, another after many attempts, and the number of attempts at the end of stdin.
import { randomBytes } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { createInterface } from "node:readline";

export interface CredentialFlood {
  readonly url: string;
  readonly localAddress: string;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Well formed except for its signature; undefined: the certificate is already wrong. */
  readonly token?: string | undefined;
  readonly connections: number;
  /** The concurrent calls over each connection. */
  readonly calls: number;
}

const PATH = "/gastown.v1.SidecarService/Peek";
const MANY = 101;
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const flood = JSON.parse((await lines.next()).value ?? "") as CredentialFlood;
const { localAddress } = flood;
const stop = new AbortController();
setMaxListeners(0, stop.signal);
let tried = 0;

function note(): void {
  if (++tried === MANY) process.stdout.write("many\n");
}

/** Each token is different, so that no server can cache it. */
const wrongToken = (token: string) =>
  `${token.slice(0, token.lastIndexOf("."))}.${randomBytes(64).toString("base64url")}`;

async function callOnAndOn(session: ClientHttp2Session): Promise<void> {
  while (!session.destroyed && !session.closed && !stop.signal.aborted) {
    note();
    const authorization = flood.token === undefined ? {} : { authorization: `Bearer ${wrongToken(flood.token)}` };
    const headers = { ":method": "POST", ":path": PATH, "content-type": "application/json", ...authorization };
    const stream = session.request(headers);
    stream.on("error", () => {}).end("{}");
    stream.resume();
    await once(stream, "close").catch(() => {});
  }
}

async function connectOnAndOn(): Promise<void> {
  while (!stop.signal.aborted) {
    const options: SecureClientSessionOptions & { localAddress: string } = { ...flood.tls, localAddress };
    const session = connect(flood.url, options);
    session.on("error", () => {});
    const closed = new Promise((resolve) => session.once("close", resolve));
    if (flood.token === undefined) note();
    const calling = once(session, "connect").then(() =>
      Promise.all(Array.from({ length: flood.calls }, () => callOnAndOn(session))),
    );
    stop.signal.addEventListener("abort", () => session.destroy(), { once: true });
    await Promise.race([calling.catch(() => {}), closed]);
    session.destroy();
    await closed;
  }
}

const running = Array.from({ length: flood.connections }, connectOnAndOn);
process.stdout.write("running\n");
await lines.next();
stop.abort();
await Promise.all(running);
process.stdout.write(`${tried}\n`);
