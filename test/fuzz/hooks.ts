import { payloadName } from "../../internal/agents/hook-lines.ts";
import { profileNames } from "../../internal/agents/known-programs.ts";
import type { HookEvent } from "../../internal/agents/profile.ts";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { mutate } from "./mutate.ts";
import { oneOf, randomFrom } from "./random.ts";

const LINES = [
  ...[
    "session-start",
    "session c-1",
    "activity",
    "turn-ended",
    "prompt-submitted",
    "waiting permission Bash",
    "waiting",
  ],
  ...[
    "turn-ended payload.w62M2qKbIP",
    "prompt-submitted payload.a",
    "notification payload.b",
    "turn-ended /tmp/h/payload.c",
  ],
].map((line) => Buffer.from(line)) as [Buffer, ...Buffer[]];
const TASKS = [{ id: "b1", type: "shell", status: "running", command: "npm run dev", description: "Dev server" }];
const PAYLOADS = [
  ...[
    { prompt: "hello" },
    { message: "Claude needs your permission to use Bash", notification_type: "permission_prompt" },
  ],
  ...[{ background_tasks: TASKS }, { prompt: "<task-notification><task-id>b1</task-id></task-notification>" }],
].map((payload) => Buffer.from(JSON.stringify(payload))) as [Buffer, ...Buffer[]];
const STATES = [
  Buffer.from(JSON.stringify({ pid: 7, status: "busy", procStart: "12", updatedAt: 5 })),
  Buffer.from(JSON.stringify({ pid: 7, status: "waiting", waitingFor: "permission", procStart: "12" })),
] as const;
const PROFILES = profileNames.map(profileNamed);
const TYPES: ReadonlySet<HookEvent["type"]> = new Set([
  ...(["session-start", "session", "prompt-submitted", "turn-ended", "activity", "waiting"] as const),
]);

/** Gives every agent program's profile a hook's line, its payload and a state file, each damaged. */
export function checkHooks(seed: number): string | undefined {
  const random = randomFrom(seed);
  const line = mutate(oneOf(random, LINES), random).toString("utf8");
  const payload = random(4) === 0 ? undefined : mutate(oneOf(random, PAYLOADS), random).toString("utf8");
  const state = mutate(oneOf(random, STATES), random).toString("utf8");
  const name = payloadName(line);
  if (name !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return `a payload named ${JSON.stringify(name)}`;
  for (const profile of PROFILES) {
    const event = profile.readHook(line, payload);
    if (event !== undefined && !TYPES.has(event.type)) return `${profile.name} heard ${JSON.stringify(event)}`;
    const wrong = event === undefined ? undefined : untyped(event);
    if (wrong !== undefined) return `${profile.name} heard ${JSON.stringify(event)}: ${wrong}`;
    const file = profile.readStateFile(state, { pid: 7, startTicks: 12 });
    if (file !== undefined && !["idle", "busy", "waiting"].includes(file.type)) return `${profile.name} read ${state}`;
  }
  return undefined;
}

/**
 * The field whose type differs from the event's declaration; undefined if there is none, whatever the JSON contained.
 */
function untyped(event: HookEvent): string | undefined {
  if (event.agentSessionId !== undefined && typeof event.agentSessionId !== "string") return "agentSessionId";
  if (event.type === "waiting" && typeof event.reason !== "string") return "reason";
  if (event.type === "prompt-submitted" && event.prompt !== undefined && typeof event.prompt !== "string")
    return "prompt";
  if (event.type !== "turn-ended") return undefined;
  const isTask = (task: object) => Object.values(task).every((value) => typeof value === "string");
  return (event.background ?? []).every(isTask) ? undefined : "background";
}
