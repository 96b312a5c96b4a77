// Runs one flood, in a process of its own, until standard input ends. Argument: a FloodOrder as JSON. Prints
// FloodCounts at the end.
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { clientTlsOptions } from "../../internal/rpc/common/tls.ts";
import type { FloodOrder } from "./kinds.ts";

/** The source address differs from the address of the measured callers. */
const FROM = { host: "127.0.0.1", localAddress: "127.0.0.2" };
const STEP_MS = 100;
/** The most new connections in one step: a thousand per second. */
const STEP_MOST = 100;
const EACH_MS = 1000;
const AT_ONCE = 100;
const PATH = "/gastown.v1.SidecarService/Status";

const order = JSON.parse(process.argv[2] ?? "{}") as FloodOrder;
let [made, open, mostOpen, isOver] = [0, 0, 0, false];

function socketTo(): Socket {
  const socket = connect({ ...FROM, port: order.port });
  let said = 0;
  const timer = setTimeout(() => {
    if (order.kind !== "slow") return;
    socket.write(order.words[said++] ?? "x", "latin1");
    timer.refresh();
  }, EACH_MS);
  socket.on("connect", () => order.kind === "half" && socket.write(order.words, "latin1"));
  socket.on("close", () => clearTimeout(timer));
  return socket;
}

function session(): ClientHttp2Session {
  const { port, tls } = order;
  if (tls === undefined) throw new Error("no certificate");
  const options = {
    ...FROM,
    ...clientTlsOptions(tls),
    port,
    ALPNProtocols: ["h2"],
    checkServerIdentity: () => undefined,
  };
  return connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => connectTls(options) });
}

function client(): ClientHttp2Session {
  const peer = session();
  const timer = setTimeout(() => {
    if (peer.destroyed) return;
    peer.ping(() => {});
    timer.refresh();
  }, EACH_MS);
  peer.on("close", () => clearTimeout(timer));
  return peer;
}

function resetter(): ClientHttp2Session {
  const peer = session();
  const next = () => {
    if (peer.destroyed || peer.closed) return;
    for (let i = 0; i < AT_ONCE; i++) {
      const call = peer.request({ ":method": "POST", ":path": PATH, "content-type": "application/proto" });
      call.on("error", () => {});
      call.close(constants.NGHTTP2_CANCEL);
    }
    setImmediate(next);
  };
  peer.on("connect", next);
  return peer;
}

const makers = { idle: socketTo, half: socketTo, slow: socketTo, client, resets: resetter };
process.stdin.resume().on("end", () => {
  isOver = true;
});
while (!isOver) {
  for (let i = 0; i < STEP_MOST && open < order.count; i++) {
    made++;
    open++;
    const connection = makers[order.kind]();
    connection.on("error", () => {});
    connection.on("close", () => {
      open--;
    });
  }
  mostOpen = Math.max(mostOpen, open);
  await sleep(STEP_MS);
}
process.stdout.write(JSON.stringify({ made, mostOpen }), () => process.exit(0));
