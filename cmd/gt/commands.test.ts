import { expect, it } from "vitest";
import { profileNames } from "../../internal/agents/known-programs.ts";
import { PLACE_FLAGS } from "../../internal/terminal/places/place-flags.ts";
import { describeHelp } from "../../test/support/help-of.ts";
import { gt } from "./commands.ts";

it("offers the agent programs of the registry", () => {
  expect(PLACE_FLAGS["agent-profile"].complete).toEqual(profileNames);
});

await describeHelp(gt);
