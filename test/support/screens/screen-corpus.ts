import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProfileName } from "../../../internal/agents/known-programs.ts";
import type { DialogKind, ScreenView } from "../../../internal/agents/profile.ts";
import type { RecordedScreen } from "./screen-from-ansi.ts";

/** The true state of a recorded screen, known from how it was made and not from the profile's reading. */
export type Truth =
  | { readonly state: "idle" | "busy" }
  /** A person's text is in the composer; the agent is working or not. */
  | { readonly state: "draft"; readonly busy: boolean }
  | { readonly state: "dialog"; readonly kind: DialogKind }
  /** No state may be claimed: start-up, an overlay, a program that has ended. */
  | { readonly state: "other" };

export interface ScreenCase {
  /** `claude/2.1.330/idle` */
  readonly name: string;
  readonly profile: ProfileName;
  readonly truth: Truth;
  readonly recording: RecordedScreen;
  /** The view that the profile reads from it; reviewed by a person when it was recorded. */
  readonly view: ScreenView;
}

const folder = fileURLToPath(new URL("../../testdata/screens/", import.meta.url));

/** Writes `screen.ansi` and `case.json` into the case's folder, replacing existing files. */
export async function saveScreenCase(screen: ScreenCase): Promise<void> {
  const dir = join(folder, screen.name);
  const { ansi, ...size } = screen.recording;
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "screen.ansi"), ansi);
  const facts = { profile: screen.profile, truth: screen.truth, ...size, view: screen.view };
  await writeFile(join(dir, "case.json"), `${JSON.stringify(facts, null, 2)}\n`);
}

/** All recorded screens, sorted by name. */
export async function loadScreenCases(): Promise<ScreenCase[]> {
  const files = await readdir(folder, { recursive: true });
  const names = files.filter((file) => file.endsWith("case.json")).map((file) => file.slice(0, -"/case.json".length));
  return Promise.all(names.sort().map(loadScreenCase));
}

async function loadScreenCase(name: string): Promise<ScreenCase> {
  const dir = join(folder, name);
  const ansi = await readFile(join(dir, "screen.ansi"), "utf8");
  const facts = JSON.parse(await readFile(join(dir, "case.json"), "utf8")) as Omit<ScreenCase, "name" | "recording"> &
    Omit<RecordedScreen, "ansi">;
  const { profile, truth, view, ...size } = facts;
  return { name, profile, truth, view, recording: { ansi, ...size } };
}
