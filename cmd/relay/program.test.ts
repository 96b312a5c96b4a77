import { describeHelp } from "../../test/support/help-of.ts";
import { relay } from "./program.ts";

await describeHelp(relay);
