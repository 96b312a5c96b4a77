import type { Msg } from "@nats-io/transport-node";
import { chunkText } from "../acp/acp-turn.ts";
import { type ExactJson, isObject, type JsonObject, member, RECORD_DEPTH, readJson } from "../acp/json-text.ts";
import { progressPlaceIn } from "../lanes/progress.ts";
import type { Bus } from "../nats/bus.ts";
import type { ProgressPlace, ReplayGap } from "../nats/progress-rings.ts";
import { type LaneName, subjects } from "../nats/subjects.ts";
import type { EditorOutput } from "./editor-output.ts";
import { sessionOfLane } from "./front-place.ts";

/** The text that an editor was shown of one piece of work. Undefined: parts of it are unknown. */
interface Shown {
  readonly workId: string;
  text: string | undefined;
}

/** The longest text that is compared with the result, in characters. */
const MAX_SHOWN = 1024 * 1024;
/** The most held updates. Beyond that, the newest replaces the last held one, so that its number shows the gap. */
const MOST_HELD = 4096;

/** Shows an editor the updates of a lane, unchanged, and reports missing ones. */
export class FollowedLane {
  readonly lane: LaneName;
  readonly #bus: Bus;
  readonly #output: EditorOutput;
  #last: ProgressPlace | undefined;
  /** The newest update that was dropped since the last one that was shown. */
  #dropped: ProgressPlace | undefined;
  #shown: Shown | undefined;
  /** Live updates that wait until earlier ones are shown. */
  #held: Msg[] | undefined;
  /** True: the next prompt continues the conversation. */
  continues = false;
  /** True while a prompt is open. */
  isBusy = false;

  constructor(bus: Bus, lane: LaneName, output: EditorOutput) {
    this.#bus = bus;
    this.lane = lane;
    this.#output = output;
  }

  /** Subscribes to the lane's updates until the signal; resolves when the subscription is active. */
  async follow(signal: AbortSignal): Promise<void> {
    const callback = (err: Error | null, message: Msg) => {
      if (err !== null) return;
      if (this.#held === undefined) this.#came(message);
      else this.#held[Math.min(this.#held.length, MOST_HELD - 1)] = message;
    };
    const subscription = this.#bus.nc.subscribe(subjects.progress(this.lane), { callback });
    const unlisten = this.#output.drained.listen(() => this.reportDropped());
    const leave = () => {
      subscription.unsubscribe();
      unlisten();
    };
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    await this.#bus.nc.flush();
  }

  /** Holds live updates until `show`. */
  hold(): void {
    this.#held ??= [];
  }

  /** Shows the updates that a relay has kept, then those held since `hold`. */
  show(bodies: readonly ExactJson[]): void {
    for (const body of bodies) if (isObject(body)) this.#again(body);
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const message of held) this.#came(message);
  }

  /** The place of the last update. */
  get last(): ProgressPlace | undefined {
    return this.#last;
  }

  /** Starts collecting the text that the editor is shown of a piece of work. */
  note(workId: string): void {
    this.#shown = { workId, text: "" };
  }

  get shownText(): string | undefined {
    return this.#shown?.text;
  }

  update(update: JsonObject, relay: JsonObject = {}, bytes = 256): void {
    const params = { sessionId: sessionOfLane(this.lane), update, _meta: { relay } };
    this.#output.send({ jsonrpc: "2.0", method: "session/update", params }, bytes);
  }

  /** Reports missing updates to the editor, as text and in `_meta`. */
  missing({ epoch, first, to }: ReplayGap): void {
    const which = to === 0 ? `from ${first} on` : first === to ? `${first}` : `${first} to ${to}`;
    const text = `[relay: updates are missing: ${which}]`;
    this.update(
      { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } },
      { gap: { epoch, first, to } },
    );
  }

  /** Reports the updates that were dropped while the editor did not read. */
  reportDropped(): void {
    const dropped = this.#dropped;
    if (dropped === undefined) return;
    this.#dropped = undefined;
    const first = this.#nextOf(dropped.epoch);
    this.#last = dropped;
    this.missing({ epoch: dropped.epoch, first, to: dropped.seq });
  }

  #came(message: Msg): void {
    const body = readJson(message.string(), RECORD_DEPTH);
    const place = progressPlaceIn(body);
    if (!isObject(body) || place === undefined) return;
    const { epoch, seq } = place;
    if (seq < this.#nextOf(epoch)) return;
    if (this.#dropped?.epoch !== epoch || !this.#output.isFull) this.reportDropped();
    if (this.#output.isFull) {
      this.#lose();
      this.#dropped = place;
      return;
    }
    const first = this.#nextOf(epoch);
    if (this.#last !== undefined && seq > first) {
      this.#lose();
      this.missing({ epoch, first, to: seq - 1 });
    }
    this.#pass(body, place, message.data.length);
  }

  /** The number of the next update of an epoch. */
  #nextOf(epoch: string): number {
    return this.#last?.epoch === epoch ? this.#last.seq + 1 : 1;
  }

  #again(body: JsonObject): void {
    const place = progressPlaceIn(body);
    if (place !== undefined) {
      this.#pass(body, place, 512);
      return;
    }
    const payload = member(body, "payload");
    const prompt = isObject(payload) ? member(payload, "prompt") : undefined;
    for (const content of Array.isArray(prompt) ? (prompt as readonly ExactJson[]) : []) {
      this.update({ sessionUpdate: "user_message_chunk", content });
    }
  }

  #pass(body: JsonObject, place: ProgressPlace, bytes: number): void {
    const [id, update] = [member(body, "id"), member(body, "payload")];
    if (!isObject(update)) return;
    this.#last = place;
    this.update(update, { ...place, id }, bytes);
    const shown = this.#shown;
    if (shown === undefined || shown.workId !== id || shown.text === undefined) return;
    shown.text += chunkText(update) ?? "";
    if (shown.text.length > MAX_SHOWN) shown.text = undefined;
  }

  #lose(): void {
    if (this.#shown !== undefined) this.#shown.text = undefined;
  }
}
