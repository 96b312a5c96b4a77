// Records the screens of real agent programs for the profiles' tests, by walking through their scenes:
//   node scripts/launch.mjs scripts/screens/record-screens.ts [PROGRAM…] [--only SCENE]
//   node scripts/launch.mjs scripts/screens/record-screens.ts claude-2.1.270=/path/to/claude
// PROGRAM: claude-2.1.330, claude-2.1.197, codex-0.169.0, opencode-1.18.33 (default: all), or another version and its
// file. Review every new case.json.

import type { AgentKind } from "../../test/support/agents/agents-home.ts";
import type { AgentProgram } from "../../test/support/agents/agents-install.ts";
import { SCENES, type SceneRun } from "../../test/support/agents/agents-scenes.ts";
import { TmuxAgent } from "../../test/support/agents/tmux-agent.ts";
import { saveScreenCase } from "../../test/support/screens/screen-corpus.ts";
import { screenFromRecording } from "../../test/support/screens/screen-from-ansi.ts";

const ALL: readonly AgentProgram[] = ["claude-2.1.330", "claude-2.1.197", "codex-0.169.0", "opencode-1.18.33"];

interface Recorded {
  readonly program: string;
  readonly path?: string;
}

async function recordRun({ program, path }: Recorded, run: SceneRun, only: string | undefined): Promise<void> {
  const where = path === undefined ? {} : { path };
  await using session = await TmuxAgent.start({ program: program as AgentProgram, ...where, ...run.options });
  const [kind = "", version = ""] = program.split("-");
  for (const scene of run.scenes) {
    try {
      await scene.reach(session);
    } catch (err) {
      console.error(`${program}: could not reach ${scene.name}: ${err instanceof Error ? err.message : err}`);
      return;
    }
    const recording = await session.record();
    const view = session.profile.view(await screenFromRecording(recording));
    const name = `${kind}/${version}/${scene.name}`;
    if (only === undefined || only === scene.name) {
      await saveScreenCase({ name, profile: session.profile.name, truth: scene.truth, recording, view });
    }
    console.log(`${name}  ${JSON.stringify(scene.truth)}  ${JSON.stringify(view).slice(0, 300)}`);
    await scene.leave?.(session);
  }
}

const args = process.argv.slice(2);
const onlyAt = args.indexOf("--only");
const only = onlyAt < 0 ? undefined : args[onlyAt + 1];
const named = (onlyAt < 0 ? args : args.slice(0, onlyAt)).map((word): Recorded => {
  const [program = "", path] = word.split("=", 2);
  return path === undefined ? { program } : { program, path };
});
for (const asked of named.length > 0 ? named : ALL.map((program) => ({ program }))) {
  const { program } = asked;
  for (const run of SCENES[program.split("-", 1)[0] as AgentKind]) {
    if (run.only !== undefined && run.only !== program) continue;
    if (only !== undefined && !run.scenes.some((scene) => scene.name === only)) continue;
    await recordRun(asked, run, only).catch((err: unknown) => console.error(`${program}: ${String(err)}`));
  }
}
