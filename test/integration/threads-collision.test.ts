import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { asObjects, asText } from "../../internal/base/json-fields.ts";
import type { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";
import { tmuxPerson } from "../support/sidecar/tmux-person.ts";
import { DemoSidecar } from "../support/threads/demo-sidecar.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 120_000;
const QUIET_MS = 4000;
/** tmux tells the time of the last key in whole seconds. */
const TICK_MS = 1000;
const LATE_MS = 6000;
const FOR_EVER_MS = 600_000;
const DRAFT = "half a";
/** Differs from `DRAFT`, which stays on the screen after it was sent. */
const OTHER_DRAFT = "and another half of one";
const ERASE = "\x7f".repeat(OTHER_DRAFT.length);

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let server: ThreadsServer;
let person: ThreadsClient;
let agent: DemoSidecar;
beforeAll(async () => {
  server = await ThreadsServer.start("--postgres", "system");
  person = server.client("tester", "operator");
  agent = await DemoSidecar.start("town/fixer", server, 1500);
});
afterAll(async () => {
  person?.[Symbol.dispose]();
  await agent?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const quiet = (ms: number) => person.call("set_policy", { policy: { quiet: ms } }, LONG);
const wakeOf = async () =>
  asObjects((await person.call("list_wakes", { agent_id: agent.address, limit: 1 }, LONG))["wakes"])[0] ?? {};
const held = (...by: string[]) =>
  eventually(
    `the wake is held by ${by}`,
    async () => {
      const { state, blocked_by } = await wakeOf();
      return ["QUEUED", "DEFERRED"].includes(asText(state)) && by.includes(asText(blocked_by));
    },
    WAIT_MS,
  );
const taken = (count: number) => eventually(`${count} texts`, () => agent.taken.length === count, WAIT_MS);
const screen = async () => (await gt(["peek", agent.address], server.env)).stdout;
const shows = (text: string) => eventually(text, async () => (await screen()).includes(text), WAIT_MS);
const idle = () =>
  eventually(
    "it is idle",
    async () => (await gt(["status", agent.address], server.env)).stdout.includes("idle for"),
    WAIT_MS,
  );

/** Posts a message for the agent in a thread of its own; returns the thread. */
async function message(title: string): Promise<string> {
  const thread = await startThread(person, title, [agent.address], LONG);
  await person.call("post_message", { thread_id: thread, text: `read ${title}` }, LONG);
  return thread;
}

// Comes first: no one has typed yet.
it("F7: a screen in copy mode and a read-only person delay no wake", async () => {
  await quiet(FOR_EVER_MS);
  using looks = tmuxPerson(agent.stateDir, "-r");
  await looks.sees("Type a message");
  looks.type("nothing\r");
  await inItsTmux(agent, "copy-mode", "-t", "PANE");
  await message("looked at");
  await taken(1);
  expect(agent.taken.at(-1)).toContain('in "looked at"');
  await idle();
});

it("F7: no byte is typed onto a draft or until the quiet time after Enter is over; soon after it the text arrives", async () => {
  await quiet(QUIET_MS);
  const before = agent.taken.length;
  using hands = tmuxPerson(agent.stateDir);
  await hands.sees("Type a message");
  hands.type(DRAFT);
  await shows(DRAFT);
  await message("draft");
  await held("draft", "person");
  expect(await screen()).not.toContain('in "draft"');
  hands.type("\r");
  const [sent, sinceMs] = [performance.now(), calmTime()];
  await taken(before + 1);
  expect(agent.taken.at(-1)).toBe(DRAFT);
  await taken(before + 2);
  expect(performance.now() - sent).toBeGreaterThan(QUIET_MS - TICK_MS);
  // The agent works for a while on what the person has sent.
  expect(sinceMs()).toBeLessThan(QUIET_MS + LATE_MS);
  expect(agent.taken.at(-1)).toContain('in "draft"');
  await idle();
});

it("F7: no byte is typed into a dialog that opens before the wake or while the wake is held", async () => {
  await quiet(1);
  const before = agent.taken.length;
  const ask = async (text: string) =>
    expect(await gt(["nudge", agent.address, "-m", text], server.env)).toMatchObject({ code: 0 });
  await ask("run: touch one");
  await shows("Allow this command?");
  await message("dialog before");
  await held("dialog");
  expect(await gt(["respond", agent.address, "1"], server.env)).toMatchObject({ code: 0 });
  await taken(before + 2);
  await idle();

  await gt(["nudge", agent.address, "-m", "run: touch two"], server.env);
  await message("dialog meanwhile");
  await shows("Allow this command?");
  await held("dialog");
  expect(agent.taken).toHaveLength(before + 3);
  expect(await gt(["respond", agent.address, "1"], server.env)).toMatchObject({ code: 0 });
  await taken(before + 4);
  expect(agent.taken.slice(before).map((text) => /(?:dialog|touch) \w+/.exec(text)?.[0])).toEqual([
    ...["touch one", "dialog before", "touch two", "dialog meanwhile"],
  ]);
  await idle();
});

it("F7: force waives the quiet time but not a draft, and is audited", async () => {
  await quiet(FOR_EVER_MS);
  const before = agent.taken.length;
  using hands = tmuxPerson(agent.stateDir);
  await hands.sees("Type a message");
  hands.type(OTHER_DRAFT);
  await shows(OTHER_DRAFT);
  const thread = await message("forced");
  await held("draft", "person");
  const force = (reason: string) =>
    gt(["threads", "wake", thread, agent.address, "--reason", reason, "--force"], server.env);
  // On a busy machine `gt` may get its answer before the attempt has ended.
  let refusal = "";
  await eventually(
    "it is refused",
    async () => {
      const { code, stderr } = await force("first");
      refusal = stderr;
      return code === 6;
    },
    WAIT_MS,
  );
  expect(refusal).toContain("nothing was typed");
  expect(await screen()).not.toContain('in "forced"');
  hands.type(ERASE);
  await eventually("the draft is gone", async () => !(await screen()).includes(OTHER_DRAFT), WAIT_MS);
  await held("person");
  // Someone whose last key was less than 2 s ago is still writing.
  await eventually("it is forced", async () => (await force("second")).code !== 6, WAIT_MS);
  await taken(before + 1);
  expect(agent.taken.at(-1)).toContain('in "forced"');
  const { entries } = await person.call("list_audit", { limit: 500 }, LONG);
  const forced = asObjects(entries).filter(({ action }) => action === "forced_wake");
  expect(forced.map(({ actor, detail }) => [actor, detail])).toEqual(
    expect.arrayContaining(["first", "second"].map((reason) => ["tester", { agent_id: agent.address, reason }])),
  );
});
