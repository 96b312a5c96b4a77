import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FullScreen, type TerminalHost } from "./full-screen.ts";

const ENTER = "<enter>";
const LEAVE = "<leave>";

/** A process and a terminal that record the calls to them. */
class World implements TerminalHost {
  readonly done: string[] = [];
  readonly dir = mkdtempSync(join(tmpdir(), "gt-terminal-"));
  inFront = true;
  readonly #listeners = new Map<string, () => void>();
  readonly #fd = openSync(join(this.dir, "written"), "w");

  use(): FullScreen {
    const stdin = {
      setRawMode: (on: boolean) => void this.done.push(on ? "raw" : "cooked"),
      pause: () => void this.done.push("pause"),
    } as unknown as NodeJS.ReadStream;
    const hooks = { onAway: () => void this.done.push("away"), onBack: () => void this.done.push("back") };
    return new FullScreen({ stdin, outputFd: this.#fd }, { enter: ENTER, leave: LEAVE }, hooks, this);
  }

  on(event: string, listener: () => void): void {
    this.#listeners.set(event, listener);
  }

  off(event: string): void {
    this.#listeners.delete(event);
  }

  stop(): void {
    this.done.push("stop");
  }

  isInFront(): boolean {
    return this.inFront;
  }

  hear(event: string): void {
    this.#listeners.get(event)?.();
  }

  get listening(): number {
    return this.#listeners.size;
  }

  get written(): string {
    return readFileSync(join(this.dir, "written"), "latin1");
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => rmSync(world.dir, { recursive: true }));

describe("the person's terminal", () => {
  it("is taken over, and restored once", () => {
    const terminal = world.use();
    expect(world.done).toEqual(["raw", "back"]);
    terminal[Symbol.dispose]();
    terminal[Symbol.dispose]();
    expect(world.done).toEqual(["raw", "back", "away", "cooked", "pause", "pause"]);
    expect(world.written).toBe(ENTER + LEAVE);
    expect(world.listening).toBe(0);
  });

  it("is restored when the process ends, whatever the reason", () => {
    world.use();
    world.hear("exit");
    expect(world.written).toBe(ENTER + LEAVE);
    expect(world.done.slice(-2)).toEqual(["away", "cooked"]);
  });

  it("belongs to the shell while the process is stopped", () => {
    using _terminal = world.use();
    world.hear("SIGTSTP");
    expect(world.done.slice(-3)).toEqual(["away", "cooked", "stop"]);
    world.inFront = false;
    world.hear("SIGCONT");
    expect(world.written).toBe(ENTER + LEAVE);
    world.inFront = true;
    world.hear("SIGCONT");
    expect(world.done.slice(-2)).toEqual(["raw", "back"]);
    expect(world.written).toBe(ENTER + LEAVE + ENTER);
  });

  it("is taken over again after an unannounced stop", () => {
    using _terminal = world.use();
    world.hear("SIGCONT");
    expect(world.written).toBe(ENTER + LEAVE + ENTER);
    expect(world.done.slice(-4)).toEqual(["away", "cooked", "raw", "back"]);
  });
});
