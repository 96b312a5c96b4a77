import { z } from "zod";
import type { Channels } from "../engine/contract.ts";

/** The front's state in one turn. Its only channel from the administrator's side is the text that crossed. */
export interface UnsafeState {
  /** The text that crossed; null in a user's turn. */
  readonly admin_input: string | null;
  /** The text that a user typed; null in a turn of the bridge. */
  readonly user_input: string | null;
  readonly history: readonly { readonly input: string; readonly isBriefing: boolean; readonly answer: string }[];
  readonly answer: string;
}

export const unsafeChannels: Channels<UnsafeState> = {
  admin_input: z.string().nullable(),
  user_input: z.string().nullable(),
  history: z.array(z.strictObject({ input: z.string(), isBriefing: z.boolean(), answer: z.string() })),
  answer: z.string(),
};
