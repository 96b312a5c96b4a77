import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import type { KeysFlags } from "./keys-flags.ts";
import { readKeys } from "./keys-options.ts";

const REFUSED = 6;

export async function runKeys(given: Given<KeysFlags>, context: CommandContext): Promise<number> {
  const { place, agent: asked, request, json } = readKeys(given, context.env);
  return await withAgent(place, asked, context, async ({ agent, backend, line }) => {
    const { out, error, signal } = context;
    try {
      await backend.sendKeys(request, signal);
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
      if (json) out.line(PrintableText.json({ agent, where: backend.where, sent: false, error: err.message }));
      else error(`${agent}: ${err.message}`, String(err.fields["hint"] ?? `${line("status")} shows how it ended`));
      return REFUSED;
    }
    if (json) out.line(PrintableText.json({ agent, where: backend.where, sent: true }));
    return 0;
  });
}
