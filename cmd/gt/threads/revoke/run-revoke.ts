import { DomainError } from "../../../../internal/base/errors.ts";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { withThreads } from "../common/with-threads.ts";
import type { REVOKE_FLAGS } from "./revoke-flags.ts";

export async function runRevoke(
  { values, positionals }: Given<typeof REVOKE_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [jti] = takeArguments("gt threads revoke", positionals, [], ["jti"]);
  if ((jti === undefined) === (values.session === undefined)) {
    throw new DomainError("invalid", "gt threads revoke takes the jti of a token, or --session");
  }
  return await withThreads(values, context, async (call) => {
    const answer = await call("revoke_token", jti === undefined ? { session_id: values.session } : { jti });
    if (values.json) printJson(context.out, answer);
    else context.out.line(printable`revoked`);
    return 0;
  });
}
