import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import type { ScreenView } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import { Redactor } from "../../base/redact.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { OutputStream } from "../../pane/screen/output.ts";
import type { StateReport } from "../../pane/state/state-monitor.ts";
import { type EventRecord, restoreEvents, type StandingLines } from "../../session/event-records.ts";
import { SessionEvents } from "../../session/events.ts";
import type { AgentStateName, Dialog } from "../../session/types.ts";
import { EventRecorder } from "./event-recorder.ts";
import { ReportedLines } from "./reported-lines.ts";

const REPORT: StateReport = {
  state: "starting",
  since: 0,
  evidence: [],
  isHeld: false,
  composerSeen: false,
  draft: false,
  background: [],
};
const LIFE = { restartDue: false, crashLoop: false };

/** An agent whose states are reported by hand, and its recorder. */
class Stage {
  readonly clock = new FakeClock();
  readonly journal: EventRecord[] = [];
  readonly output: OutputStream;
  readonly events: SessionEvents;
  readonly lines: ReportedLines;
  readonly recorder: EventRecorder;
  view: ScreenView = {};
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #monitor = { changes: new SignalBus(), report: REPORT };

  constructor(setup: { readonly silent?: boolean; readonly standing?: StandingLines } = {}) {
    const { clock } = this;
    const keep = (record: EventRecord) => this.journal.push(record) > 0;
    this.output = new OutputStream({ clock }, { cols: 40, rows: 6, rawBytes: 1e6, epoch: "e", startOffset: 0n });
    const options = { eventBuffer: 1000, eventBytes: 1e6 };
    this.events = new SessionEvents(
      { clock, time: machineTime(clock), redactor: new Redactor([]), keep },
      options,
      restoreEvents([]),
    );
    const idleProof = setup.silent === true ? ("silence" as const) : ("screen" as const);
    const profile = { ...profileNamed("demo"), idleProof, view: () => this.view };
    const seen = { clock, profile, events: this.events, output: this.output };
    this.lines = new ReportedLines({ ...seen, keep }, setup.standing);
    this.recorder = new EventRecorder({ ...seen, monitor: this.#monitor, lines: this.lines });
    const tasks = [this.lines, this.recorder, this.events];
    this.#running = Promise.all(tasks.map((task) => task.run(this.#stop.signal)));
  }

  async draw(text: string, rows = 6): Promise<void> {
    await this.output.resumeFrom({ text, cols: 40, rows, hasHistory: true });
    this.lines.drawn();
  }

  async print(text: string): Promise<void> {
    this.output.take(Buffer.from(text));
    await this.output.drawn();
  }

  is(state: AgentStateName, dialog?: Dialog): void {
    const since = this.clock.now();
    this.#monitor.report = { ...REPORT, state, since, dialog };
    this.#monitor.changes.notify();
  }

  runsBehind(...background: StateReport["background"]): void {
    this.#monitor.report = { ...this.#monitor.report, background };
    this.#monitor.changes.notify();
  }

  /** The events recorded so far. */
  async reported(): Promise<string[]> {
    const reported: string[] = [];
    const followed = this.events.follow({ subscriber: "", owner: "", epoch: "" }, new AbortController().signal);
    for (;;) {
      const next = await Promise.race([followed.next(), settle().then(() => undefined)]);
      if (next === undefined || next.done) return reported;
      if (next.value.type === "missing") continue;
      const { event } = next.value;
      if (event.type === "stdout") reported.push(event.text);
      else if (event.type === "phase-changed") reported.push(`is ${event.state}${event.text && `, ${event.text}`}`);
      else if (event.type === "session-failed") reported.push(`failed: ${event.error}${event.done ? ", done" : ""}`);
      else reported.push(event.type + ("done" in event && event.done ? ", done" : ""));
    }
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error("stop"));
    await this.#running;
  }
}

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(async () => {
  await stage.end();
  expect(stage.clock.sleeping).toBe(0);
});

describe("an agent that becomes idle", () => {
  it("has the lines on its screen reported, and then its state", async () => {
    await stage.draw("");
    stage.is("busy");
    await stage.print("answer\r\nmore of it\r\n");
    stage.is("idle");
    await stage.clock.advance(300);
    expect(await stage.reported()).toEqual(["is busy", "answer\nmore of it\n", "is idle"]);
  });

  it("reports its background tasks, and each change to them, once", async () => {
    const server = { id: "b1", kind: "shell", title: "npm run dev", since: 0 } as const;
    const helper = { id: "a1", kind: "subagent", title: "", since: 0 } as const;
    await stage.draw("");
    stage.is("busy");
    stage.runsBehind(server);
    stage.is("idle");
    stage.runsBehind(server);
    await stage.clock.advance(300);
    stage.runsBehind(server, helper);
    stage.runsBehind(server, helper);
    stage.runsBehind();
    expect(await stage.reported()).toEqual([
      "is busy",
      "is idle, 1 in the background: shell: npm run dev",
      "is idle, 2 in the background: shell: npm run dev; subagent",
      "is idle",
    ]);
  });

  it("gets a moment to draw the end of its turn", async () => {
    await stage.draw("");
    stage.is("idle");
    await stage.clock.advance(20);
    await stage.print("the last line\r\n");
    await stage.clock.advance(300);
    expect(await stage.reported()).toEqual(["the last line\n", "is idle"]);
  });

  it("is reported without its input box, the text in that and the rows below", async () => {
    await stage.draw("");
    stage.view = { composer: { top: 2, bottom: 2, text: "draft", pasteMarkers: 0 } };
    await stage.print("answer\r\n────────\r\n> draft\r\n────────\r\nhint");
    stage.is("idle");
    await stage.clock.advance(300);
    expect(await stage.reported()).toEqual(["answer\n", "is idle"]);
  });

  it("and continues at once is reported with both states in order, and with its lines at the next stop", async () => {
    await stage.draw("");
    await stage.print("answer\r\n");
    stage.is("idle");
    stage.is("busy");
    await stage.clock.advance(300);
    stage.is("idle");
    await stage.clock.advance(300);
    expect(await stage.reported()).toEqual(["is idle", "is busy", "answer\n", "is idle"]);
  });

  it("records the lines on the screen in the journal, so that another process does not report them again", async () => {
    await stage.draw("");
    await stage.print("answer\r\n");
    stage.is("idle");
    await stage.clock.advance(300);
    const { standing } = restoreEvents(stage.journal);
    await stage.end();
    stage = new Stage({ standing });
    await stage.draw("older\r\n1\r\n2\r\n3\r\n4\r\n5\r\nanswer\r\nwhat came meanwhile");
    stage.is("idle");
    await stage.clock.advance(300);
    expect(await stage.reported()).toEqual(["2\n3\n4\n5\nwhat came meanwhile", "is idle"]);
  });
});

describe("an agent that ends", () => {
  it("has its last output reported first, however late that arrives", async () => {
    await stage.draw("");
    stage.recorder.alive({ fresh: true });
    stage.recorder.dead({ ...LIFE, exit: { code: 0 } });
    for (let i = 0; i < 20; i++) {
      await stage.print(`${i}\r\n`);
      await stage.clock.advance(60);
    }
    await stage.clock.until(stage.recorder.over);
    const lines = Array.from({ length: 20 }, (_, i) => `${i}\n`).join("");
    const reported = await stage.reported();
    expect(reported.slice(1, -1).join("")).toBe(lines);
    expect([reported[0], reported.at(-1)]).toEqual(["session-started", "session-stopped, done"]);
  });

  it("and is restarted counts as failed until then", async () => {
    await stage.draw("");
    stage.recorder.dead({ exit: { signal: 11 }, restartDue: true, crashLoop: false });
    stage.recorder.alive({ fresh: true });
    await stage.clock.advance(10_000);
    expect(await stage.reported()).toEqual(["failed: the agent ended with signal 11", "session-started"]);
  });

  it("after a request to stop has not failed, whatever its exit code", async () => {
    await stage.draw("");
    stage.is("stopping");
    stage.recorder.dead({ ...LIFE, exit: { signal: 15 } });
    await stage.clock.until(stage.recorder.over);
    expect(await stage.reported()).toEqual(["is stopping", "session-stopped, done"]);
  });

  it("without a request has failed", async () => {
    await stage.draw("");
    stage.recorder.dead({ ...LIFE, exit: { code: 3 }, crashLoop: true });
    await stage.clock.until(stage.recorder.over);
    expect(await stage.reported()).toEqual(["failed: the agent ended with exit code 3, repeatedly, done"]);
  });
});

describe("a program whose state is unknown", () => {
  beforeEach(async () => {
    await stage.end();
    stage = new Stage({ silent: true });
    await stage.draw("");
    stage.is("uncertain");
  });

  it("has the lines on its screen reported once when it prints nothing for two seconds", async () => {
    await stage.print("$ ");
    await stage.clock.advance(1500);
    await stage.print("ls\r\nfile\r\n$ ");
    await stage.clock.advance(1500);
    expect(await stage.reported()).toEqual(["is uncertain"]);
    await stage.clock.advance(60_000);
    expect(await stage.reported()).toEqual(["is uncertain", "$ ls\nfile\n$ "]);
  });

  it("has an unfinished line continued in the next text", async () => {
    await stage.print("one\r\nworking …");
    await stage.clock.advance(3000);
    await stage.print(" still …");
    await stage.clock.advance(3000);
    await stage.print(" done\r\nnext\r\n");
    await stage.clock.advance(3000);
    expect((await stage.reported()).slice(1)).toEqual(["one\nworking …", " still …", " done\nnext\n"]);
  });

  it("has an unfinished line ended if another is printed in its place", async () => {
    await stage.print("10 %");
    await stage.clock.advance(3000);
    await stage.print("\r20 %\r\n");
    await stage.clock.advance(3000);
    expect((await stage.reported()).slice(1).join("")).toBe("10 %\n20 %\n");
  });

  it("has an unfinished line continued by another process", async () => {
    await stage.print("working …");
    await stage.clock.advance(3000);
    const { standing } = restoreEvents(stage.journal);
    await stage.end();
    stage = new Stage({ silent: true, standing });
    await stage.draw("working …");
    stage.is("uncertain");
    await stage.clock.advance(3000);
    await stage.print(" done\r\n");
    await stage.clock.advance(3000);
    expect((await stage.reported()).slice(1)).toEqual([" done\n"]);
  });

  it("has lines that returned from the history recognised by another process", async () => {
    await stage.print("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n");
    await stage.clock.advance(1000);
    expect((await stage.reported()).slice(1)).toEqual(["1\n2\n3\n"]);
    await stage.output.resize(40, 8);
    const { standing } = restoreEvents(stage.journal);
    await stage.end();
    stage = new Stage({ silent: true, standing });
    await stage.draw("2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n");
    stage.is("uncertain");
    await stage.print("8\r\n9\r\n");
    await stage.clock.advance(3000);
    expect((await stage.reported()).slice(1).join("")).toBe("4\n5\n6\n7\n8\n9\n");
  });
});

describe("a window that grows while no serving half is running", () => {
  const words = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => `line ${1000 + from + i}\r\n`).join("");

  it("repeats no reported line, whether it was on the screen or in the history", async () => {
    await stage.end();
    stage = new Stage({ silent: true });
    await stage.draw("");
    stage.is("uncertain");
    await stage.print(words(1, 9));
    await stage.clock.advance(3000);
    await stage.print(words(10, 15));
    await stage.clock.advance(250);
    const { standing } = restoreEvents(stage.journal);
    await stage.end();
    stage = new Stage({ silent: true, standing });
    await stage.draw(words(4, 15), 13);
    stage.is("uncertain");
    await stage.print(words(16, 17));
    await stage.clock.advance(3000);
    expect((await stage.reported()).slice(1).join("")).toBe(words(11, 17).replaceAll("\r", ""));
  });
});

describe("output that was never drawn", () => {
  it("is reported as lost, except for output from before this process", async () => {
    await stage.draw("");
    expect(await stage.reported()).toEqual([]);
    await stage.draw("");
    await stage.draw("");
    expect(await stage.reported()).toEqual(["output-lost"]);
  });
});

it("reports lines above the screen if nothing was reported before", async () => {
  await stage.draw("banner 1\r\nbanner 2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8");
  await stage.print("\r\n9");
  stage.is("idle");
  await stage.clock.advance(300);
  expect((await stage.reported()).slice(0, -1).join("")).toBe("banner 1\nbanner 2\n3\n4\n5\n6\n7\n8\n9");
});

it("reports when dialogs open, change and close", async () => {
  await stage.draw("");
  const dialog = (id: string): Dialog => ({ id, kind: "other", title: "", text: "", choices: [], since: 0 });
  stage.is("dialog", dialog("a"));
  stage.is("dialog", dialog("a"));
  stage.is("dialog", dialog("b"));
  stage.is("busy");
  const expected = ["dialog-opened", "is dialog", "dialog-closed", "dialog-opened", "dialog-closed", "is busy"];
  expect(await stage.reported()).toEqual(expected);
});
