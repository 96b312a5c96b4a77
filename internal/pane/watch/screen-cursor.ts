import { hashOf } from "../../session/nudge-record.ts";
import type { WatchRequest, WatchUpdate } from "../../session/types.ts";
import { NO_BYTES } from "../../session/watch-interval.ts";
import { HEARTBEAT_MS } from "./raw-cursor.ts";
import { updateFacts, type WatchDeps } from "./watch-facts.ts";

/** The last lines of the pane at one moment. */
export interface Picture {
  readonly text: string;
  /** Equal for pictures that look the same to a watcher. */
  readonly content: string;
  readonly endReason: string | undefined;
}

/** Takes one picture for all watchers of the same lines. */
export async function takePicture(deps: WatchDeps, request: WatchRequest): Promise<Picture> {
  const { output, peeker, alive, ended } = deps;
  const wanted = { lines: request.lines, all: false, ansi: request.ansi, joinWrapped: false };
  const { output: text } = await peeker.peek(wanted);
  // A hash, because each watcher keeps the content and the text may be large.
  const content = JSON.stringify([hashOf(text), alive(), output.emulator.cols, output.emulator.rows]);
  return { text, content, endReason: ended() };
}

/** The last screen sent to one SCREEN watcher, which determines the next update. */
export class ScreenCursor {
  readonly #deps: WatchDeps;
  #shown: string | undefined;
  #sentAt = 0;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** The kind of update to send with this picture, if any. The last picture, if changed, is sent before the `end`. */
  kindFor(picture: Picture): WatchUpdate["kind"] | undefined {
    if (this.#shown === undefined) return "snapshot";
    if (picture.content !== this.#shown) return "change";
    if (picture.endReason !== undefined) return "end";
    return this.#deps.clock.monotonicMs() - this.#sentAt >= HEARTBEAT_MS ? "heartbeat" : undefined;
  }

  sent(picture: Picture): void {
    this.#shown = picture.content;
    this.#sentAt = this.#deps.clock.monotonicMs();
  }
}

export function screenUpdate(deps: WatchDeps, kind: WatchUpdate["kind"], picture: Picture): WatchUpdate {
  const update = { ...updateFacts(deps), kind, output: picture.text, data: NO_BYTES };
  return kind === "end" ? { ...update, endReason: picture.endReason ?? "" } : update;
}
