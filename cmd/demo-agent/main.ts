import { runProgram } from "../../internal/cli/command/run-program.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { demoAgent } from "./program.ts";

await runMain({ name: "demo-agent" }, (context) => runProgram(demoAgent, context));
