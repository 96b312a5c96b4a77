import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { parseControlMessage } from "../../internal/sidecar/halves/halves-link-messages.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { mutate } from "./mutate.ts";
import { oneOf, type Random, randomFrom } from "./random.ts";
import { REQUESTS } from "./wire.ts";

/** An agent that ignores all keys and signals: if it ends, our input was not the cause. */
const AGENT = ["sh", "-c", "trap '' INT QUIT TSTP HUP TERM; echo up; while :; do sleep 1; done"];
const CONTENT_TYPES = [
  ...(["application/proto", "application/json", "application/grpc", "application/grpc-web+proto"] as const),
  ...(["application/connect+proto", "application/connect+json", "text/plain"] as const),
] as const;
/** Log lines that we cause ourselves: the serving half was killed, its journal damaged. */
const OURS = /"signal":"SIGKILL"|"msg":"the journal is damaged/;
const CALL_MS = 300;
/** The number of inputs between two health checks. */
const LOOK_EVERY = 50;
/** The number of inputs between two kills of the serving half, which then finds a damaged journal. */
const KILL_EVERY = 250;

export interface SidecarFuzzOptions {
  readonly seed: number;
  readonly inputs: number;
  /** The file that stores the progress: a run with the same file continues from there. */
  readonly resume?: string | undefined;
  readonly say: (text: string) => void;
}

/**
 * Sends a whole sidecar damaged requests, hook lines, lines to the halves' sockets, and journals. Returns the faults: a
 * restart that we did not cause, a lost agent, a missing answer, an error in the log.
 */
export async function fuzzSidecar(options: SidecarFuzzOptions, signal: AbortSignal): Promise<readonly string[]> {
  const { seed, inputs, resume, say } = options;
  const from = resume === undefined ? 0 : progressOf(resume, seed);
  await using sidecar = await startSidecar({ agent: "generic", command: AGENT });
  const { agentPid } = await until("a living agent", 20_000, async () => {
    const status = await sidecar.client.status({});
    return status.sessionAlive ? status : undefined;
  });
  let servingPid = sidecar.servingPid();
  for (let i = from; i < inputs && !signal.aborted; i++) {
    await giveInput(sidecar, randomFrom(seed * 1_000_003 + i));
    const isKill = (i + 1) % KILL_EVERY === 0;
    if (isKill) servingPid = await killServing(sidecar, randomFrom(seed + i));
    if (!isKill && (i + 1) % LOOK_EVERY !== 0 && i + 1 < inputs) continue;
    const wrong = await lookAt(sidecar, agentPid, servingPid);
    if (wrong !== undefined) return [`seed ${seed}, input ${i} or the ${LOOK_EVERY} before it: ${wrong}`];
    if (resume !== undefined) writeFileSync(resume, JSON.stringify({ seed, next: i + 1 }));
    if ((i + 1) % 500 === 0) say(`${i + 1} of ${inputs} inputs`);
  }
  return [];
}

function progressOf(file: string, seed: number): number {
  if (!existsSync(file)) return 0;
  const kept = JSON.parse(readFileSync(file, "utf8")) as { readonly seed: number; readonly next: number };
  return kept.seed === seed ? kept.next : 0;
}

async function giveInput(sidecar: RunningSidecar, random: Random): Promise<void> {
  const kind = random(8);
  if (kind < 4) await giveRequest(sidecar, random);
  else if (kind < 6) giveHookLine(sidecar, random);
  else if (kind === 6) await giveMessage(join(sidecar.stateDir, "control.sock"), random);
  else await giveCommand(join(sidecar.stateDir, "clients.sock"), random);
}

function giveRequest({ url }: RunningSidecar, random: Random): Promise<void> {
  const { path, binary, json } = oneOf(random, REQUESTS);
  const type = oneOf(random, CONTENT_TYPES);
  const plain = mutate(type.includes("json") ? json : binary, random);
  const isFramed = /grpc|connect\+/.test(type);
  const body = isFramed && random(4) > 0 ? Buffer.concat([header(plain.length), plain]) : plain;
  const session = connectHttp2(url);
  session.on("error", () => {});
  const call = session.request({ ":method": "POST", ":path": `/${path}`, "content-type": type, te: "trailers" });
  call.on("error", () => {});
  call.resume();
  call.end(body);
  return new Promise((resolve) => {
    const late = setTimeout(() => session.destroy(), CALL_MS);
    call.on("end", () => session.destroy());
    session.on("close", () => {
      clearTimeout(late);
      resolve();
    });
  });
}

/** The prefix of a message in a stream: flags and length. */
function header(length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function giveHookLine({ stateDir }: RunningSidecar, random: Random): void {
  const line = Buffer.from(
    oneOf(random, ["activity", "turn-ended payload.a", "prompt-submitted payload.a", "waiting x"]),
  );
  writeFileSync(
    join(stateDir, "hooks", "payload.a"),
    mutate(Buffer.from('{"prompt":"hello","background_tasks":[]}'), random),
  );
  const fifo = openSync(join(stateDir, "hooks.fifo"), constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    writeSync(fifo, Buffer.concat([mutate(line, random), Buffer.from("\n")]));
  } finally {
    closeSync(fifo);
  }
}

/**
 * At this socket the agent can send the same messages as the serving half. Those that may end the agent are left out.
 */
function giveMessage(socketPath: string, random: Random): Promise<void> {
  const line = mutate(Buffer.from('{"type":"process","id":9,"pid":4711,"work":true}'), random);
  const orders = line.toString("utf8").split("\n").map(parseControlMessage);
  if (orders.some((order) => order !== undefined && order.type !== "process")) return Promise.resolve();
  return giveLine(socketPath, line);
}

/** Lines to this socket are for tmux, and replace the serving half's own control client. */
function giveCommand(socketPath: string, random: Random): Promise<void> {
  return giveLine(socketPath, mutate(Buffer.from("display-message -p '#{pane_id} #{q:pane_title}'"), random));
}

function giveLine(socketPath: string, line: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const late = setTimeout(() => socket.destroy(), CALL_MS);
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.on("close", () => {
      clearTimeout(late);
      resolve();
    });
    socket.on("connect", () => socket.end(Buffer.concat([line, Buffer.from("\n")])));
  });
}

/**
 * Kills the serving half and damages the tail of its journal; returns the pid of the next one, which has read the
 * journal.
 */
async function killServing(sidecar: RunningSidecar, random: Random): Promise<number> {
  const before = sidecar.servingPid();
  process.kill(before, "SIGKILL");
  const journal = join(sidecar.stateDir, "journal.jsonl");
  appendFileSync(journal, mutate(readFileSync(journal).subarray(-2000), random));
  return await until("the next serving half", 20_000, () => {
    const pid = sidecar.servingPid();
    return pid === before ? undefined : pid;
  });
}

async function lookAt(sidecar: RunningSidecar, agentPid: number, servingPid: number): Promise<string | undefined> {
  const status = await until("an answer", 10_000, async () => {
    const answer = await sidecar.client.status({}, { timeoutMs: 2000 }).catch(() => undefined);
    return answer?.sessionAlive === true ? answer : undefined;
  }).catch(() => undefined);
  if (status === undefined) return `Status does not say alive any more\n${tail(sidecar)}`;
  if (status.agentPid !== agentPid || status.restarts !== 0) return `the agent was lost\n${tail(sidecar)}`;
  if (sidecar.servingPid() !== servingPid) return `the serving half was restarted\n${tail(sidecar)}`;
  const bug = sidecar
    .log()
    .split("\n")
    .find((line) => /"level":[56]0/.test(line) && !OURS.test(line));
  return bug === undefined ? undefined : `an error in the log: ${bug}`;
}

const tail = (sidecar: RunningSidecar): string => sidecar.log().split("\n").slice(-20).join("\n");
