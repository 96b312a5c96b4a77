import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { intervalOf } from "../../session/watch-interval.ts";
import { FIRST_SCREEN_MS } from "../screen/peek.ts";
import { RawCursor } from "./raw-cursor.ts";
import { RawFrames } from "./raw-frames.ts";
import { ScreenCursor, screenUpdate, takePicture } from "./screen-cursor.ts";
import { ScreenFrames } from "./screen-frames.ts";
import { WATCH_LOOK_MS, type WatchDeps, waitOrEnd } from "./watch-facts.ts";
import { WatchGroup } from "./watch-group.ts";
import { SinkMember, type WatchSink } from "./watch-sink.ts";

export interface Watching<F> {
  readonly first: WatchUpdate;
  /**
   * Sends all other updates to a sink. Resolves after the `end`; rejects with the signal's reason if the signal is
   * aborted first.
   */
  readonly rest: (sink: WatchSink<F>) => Promise<void>;
}

interface ScreenGroup<F> {
  readonly group: WatchGroup;
  readonly frames: ScreenFrames<F>;
}

/**
 * Serves the watchers of one agent's terminal. Each update is made once for all watchers that get it: `encode` turns it
 * into the sinks' format. A SCREEN watcher gets all of the last lines each time they differ from what it was sent. A
 * RAW watcher first gets a snapshot that redraws the screen, unless it resumes; then the bytes with their offsets, and
 * another snapshot after each gap. Both are served until the agent has ended for good.
 */
export class WatchHub<F> {
  readonly #deps: WatchDeps;
  readonly #encode: (update: WatchUpdate) => F;
  readonly #frames: RawFrames<F>;
  readonly #rawGroups = new Map<number, WatchGroup>();
  readonly #screenGroups = new Map<string, ScreenGroup<F>>();

  constructor(deps: WatchDeps, encode: (update: WatchUpdate) => F) {
    this.#deps = deps;
    this.#encode = encode;
    this.#frames = new RawFrames(encode);
  }

  /** @throws DomainError `invalid` (more than 100,000 lines), `precondition` (an offset that is yet to come) */
  watch(request: WatchRequest, signal: AbortSignal): Promise<Watching<F>> {
    return request.mode === "raw" ? this.#watchRaw(request, signal) : this.#watchScreen(request, signal);
  }

  async #watchRaw(request: WatchRequest, signal: AbortSignal): Promise<Watching<F>> {
    const { output } = this.#deps;
    await output.known(FIRST_SCREEN_MS);
    const cursor = new RawCursor(this.#deps, request);
    let first = cursor.next();
    for (; first === undefined; first = cursor.next()) await output.screens.next(signal);
    const isEnd = first.kind === "end";
    const rest = async (sink: WatchSink<F>) => {
      if (isEnd) return;
      const group = this.#rawGroup(intervalOf(request));
      await group.join((end) => new SinkMember(sink, () => this.#frames.next(cursor), end), signal);
    };
    return { first, rest };
  }

  async #watchScreen(request: WatchRequest, signal: AbortSignal): Promise<Watching<F>> {
    const cursor = new ScreenCursor(this.#deps);
    const picture = await takePicture(this.#deps, request);
    cursor.sent(picture);
    const rest = async (sink: WatchSink<F>) => {
      const { group, frames } = this.#screenGroup(request);
      await group.join((end) => new SinkMember(sink, () => frames.next(cursor), end), signal);
    };
    return { first: screenUpdate(this.#deps, "snapshot", picture), rest };
  }

  #rawGroup(interval: number): WatchGroup {
    const known = this.#rawGroups.get(interval);
    if (known !== undefined) return known;
    const { clock, output, ended } = this.#deps;
    let seen = output.ring.end;
    let end: string | undefined;
    const untilNext = async (signal: AbortSignal) => {
      await waitOrEnd(this.#deps, interval, signal);
      // Do not wait after an end that came during the pause: it is not notified again. An earlier end was sent already.
      const isOver = ended() !== end;
      if (!isOver && output.ring.end === seen) await output.bytes.nextOrAfter(WATCH_LOOK_MS, clock, signal);
      seen = output.ring.end;
      end = ended();
    };
    const group = new WatchGroup(untilNext, () => this.#rawGroups.delete(interval));
    this.#rawGroups.set(interval, group);
    return group;
  }

  #screenGroup(request: WatchRequest): ScreenGroup<F> {
    const key = `${intervalOf(request)} ${request.lines} ${request.ansi}`;
    const known = this.#screenGroups.get(key);
    if (known !== undefined) return known;
    const frames = new ScreenFrames(this.#deps, request, this.#encode);
    const group = new WatchGroup(
      (signal) => frames.untilNext(signal),
      () => this.#screenGroups.delete(key),
    );
    const made = { group, frames };
    this.#screenGroups.set(key, made);
    return made;
  }
}
