// Records the screen of a pane of a running tmux as a new case for the profiles' tests:
//   node scripts/launch.mjs scripts/screens/record-screen.ts --socket PATH --target claude: \
//     --agent claude --name claude/2.1.400/new-dialog --truth dialog:permission
// --truth: idle | busy | draft | busy-draft | dialog:KIND | other, known from your actions and not from the profile's
// reading. Before you commit, review case.json, and check screen.ansi for private data.
import { parseArgs } from "node:util";
import type { DialogKind } from "../../internal/agents/profile.ts";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { recordPane } from "../../test/support/screens/record-pane.ts";
import { saveScreenCase, type Truth } from "../../test/support/screens/screen-corpus.ts";
import { screenFromRecording } from "../../test/support/screens/screen-from-ansi.ts";

function truthFrom(word: string): Truth {
  if (word.startsWith("dialog:")) return { state: "dialog", kind: word.slice("dialog:".length) as DialogKind };
  if (word === "idle" || word === "busy" || word === "other") return { state: word };
  if (word === "draft" || word === "busy-draft") return { state: "draft", busy: word !== "draft" };
  throw new Error(`--truth cannot be "${word}"`);
}

const options = ["socket", "target", "agent", "name", "truth"] as const;
const { values } = parseArgs({
  options: Object.fromEntries(options.map((name) => [name, { type: "string" as const }])),
});
const [socket, target, agent, name, truth] = options.map((option) => {
  const value = values[option];
  if (typeof value !== "string") throw new Error(`--${option} is missing`);
  return value;
}) as [string, string, string, string, string];

const profile = profileNamed(agent);
const recording = await recordPane(socket, target);
const view = profile.view(await screenFromRecording(recording));
await saveScreenCase({ name, profile: profile.name, truth: truthFrom(truth), recording, view });
console.log(JSON.stringify(view, null, 2));
