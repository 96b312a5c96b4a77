import { spawn } from "node:child_process";
import { DomainError } from "../../internal/base/errors.ts";
import { takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Command } from "../../internal/cli/command/command.ts";
import { ANOTHER_RUNS } from "../../internal/desk/launch/front-launcher.ts";
import { attend } from "../../internal/desk/launch/presence.ts";
import { DESK_FLAGS, ISOLATION_FLAG, isolationOf, placeOptions } from "./config.ts";
import { openDesk } from "./open-desk.ts";
import type { OpenFront } from "./open-front.ts";
import { tryBounds } from "./try-bounds.ts";

const flags = { ...DESK_FLAGS, isolation: ISOLATION_FLAG } as const;

export const front: Command<typeof flags> = {
  name: "front",
  flags,
  help: {
    usage: "",
    summary: "run the customer's side in the foreground",
    text: "Runs the customer's side until it is stopped, or 60 seconds after its last caller has left. The modes start it by themselves; this command is for watching it.",
    examples: ["desk front"],
  },
  completion: [],
  async run({ values, positionals }, context) {
    takeArguments("desk front", positionals, []);
    const asked = { ...placeOptions(values), isolation: isolationOf(values.isolation) };
    const { front } = await openDesk({ mode: "user", ...asked }, context);
    await tryBounds(front, context);
    if (await isAttended(front.place.presence)) throw runsAlready(front);
    front.recordStart();
    const { program, args, env, cwd } = front.command;
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", "inherit", "inherit"] });
    const stop = () => void child.kill("SIGTERM");
    context.signal.addEventListener("abort", stop, { once: true });
    const code = await new Promise<number>((resolve, reject) => {
      child.on("error", reject).once("exit", (ended) => resolve(ended ?? 0));
    });
    if (code !== ANOTHER_RUNS) return code;
    throw runsAlready(front);
  },
};

async function isAttended(presence: string): Promise<boolean> {
  try {
    (await attend(presence))[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

function runsAlready({ place }: OpenFront): DomainError {
  return new DomainError("unavailable", `the customer's side of ${place.folder} is running already`, {
    fields: { hint: `it listens on ${place.socket}` },
  });
}
