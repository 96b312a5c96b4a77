import { randomUUID } from "node:crypto";
import { METHOD_NOT_FOUND } from "../acp/json-rpc.ts";
import { type ExactJson, isObject, member } from "../acp/json-text.ts";
import { type RpcCalls, RpcFailure } from "../acp/rpc-calls.ts";
import { type AskedPermission, AskedWork, type AskedWorkDeps } from "./asked-work.ts";
import { answerOfResults, type EditorAnswer } from "./editor-answer.ts";
import type { FollowedLane } from "./followed-lane.ts";
import { sessionOfLane } from "./front-place.ts";

export interface EditorTurnDeps extends AskedWorkDeps {
  /** Calls to the editor. */
  readonly calls: RpcCalls;
}

/** A prompt of an editor: a piece of work of its lane, from publication to result. */
export class EditorTurn {
  readonly #calls: RpcCalls;
  readonly #lane: FollowedLane;
  readonly #work: AskedWork;
  readonly #id = randomUUID();

  /** @param maxBytes the longest work message, in bytes */
  constructor(
    { calls, ...deps }: EditorTurnDeps,
    lane: FollowedLane,
    prompt: ExactJson | undefined,
    traceparent: ExactJson | undefined,
    maxBytes: number,
  ) {
    this.#calls = calls;
    this.#lane = lane;
    const payload = { prompt: prompt ?? null, continue: lane.continues || undefined };
    const asked = { id: this.#id, payload, traceparent, maxBytes, isNamed: false };
    this.#work = new AskedWork(deps, lane.lane, asked, {
      name: "editor",
      stored: () => {
        lane.continues = true;
      },
      permit: (permission, signal) => this.#ask(permission, signal),
    });
  }

  /**
   * Publishes the prompt as work and waits for its result.
   * @throws DomainError for the same reasons as `AskedWork.run`; the reason of `left`
   */
  async run(left: AbortSignal): Promise<EditorAnswer> {
    this.#lane.note(this.#id);
    return answerOfResults(await this.#work.run(left), this.#lane.shownText);
  }

  /** Requests the end of the turn. */
  cancel(): void {
    this.#work.cancel();
  }

  /** The option that the editor chooses. Undefined: the editor cannot answer. */
  async #ask(permission: AskedPermission, signal: AbortSignal): Promise<ExactJson | undefined> {
    const { approvalId, expiresAt, toolCall, options } = permission;
    const relay = { approval_id: approvalId, expires_at: expiresAt };
    const params = { sessionId: sessionOfLane(this.#lane.lane), toolCall, options, _meta: { relay } };
    try {
      const answer = await this.#calls.call("session/request_permission", params, signal);
      const outcome = isObject(answer) ? member(answer, "outcome") : undefined;
      return (isObject(outcome) && outcome["outcome"] === "selected" && outcome["optionId"]) || null;
    } catch (err) {
      const cannot = err instanceof RpcFailure && isObject(err.error) && err.error["code"] === METHOD_NOT_FOUND;
      if (cannot) return undefined;
      throw err;
    }
  }
}
