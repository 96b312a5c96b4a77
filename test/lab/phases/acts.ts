import type { ModelServer } from "../../fakes/model-server.ts";
import type { DiaryHands } from "./diary-hands.ts";
import type { StateWatcher } from "./watcher.ts";

export interface Scene {
  readonly hands: DiaryHands;
  readonly watcher: StateWatcher;
  readonly model: ModelServer;
  /** A unique word that every text of the act contains. */
  readonly mark: string;
  readonly random: () => number;
  /** Includes longer silences and tools, for a run with enough time. */
  readonly long: boolean;
}

/** A person's request to an agent. Ends when the agent is working, or when all traces of the request are gone. */
export interface Act {
  readonly name: string;
  readonly weight: number;
  readonly only?: readonly string[];
  readonly play: (scene: Scene) => Promise<void>;
}

const SAY_MS = 20_000;

export const ACTS: readonly Act[] = [
  { name: "a short answer", weight: 3, play: (scene) => ask(scene, "hello", 0) },
  {
    name: "a streamed answer",
    weight: 4,
    play: (scene) => ask(scene, `TALK ${some(scene, 15, 40)}`, some(scene, 60, 250)),
  },
  {
    name: "a model that thinks before each word",
    weight: 2,
    play: (scene) => ask(scene, "TALK 2", some(scene, 1500, scene.long ? 9000 : 2500)),
  },
  { name: "a tool that runs silently", weight: 4, play: tool },
  {
    name: "a file to write",
    weight: 1,
    only: ["claude", "opencode"],
    play: (scene) => allowed(scene, `WRITE-FILE note-${scene.mark}.txt`),
  },
  { name: "a refused tool", weight: 1, play: refused },
  { name: "an interrupted answer", weight: 2, play: interrupted },
  { name: "a message while it works", weight: 2, play: queued },
  { name: "a draft that is taken back", weight: 1, play: draft },
];

function some({ random }: Scene, from: number, to: number): number {
  return Math.round(from + random() * (to - from));
}

/** Types and submits the text, and waits until the model has it. */
async function ask(scene: Scene, text: string, wordDelayMs: number): Promise<void> {
  const { hands, model, mark } = scene;
  model.wordDelayMs = wordDelayMs;
  const words = `${mark}: ${text}`;
  await hands.busy(async () => {
    await hands.type(words);
    await hands.pause(600);
    for (let tries = 0; tries < 4; tries++) {
      await hands.keys("Enter");
      if (
        await came(
          scene,
          () => model.requests.some((request) => request.withTools && request.lastUserText.includes(mark)),
          3000,
        )
      )
        return;
    }
    throw new Error(`the model never got ${words}`);
  });
}

/** Polls until the condition holds, for at most `ms`; returns whether it does. */
async function came({ hands }: Scene, isSo: () => boolean, ms: number): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await hands.pause(20)) if (isSo()) return true;
  return isSo();
}

async function tool(scene: Scene): Promise<void> {
  await allowed(scene, `RUN-TOOL sleep ${some(scene, 2, scene.long ? 25 : 4)}; touch made-${scene.mark}`);
}

/** A person allows the action that the agent asks for. */
async function allowed(scene: Scene, text: string): Promise<void> {
  await ask(scene, text, 50);
  if (!(await came(scene, () => scene.watcher.last?.state === "dialog", SAY_MS))) return;
  await scene.hands.pause(some(scene, 300, 1500));
  await scene.hands.keys("Enter");
}

async function refused(scene: Scene): Promise<void> {
  await ask(scene, "RUN-TOOL touch made", 50);
  if (!(await came(scene, () => scene.watcher.last?.state === "dialog", SAY_MS))) return;
  await scene.hands.pause(some(scene, 300, 1500));
  await scene.hands.interrupt();
}

async function interrupted(scene: Scene): Promise<void> {
  await ask(scene, "TALK 80", 200);
  await scene.hands.pause(some(scene, 1000, 4000));
  await scene.hands.interrupt();
}

async function queued(scene: Scene): Promise<void> {
  await ask(scene, "TALK 30", 200);
  await scene.hands.pause(some(scene, 500, 2500));
  await scene.hands.type(`and this too ${scene.mark}`);
  await scene.hands.pause(500);
  await scene.hands.keys("Enter");
}

async function draft(scene: Scene): Promise<void> {
  await scene.hands.busy(async () => {
    await scene.hands.type("half a thought");
    await scene.hands.pause(some(scene, 1000, 4000));
    await scene.hands.clear();
    await scene.hands.pause(3000);
  });
}
