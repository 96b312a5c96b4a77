import type { ProfileName } from "./known-programs.ts";
import type { Screen } from "./screen.ts";
import type { ThreadTools } from "./thread-tools.ts";

/** The agent's input box as it is on the screen. */
export interface ComposerView {
  /** First and last screen row of the box's content, both inclusive. */
  readonly top: number;
  readonly bottom: number;
  /** The typed text, rows joined by LF, without a placeholder or suggestion. Empty if nothing is typed. */
  readonly text: string;
  /** The number of folded pastes (`[Pasted text #1 +4 lines]`) in it. */
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
  /** The key to press for it: a digit, a letter, or a position `1`…`n` for lists that are walked with the arrows. */
  readonly key: string;
  readonly label: string;
  readonly selected: boolean;
}

export interface DialogView {
  readonly kind: DialogKind;
  readonly title: string;
  readonly text: string;
  /** Only choices that the program itself draws; empty if it draws none, or if they are `unclear`. */
  readonly choices: readonly DialogChoice[];
  /** The choices are beside each other in one row, to be walked across; absent: below each other. */
  readonly beside?: true | undefined;
  /** The reason why the choices cannot be read with certainty: then nothing may be pressed. */
  readonly unclear?: string | undefined;
}

export type BackgroundKind = "subagent" | "shell" | "workflow" | "other";

/** A task that the agent started and that runs in the background, as reported by its hook. */
export interface ReportedTask {
  readonly id: string;
  readonly kind: BackgroundKind;
  /** Not sanitised; may be empty. */
  readonly title: string;
}

/** The number of background tasks of one kind, as shown on the screen. */
export interface BackgroundCount {
  readonly kind: BackgroundKind;
  readonly count: number;
}

/** A profile's reading of one screen. A field is absent unless it was seen. */
export interface ScreenView {
  /** Absent when there is no input box to type into (a dialog, a picker, start-up, an unknown screen). */
  readonly composer?: ComposerView;
  readonly dialog?: DialogView | undefined;
  /** The mark which shows that the agent is working, e.g. `esc to interrupt`. */
  readonly busy?: string | undefined;
  /** The mark which shows that it waits for a limit to end. */
  readonly parked?: string | undefined;
  /** The row with that mark, at most 400 characters; it may say when the limit ends. */
  readonly parkedRow?: string | undefined;
  /** The background tasks shown on the screen; a kind that is not listed is unknown. */
  readonly background?: readonly BackgroundCount[] | undefined;
}

/** An event reported by the agent itself through a hook. `agentSessionId`: its own id of its conversation. */
export type HookEvent = HookSign & { readonly agentSessionId?: string };

type HookSign =
  | { readonly type: "session-start" }
  /** Only names the conversation. */
  | { readonly type: "session" }
  /**
   * The agent took a message; `prompt` is its text if the agent reports it, `endedTasks` the ids of background tasks
   * that it reports as ended.
   */
  | { readonly type: "prompt-submitted"; readonly prompt?: string; readonly endedTasks?: readonly string[] }
  /** `background`: the tasks in the background; absent if the agent does not report them. */
  | { readonly type: "turn-ended"; readonly background?: readonly ReportedTask[] }
  /** A tool begins or has ended: the agent is working. */
  | { readonly type: "activity" }
  | { readonly type: "waiting"; readonly reason: string };

/** The content of the agent's own state file; level-triggered. */
export type FileState =
  /** `background`: whether nothing, or shells, run in the background. */
  | { readonly type: "idle"; readonly background?: "none" | "shell" }
  | { readonly type: "busy" }
  | { readonly type: "waiting"; readonly reason: string };

export type SafeText =
  | { readonly type: "safe"; readonly text: string }
  | { readonly type: "unsafe"; readonly reason: string };

/**
 * One key, or a text typed literally, of an answer to a dialog, and the required state of the screen right before it.
 */
export interface AnswerStep {
  readonly press: { readonly type: "key"; readonly name: string } | { readonly type: "text"; readonly text: string };
  /** The choice that must be the selected one, by its key and by its label. */
  readonly on: Pick<DialogChoice, "key" | "label">;
  /** The effect of earlier steps on the dialog: a field that is open, or a typed text that it shows. Absent: none. */
  readonly after?: { readonly type: "field" } | { readonly type: "text"; readonly text: string };
}

export type Answer =
  | { readonly type: "steps"; readonly steps: readonly AnswerStep[] }
  /** It is uncertain which choice the dialog would take: nothing may be pressed. */
  | { readonly type: "unsure"; readonly reason: string }
  /** `invalid`: another choice or text would do; `unimplemented`: only a person at the terminal can answer this. */
  | { readonly type: "refused"; readonly kind: "invalid" | "unimplemented"; readonly reason: string };

/** Whether a program's report of an answer is about the choice that was named. */
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
  /** The environment that the agent inherits, for launches that extend one of the person's variables; absent: empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tools for the agent, which it may use without asking; absent: none. */
  readonly threads?: ThreadTools | undefined;
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
   * `screen`: an empty composer without a busy mark, stable for a while, shows that the agent is idle. `silence`: only
   * quiet output hints at that, and the hint is weak.
   */
  readonly idleProof: "screen" | "silence";
  /**
   * The agent shows its work by movement below its composer, where nothing else moves. Absent: status rows may change
   * at any time.
   */
  readonly movesBelow?: true;
  /** Output must have been quiet for this long between the paste's echo and the Enter that submits. */
  readonly settleMs: number;
  /**
   * Makes a message harmless to this agent, or returns why that is impossible. Input is normalised text
   * (`safe-text.ts`).
   */
  defuse(message: string): SafeText;
  /**
   * The steps that answer a dialog, as it is on the screen now, with the choice that has this key. `text` is one line
   * for a choice that asks for text; an empty `choice` means the choice that asks for text. Pure. Absent if the
   * program's dialogs are unknown.
   */
  answer?(dialog: DialogView, choice: string, text: string | undefined): Answer;
  /**
   * Whether the screen after `dialog` shows the named choice or another one as the answer; `given` is the label of the
   * named choice, or the text. Undefined if the screen shows no answer. Pure; absent if the program never shows its
   * answers.
   */
  shownAnswer?(screen: Screen, dialog: DialogView, given: string): ShownAnswer | undefined;
  /**
   * The id of the agent's conversation, from the name of a file that it writes the conversation to. Absent: its hooks
   * report the id.
   */
  sessionOfFile?(name: string): string | undefined;
  /** Reads one line of the hook FIFO; `payload` is the content of the file that the line names, if any. */
  readHook(line: string, payload: string | undefined): HookEvent | undefined;
  /** The path of the state file of the agent with this pid, if it keeps one. */
  stateFile(home: string, pid: number): string | undefined;
  /** Reads that file's text; undefined when it cannot be trusted (other process, unknown wording). */
  readStateFile(
    text: string,
    proc: { readonly pid: number; readonly startTicks: number | undefined },
  ): FileState | undefined;
}
