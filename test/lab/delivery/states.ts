import { setTimeout as sleep } from "node:timers/promises";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { Bed } from "./bed.ts";
import type { Target } from "./targets.ts";

/** The teardown of a state, and the person's actions in it. */
interface Staged {
  /** Runs right before the send. */
  readonly lead?: () => Promise<void>;
  /** Runs beside the send, from the moment it begins. */
  readonly beside?: () => Promise<void>;
  /** Returns the agent to a point where it can be idle, as a person would. */
  readonly resolve?: () => Promise<void>;
  /** Texts that the person submits in `lead` or `resolve`. */
  readonly person?: readonly string[];
  /** The commands that the person allows in `resolve`. */
  readonly allowed?: readonly string[];
  readonly typing?: boolean;
  /** The agent will not come to rest any more. */
  readonly isDead?: boolean;
  /** The obstacle stays: messages that wait for it are cancelled. */
  readonly stays?: boolean;
  /** The id of the open dialog, which must be the same after the send. */
  readonly dialogId?: string;
}

interface Situation {
  readonly bed: Bed;
  readonly target: Target;
  readonly mark: string;
  readonly random: () => number;
}

export interface StateKind {
  readonly name: string;
  /** The frequency in relation to the others. */
  readonly weight: number;
  /** Staged only in every n-th round. Default: 1. */
  readonly every?: number;
  readonly fits: (target: Target) => boolean;
  readonly stage: (situation: Situation) => Promise<Staged>;
}

const any = () => true;
const known = ({ kind }: Target) => kind !== "tui";
/** A person's own Enter would answer the dialogs that this target opens by itself. */
const handy = (target: Target) => known(target) && target.name !== "demo:open-dialog-on-paste";
const pause = (ms: number) => sleep(Math.max(0, Math.round(ms)));

export const STATES: readonly StateKind[] = [
  { name: "idle", weight: 14, fits: any, stage: async () => ({}) },
  { name: "busy", weight: 4, fits: known, stage: busy },
  { name: "draft", weight: 3, fits: handy, stage: draft },
  { name: "typing", weight: 3, fits: handy, stage: typing },
  { name: "copy mode", weight: 2, fits: any, stage: copyMode },
  ...["permission", "question", "picker", "theme", "login"].map(dialogState),
  { name: "dialog: about to open", weight: 2, fits: ({ dialogs }) => "permission" in dialogs, stage: aboutToOpen },
  { name: "parked", weight: 1, fits: ({ hasLimits }) => hasLimits, stage: parked },
  { name: "restarting", weight: 1, fits: any, stage: restarting },
];

async function busy({ bed, random }: Situation): Promise<Staged> {
  bed.slow(true);
  await bed.say(bed.busyText);
  await pause(random() * 300);
  return {
    resolve: async () => {
      await pause(random() * 300);
      bed.slow(false);
    },
  };
}

async function draft({ bed, mark }: Situation): Promise<Staged> {
  const text = `half a thought ${mark}`;
  await bed.hands.type(text);
  await until("the draft", 5000, async () => (await bed.status()).draft || undefined);
  return { person: [text], resolve: () => bed.submit(text) };
}

/** A person who begins to type at about the time of the send, and presses Enter after the answer. */
async function typing({ bed, mark, random }: Situation): Promise<Staged> {
  const text = `by hand ${mark}`;
  const leadMs = random() * 250 - 50;
  let done: Promise<void> | undefined;
  const type = async () => {
    for (const letter of text) {
      await bed.hands.type(letter);
      await pause(10 + random() * 40);
    }
  };
  if (leadMs > 100) {
    done = type();
    await pause(leadMs - 100);
  }
  return {
    typing: true,
    person: [text],
    beside: async () => {
      if (done === undefined) {
        await pause(Math.max(0, 100 - leadMs));
        done = type();
      }
      await done;
    },
    resolve: async () => {
      await done;
      await pause(100);
      await bed.submit(text);
    },
  };
}

/** A person scrolls back shortly before the message is typed, or while it is being typed. */
async function copyMode({ bed, random }: Situation): Promise<Staged> {
  const afterMs = random() * 200 - 120;
  if (afterMs <= 0) await bed.hands.copyMode(true);
  return {
    beside: async () => {
      if (afterMs <= 0) return;
      await pause(afterMs);
      await bed.hands.copyMode(true);
    },
    resolve: () => bed.hands.copyMode(false),
  };
}

function dialogState(name: string): StateKind {
  const weight = name === "permission" ? 2 : 1;
  return { name: `dialog: ${name}`, weight, fits: ({ dialogs }) => name in dialogs, stage: dialog(name) };
}

function dialog(name: string): StateKind["stage"] {
  return async ({ bed, target, mark }) => {
    await bed.say((target.dialogs[name] ?? "").replace("TASK", `task-${mark}`));
    await openDialog(bed);
    await bed.quiet();
    // The id is read once the dialog is drawn completely.
    const { id } = await openDialog(bed);
    return { dialogId: id, resolve: () => bed.hands.keys("Escape") };
  };
}

/** The open dialog, once there is one. */
export async function openDialog(bed: Bed, limitMs = 10_000) {
  return await until("the dialog", limitMs, async () => {
    const status = await bed.status();
    return status.state === AgentState.DIALOG && status.dialog !== undefined ? status.dialog : undefined;
  });
}

/** A person's request raises a dialog at about the time of the send. */
async function aboutToOpen({ bed, target, mark, random }: Situation): Promise<Staged> {
  const text = (target.dialogs["permission"] ?? "").replace("TASK", `task-${mark}`);
  await bed.hands.type(text);
  await until("the request", 5000, async () => (await bed.status()).draft || undefined);
  await pause(300);
  return {
    person: [text],
    lead: async () => {
      const hasLeft = async () => !(await bed.status()).draft || undefined;
      for (let tries = 0; tries < 3; tries++) {
        await bed.hands.keys("Enter");
        const left = await until("its leaving", 1500, hasLeft).catch(() => false); // some programs drop an Enter
        if (left === true) break;
      }
      await pause(random() * 150);
    },
    resolve: async () => {
      await openDialog(bed);
      await pause(500);
      await bed.hands.keys("Enter");
    },
    allowed: [`task-${mark}`],
  };
}

/** The model refuses for a limit until the message has been answered. The agent's behaviour then is its own affair. */
async function parked({ bed, mark, random }: Situation): Promise<Staged> {
  bed.limit(true);
  await bed.say(`too much ${mark}`);
  await pause(300 + random() * 1500);
  return {
    resolve: async () => {
      await pause(random() * 500);
      bed.limit(false);
    },
  };
}

async function restarting({ bed, random }: Situation): Promise<Staged> {
  const { agentPid } = await bed.status();
  process.kill(agentPid, "SIGKILL");
  await pause(random() * 2000);
  return {};
}
