import { DomainError } from "../../base/errors.ts";
import { runCommand } from "../run-command.ts";
import type { UnixUser } from "./unix-user.ts";

/**
 * Asks the kernel, as that user, whether a folder may be read and entered.
 * @param named the folder's name in the error
 * @throws DomainError `denied` when it may not
 */
export async function checkMayWorkIn(user: UnixUser, cwd: string, named: string, signal: AbortSignal): Promise<void> {
  const limits = { cwd, env: { PATH: "/usr/bin:/bin" }, timeoutMs: 10_000, maxBytes: 4096, user };
  const asked = await runCommand("/bin/sh", ["-c", "test -r . && test -x ."], limits, signal);
  if (asked.type === "exit" && asked.code === 0) return;
  throw new DomainError("denied", `the user ${user.name}, as whom this project's agents run, may not enter ${named}`);
}
