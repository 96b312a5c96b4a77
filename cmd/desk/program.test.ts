import { describeHelp } from "../../test/support/help-of.ts";
import { desk } from "./program.ts";

await describeHelp(desk);
