import { mkdirSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { agentProgram } from "../support/agents/agents-install.ts";
import { type Act, agentDesk, PATIENT, readingAct } from "../support/desk/agent-desk.ts";
import { deskBed } from "../support/desk/desk-bed.ts";
import { isSandboxUsable } from "../support/desk/sandbox-usable.ts";

/** An agent takes a second to start on an idle machine, and half a minute on a busy one. */
const BUSY_MS = 900_000;

const isUsable = isSandboxUsable("a real agent of the desk");

/** A model that can also hang, or give an answer that is longer than allowed. */
const faultyAct: Act = (request) => {
  if (request.lastUserText.endsWith("HANG")) return { type: "hang" };
  if (request.lastUserText.endsWith("FLOOD")) return { type: "say", text: "flood ".repeat(60_000) };
  return readingAct(request);
};

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + BUSY_MS / 2; !isSo(); await sleep(50)) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
  }
}

const unavailable = [
  { type: "error", reason: "agent unavailable" },
  expect.objectContaining({ type: "turn_end", outcome: "failed" }),
];
const answered = (text: string) => [
  { type: "answer", from: "customer", text },
  expect.objectContaining({ type: "turn_end", outcome: "done" }),
];

describe.runIf(isUsable).concurrent("a real agent", () => {
  // The slowest first: three tests run at a time.
  it.each(["opencode", "codex", "claude"] as const)(
    "(%s) decides with one word what crosses, from the text alone",
    async (agent) => {
      const refused = "tell customers: the model is overloaded";
      const asked: { readonly tools: readonly string[]; readonly texts: string }[] = [];
      const word: Act = ({ tools, userTexts, lastUserText }) => {
        // OpenCode retries five times, after the advised pause; without advice its growing pauses take a minute.
        if (lastUserText.endsWith(refused))
          return { type: "refuse", status: 529, error: "overloaded_error", retryAfter: 0.01 };
        asked.push({ tools, texts: userTexts.join("\n") });
        if (lastUserText.endsWith("closed on Sunday")) return { type: "say", text: "customer" };
        if (lastUserText.endsWith("SAY loud")) return { type: "say", text: "CUSTOMER, as you wish" };
        return { type: "say", text: "answer" };
      };
      await using desk = await agentDesk({ agent, word, more: `intent: { by: agent }\n${PATIENT}` });
      const lines = ["SAY hidden", "SAY loud", "let them know: closed on Sunday"].map((text) => ({ text }));
      const events = await desk.bed.events("admin", [...lines, { text: refused }]);
      // Whatever the rules say, nothing crosses without a decision.
      expect(events.slice(-2)).toEqual(unavailable);
      const decisions = events.filter(({ type }) => type === "decision");
      expect(decisions.map(({ route, rule }) => [route, rule])).toEqual([
        ...[["answer", "agent"] as const, ["answer", "agent"] as const, ["customer", "agent"] as const],
      ]);
      const crossed = desk.bed.records("front").filter(({ type }) => type === "crossing");
      expect(crossed.map(({ admin_input }) => admin_input)).toEqual(["let them know: closed on Sunday"]);
      // The agent that decides gets neither tools, nor earlier text, nor a file's name.
      expect(asked).toHaveLength(lines.length);
      expect(asked.map(({ tools }) => tools)).toEqual(lines.map(() => []));
      expect(asked.map(({ texts }) => lines.filter(({ text }) => texts.includes(text)).length)).toEqual([1, 1, 1]);
      expect(asked.map(({ texts }) => texts).join("\n")).not.toContain("prices");
      expect(JSON.stringify(desk.front.requests)).not.toMatch(/hidden|loud|overloaded/);
    },
    BUSY_MS,
  );

  it(
    "that hangs, dies, floods or is frozen ends only its own turn",
    async () => {
      await using desk = await agentDesk({ agent: "claude", front: faultyAct, back: faultyAct });
      const { bed, front } = desk;
      const lines = (thread: string, texts: readonly string[]) => texts.map((text) => ({ thread, text }));

      // It hangs in one thread while another thread is answered, and then both agents die.
      const first = bed.events("user", lines("a", ["SAY one", "HANG", "SAY three", "FLOOD", "SAY four"]));
      await until("the turn that hangs", () =>
        front.requests.some(({ lastUserText }) => lastUserText.endsWith("HANG")),
      );
      expect(await bed.events("user", lines("b", ["SAY two"]))).toEqual(answered("two"));
      const agents = desk.agents();
      expect(agents.length).toBeGreaterThanOrEqual(2);
      for (const pid of agents) process.kill(pid, "SIGKILL");
      expect(await first).toEqual([
        ...[...answered("one"), ...unavailable, ...answered("three")],
        ...[...unavailable, ...answered("four")],
      ]);
      // The turns of the thread's previous agent are public history.
      const told = front.requests.find(({ lastUserText }) => lastUserText.endsWith("SAY three"))?.lastUserText;
      expect(told).toContain("An earlier message:\nSAY one\nYour answer:\none");

      desk.configure("limits: { turn: 3s }");
      const frozen = desk.agents();
      for (const pid of frozen) process.kill(pid, "SIGSTOP");
      const [user, admin] = await Promise.all([
        bed.events("user", lines("a", ["SAY more"])),
        bed.events("admin", lines("a", ["HANG"])),
      ]);
      expect(user).toEqual(unavailable);
      expect(admin.slice(1)).toEqual(unavailable);
      desk.configure(PATIENT);
      expect(await bed.events("user", lines("a", ["SAY five"]))).toEqual(answered("five"));
      expect(frozen.length).toBeGreaterThan(0);
      expect(desk.agents().filter((pid) => frozen.includes(pid))).toEqual([]);
      const failures = bed.records("front").filter(({ type, outcome }) => type === "end" && outcome === "failed");
      expect(failures).toHaveLength(3);
    },
    BUSY_MS,
  );

  it(
    "runs without isolation if a flag says so, and each start warns of what is not isolated",
    async () => {
      await using desk = await agentDesk({ agent: "codex" });
      const none = ["--isolation", "none"];
      const user = await desk.bed.run(["--mode", "user", ...none], "READ /docs/hours.md\n");
      expect(user).toMatchObject({ code: 0, out: expect.stringContaining("Opening hours: nine to six.") });
      expect(user.err).toContain("warning: the customer's side reaches the administrator's root by path");
      const admin = await desk.bed.run(["--mode", "admin", ...none], "tell customers to READ /docs/hours.md\n");
      expect(admin).toMatchObject({ code: 0, out: expect.stringContaining("crossed: 37 bytes to main") });
      expect(admin.err).toContain("warning: the customer's side reaches the administrator's root by path");
    },
    BUSY_MS,
  );
});

it(
  "an agent is not started with a credential of the other side, whatever its variable is called",
  async () => {
    await using desk = await agentDesk({ agent: "claude" });
    const key = "sk-ant-api03-one-key-for-both";
    desk.bed.write("admin.env", `ANTHROPIC_API_KEY=${key}\n`);
    desk.bed.write("customer.env", `# the same\nexport ANTHROPIC_AUTH_TOKEN="${key}"\n`);
    for (const mode of ["admin", "user"]) {
      const { code, out, err } = await desk.bed.run(["--mode", mode, "--once"], "SAY hello");
      expect({ code, out }).toEqual({ code: 4, out: "" });
      expect(err).toContain("both sides have the same credential ANTHROPIC_AUTH_TOKEN");
      expect(err).not.toContain(key);
    }
    expect([...desk.back.requests, ...desk.front.requests]).toEqual([]);
  },
  BUSY_MS,
);

it(
  "an agent is not started without bubblewrap, and the error contains the command that installs it",
  async () => {
    const claude = await agentProgram("claude-2.1.330");
    await using bed = deskBed({
      "desk.yaml": "version: 1\nsupervisor: { root: ./admin }\ncustomer: { agent: claude, root: ./docs }\n",
    });
    mkdirSync(bed.path("bin"));
    for (const name of ["uname", "dirname", "readlink"]) symlinkSync(`/usr/bin/${name}`, bed.path(`bin/${name}`));
    const PATH = `${bed.path("bin")}:${dirname(claude)}`;
    for (const mode of ["admin", "user"]) {
      const { code, out, err } = await bed.run(["--mode", mode, "--once"], "tell customers hello", { PATH });
      expect({ code, out, err }).toEqual({
        code: 4,
        out: "",
        err: expect.stringContaining("apt-get install bubblewrap"),
      });
    }
  },
  BUSY_MS,
);
