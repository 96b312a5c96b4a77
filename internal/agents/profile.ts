import type { ProfileName } from "./known-programs.ts";
import type { Screen } from "./screen.ts";
import type { ThreadTools } from "./thread-tools.ts";

/** The agent's input box as it is on the screen. */
export interface ComposerView {
  /** First and last screen row of the box's content, both inclusive. */
  readonly top: number;
  readonly bottom: number;
  /** What is typed in it, rows joined by LF; a placeholder or suggestion is not text. Empty when nothing is typed. */
  readonly text: string;
  /** How many folded pastes (`[Pasted text #1 +4 lines]`) stand in it. */
  readonly pasteMarkers: number;
}

export type DialogKind =
  | "trust"
  | "theme"
  | "login"
  | "permission"
  | "plan"
  | "question"
  | "picker"
  | "limit"
  | "other";

export interface DialogChoice {
  /** What to press for it: a digit, a letter, or a position `1`…`n` for lists that are walked with the arrows. */
  readonly key: string;
  readonly label: string;
  readonly selected: boolean;
}

export interface DialogView {
  readonly kind: DialogKind;
  readonly title: string;
  readonly text: string;
  /** Only what the program itself draws as choices; empty when it draws none, and when they are `unclear`. */
  readonly choices: readonly DialogChoice[];
  /** The choices are beside each other in one row, to be walked across; absent: below each other. */
  readonly beside?: true;
  /** Why the choices cannot be read with certainty: then nothing may be pressed. */
  readonly unclear?: string;
}

export type BackgroundKind = "subagent" | "shell" | "workflow" | "other";

/** A task that the agent started and that runs in the background, as reported by its hook. */
export interface ReportedTask {
  readonly id: string;
  readonly kind: BackgroundKind;
  /** Not sanitised; may be empty. */
  readonly title: string;
}

/** How many tasks of one kind the screen says run in the background. */
export interface BackgroundCount {
  readonly kind: BackgroundKind;
  readonly count: number;
}

/** What a profile reads from one screen. Everything is absent unless seen. */
export interface ScreenView {
  /** Absent when there is no input box to type into (a dialog, a picker, start-up, an unknown screen). */
  readonly composer?: ComposerView;
  readonly dialog?: DialogView;
  /** The mark that says the agent works, e.g. `esc to interrupt`. */
  readonly busy?: string;
  /** The mark that says it waits for a limit to pass. */
  readonly parked?: string;
  /** The row with that mark, at most 400 characters; it may say when the limit ends. */
  readonly parkedRow?: string;
  /** What the screen says runs in the background; a kind that it does not name is not known. */
  readonly background?: readonly BackgroundCount[];
}

/** An event reported by the agent itself through a hook. */
export type HookEvent =
  | { readonly type: "session-start" }
  /**
   * The agent took a message; `prompt` is its text where the agent tells it, `endedTasks` ids of background tasks that
   * it reports as ended.
   */
  | { readonly type: "prompt-submitted"; readonly prompt?: string; readonly endedTasks?: readonly string[] }
  /** `background`: the tasks in the background; absent if the agent does not report them. */
  | { readonly type: "turn-ended"; readonly background?: readonly ReportedTask[] }
  /** A tool begins or ended: the agent works. */
  | { readonly type: "activity" }
  | { readonly type: "waiting"; readonly reason: string };

/** What the agent's own state file says; level-triggered. */
export type FileState =
  /** `background`: whether nothing or shells run in the background. */
  | { readonly type: "idle"; readonly background?: "none" | "shell" }
  | { readonly type: "busy" }
  | { readonly type: "waiting"; readonly reason: string };

export type SafeText =
  | { readonly type: "safe"; readonly text: string }
  | { readonly type: "unsafe"; readonly reason: string };

/** One key, or a text typed literally, of an answer to a dialog, and what must be on the screen right before it. */
export interface AnswerStep {
  readonly press: { readonly type: "key"; readonly name: string } | { readonly type: "text"; readonly text: string };
  /** The choice that must be the selected one, by its key and by its label. */
  readonly on: Pick<DialogChoice, "key" | "label">;
  /**
   * What earlier steps made of the dialog: a field that is open by now, or a typed text that it shows. Absent: nothing.
   */
  readonly after?: { readonly type: "field" } | { readonly type: "text"; readonly text: string };
}

export type Answer =
  | { readonly type: "steps"; readonly steps: readonly AnswerStep[] }
  /** What the dialog would take for the answer cannot be seen with certainty: nothing may be pressed. */
  | { readonly type: "unsure"; readonly reason: string }
  /** `invalid`: another choice or text would do; `unimplemented`: only a person at the terminal can answer this. */
  | { readonly type: "refused"; readonly kind: "invalid" | "unimplemented"; readonly reason: string };

/** Whether what a program shows of an answer is the choice that was named. */
export type ShownAnswer = "named" | "other";

export interface LaunchContext {
  /** The requested agent command: program and arguments. */
  readonly command: readonly [string, ...string[]];
  /** Folder (mode 0700) where the launch may put its own files. Never a person's files. */
  readonly stateDir: string;
  /** FIFO for hooks: one line per event, at most 4096 bytes. */
  readonly hookFifo: string;
  /** Folder where a hook may leave a payload that its FIFO line names. */
  readonly hookDir: string;
  readonly home: string;
  /** What the agent inherits, for launches that add to a variable of the person's; absent: taken as empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Given to the agent with the permission for them; absent: none. */
  readonly threads?: ThreadTools;
}

export interface LaunchPlan {
  readonly argv: readonly [string, ...string[]];
  /** Added to the agent's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Removed from it. */
  readonly unsetEnv: readonly string[];
  /** Files to write before the start, by absolute path below `stateDir`. */
  readonly files: Readonly<Record<string, string>>;
}

export interface AgentProfile {
  readonly name: ProfileName;
  /** The program and arguments that start it by default. Empty for `generic`. */
  readonly command: readonly string[];
  launch(context: LaunchContext): LaunchPlan;
  /** Reads one screen. Pure; the screen is hostile input. */
  view(screen: Screen): ScreenView;
  /**
   * `screen`: an empty composer and no busy mark, stable for a while, proves idle. `silence`: only quiet output hints
   * at
   * it, never more than a weak claim. */
  readonly idleProof: "screen" | "silence";
  /**
   * It shows its work by something that moves below its composer, where nothing moves otherwise. Absent: status rows
   * may change at any time.
   */
  readonly movesBelow?: true;
  /** Output must have been quiet for this long between the paste's echo and the Enter that submits. */
  readonly settleMs: number;
  /** Makes a message harmless to this agent, or says why that cannot be. Input is normalised text (`safe-text.ts`). */
  defuse(message: string): SafeText;
  /**
   * How to give the choice with this key in a dialog as it is on the screen now. `text` is one line for a choice that
   * asks for text; then an empty `choice` means that one. Pure. Absent when nothing is known of the program's dialogs.
   */
  answer?(dialog: DialogView, choice: string, text: string | undefined): Answer;
  /**
   * What the screen after `dialog` shows of the answer; `given` is the label of the named choice, or the text.
   * Undefined when it shows nothing of it. Pure; absent when the program never shows it.
   */
  shownAnswer?(screen: Screen, dialog: DialogView, given: string): ShownAnswer | undefined;
  /** Reads one line of the hook FIFO; `payload` is the content of the file that the line names, if any. */
  readHook(line: string, payload: string | undefined): HookEvent | undefined;
  /** Where the agent with this pid keeps a state file, if it does. */
  stateFile(home: string, pid: number): string | undefined;
  /** Reads that file's text; undefined when it cannot be trusted (other process, unknown wording). */
  readStateFile(
    text: string,
    proc: { readonly pid: number; readonly startTicks: number | undefined },
  ): FileState | undefined;
}
