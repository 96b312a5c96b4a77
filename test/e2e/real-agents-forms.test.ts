import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AgentState, type Dialog, DialogKind } from "../../internal/gen/gastown/v1/common_pb.ts";
import { RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { startRealAgent } from "../support/agents/real-agent.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { type RunningSidecar, until } from "../support/sidecar/sidecar.ts";

const WAIT_MS = 60_000;

const TOOLS = ["ask_plainly", "ask_publish"];

interface FormBed extends AsyncDisposable {
  readonly client: RunningSidecar["client"];
  /** Makes the agent call this tool of the MCP server. */
  readonly ask: (tool: string) => Promise<void>;
  readonly shown: (what: string, fits: (dialog: Dialog) => boolean) => Promise<Dialog>;
  /** Waits until the server has received exactly these answers, one per line. */
  readonly answers: (wanted: string) => Promise<void>;
}

/** A real agent with an MCP server whose tools ask a person. */
async function formBed(program: "claude-2.1.330" | "codex-0.169.0"): Promise<FormBed> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-forms-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const [log, config] = [join(dir, "answers"), join(dir, "mcp.json")];
  const args = [join(import.meta.dirname, "../support/agents/form-server-main.ts"), log];
  await writeFile(log, "");
  await writeFile(config, JSON.stringify({ mcpServers: { forms: { command: process.execPath, args } } }));
  const isClaude = program === "claude-2.1.330";
  let tools: readonly string[] = [];
  const agent = await startRealAgent({
    program,
    args: isClaude
      ? ["--permission-mode", "default", "--mcp-config", config, "--allowedTools", "mcp__forms"]
      : ["command", "args"].flatMap((key) => [
          "-c",
          `mcp_servers.forms.${key}=${JSON.stringify(key === "args" ? args : process.execPath)}`,
        ]),
    // Otherwise a tool must be searched for before it is called.
    env: { ENABLE_TOOL_SEARCH: "false" },
    act: ({ lastUserText, afterTool, tools: offered }) => {
      tools = offered;
      const tool = /ASK-FORM (\w+)/.exec(lastUserText)?.[1];
      if (afterTool || tool === undefined) return { type: "say", text: "Done." };
      const called = isClaude ? { tool: `mcp__forms__${tool}` } : { tool, namespace: "mcp__forms" };
      return { type: "call", ...called, input: {} };
    },
  });
  stack.use(agent);
  const { client } = agent.sidecar;
  await agent.sidecar.untilState(AgentState.IDLE);
  const nudge = (message: string) => client.nudge({ message, timeoutMs: BigInt(WAIT_MS) });
  // The server becomes available some time after the agent has started.
  await until("the server's tools", WAIT_MS, async () => {
    await nudge("hello");
    return TOOLS.every((tool) => tools.some((name) => name.endsWith(tool))) || undefined;
  });
  const all = stack.move();
  return {
    client,
    ask: async (tool) => {
      await agent.sidecar.untilState(AgentState.IDLE);
      await nudge(`ASK-FORM ${tool}`);
    },
    shown: (what, fits) =>
      until(what, WAIT_MS, async () => {
        const { dialog } = await client.status({});
        return dialog !== undefined && fits(dialog) ? dialog : undefined;
      }),
    answers: async (wanted) => {
      await until(`the answers ${wanted}`, WAIT_MS, async () => (await readFile(log, "utf8")) === wanted || undefined);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const buttons = (...wanted: readonly string[]) => {
  return ({ choices }: Dialog) => choices.map(({ label }) => label.split(" ", 1)[0]).join() === wanted.join();
};

it("an MCP server's form in Claude Code is answered only with the named button, never by a guess", {
  timeout: 300_000,
}, async (context) => {
  await requireComponent(context, "claude");
  await using bed = await formBed("claude-2.1.330");
  const { client, ask, shown, answers } = bed;
  const both = buttons("Accept", "Decline");
  let wanted = "";
  for (const [choice, action] of [
    ["2", "decline"],
    ["1", "accept"],
  ] as const) {
    await ask("ask_plainly");
    const { id } = await shown("the empty form", both);
    await client.respond({ dialogId: id, choice });
    wanted += `ask_plainly ${action} {}\n`;
    await answers(wanted);
  }

  await ask("ask_publish");
  const field = await shown("the field", ({ text }) => text.includes("❯ * Publish"));
  expect(field.choices).toEqual([]);
  expect(await client.respond({ dialogId: field.id, choice: "1" })).toMatchObject({
    outcome: RespondOutcome.UNKNOWN,
    evidence: [{ value: expect.stringMatching(/^nothing was pressed: .*a field of its form is selected/) }],
  });
  await client.sendKeys({ keys: ["Space", "Down"] });
  const { id } = await shown("the buttons below it", both);
  await client.respond({ dialogId: id, choice: "1" });
  await answers(`${wanted}ask_publish accept {"publish":true}\n`);
});

it("a tool's permission and an MCP server's form in Codex are answered with the named choice", {
  timeout: 300_000,
}, async (context) => {
  await requireComponent(context, "codex");
  await using bed = await formBed("codex-0.169.0");
  const { client, ask, shown, answers } = bed;
  const isPermission = ({ kind, title, choices }: Dialog) =>
    kind === DialogKind.PERMISSION && title.startsWith("Allow the forms MCP server") && choices.length === 4;
  const allow = async () => {
    const { id } = await shown("the permission", isPermission);
    await client.respond({ dialogId: id, choice: "1" });
  };

  await ask("ask_plainly");
  await allow();
  const { id } = await shown("the empty form", buttons("Allow", "Deny", "Cancel"));
  await client.respond({ dialogId: id, choice: "2" });
  await answers("ask_plainly decline {}\n");

  await ask("ask_publish");
  await allow();
  const field = await shown("the field", buttons("True", "False"));
  await client.respond({ dialogId: field.id, choice: "2" });
  await answers('ask_plainly decline {}\nask_publish accept {"publish":false}\n');
});
