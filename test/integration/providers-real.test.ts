import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Provider } from "../../internal/bridge/provider.ts";
import { ModelServer } from "../fakes/model-server.ts";
import { type AgentKind, makeAgentHome } from "../support/agents/agents-home.ts";
import { type AgentProgram, agentProgram } from "../support/agents/agents-install.ts";
import { makeProvider, ProviderSession } from "../support/agents/provider-session.ts";

const AGENTS: readonly { readonly kind: AgentKind; readonly program: AgentProgram; readonly afterDenial: string }[] = [
  { kind: "claude", program: "claude-2.1.330", afterDenial: "Done with the tool." },
  { kind: "codex", program: "codex-0.169.0", afterDenial: "Done with the tool." },
  // It ends its turn after a denial.
  { kind: "opencode", program: "opencode-1.18.33", afterDenial: "rejected permission" },
];
let dir = "";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-providers-real-"));
});

afterAll(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

interface Stage extends AsyncDisposable {
  readonly model: ModelServer;
  readonly provider: Provider;
  readonly workdir: string;
}

/** A real agent's program with a home of its own, which talks only to a model on loopback. */
async function stage(kind: AgentKind, program: AgentProgram): Promise<Stage> {
  const model = await ModelServer.listen();
  const home = join(dir, kind);
  await mkdir(home);
  const { env, workdir } = await makeAgentHome({ agent: kind, dir: home, modelUrl: model.url });
  const provider = makeProvider({ provider: kind, binary: await agentProgram(program), env });
  return { model, provider, workdir, [Symbol.asyncDispose]: () => model[Symbol.asyncDispose]() };
}

function conversationIn(text: string): string {
  return /^● Conversation (\S+)$/m.exec(text)?.[1] ?? "";
}

/** OpenCode's start alone takes 3 s of an idle machine, and five times that beside other tests. */
const TIMEOUT_MS = 120_000;

describe.concurrent.each(AGENTS)("$program over its standard streams", ({ kind, program, afterDenial }) => {
  it(
    "takes two turns, is denied permissions without a person, stops, resumes, queues, and reports its end by a signal",
    async () => {
      await using on = await stage(kind, program);
      const { model, provider, workdir } = on;
      let conversation = "";
      {
        await using session = await ProviderSession.start(provider, workdir);
        expect(await session.send("SAY first answer", "t-1")).toEqual({ outcome: "submitted", error: "" });
        await session.turns(1);
        expect(session.text).toContain("first answer");
        expect(await session.send("SAY first answer", "t-1")).toEqual({ outcome: "submitted", error: "" });
        expect(await session.send("RUN-TOOL touch made-by-tool\nand a second line — ünï", "t-2")).toMatchObject({
          outcome: "submitted",
        });
        await session.turns(2);
        expect(model.arrivals("SAY first answer")).toBe(1);
        expect(model.arrivals("and a second line — ünï")).toBe(1);
        expect(session.phases).toEqual(["idle", "busy", "idle", "busy", "dialog", "busy", "idle"]);
        expect(session.events.find((event) => event.type === "dialog-opened")).toMatchObject({
          dialog: { kind: "permission", text: expect.stringContaining("touch made-by-tool") as string },
        });
        expect(session.text).toContain("denied (permission_mode=deny)");
        expect(session.text).toContain(afterDenial);
        // Two of the programs would run it as a command of their own, or drop it.
        expect(await session.send("/no-such-command", "t-3")).toEqual({ outcome: "submitted", error: "" });
        await session.turns(3);
        expect(model.arrivals("/no-such-command")).toBe(1);
        expect(await session.send(" \u001b[31m\n", "t-4")).toMatchObject({ outcome: "unsafe" });
        conversation = conversationIn(session.text);
        await provider.stop(session.handle, 10_000);
        await session.read;
        expect(session.last).toMatchObject({ type: "ended" });
        expect(session.last).not.toHaveProperty("error");
      }
      await using resumed = await ProviderSession.start(provider, workdir, {
        ...{ resume: conversation, permission_mode: "allow" },
      });
      await resumed.send("SAY after the resume", "t-5");
      await resumed.turns(1);
      expect(model.arrivals("SAY first answer")).toBe(1);
      expect(model.arrivals("SAY after the resume")).toBe(1);
      await queuesAndEnds(resumed, on);
    },
    TIMEOUT_MS,
  );
});

/** A session that may run tools queues a message while it works, runs a tool, and reports its end by a signal. */
async function queuesAndEnds(session: ProviderSession, { model, workdir }: Stage): Promise<void> {
  const turns = session.phases.filter((phase) => phase === "busy").length;
  model.wordDelayMs = 500;
  await session.send("TALK 40", "c-1");
  await session.until("the turn", ({ phases }) => phases.filter((phase) => phase === "busy").length > turns);
  expect(await session.send("SAY the second", "c-2")).toEqual({ outcome: "queued", error: "" });
  model.wordDelayMs = 0;
  await session.until("the settled input", ({ events }) => events.some((event) => event.type === "input-settled"));
  await session.until("the second answer", ({ text }) => text.includes("the second"));
  expect(model.arrivals("SAY the second")).toBe(1);
  expect(existsSync(join(workdir, "made-by-tool"))).toBe(false);
  await session.send("RUN-TOOL touch made-by-tool", "c-3");
  await session.until("the tool", () => existsSync(join(workdir, "made-by-tool")));
  process.kill(session.handle.pid, "SIGKILL");
  await session.read;
  expect(session.last).toEqual({ type: "ended", error: expect.stringContaining("SIGKILL") as string });
  expect(await session.send("too late", "c-4")).toMatchObject({ outcome: "agent-dead" });
}
