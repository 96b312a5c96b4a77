import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RE2JS } from "re2js";
import { z } from "zod";
import { DomainError } from "../../internal/base/errors.ts";
import { PrintableText } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { replaceFile } from "../../internal/desk/launch/front-launcher.ts";
import { Back, type BackSettings } from "../../internal/desk/supervisor/back.ts";
import type { BackEvent } from "../../internal/desk/supervisor/back-event.ts";
import { BackJournal } from "../../internal/desk/supervisor/back-journal.ts";
import { bridgeKey } from "../../internal/desk/supervisor/bridge-key.ts";
import { classifyByAgent, classifyByRules } from "../../internal/desk/supervisor/classify.ts";
import { deliverToFront } from "../../internal/desk/supervisor/deliver-to-front.ts";
import { isInFrontJournal } from "../../internal/desk/supervisor/front-journal.ts";
import { recover } from "../../internal/desk/supervisor/recover.ts";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { lockFolders } from "../../internal/files/folder-lock.ts";
import { makeTemporaryFolder } from "../../internal/files/temporary-folder.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { adminPrinter } from "./admin-printer.ts";
import { agentProgramOf } from "./agent-program.ts";
import type { ModeOptions } from "./config.ts";
import type { DeskFile } from "./desk-file.ts";
import { turnSettings } from "./front-settings.ts";
import { type OpenAgent, openAgent } from "./open-agent.ts";
import { type Desk, openDesk } from "./open-desk.ts";
import { tryBounds } from "./try-bounds.ts";
import { runLoop, type Side } from "./turn-loop.ts";

const INSTRUCTIONS =
  "You are a supervisor's assistant for an administrator. Answer from files below /admin, which you read with read_file.";
/** The time to wait for another process that holds the administrator's half. */
const LOCK_WAIT_MS = 10_000;

/** `desk --mode admin`: the administrator's half lives in this process. */
export async function runAdmin(options: ModeOptions, context: CommandContext): Promise<number> {
  const { clock, signal, stdout, out } = context;
  await using stack = new AsyncDisposableStack();
  const desk = await openDesk(options, context);
  const { front, configuration, config } = desk;
  if (config.intent.by === "agent" && config.supervisor.agent === "reader") throw agentNeeded();
  stack.use(await lockFolders(clock, [front.backDir], { waitMs: LOCK_WAIT_MS, signal }));
  const files = stack.use(new AllowedFiles(configuration.current.supervisor.root, "/admin"));
  await tryBounds(front, context);
  const { key, publicPem } = await bridgeKey(join(front.backDir, "bridge.key"));
  const journal = new BackJournal(join(front.backDir, "journal.jsonl"));
  stack.defer(() => journal.close());
  if (journal.damaged > 0)
    context.note(`lines of the journal that are damaged or torn, and left out: ${journal.damaged}`);
  replaceFile(front.place.publicKey, publicPem);
  const isTaken = (crossing: { readonly id: string; readonly sha256: string }) =>
    isInFrontJournal(front.place.journal, crossing);
  for (const { turn, outcome } of recover(journal, isTaken))
    context.note(`turn ${turn} was interrupted${outcome ? `; its crossing: ${outcome}` : ""}`);
  stack.use(front.launcher);
  await front.launcher.ensure(signal);
  const connection = stack.use(sidecarTransport({ baseUrl: "http://localhost", socketPath: front.place.socket }));
  const { agent, ask } = await openSupervisor(desk, context, stack);
  const back = new Back({
    ...{ clock, journal, files, key, agent },
    bridge: {
      ready: async (turnSignal) => void (await front.launcher.ensure(turnSignal)),
      deliver: deliverToFront(connection.transport, isTaken),
    },
    settings: () => settingsOf(desk.atTurn(), ask),
  });
  const print: (event: BackEvent) => void = options.json
    ? (event) => void stdout.write(`${PrintableText.json(event)}\n`)
    : adminPrinter(out);
  return await runLoop(adminSide(back, options, configuration.current, print), options.input, context);
}

/** The supervisor's agent, whose tasks run until `stack` is disposed of. */
async function openSupervisor(
  { front, config, atTurn }: Desk,
  { env }: CommandContext,
  stack: AsyncDisposableStack,
): Promise<OpenAgent> {
  const { agent, credentials } = config.supervisor;
  const [home, tmp] = [join(front.backDir, "home"), join(front.backDir, "tmp")];
  for (const folder of [home, tmp]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Agents read CLAUDE.md and AGENTS.md in the folders above the one they run in.
  const cwd = await makeTemporaryFolder("desk-work-");
  stack.defer(() => rmSync(cwd, { recursive: true, force: true }));
  const opened = await openAgent({
    ...{ agent, program: agentProgramOf(agent, env), credentials, prefix: "/admin", instructions: INSTRUCTIONS },
    ...{ home, tmp, cwd, path: env["PATH"] ?? "", sessions: () => atTurn().limits.sessions },
  });
  const stop = new AbortController();
  const running = opened.tasks.map((task) => task.run(stop.signal).catch(() => {}));
  stack.defer(async () => {
    await opened[Symbol.asyncDispose]();
    stop.abort();
    await Promise.all(running);
  });
  return opened;
}

function adminSide(back: Back, options: ModeOptions, config: DeskFile, print: (event: BackEvent) => void): Side {
  return {
    prompt: "admin> ",
    inputBytes: config.limits.input_bytes,
    fields: z.strictObject({ text: z.string(), thread: z.string().optional(), to: z.string().optional() }),
    turn: (text, given, signal) =>
      back.turn({ text, thread: given.thread ?? options.thread, to: given.to ?? options.to }, print, signal),
    refuse(reason) {
      print({ type: "refused", reason });
      print({ type: "turn_end", turn: randomUUID(), outcome: "refused" });
    },
    faulty: (reason) => print({ type: "error", reason }),
  };
}

function settingsOf({ supervisor, intent, limits }: DeskFile, ask: OpenAgent["ask"]): BackSettings {
  const rules = intent.rules.map(({ match, route }) => {
    const pattern = RE2JS.compile(match);
    return { pattern: match, route, match: (text: string) => pattern.matcher(text).find() };
  });
  const byRules = classifyByRules({ rules, default: intent.default });
  const classify = intent.by === "agent" ? classifyByAgent(ask ?? noAgent) : byRules;
  return { ...turnSettings(supervisor.read, limits), classify };
}

/** For a configuration that was changed after the start, and now asks for an agent. */
async function noAgent(): Promise<never> {
  throw agentNeeded();
}

function agentNeeded(): DomainError {
  return new DomainError("invalid", "intent.by is agent, and the supervisor's agent is the reader", {
    fields: { hint: "set supervisor.agent to claude, codex or opencode, or intent.by to rules" },
  });
}
