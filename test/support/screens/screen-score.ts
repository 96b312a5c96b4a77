import { profileNamed } from "../../../internal/agents/programs/registry.ts";
import { judge } from "../../../internal/pane/state/judge.ts";
import type { ScreenCase, Truth } from "./screen-corpus.ts";
import { screenFromRecording } from "./screen-from-ansi.ts";

/** The judgement on the recorded screens of one program and version. */
export interface ScreenScore {
  /** `claude/2.1.330` */
  readonly version: string;
  readonly screens: number;
  readonly right: number;
  /** The names of the wrong screens, with the reported states. */
  readonly wrong: readonly string[];
  readonly falseIdle: readonly string[];
  /** The screens of an agent at rest, and the number of them reported as idle; "uncertain" is a miss. */
  readonly resting: number;
  readonly idle: number;
}

/** The screen has been unchanged for long and is the only signal. */
const NOW = 1_000_000;

/** The state by this screen alone, and whether a draft is in the composer. */
async function toldOf({ profile: name, recording }: ScreenCase): Promise<string> {
  const profile = profileNamed(name);
  const view = profile.view(await screenFromRecording(recording));
  const { idleProof } = profile;
  const screen = { view, since: 0, stillSince: 0, idleProof };
  const signals = { process: { type: "alive" as const }, startedAt: 0, everReady: true, lastOutputAt: NOW, screen };
  const { state } = judge(signals, NOW, { stallAfterMs: NOW });
  const hasDraft = view.composer !== undefined && (view.composer.text !== "" || view.composer.pasteMarkers > 0);
  return `${state === "dialog" ? `${view.dialog?.kind} dialog` : state}${hasDraft ? " with a draft" : ""}`;
}

function wantedOf(truth: Truth): readonly string[] {
  switch (truth.state) {
    case "idle":
    case "busy":
      return [truth.state];
    case "draft":
      return [`${truth.busy ? "busy" : "idle"} with a draft`];
    case "dialog":
      return [`${truth.kind} dialog`];
    case "other":
      return ["uncertain", "idle with a draft"];
  }
}

/** One score for each program and version, in the order of their names. */
export async function scoreScreens(cases: readonly ScreenCase[]): Promise<readonly ScreenScore[]> {
  const scores = new Map<
    string,
    Omit<{ -readonly [K in keyof ScreenScore]: ScreenScore[K] }, "wrong" | "falseIdle"> & {
      wrong: string[];
      falseIdle: string[];
    }
  >();
  for (const screen of cases) {
    const version = screen.name.split("/").slice(0, 2).join("/");
    const score = scores.get(version) ?? {
      version,
      screens: 0,
      right: 0,
      wrong: [],
      falseIdle: [],
      resting: 0,
      idle: 0,
    };
    scores.set(version, score);
    const told = await toldOf(screen);
    const wanted = wantedOf(screen.truth);
    const rests = wanted[0]?.startsWith("idle") ?? false;
    const isRight = wanted.includes(told);
    score.screens += 1;
    if (isRight) score.right += 1;
    else score.wrong.push(`${screen.name}: ${told}, was ${wanted[0]}`);
    if (rests) score.resting += 1;
    if (rests && told.startsWith("idle")) score.idle += 1;
    if (!isRight && !rests && told.startsWith("idle")) score.falseIdle.push(screen.name);
  }
  return [...scores.values()].sort((a, b) => a.version.localeCompare(b.version));
}
