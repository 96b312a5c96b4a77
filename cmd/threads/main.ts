import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { threadsExitCode } from "./exit-code.ts";
import { threads } from "./program.ts";

await runMain({ name: "threads", exitCodeOf: threadsExitCode }, (context) => runProgram(threads, context));
