import { randomUUID } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { decide } from "../../pane/delivery/delivery-policy.ts";
import { whyNotTyped } from "../../pane/delivery/not-typed.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import type { PaneWait } from "../lifecycle/pane-access.ts";
import type { AgentMessages } from "./agent-messages.ts";

export interface TypeTextDeps {
  readonly messages: AgentMessages;
  /** See `PaneAccess`. */
  readonly paneForCall: () => PaneWait<Pick<TmuxPane, "stage" | "paste" | "dropBuffer">>;
}

const TEXT_MAX_BYTES = 65_536;

/**
 * Types a text without submitting it: cleaned, under the same conditions as a nudge and as one paste, so that no
 * character of it acts as a key. Returns undefined, or the reason if no safe text is left to type.
 *
 * @throws DomainError `invalid`: empty, or over 65,536 bytes; `precondition`: a dialog, a draft, a person who types, no
 * place to type into, or no agent; `unavailable`: tmux is away for 5 s, or the agent was started again meanwhile.
 */
export async function typeText({ messages, paneForCall }: TypeTextDeps, text: string): Promise<string | undefined> {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > TEXT_MAX_BYTES) {
    throw new DomainError("invalid", `cannot type a text of ${bytes} bytes: 1 to ${TEXT_MAX_BYTES} are allowed`);
  }
  const safe = messages.clean(text);
  if (safe.type === "unsafe") return safe.reason;
  const paneWait = paneForCall();
  await messages.mailbox.exclusively(async (signal) => {
    const pane = await paneWait(signal);
    if (pane === undefined) throw new DomainError("unavailable", "cannot type: tmux is away");
    const decision = decide(
      { mode: "immediate", parked: false, expired: false },
      await messages.deliveries.situation(signal),
    );
    if (decision.type === "end") throw new DomainError("precondition", `cannot type: ${decision.error}`);
    if (decision.type === "wait") throw new DomainError("precondition", "cannot type: the agent shows no composer");
    const buffer = `gt-${randomUUID()}`;
    await pane.stage(buffer, safe.text);
    const answer = await pane.paste(buffer);
    if (answer === "pasted") return;
    await pane.dropBuffer(buffer);
    const why = answer === "refused" ? "the agent is dead" : whyNotTyped(answer);
    throw new DomainError("precondition", `cannot type: ${why}`);
  });
  return undefined;
}
