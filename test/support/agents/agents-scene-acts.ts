import type { DialogKind } from "../../../internal/agents/profile.ts";
import type { Truth } from "../screens/screen-corpus.ts";
import type { TmuxAgent } from "./tmux-agent.ts";

/** One screen to record: how to reach it from the previous scene in the same session. */
export interface Scene {
  readonly name: string;
  readonly truth: Truth;
  /** Reaches the screen to record; throws if that fails. */
  readonly reach: (session: TmuxAgent) => Promise<void>;
  /** Returns to an idle composer. */
  readonly leave?: (session: TmuxAgent) => Promise<void>;
}

export const IDLE: Truth = { state: "idle" };
export const BUSY: Truth = { state: "busy" };
export const OTHER: Truth = { state: "other" };
const DRAFT: Truth = { state: "draft", busy: false };
export const BUSY_DRAFT: Truth = { state: "draft", busy: true };
export const dialog = (kind: DialogKind): Truth => ({ state: "dialog", kind });

export const FIVE_LINES = "line one\n\n    line three, indented\nline four\nline five";
export const ONE_KILOBYTE = Array.from({ length: 205 }, (_, i) => `w${String(i).padStart(3, "0")}`)
  .join(" ")
  .slice(0, 1024);
export const TALL = Array.from({ length: 60 }, (_, i) => `row ${i}`).join("\n");

export const settled = (ms = 400) => new Promise((resolve) => setTimeout(resolve, ms));

/** Submits text through the composer; resolves when the agent has taken it. */
export async function say(session: TmuxAgent, text: string): Promise<void> {
  await session.paste(text);
  await session.until("the text in the composer", (view) => (view.composer?.text ?? "") !== "");
  await settled(150);
  await session.key("Enter");
}

const clear = async (session: TmuxAgent): Promise<void> => {
  // Ctrl-C empties the composer in all of the programs; two of them in an empty composer would end the program.
  await session.key("C-c");
  await settled(2500);
  await session.idle();
};

/** A lone `!` or `@` changes the composer's mode; only erasing it changes the mode back. */
const erase = async (session: TmuxAgent): Promise<void> => {
  await session.key("BSpace");
  await settled();
  await session.idle();
};

export const dismiss = async (session: TmuxAgent): Promise<void> => {
  await session.key("Escape");
  await settled();
  await session.idle();
};

export const typed = (name: string, text: string): Scene => ({
  name,
  truth: DRAFT,
  reach: async (session) => {
    await session.type(text);
    await session.until("the typed text", (view) => (view.composer?.text ?? "") !== "");
    await settled();
  },
  leave: text.length === 1 ? erase : clear,
});

export const pasted = (name: string, text: string): Scene => ({
  name,
  truth: DRAFT,
  reach: async (session) => {
    await session.paste(text);
    await session.until("the pasted text", (view) => (view.composer?.text ?? "") !== "");
    await settled();
  },
  leave: clear,
});

/** `WORK` in the text stands for the session's working folder. */
export const asked = (name: string, text: string, kind: DialogKind): Scene => ({
  name,
  truth: dialog(kind),
  reach: async (session) => {
    await say(session, text.replace("WORK", session.home.workdir));
    await session.until("a dialog", (view) => view.dialog !== undefined);
    await settled();
  },
  leave: dismiss,
});

export const command = (name: string, text: string, truth: Truth, leave = dismiss): Scene => ({
  name,
  truth,
  reach: async (session) => {
    await session.type(text);
    await settled();
    await session.key("Enter");
    await settled(800);
  },
  leave,
});

export const still = (name: string, truth: Truth): Scene => ({ name, truth, reach: () => settled(200).then(() => {}) });
