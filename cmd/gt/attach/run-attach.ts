import { DomainError } from "../../../internal/base/errors.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { Place } from "../../../internal/terminal/finding/resolve-place.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import type { AttachFlags } from "./attach-flags.ts";
import { tmuxAttachCommand } from "./attach-local.ts";
import { type AttachOptions, readAttach } from "./attach-options.ts";
import { AttachRemote } from "./attach-remote.ts";
import { drawableTerm } from "./terminal-type.ts";

export async function runAttach(given: Given<AttachFlags>, context: CommandContext): Promise<number> {
  const command = readAttach(given, context.env);
  if (!context.stdin.isTTY || !context.stdout.isTTY) {
    throw new DomainError("invalid", "gt attach needs a terminal", {
      fields: { hint: "gt watch and gt peek show an agent without a terminal, gt nudge sends it a message" },
    });
  }
  return await withAgent(command.place, command.agent, context, async (found) => {
    if (found.place.type === "tmux" && command.ownDetachKeys) throw noDetachKeys();
    if (found.place.type === "tmux") return becomeTmux(found.place, command, context);
    return await new AttachRemote(found, command, context).run();
  });
}

/**
 * Replaces this process with tmux, which then owns the terminal and receives its job-control signals directly. A
 * session of this machine needs no code of `gt` while a person is attached.
 */
function becomeTmux(
  place: Place & { type: "tmux" },
  { place: config, readOnly }: AttachOptions,
  { note }: Pick<CommandContext, "note">,
): never {
  const { socketPath, session } = place;
  const { args, env } = tmuxAttachCommand({ socketPath, session, readOnly, inside: config.tmux, env: config.env });
  const term = drawableTerm(env);
  if (term !== env["TERM"])
    note(`this host does not know the terminal ${JSON.stringify(env["TERM"] ?? "")}; using ${term}`);
  const known = Object.entries({ ...env, TERM: term }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  // The shell finds tmux on PATH, as `gt` does for every other program.
  process.execve?.("/bin/sh", ["sh", "-c", 'exec tmux "$@"', "tmux", ...args], Object.fromEntries(known));
  throw new DomainError("unimplemented", "this Node.js cannot hand its terminal over to tmux", {
    fields: { hint: `tmux ${args.join(" ")}` },
  });
}

function noDetachKeys(): DomainError {
  return new DomainError(
    "invalid",
    "--detach-keys is for an agent behind a sidecar: in local tmux, use tmux's own keys to detach",
    {
      fields: { hint: "usually Ctrl-b d" },
    },
  );
}
