import { describe, expect, it } from "vitest";
import {
  clock,
  forgetChanges,
  idleComposer,
  monitor,
  pane,
  SHOWN_DIALOG,
  signal,
  state,
  useStateMonitor,
} from "../../../test/support/pane/state-monitor-bed.ts";
import { screenOf } from "../../../test/support/screens/screens.ts";

useStateMonitor();

describe("a monitor during a resize", () => {
  const atWidth = (cols: number) => screenOf(["─".repeat(cols), "> "]);
  const withComposer = { composer: { ...idleComposer, top: 1, bottom: 1 } };
  const repaint = (cols: number) => pane.show(withComposer, atWidth(cols));
  const becomeIdle = async () => {
    monitor.signs.started();
    repaint(80);
    await clock.advance(1500);
    expect(await state()).toBe("idle");
  };

  it("stays idle while the screen is cut, moved and repainted", async () => {
    await becomeIdle();
    const { since } = await monitor.look(signal);
    forgetChanges();
    monitor.resized();
    pane.show({}, screenOf(["half a box"]));
    expect(await state()).toBe("idle");
    await clock.advance(300);
    repaint(40);
    for (let ms = 0; ms < 3000; ms += 100) {
      expect(await monitor.look(signal)).toMatchObject({ state: "idle", since });
      await clock.advance(100);
    }
    expect(monitor.report.isHeld).toBe(false);
  });

  it("marks the state as held, and adds what the screen shows meanwhile to its evidence", async () => {
    await becomeIdle();
    monitor.resized();
    pane.show({}, screenOf([""]));
    await clock.advance(100);
    const { isHeld, evidence } = await monitor.look(signal);
    expect(isHeld).toBe(true);
    expect(evidence.map(({ source, ageMs }) => [source, ageMs])).toEqual([
      ["screen", 1600],
      ["output", expect.any(Number)],
    ]);
  });

  it("is uncertain after three seconds if the program does not repaint", async () => {
    await becomeIdle();
    monitor.resized();
    pane.show({}, screenOf(["half a box"]));
    await clock.advance(2999);
    expect(await state()).toBe("idle");
    await clock.advance(1);
    expect(await state()).toBe("uncertain");
  });

  it("looks again by itself after the time for repainting", async () => {
    await becomeIdle();
    const stop = new AbortController();
    monitor.resized();
    pane.show({}, screenOf(["half a box"]));
    const running = monitor.run(stop.signal);
    await clock.advance(2900);
    expect(monitor.report.state).toBe("idle");
    await clock.advance(100);
    expect(monitor.report.state).toBe("uncertain");
    stop.abort(new Error("stopping"));
    await clock.until(running);
  });

  it("keeps a state through many resizes in a row, but for ten seconds at most", async () => {
    await becomeIdle();
    const seen: string[] = [];
    for (let ms = 0; ms < 12_000; ms += 500) {
      monitor.resized();
      pane.show({}, screenOf([`${ms}`]));
      seen.push(await state());
      await clock.advance(500);
    }
    expect(seen).toEqual([...Array(20).fill("idle"), ...Array(4).fill("uncertain")]);
  });

  it("accepts a dialog or a sign of work on the new screen at once, and then drops the earlier state", async () => {
    await becomeIdle();
    monitor.resized();
    pane.show({ dialog: SHOWN_DIALOG });
    expect(await state()).toBe("dialog");
    pane.show({ ...withComposer, busy: "working" });
    expect(await state()).toBe("busy");
    pane.show(withComposer);
    expect(await state()).toBe("uncertain");
  });

  it("keeps an open dialog with its text and id", async () => {
    monitor.signs.started();
    pane.show({ dialog: SHOWN_DIALOG });
    const { dialog } = await monitor.look(signal);
    monitor.resized();
    pane.show({}, screenOf(["half a dialog"]));
    expect(await monitor.look(signal)).toMatchObject({ state: "dialog", dialog });
  });

  it.each([
    ["a hook", () => monitor.signs.heard({ type: "waiting", reason: "permission" }), "dialog"],
    ["a submitted message", () => monitor.signs.submitted(), "busy"],
    ["the agent's end", () => monitor.signs.setProcess({ type: "dead", restartDue: false, crashLoop: false }), "dead"],
  ] as const)("replaces the held state on %s", async (_, say, expected) => {
    await becomeIdle();
    monitor.resized();
    pane.show({}, screenOf([""]));
    say();
    expect(await state()).toBe(expected);
  });

  it("does not stay idle if the agent has not drawn a typed text", async () => {
    await becomeIdle();
    monitor.resized();
    monitor.signs.typedInto(clock.monotonicMs());
    await clock.advance(600);
    expect(await state()).toBe("uncertain");
  });

  it("does not hold a state without evidence", async () => {
    monitor.signs.started();
    repaint(80);
    expect(await state()).toBe("uncertain");
    monitor.resized();
    pane.show({}, screenOf([""]));
    expect(await state()).toBe("uncertain");
  });
});
