import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { bridge } from "./program.ts";

await runMain({ name: "bridge" }, (context) => runProgram(bridge, context));
