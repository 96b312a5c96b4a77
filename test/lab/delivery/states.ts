import { setTimeout as sleep } from "node:timers/promises";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { Bed } from "./bed.ts";
import type { Target } from "./targets.ts";

/** What a state leaves to be undone, and what a person did in it. */
interface Staged {
  /** Runs right before the send. */
  readonly lead?: () => Promise<void>;
  /** Runs beside the send, from the moment it begins. */
  readonly beside?: () => Promise<void>;
  /** Brings the agent back to where it can be idle, as a person would. */
  readonly resolve?: () => Promise<void>;
  /** Texts that the person submits in `lead` or `resolve`. */
  readonly person?: readonly string[];
  /** What the person allows to run in `resolve`. */
  readonly allowed?: readonly string[];
  readonly typing?: boolean;
  /** It will not come to rest any more. */
  readonly isDead?: boolean;
  /** What stands in the way stays there: messages that wait for it are called off. */
  readonly stays?: boolean;
  /** The id of the open dialog; it has to be the same after the send. */
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
  /** How often, against the others. */
  readonly weight: number;
  /** Dealt in each so-manieth round only. */
  readonly every?: number;
  readonly fits: (target: Target) => boolean;
  readonly stage: (situation: Situation) => Promise<Staged>;
}

const any = () => true;
const known = ({ kind }: Target) => kind !== "tui";
/** A person's own Enter would answer the dialogs that it opens by itself. */
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

/** A person who begins to type at about the time of the send, and presses Enter when it has been answered. */
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

/** A person begins to read a little before, or while it is being typed. */
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
    // Its id is taken once it is drawn whole.
    const { id } = await openDialog(bed);
    return { dialogId: id, resolve: () => bed.hands.keys("Escape") };
  };
}

/** The open dialog, once it is. */
export async function openDialog(bed: Bed, limitMs = 10_000) {
  return await until("the dialog", limitMs, async () => {
    const status = await bed.status();
    return status.state === AgentState.DIALOG && status.dialog !== undefined ? status.dialog : undefined;
  });
}

/** A person asks for what raises a dialog at about the time of the send. */
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

/** The model refuses for a limit until the message has been answered for. What an agent does then is its own affair. */
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
