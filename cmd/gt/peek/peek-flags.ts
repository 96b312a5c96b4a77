import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const PEEK_FLAGS = {
  ...PLACE_FLAGS,
  lines: { type: "number", short: "n", value: "N", help: "how many lines (100); a count behind the agent wins" },
  all: { type: "boolean", help: "everything that is kept" },
  ansi: { type: "boolean", help: "keep colours and styling" },
  join: { type: "boolean", help: "join lines that the terminal wrapped" },
  follow: {
    type: "boolean",
    short: "f",
    help: "print each new line as it comes; lines that keep changing are left out until they stand still",
  },
  json: { type: "boolean", help: "one JSON object with the text and the facts about the terminal" },
} as const satisfies CommandFlags;

export type PeekFlags = typeof PEEK_FLAGS;
