import { seeded } from "../../../bench/stats.ts";
import type { AgentProfile } from "../../../internal/agents/profile.ts";
import { profileNamed } from "../../../internal/agents/programs/registry.ts";
import { normalise } from "../../../internal/agents/safe-text.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { SignalBus } from "../../../internal/base/signal-bus.ts";
import { WatchMode } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { clearOwnText } from "../../../internal/pane/delivery/clear-composer.ts";
import { UnsubmittedTexts } from "../../../internal/pane/delivery/unsubmitted-texts.ts";
import { Emulator } from "../../../internal/pane/screen/emulator.ts";
import type { ScreenSource } from "../../../internal/pane/screen/screen-source.ts";
import type { Bed } from "./bed.ts";
import { mixedLine } from "./mixed-lines.ts";
import type { Target } from "./targets.ts";

/** Lines in many scripts that were pasted, and removed again. */
export interface LineFigures {
  readonly target: string;
  /** The number of the run's first line, and the number after its last: the seed and its number determine each line. */
  readonly from: number;
  readonly to: number;
  readonly recognised: number;
  readonly cleared: number;
  /** Each unrecognised line, as sent and as found. */
  readonly notes: readonly string[];
}

export interface LineOptions {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
  readonly onLines: (figures: LineFigures) => void;
}

const PER_EVENT = 50;
const PER_LIFE = 500;
const SEEN_MS = 3000;
/** As many attempts as a delivery makes. */
const CLEARINGS = 3;

/**
 * Pastes lines into the composer; the product's own code must recognise and remove each, without a turn of the model.
 */
export async function runLines(target: Target, options: LineOptions): Promise<void> {
  const { signal } = options;
  const profile = profileNamed(target.name.split(/[-:]/, 1)[0] ?? "");
  for (let life = options.from; life < options.to; life += PER_LIFE) {
    await using bed = await target.start(options.sidecarProgram);
    await bed.calm(signal);
    await using screen = await WatchedScreen.of(bed);
    const end = Math.min(options.to, life + PER_LIFE);
    for (let from = life; from < end; from += PER_EVENT) {
      const to = Math.min(end, from + PER_EVENT);
      options.onLines({
        target: target.name,
        from,
        to,
        ...(await someLines(bed, screen, profile, { ...options, from, to })),
      });
    }
  }
}

async function someLines(bed: Bed, screen: WatchedScreen, profile: AgentProfile, options: LineOptions) {
  const notes: string[] = [];
  let recognised = 0;
  let cleared = 0;
  for (let index = options.from; index < options.to; index++) {
    options.signal.throwIfAborted();
    const line = normalise(mixedLine(seeded(options.seed * 1_000_003 + index * 7919)));
    const safe = line.type === "safe" ? profile.defuse(line.text) : line;
    if (safe.type !== "safe") continue;
    const standing = new UnsubmittedTexts();
    standing.left(safe.text);
    await bed.hands.paste(safe.text);
    const composer = () => profile.view(screen.emulator.screen()).composer;
    const isSeen = await screen.until(SEEN_MS, () => {
      const now = composer();
      return now !== undefined && now.text !== "" && standing.knows(now);
    });
    if (isSeen) recognised++;
    else notes.push(`${index}: not recognised: ${JSON.stringify([safe.text, composer()?.text])}`);
    const writer = {
      typeAt: (text: string) => bed.hands.type(text).then(() => "sent" as const),
      unread: async () => undefined,
    };
    const deps = { clock: systemClock, writer, source: screen, profile, standing };
    let isCleared = false;
    for (let tries = 0; tries < CLEARINGS && !isCleared; tries++) {
      isCleared = (await clearOwnText(deps, options.signal)).type === "cleared";
    }
    if (isCleared) cleared++;
    else notes.push(`${index}: not cleared: ${JSON.stringify([safe.text, composer()?.text])}`);
    if (composer()?.text !== "") await bed.redraw();
    if (!isCleared) await bed.calm(options.signal); // by a person's keys: remains must not precede the next line
  }
  return { recognised, cleared, notes };
}

/** The agent's screen from its raw output, as the sidecar itself builds it. */
class WatchedScreen implements ScreenSource, AsyncDisposable {
  readonly emulator: Emulator;
  readonly #stop = new AbortController();
  readonly #changes = new SignalBus();
  #printedAt = performance.now();

  private constructor(cols: number, rows: number) {
    this.emulator = new Emulator({ cols, rows, scrollback: 10 });
  }

  static async of({ sidecar }: Bed): Promise<WatchedScreen> {
    const { cols, rows } = await sidecar.client.status({});
    const screen = new WatchedScreen(cols, rows);
    const updates = sidecar.client.watchOutput({ mode: WatchMode.RAW }, { signal: screen.#stop.signal });
    void screen.#follow(updates).catch(() => {});
    await screen.until(5000, () => screen.emulator.version > 0);
    return screen;
  }

  async #follow(updates: AsyncIterable<{ readonly data: Uint8Array }>): Promise<void> {
    for await (const { data } of updates) {
      if (data.length === 0) continue;
      await this.emulator.write(data);
      this.#printedAt = performance.now();
      this.#changes.notify();
    }
  }

  async until(ms: number, isSo: () => boolean): Promise<boolean> {
    for (const end = performance.now() + ms; !isSo(); ) {
      if (performance.now() > end) return false;
      await this.changed(20, this.#stop.signal);
    }
    return true;
  }

  current() {
    return Promise.resolve(this.emulator.screen());
  }

  changed(ms: number, signal: AbortSignal): Promise<void> {
    return this.#changes.nextOrAfter(ms, systemClock, signal);
  }

  quietMs(): number {
    return performance.now() - this.#printedAt;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    return Promise.resolve();
  }
}
