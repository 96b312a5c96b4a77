// Passes on WatchOutput of another server, with one upstream stream for each reader, as the bridge does for a session's
// sidecar. With `lines` 1, a handler calls that server as a client instead: it decodes and encodes each message. Prints
// its port.
//
//     relay-server.ts TLS-DIR CLIENT-TLS-DIR UPSTREAM-URL
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient, type HandlerContext } from "@connectrpc/connect";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { SidecarLink } from "../../internal/bridge/sidecar-link.ts";
import { pipeMessages, SharedFrames, unreadStream } from "../../internal/bridge/unread-stream.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { SidecarService, type SidecarWatchRequest } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";

const METHOD = SidecarService.method.watchOutput;
const UPSTREAMS = 10;
const CALLER = { identity: "bench", role: "operate" } as const;

await runMain({ name: "relay-server" }, async ({ argv, stdout, signal }) => {
  const [tlsDir = "", clientTlsDir = "", baseUrl = ""] = argv;
  const [tls, clientTls] = [readTls(tlsDir), readTls(clientTlsDir)];
  // The streams of one connection are bounded; a bridge has a connection for each sidecar.
  using stack = new DisposableStack();
  const upstreams = Array.from({ length: UPSTREAMS }, () => stack.use(sidecarTransport({ baseUrl, tls: clientTls })));
  const ways = upstreams.map((each) => ({
    link: new SidecarLink(each),
    client: createClient(SidecarService, each.transport),
  }));
  let calls = 0;
  const watchOutput = (request: SidecarWatchRequest, context: HandlerContext) => {
    const way = ways[calls++ % ways.length] as (typeof ways)[number];
    return request.lines === 1 ? decoded(way.client, request, context) : unread(way.link, request, context);
  };
  const server = new RpcServer(
    { clock, logger: createLogger("relay-server", "error"), metrics: new Metrics() },
    {
      ...{ host: "127.0.0.1", port: 0, graceMs: 100, tls },
      routes: (router) => void router.service(SidecarService, { watchOutput }),
    },
  );
  const running = server.run(signal);
  stdout.write(`${(await server.listening).port}\n`);
  await running;
  return 0;
});

function readTls(dir: string) {
  const read = (name: string) => readFileSync(join(dir, name), "utf8");
  return { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") };
}

/** Passes messages on without decoding, as `passThrough` of the bridge does. */
function unread(link: SidecarLink, request: SidecarWatchRequest, context: HandlerContext) {
  const messages = link.stream(METHOD, request, CALLER, context.signal);
  return unreadStream(context, (target, signal) =>
    pipeMessages(messages, new SharedFrames(METHOD.output), target, signal),
  );
}

async function* decoded(
  client: Client<typeof SidecarService>,
  { mode, intervalMs }: SidecarWatchRequest,
  { signal }: HandlerContext,
) {
  yield* abortOnExit((stop) => client.watchOutput({ mode, intervalMs }, { signal: stop }), signal);
}
