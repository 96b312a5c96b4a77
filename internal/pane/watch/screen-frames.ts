import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { intervalOf } from "../../session/watch-interval.ts";
import { type Picture, type ScreenCursor, screenUpdate, takePicture } from "./screen-cursor.ts";
import { WATCH_LOOK_MS, type WatchDeps, waitOrEnd } from "./watch-facts.ts";
import type { Made } from "./watch-sink.ts";

/** SCREEN updates for all watchers of the same lines: one capture for all, each update encoded once. */
export class ScreenFrames<F> {
  readonly #deps: WatchDeps;
  readonly #request: WatchRequest;
  readonly #encode: (update: WatchUpdate) => F;
  readonly #made = new Map<WatchUpdate["kind"], Made<F>>();
  #picture: Picture | undefined;
  #version = -1;

  constructor(deps: WatchDeps, request: WatchRequest, encode: (update: WatchUpdate) => F) {
    this.#deps = deps;
    this.#request = request;
    this.#encode = encode;
  }

  /**
   * Takes another picture of the screen: after the interval, once the screen has changed, or a second later if it has
   * not.
   */
  async untilNext(signal: AbortSignal): Promise<void> {
    const { output } = this.#deps;
    await waitOrEnd(this.#deps, intervalOf(this.#request), signal);
    // Do not wait after an end that came during the pause: it is not notified again. An earlier end was sent already.
    const isOver = this.#deps.ended() !== undefined && this.#picture?.endReason === undefined;
    if (!isOver && output.emulator.version === this.#version) await output.changed(WATCH_LOOK_MS, signal);
    this.#version = output.emulator.version;
    this.#picture = await takePicture(this.#deps, this.#request);
    this.#made.clear();
  }

  /** The next update for `cursor`, which moves on; undefined if there is none. */
  next(cursor: ScreenCursor): Made<F> | undefined {
    const picture = this.#picture;
    const kind = picture === undefined ? undefined : cursor.kindFor(picture);
    if (picture === undefined || kind === undefined) return undefined;
    cursor.sent(picture);
    const known = this.#made.get(kind);
    if (known !== undefined) return known;
    const made = { frame: this.#encode(screenUpdate(this.#deps, kind, picture)), isEnd: kind === "end" };
    this.#made.set(kind, made);
    return made;
  }
}
