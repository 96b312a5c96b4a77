import { setTimeout as sleep } from "node:timers/promises";
import { AgentState, DialogKind } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { Bed } from "./bed.ts";
import { openDialog, type StateKind } from "./states.ts";
import type { Opening } from "./targets.ts";

/** The maximum number of dialogs in one start. */
const MOST_DIALOGS = 6;
const SENDS_PER_DIALOG = 4;
const NEXT_MS = 2500;
const GOING_MS = 2000;

/**
 * Sends messages into each dialog of a start, one after the other, by `send`. A person continues with Enter, which is
 * the first choice in all of them. Each message must be refused or held, and the dialog must stay.
 */
export async function sendIntoOpening(
  bed: Bed,
  opening: Opening,
  send: (state: StateKind) => Promise<unknown>,
): Promise<void> {
  if (opening.say !== undefined) {
    await bed.sidecar.untilState(AgentState.IDLE);
    await bed.say(opening.say);
  }
  let last = "";
  for (let n = 0; n < MOST_DIALOGS; n++) {
    const open = await openDialog(bed, n === 0 ? 30_000 : NEXT_MS).catch(() => undefined);
    if (open === undefined && n === 0) throw new Error(`${opening.name}: no dialog came`);
    if (open === undefined || open.id === last) return;
    // A dialog that was answered may mark the given choice before it closes, and then looks like another.
    await sleep(GOING_MS);
    if ((await bed.status()).dialog?.id !== open.id) return;
    last = open.id;
    const kind = Object.entries(DialogKind).find(([, value]) => value === open.kind)?.[0] ?? "other";
    const name = `dialog: ${kind.toLowerCase()}`;
    const state: StateKind = {
      name,
      weight: 0,
      fits: () => true,
      stage: async () => ({ stays: true, dialogId: open.id }),
    };
    for (let i = 0; i < SENDS_PER_DIALOG; i++) await send(state);
    await bed.hands.keys("Enter");
    await bed.quiet();
  }
}
