import { systemFileOps } from "../../internal/files/file-ops.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { bridgeCa } from "./program.ts";

await describeHelp(bridgeCa(systemFileOps));
