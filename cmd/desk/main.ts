import type { ErrorKind } from "../../internal/base/errors.ts";
import { type MainContext, runMain } from "../../internal/cli/run-main.ts";

/** Usage 2, no such thread 3, unavailable 4, refused 6; anything else is 1. */
const exitCodes: Readonly<Record<ErrorKind, number>> = {
  invalid: 2,
  "already-exists": 2,
  unimplemented: 2,
  "not-found": 3,
  unavailable: 4,
  deadline: 4,
  unauthenticated: 4,
  denied: 4,
  precondition: 4,
  exhausted: 6,
  cancelled: 6,
};

async function main(context: MainContext): Promise<number> {
  const [command, flag, settings, name = "front"] = context.argv;
  // This program starts itself with these arguments within the front's bounds, where it loads nothing else of its code.
  if (command === "front" && flag === "--probe") return await (await import("./inside.ts")).runProbe(context);
  if (command === "front" && flag === "--inside" && settings !== undefined)
    return await (await import("./inside.ts")).runInside({ settings, name }, context);
  const [{ runProgram }, { desk }] = await Promise.all([
    import("../../internal/cli/command/run-program.ts"),
    import("./program.ts"),
  ]);
  return await runProgram(desk, context);
}

await runMain({ name: "desk", exitCodes }, main);
