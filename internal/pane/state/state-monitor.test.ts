import { describe, expect, it } from "vitest";
import { fakeProfile } from "../../../test/fakes/fake-pane.ts";
import {
  changes,
  clock,
  forgetChanges,
  idleComposer,
  monitor,
  monitorProfile,
  pane,
  SHOWN_DIALOG,
  signal,
  state,
  useStateMonitor,
} from "../../../test/support/pane/state-monitor-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";

useStateMonitor();

describe("a monitor", () => {
  it("waits for an agent that has not been seen yet, and reports it neither alive nor dead", async () => {
    expect(await state()).toBe("starting");
  });

  it("reports a new agent as starting until its composer is seen", async () => {
    pane.show({});
    monitor.signs.started();
    expect(await state()).toBe("starting");
    pane.show({ composer: idleComposer });
    expect(await state()).toBe("uncertain");
    await clock.advance(1500);
    expect(await state()).toBe("idle");
  });

  it("reports a new agent that has only announced its session as starting, for ten seconds", async () => {
    pane.show({});
    monitor.signs.started();
    monitor.signs.heard({ type: "session-start" });
    expect(await state()).toBe("starting");
    await clock.advance(9999);
    expect(await state()).toBe("starting");
    await clock.advance(1);
    expect(await state()).toBe("uncertain");
  });

  it("reports how long ago the agent ended, however often it looks", async () => {
    monitor.signs.started();
    monitor.signs.setProcess({ type: "dead", restartDue: true, crashLoop: false });
    await clock.advance(700);
    await monitor.look(signal);
    await clock.advance(50);
    expect(monitor.report.evidence[0]).toMatchObject({ value: "it ended; it is being restarted", ageMs: 750 });
  });

  it("counts the silence of a restarted agent from its start", async () => {
    monitor.signs.started();
    monitor.signs.printed();
    await clock.advance(60_000);
    pane.show({ composer: idleComposer });
    monitor.signs.started();
    monitor.signs.printed();
    await monitor.look(signal);
    pane.show({});
    expect(await state()).toBe("uncertain");
    expect(monitor.report.evidence[0]).toMatchObject({ value: "no source distinguishes busy from idle", ageMs: 0 });
  });

  it("ignores the screen of the ended agent after a restart", async () => {
    pane.show({ composer: idleComposer });
    monitor.signs.started();
    await clock.advance(60_000);
    expect(await state()).toBe("idle");
    monitor.signs.setProcess({ type: "dead", restartDue: true, crashLoop: false });
    await clock.advance(1000);
    monitor.signs.started();
    expect(await state()).toBe("starting");
    await clock.advance(60_000);
    expect(await state()).toBe("starting");
    monitor.signs.printed();
    expect(await state()).toBe("idle");
  });

  it("reports an unknown program as starting until it shows something, even after a restart", async () => {
    monitorProfile(fakeProfile(pane, "generic"));
    for (let life = 0; life < 2; life++) {
      pane.show({}, screenOf([""]));
      monitor.signs.started();
      expect(await state()).toBe("starting");
      pane.show({}, screenOf(["> "]));
      monitor.signs.printed();
      expect(await state()).toBe("uncertain");
      pane.show({}, screenOf([""]));
      expect(await state()).toBe("uncertain");
    }
  });

  it("treats an agent as new from its start to its first message, and never one whose start it did not see", () => {
    monitor.signs.resumed();
    expect(monitor.isNew()).toBe(false);
    monitor.signs.started();
    expect(monitor.isNew()).toBe(true);
    monitor.submitted();
    expect(monitor.isNew()).toBe(false);
    monitor.signs.started();
    monitor.signs.heard({ type: "activity" });
    expect(monitor.isNew()).toBe(true);
    monitor.signs.heard({ type: "prompt-submitted", prompt: "by hand" });
    expect(monitor.isNew()).toBe(false);
  });

  it("keeps what an agent reported before it was looked for", async () => {
    monitor.signs.heard({ type: "activity" });
    monitor.signs.started();
    expect(await state()).toBe("busy");
  });

  it("is not idle by the screen while something moves around the composer; typing does not count", async () => {
    monitor.signs.started();
    const rows = (spinner: string) => screenOf([`${spinner} Frobnicating`, "> ", "status"]);
    const view = { composer: { ...idleComposer, top: 1, bottom: 1 } };
    for (const frame of ["✶", "✻", "✽", "✻", "✶"]) {
      pane.show(view, rows(frame));
      expect(await state()).toBe("uncertain");
      await clock.advance(1000);
    }
    await clock.advance(500);
    expect(await state()).toBe("idle");
    pane.show(view, screenOf(["✶ Frobnicating", "> ", "another status"]));
    expect(await state()).toBe("idle");
  });

  it("counts movement below the composer for an agent that shows its work there", async () => {
    const profile = { ...fakeProfile(pane), movesBelow: true as const };
    monitorProfile(profile);
    monitor.signs.started();
    const view = { composer: { ...idleComposer, top: 0, bottom: 0 } };
    for (const frame of ["■⬝⬝", "⬝■⬝", "⬝⬝■"]) {
      pane.show(view, screenOf(["> ", frame]));
      expect(await state()).toBe("uncertain");
      await clock.advance(1400);
    }
  });

  it("reports an agent that works in silence as busy, and as stalled after its work stops", async () => {
    monitor.signs.started();
    pane.show({ composer: idleComposer, busy: "working" });
    monitor.signs.printed();
    await clock.advance(59_000);
    expect(await state()).toBe("busy");
    expect(monitor.stallsAt).toBe(clock.monotonicMs() + 1000);
    monitor.worked();
    await clock.advance(59_999);
    expect(await state()).toBe("busy");
    await clock.advance(1);
    expect(await state()).toBe("stalled");
    monitor.worked();
    expect(await state()).toBe("busy");
  });

  it("forgets everything about the previous run of the agent", async () => {
    monitor.signs.started();
    monitor.signs.heard({ type: "turn-ended" });
    monitor.signs.read({ type: "idle" });
    expect(await state()).toBe("idle");
    pane.show({});
    monitor.signs.started();
    expect(await state()).toBe("starting");
  });

  it("forgets that the agent waited after the dialog is answered, until it waits again", async () => {
    monitor.signs.started();
    monitor.signs.heard({ type: "waiting", reason: "permission" });
    monitor.signs.read({ type: "waiting", reason: "permission" });
    expect(await state()).toBe("dialog");
    monitor.signs.answered();
    monitor.signs.read({ type: "waiting", reason: "permission" }); // the file lags behind
    expect(await state()).not.toBe("dialog");
    monitor.signs.read({ type: "busy" });
    monitor.signs.read({ type: "waiting", reason: "permission" });
    expect(await state()).toBe("dialog");
    monitor.signs.answered();
    await clock.advance(2000);
    monitor.signs.read({ type: "waiting", reason: "permission" });
    expect(await state()).toBe("dialog");
  });

  it("counts from the change of the screen, not from the time of the look", async () => {
    monitor.signs.started();
    await state();
    pane.show({ composer: idleComposer, busy: "working" });
    await clock.advance(40);
    expect((await monitor.look(signal)).evidence[0]?.ageMs).toBe(40);
  });

  it("reports the evidence's age as of now, not as of its last look", async () => {
    monitor.signs.started();
    monitor.signs.heard({ type: "activity" });
    await monitor.look(signal);
    await clock.advance(700);
    expect(monitor.report.evidence[0]?.ageMs).toBe(700);
  });

  it("reports since when a state holds", async () => {
    monitor.signs.started();
    pane.show({ composer: idleComposer, busy: "working" });
    const { since } = await monitor.look(signal);
    await clock.advance(3000);
    expect((await monitor.look(signal)).since).toBe(since);
    pane.show({ composer: idleComposer });
    expect((await monitor.look(signal)).since).toBe(since + 3000);
  });

  it("keeps the start of an unchanged dialog, and reports when another one replaces it", async () => {
    monitor.signs.started();
    pane.show({ dialog: SHOWN_DIALOG });
    const first = (await monitor.look(signal)).dialog;
    await clock.advance(500);
    pane.show({ dialog: { ...SHOWN_DIALOG } });
    expect((await monitor.look(signal)).dialog).toEqual(first);
    forgetChanges();
    pane.show({ dialog: { ...SHOWN_DIALOG, title: "Run that?" } });
    const second = (await monitor.look(signal)).dialog;
    expect(second?.id).not.toBe(first?.id);
    expect(changes).toBe(1);
    expect(monitor.waitsForPerson()).toBe(true);
  });

  it("reports a person's draft, and does not treat our own text as one", async () => {
    monitor.signs.started();
    pane.compose("half a thou");
    expect((await monitor.look(signal)).draft).toBe(true);
    monitor.typing(true);
    expect((await monitor.look(signal)).draft).toBe(false);
    monitor.typing(false);
    pane.compose("", 1);
    expect((await monitor.look(signal)).draft).toBe(true);
  });

  it("treats a text that a delivery left behind as a draft at once, before the screen changes", async () => {
    const stop = new AbortController();
    const running = monitor.run(stop.signal);
    monitor.signs.started();
    monitor.typing(true);
    pane.compose("stranded");
    await clock.advance(100);
    expect(monitor.report.draft).toBe(false);
    monitor.typing(false);
    await clock.advance(0);
    expect(monitor.report.draft).toBe(true);
    stop.abort();
    await running;
  });

  it("ignores an idle report from before our own message", async () => {
    monitor.signs.started();
    monitor.signs.heard({ type: "turn-ended" });
    expect(await state()).toBe("idle");
    await clock.advance(10);
    monitor.submitted();
    expect(monitor.report.state).toBe("busy"); // without another look
    expect(await state()).toBe("busy");
    await clock.advance(10);
    monitor.signs.heard({ type: "turn-ended" });
    expect(await state()).toBe("idle");
  });

  it("remembers which message the agent took, and when", async () => {
    expect(monitor.reportsPrompts()).toBe(false);
    await clock.advance(100);
    monitor.signs.heard({ type: "prompt-submitted", prompt: "hello" });
    expect(monitor.reportsPrompts()).toBe(true);
    monitor.signs.heard({ type: "activity" });
    expect(monitor.promptTakenSince(100)).toEqual({ prompt: "hello", at: 100 });
    expect(monitor.promptTakenSince(101)).toBeUndefined();
  });

  it("reports each change once", async () => {
    monitor.signs.started();
    await monitor.look(signal);
    forgetChanges();
    await monitor.look(signal);
    expect(changes).toBe(0);
    pane.show({ composer: idleComposer, busy: "working" });
    await monitor.look(signal);
    await monitor.look(signal);
    expect(changes).toBe(1);
  });
});

describe("a monitor that runs", () => {
  it("looks when something happens, and again when its judgement may change by itself", async () => {
    const stop = new AbortController();
    const running = monitor.run(stop.signal);
    monitor.signs.started();
    await clock.advance(20);
    pane.show({ composer: idleComposer, busy: "working" });
    await clock.advance(60);
    expect(monitor.report.state).toBe("busy");
    pane.show({ composer: idleComposer });
    await clock.advance(60);
    expect(monitor.report.state).toBe("uncertain");
    await clock.advance(1450);
    expect(monitor.report.state).toBe("idle");
    monitor.signs.setProcess({ type: "dead", restartDue: false, crashLoop: false });
    await clock.advance(1);
    expect(monitor.report.state).toBe("dead");
    stop.abort(new Error("stopping"));
    await clock.until(running);
    expect(clock.sleeping).toBe(0);
  });

  it.each([160, 400, 900])("is never idle if the busy mark disappears for %i ms between steps", async (ms) => {
    const stop = new AbortController();
    const seen = new Set<string>();
    monitor.signs.started();
    pane.show({ composer: idleComposer, busy: "working" });
    const running = monitor.run(stop.signal);
    await clock.advance(100);
    monitor.changes.listen(() => seen.add(monitor.report.state));
    for (let step = 0; step < 20; step++) {
      pane.show({ composer: idleComposer });
      await clock.advance(ms);
      pane.show({ composer: idleComposer, busy: "working" });
      await clock.advance(100);
    }
    stop.abort(new Error("stopping"));
    await clock.until(running);
    expect([...seen].sort()).toEqual(["busy", "uncertain"]);
  });

  it("judges a screen that never stops changing", async () => {
    const stop = new AbortController();
    monitor.signs.started();
    const running = monitor.run(stop.signal);
    for (let i = 0; i < 30; i++) {
      pane.show({ composer: idleComposer, busy: `working ${i}` });
      await clock.advance(10);
    }
    expect(monitor.report.state).toBe("busy");
    stop.abort(new Error("stopping"));
    await clock.until(running);
  });
});
