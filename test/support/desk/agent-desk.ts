import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ModelAct } from "../../fakes/model-script.ts";
import { ModelServer } from "../../fakes/model-server.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";
import { type AgentKind, writeEmptyModelList } from "../agents/agents-home.ts";
import { type AgentProgram, agentProgram } from "../agents/agents-install.ts";
import { type DeskBed, deskBed } from "./desk-bed.ts";

const PROGRAMS: Readonly<Record<AgentKind, AgentProgram>> = {
  claude: "claude-2.1.330",
  codex: "codex-0.169.0",
  opencode: "opencode-1.18.33",
};

/** A desk with a real agent on each side. Each talks only to a model of its own on loopback. */
export interface AgentDesk extends AsyncDisposable {
  readonly bed: DeskBed;
  /** The supervisor's model. */
  readonly back: ModelServer;
  /** The customer's model. */
  readonly front: ModelServer;
  /** The whole requests to the customer's model. */
  readonly frontRequests: readonly string[];
  /** Writes `desk.yaml` with these blocks beside the two halves. */
  configure(more: string): void;
  /** The processes of the customer's agent. */
  agents(): readonly number[];
}

export type Act = (request: ModelRequest) => ModelAct;

interface AgentDeskOptions {
  readonly agent: AgentKind;
  readonly back?: Act;
  readonly front?: Act;
  /** The behaviour of the supervisor's model in a session without tools. */
  readonly word?: Act;
  /** Blocks of `desk.yaml` beside the two halves. */
  readonly more?: string;
}

const KEY = "0123456789abcdefghijklmnopqrstuvwxyz-pretended";

/** Without it Claude Code retries a refusing model ten times, for minutes. */
const NO_RETRIES = "CLAUDE_CODE_MAX_RETRIES=0";

/** On a busy machine a turn takes minutes. */
export const PATIENT = "limits: { turn: 30m }\n";

export async function agentDesk(options: AgentDeskOptions): Promise<AgentDesk> {
  const { agent, more = PATIENT, word } = options;
  const program = await agentProgram(PROGRAMS[agent]);
  const frontRequests: string[] = [];
  const [back, front] = await Promise.all([
    ModelServer.listen({ act: options.back ?? readingAct, actWithoutTools: word }),
    ModelServer.listen({ act: options.front ?? readingAct, onRequest: (whole) => frontRequests.push(whole) }),
  ]);
  const bed = deskBed({}, { PATH: `${dirname(program)}:${process.env["PATH"] ?? ""}` });
  const configure = (blocks: string) =>
    bed.write(
      "desk.yaml",
      `version: 1
supervisor: { agent: ${agent}, root: ./admin, credentials: ./admin.env }
customer: { agent: ${agent}, root: ./docs, credentials: ./customer.env }
${blocks}`,
    );
  configure(more);
  const halves = [
    { name: "admin", half: "back", model: back },
    { name: "customer", half: "front", model: front },
  ];
  for (const { name, half, model } of halves) {
    for (const folder of [".desk", `.desk/${half}`]) mkdirSync(bed.path(folder), { recursive: true, mode: 0o700 });
    bed.write(
      `${name}.env`,
      `ANTHROPIC_API_KEY=sk-ant-api03-${name}-${KEY}\nANTHROPIC_BASE_URL=${model.url}\n${NO_RETRIES}\n`,
    );
    bed.write(`.desk/${half}/home/.codex/config.toml`, codexConfig(model.url));
    bed.write(`.desk/${half}/home/.config/opencode/opencode.json`, opencodeConfig(model.url));
    await writeEmptyModelList(bed.path(`.desk/${half}/home`));
  }
  return {
    ...{ bed, back, front, frontRequests, configure },
    agents: () => processesIn(bed.path(".desk/front/home"), program),
    async [Symbol.asyncDispose]() {
      await bed[Symbol.asyncDispose]();
      await Promise.all([back[Symbol.asyncDispose](), front[Symbol.asyncDispose]()]);
    },
  };
}

function codexConfig(url: string): string {
  return `model = "pretended"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "${url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`;
}

function opencodeConfig(url: string): string {
  return JSON.stringify({
    model: "loopback/pretended",
    small_model: "loopback/pretended",
    provider: {
      loopback: {
        npm: "@ai-sdk/openai-compatible",
        name: "Loopback",
        options: { baseURL: `${url}/v1`, apiKey: "pretended" },
        models: { pretended: { name: "Pretended", limit: { context: 100_000, output: 8_000 } } },
      },
    },
  });
}

/** The name under which each agent offers the door's tool to its model, by the API that the agent speaks. */
export const READ_FILE = {
  messages: { tool: "mcp__desk__read_file" },
  responses: { tool: "read_file", namespace: "mcp__desk" },
  chat: { tool: "desk_read_file" },
} as const;

/**
 * `READ path`: reads the file and repeats its contents. `SAY words`: says them. Otherwise says one word. The last
 * request in the text counts, because a new agent first gets the thread's earlier turns.
 */
export const readingAct: Act = ({ afterTool, toolResult, lastUserText, api }) => {
  if (afterTool) return { type: "say", text: `It says: ${toolResult}` };
  const [, path, words] = [...lastUserText.matchAll(/READ (\S+)|SAY (.+)/g)].at(-1) ?? [];
  if (path !== undefined) return { type: "call", ...READ_FILE[api], input: { path } };
  return { type: "say", text: words ?? "Understood." };
};

function processesIn(home: string, program: string): readonly number[] {
  const isOurs = (pid: string) => {
    try {
      return (
        readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(program) &&
        readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`)
      );
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter(isOurs)
    .map(Number);
}
