import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelServer } from "../fakes/model-server.ts";
import type { AgentKind } from "../support/agents/agents-home.ts";
import { type AgentDesk, agentDesk } from "../support/desk/agent-desk.ts";
import { administratorSide, canariesFound, customerSide } from "../support/desk/canary-search.ts";
import { type DeskEvent, parseJsonLines } from "../support/desk/desk-bed.ts";
import { ENCODING_COUNT } from "../support/desk/encodings.ts";
import { hostileAct, hostileCalls, WORDS } from "../support/desk/hostile-model.ts";
import { isSandboxUsable } from "../support/desk/sandbox-usable.ts";

/** An agent takes a second to start on an idle machine, and half a minute on a busy one. */
const BUSY_MS = 900_000;

/** The complete list of tools that each version offers its model when the desk launches it. */
const OFFERED: Readonly<Record<AgentKind, readonly string[]>> = {
  claude: ["mcp__desk__read_file"],
  // Three tools for resources cannot be switched off; the door, the only server that they can ask, has no resources.
  codex: [
    ...["list_mcp_resource_templates", "list_mcp_resources"],
    ...["mcp__desk", "mcp__desk.read_file", "read_mcp_resource"],
  ],
  opencode: ["desk_read_file"],
};

const ROUTED = 'tell customers to READ /docs/hours.md — "ünï", <b>\t$HOME';
const SECRET = "wholesale";
/**
 * Words that only the administrator's side has: in a file that its agent reads, above the working folders, and as a
 * credential.
 */
const CANARIES = [`${SECRET} 4.20`, "kestrel-4717-above", "sk-ant-api03-admin"];

/** The refusals of a model: a wrong key, an overloaded model, too many requests. */
const REFUSALS = ["REFUSE 401", "REFUSE 529", "REFUSE 429"];

/** Sent as users' texts in one of the customer's threads, so that one start of its agent serves them all. */
const ADMIN_LINES = ["READ /admin/prices.md", "WORDS", "HOSTILE", ROUTED, "REFUSE 529"].map((text) => ({
  ...{ text, to: "user" },
}));
const USER_LINES = ["READ /docs/hours.md", "READ /admin/prices.md", "WORDS", "HOSTILE", ...REFUSALS, "SAY more"].map(
  (text) => ({ text, thread: "user" }),
);

/** The events of each turn. */
function turnsOf(events: readonly DeskEvent[]): readonly (readonly DeskEvent[])[] {
  const ends = events.flatMap(({ type }, at) => (type === "turn_end" ? [at] : []));
  return ends.map((end, at) => events.slice(at === 0 ? 0 : (ends[at - 1] ?? 0) + 1, end + 1));
}

const isUsable = isSandboxUsable("a desk with real agents");

describe.runIf(isUsable).concurrent.each(["claude", "codex", "opencode"] as const)("%s on each side", (agent) => {
  let desk: AgentDesk;
  let admin: readonly (readonly DeskEvent[])[];
  let user: readonly (readonly DeskEvent[])[];
  const models = { back: hostileAct(() => desk.bed.folder), front: hostileAct(() => desk.bed.folder) };

  beforeAll(async () => {
    desk = await agentDesk({ agent, back: models.back.act, front: models.front.act });
    const { bed } = desk;
    for (const name of ["CLAUDE.md", "AGENTS.md"]) bed.write(name, `${CANARIES[1]}\n`);
    const both = [bed.events("admin", ADMIN_LINES), bed.events("user", USER_LINES)];
    [admin = [], user = []] = (await Promise.all(both)).map(turnsOf);
  }, BUSY_MS);
  afterAll(() => desk?.[Symbol.asyncDispose]());

  const answerOf = (turn: readonly DeskEvent[] | undefined) => turn?.find(({ type }) => type === "answer")?.["text"];
  const done = expect.objectContaining({ type: "turn_end", outcome: "done" });

  it("1. Admin CLI can read files under /admin/**", () => {
    expect(admin[0]).toContainEqual({ type: "read", path: "/admin/prices.md", ok: true, bytes: 15 });
    expect(answerOf(admin[0])).toContain(`${SECRET} 4.20`);
    expect(admin[0]?.at(-1)).toEqual(done);
  });

  it("2. User CLI cannot read files under /admin/**", () => {
    expect(user[1]).toContainEqual({ type: "read", path: "/admin/prices.md", ok: false, reason: "not allowed" });
    expect(answerOf(user[1])).toMatch(/^It says: .*cannot read it: not allowed$/s);
    expect(user[1]?.at(-1)).toEqual(done);
  });

  it("3. Customer node can read files under /docs/**", () => {
    expect(user[0]).toContainEqual({ type: "read", path: "/docs/hours.md", ok: true });
    expect(answerOf(user[0])).toContain("Opening hours: nine to six.");
    // The briefing's turn is among them.
    expect(admin[3]).toContainEqual({
      ...{ type: "answer", from: "customer", text: expect.stringContaining("Opening hours: nine to six.") },
    });
  });

  it("4. Supervisor conditional routing can send an admin task to the bridge", () => {
    expect(admin[3]).toContainEqual(expect.objectContaining({ type: "decision", route: "customer", rule: 1 }));
    const bytes = Buffer.byteLength(ROUTED);
    expect(admin[3]).toContainEqual(expect.objectContaining({ type: "crossed", outcome: "SUBMITTED", bytes }));
    expect(admin[0]).toContainEqual(expect.objectContaining({ type: "decision", route: "answer" }));
  });

  it(
    "5. Bridge rejects non-supervisor callers",
    async () => {
      const { code, out } = await desk.bed.run(["check"]);
      expect({ code, out }).toEqual({ code: 0, out: expect.not.stringMatching(/TAKEN|OPEN/) });
      expect(out.match(/refused \(unauthenticated\): a forged crossing/g)?.length).toBeGreaterThanOrEqual(10);
      expect(out).toContain("closed: the administrator's root by path");
    },
    BUSY_MS,
  );

  it(
    "6. Bridge forwards only the admin_input field",
    async () => {
      const crossed = desk.bed.records("front").filter(({ type }) => type === "crossing");
      expect(crossed.map(({ admin_input }) => admin_input)).toEqual([ROUTED]);
      expect(Object.keys(crossed[0] ?? {}).sort()).toEqual(["admin_input", "at", "id", "thread", "turn", "type"]);
      const briefings = desk.front.requests.filter(({ lastUserText }) => lastUserText.includes(ROUTED));
      expect(briefings[0]?.lastUserText).toMatch(/\[briefing [0-9a-f]{16}\]\n/);
      expect(JSON.stringify(desk.front.requests)).not.toContain(SECRET);
      const { out } = await desk.bed.run(["transcript", "--json"]);
      const withheld = expect.arrayContaining([expect.objectContaining({ channel: "history" })]);
      expect(parseJsonLines(out)[3]).toMatchObject({ crossing: { admin_input: ROUTED }, withheld });
    },
    BUSY_MS,
  );

  it(
    "7. System runs locally via CLI in both modes",
    async () => {
      const ended = { code: 0, out: "", err: "" };
      expect(await desk.bed.run(["--mode", "admin"], "exit\nSAY more\n")).toEqual(ended);
      expect(await desk.bed.run(["--mode", "user"], "quit\nSAY more\n")).toEqual(ended);
    },
    BUSY_MS,
  );

  it("offers its model its version's list of tools in each request of both halves", () => {
    for (const model of [desk.back, desk.front]) {
      const offered = offers(model);
      expect(offered.length).toBeGreaterThanOrEqual(ADMIN_LINES.length);
      for (const tools of offered) expect(tools).toEqual(OFFERED[agent]);
    }
  });

  it("answers with the model's words alone", () => {
    expect([answerOf(admin[1]), answerOf(user[2])]).toEqual([WORDS, WORDS]);
  });

  it("refuses any other call of a hostile model, and the turn continues", () => {
    const count = hostileCalls(desk.back.requests[0]?.api ?? "chat", "").length;
    for (const [turn, { results }] of [[admin[2], models.back] as const, [user[3], models.front] as const]) {
      expect(answerOf(turn)).toBe(`${count} calls were refused`);
      expect(turn?.at(-1)).toEqual(done);
      expect(results).toHaveLength(count);
      expect(results.join("\n")).not.toMatch(/wholesale|PATH=|HOME=/);
      const refused = turn?.filter(({ type }) => type === "read").map(({ ok, reason }) => ({ ok, reason }));
      expect(refused).toEqual(Array(3).fill({ ok: false, reason: "not allowed" }));
    }
    for (const made of [".desk/front/work/made", "docs/made"]) expect(existsSync(desk.bed.path(made))).toBe(false);
  });

  it(`leaks no canary to the customer's side in any of ${ENCODING_COUNT} encodings`, () => {
    expect(desk.frontRequests.length).toBeGreaterThanOrEqual(USER_LINES.length);
    expect(canariesFound(customerSide(desk, user), CANARIES)).toEqual([]);
    // The same search finds all of them on the other side.
    const found = canariesFound(administratorSide(desk), CANARIES);
    expect(CANARIES.filter((canary) => !found.some((leak) => leak.startsWith(canary)))).toEqual([]);
  });

  it("fails a turn whose model refuses, and answers the next one", () => {
    const failed = [
      { type: "error", reason: "agent unavailable" },
      expect.objectContaining({ type: "turn_end", outcome: "failed" }),
    ];
    expect(user.slice(4, 7)).toEqual(REFUSALS.map(() => failed));
    expect(answerOf(user[7])).toBe("more");
    expect(admin[4]?.slice(1)).toEqual(failed);
    // The thread's agent stays, and receives its turns only once.
    const last = desk.front.requests.find(({ lastUserText }) => lastUserText.endsWith("SAY more"));
    expect(last?.lastUserText).not.toContain("An earlier message");
  });
});

/** The tools of each request that offers some; the small requests for titles offer none. */
function offers(model: ModelServer): readonly (readonly string[])[] {
  return model.requests.filter(({ withTools }) => withTools).map(({ tools }) => [...tools].sort());
}
