import type { CommandFlags } from "../../../internal/cli/command/command.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";

export const RECEIPT_FLAGS = {
  ...PLACE_FLAGS,
  json: { type: "boolean", help: "the receipt as JSON" },
} as const satisfies CommandFlags;

export type ReceiptFlags = typeof RECEIPT_FLAGS;
