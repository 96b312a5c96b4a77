import { beforeEach, expect, it } from "vitest";
import { composerOf, FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import type { StateReport } from "../state/monitor.ts";
import { AgentDeliveries } from "./agent-deliveries.ts";
import type { Letter } from "./letter.ts";

const TEXT = "please look at the tests";
const { signal } = new AbortController();

let clock: FakeClock;
let pane: FakePane;
let deliveries: AgentDeliveries;
beforeEach(() => {
  clock = new FakeClock();
  pane = new FakePane(clock);
  const look = async () =>
    ({ state: "idle", composerSeen: true, draft: pane.view.composer?.text !== "" }) as StateReport;
  const signs = {
    promptTakenSince: (since: number) => pane.promptTakenSince(since),
    reportsPrompts: () => true,
    hasReported: () => true,
    isNew: () => false,
    waitsForPerson: () => false,
  };
  deliveries = new AgentDeliveries(
    {
      clock,
      profile: fakeProfile(pane, "known"),
      pane: () => pane as unknown as TmuxPane,
      output: pane,
      monitor: { ...signs, look, typing: () => {}, submitted: () => {} },
      people: { isTyping: false },
      restartDue: () => false,
    },
    undefined,
  );
});

/** The agent says that it took the text, and shows `drawn` in its composer. */
async function submittedWith(drawn: string): Promise<void> {
  pane.onEnter = () => pane.hook(TEXT);
  const letter = { nudge: { requestId: "a", text: TEXT } } as Letter;
  const result = await clock.until(
    deliveries.deliver(letter, () => {}, signal),
    60_000,
  );
  expect(result).toMatchObject({ outcome: "submitted" });
  pane.show({ composer: composerOf(drawn) });
}

const isOurs = async () => (await deliveries.situation(signal)).justSubmitted;

it("takes a text that a slow agent has taken and still draws for no draft, five seconds long", async () => {
  await submittedWith(TEXT);
  await clock.advance(4900);
  expect(await isOurs()).toBe(true);
  await clock.advance(200);
  expect(await isOurs()).toBe(false);
});

it("takes any other text for a draft after a second", async () => {
  await submittedWith("by hand");
  expect(await isOurs()).toBe(true);
  await clock.advance(1100);
  expect(await isOurs()).toBe(false);
});
