import type { CommandFlags } from "../../internal/cli/command/command.ts";
import { FAULT_NAMES } from "./faults.ts";

export const FLAGS = {
  seed: { type: "number", value: "N", help: "the same seed gives the same steps and answers (1)" },
  "turn-ms": { type: "number", value: "N", help: "length of a turn, in milliseconds (2500)" },
  steps: { type: "number", value: "N", help: "tool steps in a turn (3)" },
  "alternate-screen": { type: "boolean", help: "draw on the alternate screen" },
  "trust-dialog": { type: "boolean", help: "ask for trust in the folder first" },
  resume: {
    type: "string",
    value: "ID",
    help: "use this id for the conversation; nothing of an earlier conversation is restored",
  },
  threads: {
    ...{ type: "string", value: "PART", complete: ["review", "fix"] },
    help: "take part in threads when woken for a message, by a script: review or fix",
  },
  stdio: {
    type: "boolean",
    help: "use no terminal: read messages and answers as JSON lines, and write its actions as JSON lines",
  },
  log: { type: "string", value: "FILE", complete: "file", help: "append one JSON line for each accepted message" },
  "tool-log": {
    ...{ type: "string", value: "FILE", complete: "file" },
    help: "append the commands that a real agent would have run",
  },
  faults: { type: "list", value: "LIST", complete: FAULT_NAMES, help: "misbehave on purpose, comma separated" },
} as const satisfies CommandFlags;
