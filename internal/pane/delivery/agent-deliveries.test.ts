import { beforeEach, describe, expect, it } from "vitest";
import { composerOf, FakePane, fakeProfile } from "../../../test/fakes/fake-pane.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { StateReport } from "../state/state-monitor.ts";
import { AgentDeliveries } from "./agent-deliveries.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import { UnsubmittedTexts } from "./unsubmitted-texts.ts";

const TEXT = "please look at the tests";
const { signal } = new AbortController();

let clock: FakeClock;
let pane: FakePane;
let deliveries: AgentDeliveries;
let standing: UnsubmittedTexts;
let people: { isTyping: boolean; inputAt: { monotonicMs: number } | undefined; look: () => Promise<void> };
let isHeld: boolean;
beforeEach(() => {
  clock = new FakeClock();
  pane = new FakePane(clock);
  standing = new UnsubmittedTexts();
  isHeld = false;
  people = { isTyping: false, inputAt: undefined, look: () => Promise.resolve() };
  const look = async () =>
    ({
      state: "idle",
      isHeld,
      composerSeen: true,
      draft:
        pane.view.composer !== undefined && !standing.isOurs(pane.view.composer, pane.quietMs(), clock.monotonicMs()),
    }) as StateReport;
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
      pane: () => Object.assign(pane, { facts: () => Promise.resolve({ dead: false }) }),
      output: pane,
      monitor: { ...signs, look, typing: () => {}, submitted: () => {}, signs: { typedInto: () => {} } },
      people,
      standing,
      restartDue: () => false,
    },
    [],
  );
});

/** The agent reports that it took the text, and shows `drawn` in its composer. */
async function submittedWith(drawn: string): Promise<void> {
  pane.onEnter = () => pane.hook(TEXT);
  const tracked = { nudge: { requestId: "a", text: TEXT } } as TrackedNudge;
  const result = await clock.until(
    deliveries.deliver(tracked, () => {}, signal),
    60_000,
  );
  expect(result).toMatchObject({ outcome: "submitted" });
  pane.show({ composer: composerOf(drawn) });
}

const isOurs = async () => (await deliveries.situation(signal)).justSubmitted;

it("does not take a submitted text for a draft while a slow agent still shows it, for up to five seconds", async () => {
  await submittedWith(TEXT);
  await clock.advance(4900);
  expect(await isOurs()).toBe(true);
  await clock.advance(200);
  expect(await isOurs()).toBe(false);
});

it("counts any other text as a draft after a second", async () => {
  await submittedWith("by hand");
  expect(await isOurs()).toBe(true);
  await clock.advance(1100);
  expect(await isOurs()).toBe(false);
});

it("reports a state that was judged before a resize as uncertain", async () => {
  expect((await deliveries.situation(signal)).state).toBe("idle");
  isHeld = true;
  expect((await deliveries.situation(signal)).state).toBe("uncertain");
});

it("checks again whether a person has pressed keys before it types, and observes the requested quiet time", async () => {
  people.look = () => {
    people.inputAt = { monotonicMs: clock.monotonicMs() - 15_000 };
    return Promise.resolve();
  };
  const deliver = (quietMs: number) =>
    clock.until(
      deliveries.deliver({ nudge: { requestId: "a", text: TEXT, quietMs } } as TrackedNudge, () => {}, signal),
      60_000,
    );
  expect(await deliver(20_000)).toEqual({ type: "retry", reason: "a person is typing" });
  pane.onEnter = () => pane.hook(TEXT);
  expect(await deliver(15_000)).toMatchObject({ outcome: "submitted" });
});

describe("an agent that hangs", () => {
  const nudge = (requestId: string, text: string) => ({ nudge: { requestId, text } }) as TrackedNudge;
  const delivered = (requestId: string, text: string) =>
    clock.until(
      deliveries.deliver(nudge(requestId, text), () => {}, signal),
      60_000,
    );

  beforeEach(async () => {
    await clock.advance(10);
    pane.onPaste = () => {
      pane.unreadBytes = 40;
    };
    expect(await delivered("a", TEXT)).toMatchObject({
      outcome: "unknown",
      error: expect.stringContaining("is hanging"),
    });
  });

  const thaw = (text: string) => {
    pane.unreadBytes = 0;
    pane.compose(text);
  };

  it("gets no other text until one second after it has read and drawn the first", async () => {
    expect((await deliveries.situation(signal)).undrawn).toBe(true);
    await clock.advance(60_000);
    expect((await deliveries.situation(signal)).undrawn).toBe(true);
    pane.compose(""); // it has drawn something, but has not read the text
    expect((await deliveries.situation(signal)).undrawn).toBe(true);
    thaw(TEXT);
    await clock.advance(10);
    expect((await deliveries.situation(signal)).undrawn).toBe(true);
    await clock.advance(1000);
    expect(await deliveries.situation(signal)).toMatchObject({ undrawn: false, draft: false });
  });

  it("draws the text late: it is removed and not submitted, and the next message goes through", async () => {
    thaw(TEXT);
    await clock.advance(10);
    await deliveries.situation(signal);
    await clock.advance(1000);
    pane.onPaste = (text) => pane.compose(text);
    pane.onErase = () => pane.compose("");
    expect(await delivered("b", "the next one")).toMatchObject({ outcome: "submitted" });
    expect(pane.typed).toEqual([TEXT, "\x15", "the next one", "\r"]);
    expect(pane.taken).toEqual(["the next one"]);
  });

  it("draws the text together with a person's: nothing is removed", async () => {
    thaw(`${TEXT} and by hand`);
    await clock.advance(1100);
    expect(await deliveries.situation(signal)).toMatchObject({ draft: true });
    expect(await delivered("b", "the next one")).toMatchObject({ type: "retry" });
    expect(pane.typed).toEqual([TEXT]);
  });
});

describe("an agent that hangs while a text of ours is being removed", () => {
  const deliver = (requestId: string, text: string) =>
    clock.until(
      deliveries.deliver({ nudge: { requestId, text } } as TrackedNudge, () => {}, signal),
      60_000,
    );

  beforeEach(() => {
    standing.left(TEXT);
    pane.compose(TEXT);
    pane.onErase = () => {
      pane.unreadBytes = 1;
    };
  });

  it("holds our text and no draft, however often a message is tried, and takes the message once it responds again", async () => {
    for (let i = 0; i < 5; i++) {
      expect(await deliver("b", "the next one")).toMatchObject({ type: "retry" });
      expect(await deliveries.situation(signal)).toMatchObject({ undrawn: true, draft: false });
    }
    pane.unreadBytes = 0;
    pane.compose("");
    await deliveries.situation(signal);
    await clock.advance(1100);
    expect(await deliveries.situation(signal)).toMatchObject({ undrawn: false, draft: false });
    expect(await deliver("b", "the next one")).toMatchObject({ outcome: "submitted" });
    expect(pane.taken).toEqual(["the next one"]);
  });
});

describe("an agent that draws something else before it reads what was typed", () => {
  const nudge = (requestId: string, text: string) => ({ nudge: { requestId, text } }) as TrackedNudge;
  const delivered = (requestId: string, text: string) =>
    clock.until(
      deliveries.deliver(nudge(requestId, text), () => {}, signal),
      60_000,
    );

  beforeEach(async () => {
    await clock.advance(10);
    pane.onPaste = () => pane.after(50, () => pane.compose(""));
    expect(await delivered("a", TEXT)).toMatchObject({ outcome: "unknown", error: expect.stringContaining("never") });
    pane.onErase = () => pane.compose("");
  });

  it("draws the text late on a quiet, empty screen: it still counts as ours, and is removed before the next one", async () => {
    await clock.advance(2000);
    expect(await deliveries.situation(signal)).toMatchObject({ draft: false });
    pane.compose(TEXT);
    await clock.advance(1000);
    expect(await deliveries.situation(signal)).toMatchObject({ draft: false });
    pane.onPaste = (text) => pane.compose(text);
    expect(await delivered("b", "the next one")).toMatchObject({ outcome: "submitted" });
    expect(pane.taken).toEqual(["the next one"]);
  });

  it("draws the text joined with the next one: both are removed, and the next one is typed again", async () => {
    pane.onPaste = (text) => pane.compose(TEXT + text);
    expect(await delivered("b", "the next one")).toMatchObject({ type: "retry" });
    pane.onPaste = (text) => pane.compose(text);
    expect(await delivered("b", "the next one")).toMatchObject({ outcome: "submitted" });
    expect(pane.taken).toEqual(["the next one"]);
  });

  it("draws the text joined with the next one and a person's: all of it stays", async () => {
    pane.onPaste = (text) => pane.compose(`${TEXT}${text} by hand`);
    expect(await delivered("b", "the next one")).toMatchObject({ outcome: "stranded" });
    expect(pane.typed).toEqual([TEXT, "the next one"]);
  });
});
