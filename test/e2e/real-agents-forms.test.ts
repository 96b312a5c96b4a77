import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AgentState, type Dialog } from "../../internal/gen/gastown/v1/common_pb.ts";
import { RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { ModelAct } from "../fakes/model-script.ts";
import type { ModelRequest } from "../fakes/model-wire.ts";
import { startRealAgent } from "../support/agents/real-agent.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { until } from "../support/sidecar/sidecar.ts";

const WAIT_MS = 60_000;

/** Calls the MCP server's tool that the message names. */
function callsTool({ lastUserText, afterTool }: ModelRequest): ModelAct {
  const tool = /ASK-FORM (\w+)/.exec(lastUserText)?.[1];
  return afterTool || tool === undefined
    ? { type: "say", text: "Done." }
    : { type: "call", tool: `mcp__forms__${tool}`, input: {} };
}

it("a form of an MCP server in Claude Code is answered with the button that was named, and by no guess", {
  timeout: 300_000,
}, async (context) => {
  await requireComponent(context, "claude");
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-forms-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const [log, config] = [join(dir, "answers"), join(dir, "mcp.json")];
  const server = {
    command: process.execPath,
    args: [join(import.meta.dirname, "../support/agents/form-server-main.ts"), log],
  };
  await writeFile(log, "");
  await writeFile(config, JSON.stringify({ mcpServers: { forms: server } }));
  const allowed = ["mcp__forms__ask_plainly", "mcp__forms__ask_publish"];
  let tools: readonly string[] = [];
  await using agent = await startRealAgent({
    program: "claude-2.1.330",
    args: ["--permission-mode", "default", "--mcp-config", config, "--allowedTools", allowed.join(",")],
    // Else a tool must be searched for before it is called.
    env: { ENABLE_TOOL_SEARCH: "false" },
    act: (request) => {
      tools = request.tools;
      return callsTool(request);
    },
  });
  const { client } = agent.sidecar;
  await agent.sidecar.untilState(AgentState.IDLE);
  // Its servers come some time after it has begun.
  await until("the server's tools", WAIT_MS, async () => {
    await client.nudge({ message: "hello", timeoutMs: BigInt(WAIT_MS) });
    return allowed.every((tool) => tools.includes(tool)) || undefined;
  });
  const shown = (what: string, fits: (dialog: Dialog) => boolean) =>
    until(what, WAIT_MS, async () => {
      const { dialog } = await client.status({});
      return dialog !== undefined && fits(dialog) ? dialog : undefined;
    });
  const ask = async (tool: string) => {
    await agent.sidecar.untilState(AgentState.IDLE);
    await client.nudge({ message: `ASK-FORM ${tool}`, timeoutMs: BigInt(WAIT_MS) });
  };
  const buttons = (dialog: Dialog) =>
    dialog.choices.map(({ key, label }) => `${key} ${label}`).join() === "1 Accept,2 Decline";
  const answers = (wanted: string) =>
    until(`the answers ${wanted}`, WAIT_MS, async () => (await readFile(log, "utf8")) === wanted || undefined);

  let wanted = "";
  for (const [choice, action] of [
    ["2", "decline"],
    ["1", "accept"],
  ] as const) {
    await ask("ask_plainly");
    const { id } = await shown("the empty form", buttons);
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
  const { id } = await shown("the buttons below it", buttons);
  await client.respond({ dialogId: id, choice: "1" });
  await answers(`${wanted}ask_publish accept {"publish":true}\n`);
});
