import type { ScreenView } from "../../../internal/agents/profile.ts";
import type { Screen } from "../../../internal/agents/screen.ts";
import type { AgentKind } from "./agents-home.ts";
import {
  asked,
  BUSY,
  BUSY_DRAFT,
  command,
  dialog,
  dismiss,
  FIVE_LINES,
  IDLE,
  ONE_KILOBYTE,
  OTHER,
  pasted,
  type Scene,
  say,
  settled,
  still,
  TALL,
  typed,
} from "./agents-scene-acts.ts";
import type { TmuxAgentOptions } from "./tmux-agent.ts";

export interface SceneRun {
  readonly options: Omit<TmuxAgentOptions, "program">;
  readonly scenes: readonly Scene[];
  /** Only for programs whose name begins with this. */
  readonly only?: string;
}

/** A transcript that imitates the marks that profiles look for. */
const TRAP = [
  "Look:",
  "─".repeat(70),
  "❯ not a draft",
  "─".repeat(70),
  "› neither this",
  "✻ Pondering… (3s · esc to interrupt)",
  "• Working (3s • esc to interrupt)",
  "Do you want to proceed?",
  "❯ 1. Yes",
  "  2. No",
  "Esc to cancel · Enter to confirm",
].join("\\n");

const idle: Scene = { name: "idle", truth: IDLE, reach: (session) => session.idle(90_000) };

const common: readonly Scene[] = [
  idle,
  typed("draft", "half a thought"),
  typed("draft-looks-like-a-choice", "1. Yes"),
  pasted("draft-two-lines", "first line\nsecond line"),
  pasted("paste-five-lines", FIVE_LINES),
  pasted("paste-one-kilobyte", ONE_KILOBYTE),
  pasted("draft-wide", "漢字のドラフト 👩‍👩‍👧‍👦 ok"),
  typed("slash-menu", "/mo"),
  {
    name: "busy-begin",
    truth: BUSY,
    reach: async (session) => {
      session.model.wordDelayMs = 250;
      await say(session, "TALK 60");
      await session.until("busy", (view) => view.busy !== undefined && view.composer?.text === "");
    },
  },
  { name: "busy-stream", truth: BUSY, reach: () => settled(3000).then(() => {}) },
  {
    name: "busy-draft",
    truth: BUSY_DRAFT,
    reach: async (session) => {
      await session.paste("typed while it works");
      await session.until("the draft", (view) => (view.composer?.text ?? "") !== "");
      await settled(300);
    },
  },
];

/** The message has left the composer and is shown above it. */
const isHeld =
  (message: string) =>
  (view: ScreenView, screen: Screen): boolean =>
    view.composer?.text === "" && screen.lines.some(({ text }) => text.includes(message));

const queue: readonly Scene[] = [
  {
    name: "busy-queued",
    truth: BUSY,
    reach: async (session) => {
      await session.key("Enter");
      await session.until("a held message", isHeld("typed while it works"));
      await settled(200);
    },
  },
  {
    name: "busy-queued-two",
    truth: BUSY,
    reach: async (session) => {
      await say(session, "another one\nof two lines");
      await session.until("two held messages", isHeld("another one"));
      await settled(200);
    },
    leave: async (session) => {
      session.model.wordDelayMs = 0;
      await session.idle(60_000);
    },
  },
];

const endings: readonly Scene[] = [
  still("idle-after-turn", IDLE),
  {
    name: "idle-with-traps-in-the-transcript",
    truth: IDLE,
    reach: async (session) => {
      await say(session, `SAY ${TRAP}`);
      await settled(800);
      await session.idle();
    },
  },
  asked("permission-shell", "RUN-TOOL touch made-by-tool", "permission"),
  { name: "idle-after-interrupt", truth: IDLE, reach: (session) => session.idle() },
];

const trust = (name: string, options: SceneRun["options"]): SceneRun => ({
  options,
  scenes: [
    {
      name,
      truth: dialog("trust"),
      reach: async (session) => {
        await session.until("the trust dialog", (view) => view.dialog !== undefined);
        await settled(600);
      },
    },
  ],
});

const claudeArgs = { args: ["--permission-mode", "default"] };

const claude: readonly SceneRun[] = [
  {
    options: claudeArgs,
    scenes: [
      ...common,
      ...queue,
      ...endings,
      asked("permission-write", "WRITE-FILE WORK/note.txt", "permission"),
      asked("question", "ASK-ME", "question"),
      typed("shell-mode", "!"),
      typed("file-menu", "@"),
      command("theme", "/theme", dialog("theme")),
      command("model-picker", "/model", dialog("picker")),
      command("rewind", "/rewind", dialog("picker")),
      command("help", "/help", dialog("other")),
      command("config", "/config", OTHER, async (session) => {
        // The first Escape leaves its search field, the second the screen.
        await session.key("Escape");
        await settled();
        await dismiss(session);
      }),
      {
        name: "shortcuts",
        truth: IDLE,
        reach: async (session) => {
          await session.type("?");
          await settled();
        },
      },
    ],
  },
  {
    options: { args: ["--permission-mode", "plan"] },
    scenes: [idle, asked("plan", "PLAN-IT", "plan")],
    only: "claude-2.1.197",
  },
  {
    options: claudeArgs,
    scenes: [
      idle,
      {
        name: "limit-hit",
        truth: IDLE,
        reach: async (session) => {
          await say(session, "HIT-LIMIT");
          await settled(3000);
        },
      },
    ],
  },
  trust("trust", { state: "untrusted" }),
  { options: { ...claudeArgs, cols: 80, rows: 24 }, scenes: small() },
];

const codex: readonly SceneRun[] = [
  {
    options: {},
    scenes: [
      ...common,
      {
        name: "idle-after-steering",
        truth: IDLE,
        reach: async (session) => {
          await session.key("Enter");
          await settled(500);
        },
        leave: async (session) => {
          session.model.wordDelayMs = 0;
          await session.idle(60_000);
        },
      },
      ...endings,
      pasted("paste-sixty-lines", TALL),
      {
        name: "busy-tool",
        truth: BUSY,
        reach: async (session) => {
          await say(session, "RUN-TOOL sleep 8");
          await session.until("a dialog", (view) => view.dialog !== undefined);
          await settled(300);
          await session.key("Enter");
          await settled(2000);
        },
      },
      {
        name: "busy-tool-queued",
        truth: BUSY,
        reach: async (session) => {
          await say(session, "held until the tool is done");
          await settled(400);
        },
      },
      {
        name: "busy-tool-queued-two",
        truth: BUSY,
        reach: async (session) => {
          await session.paste("held until the turn is done");
          await settled(300);
          await session.key("Tab");
          await settled(400);
        },
        leave: (session) => session.idle(60_000),
      },
      typed("file-menu", "@"),
      typed("shell-mode", "!"),
      command("model-picker", "/model", dialog("picker")),
      command("permissions-picker", "/permissions", dialog("picker")),
      command("status", "/status", IDLE, async () => {}),
    ],
  },
  {
    options: {},
    scenes: [
      idle,
      {
        name: "limit-hit",
        truth: BUSY,
        reach: async (session) => {
          await say(session, "HIT-LIMIT");
          await settled(3000);
        },
      },
    ],
  },
  trust("hooks-review", { args: ["-c", 'hooks.Stop=[{hooks=[{type="command",command="true"}]}]'] }),
  { options: { cols: 80, rows: 24 }, scenes: small() },
  {
    options: { state: "fresh" },
    scenes: [{ name: "login", truth: dialog("login"), reach: () => settled(4000).then(() => {}) }],
  },
];

const opencode: readonly SceneRun[] = [
  {
    options: {},
    scenes: [
      idle,
      typed("first-draft", "half a thought"),
      {
        name: "idle-in-session",
        truth: IDLE,
        reach: async (session) => {
          await say(session, "hello");
          await settled(800);
          await session.idle();
        },
      },
      ...common.slice(1),
      ...queue,
      ...endings.slice(0, 3),
      { ...idle, name: "idle-after-reject" },
      asked("permission-write", "WRITE-FILE WORK/note.txt", "permission"),
      asked("question", "ASK-ME", "question"),
      typed("file-menu", "@"),
      {
        name: "command-palette",
        truth: OTHER,
        reach: async (session) => {
          await session.key("C-p");
          await session.until("the palette", (view) => view.composer === undefined);
          await settled(400);
        },
        leave: dismiss,
      },
      command("model-picker", "/models", OTHER),
    ],
  },
  { options: { cols: 80, rows: 24 }, scenes: small() },
  { options: { cols: 200, rows: 60 }, scenes: small("200x60-") },
];

function small(prefix = "80x24-"): readonly Scene[] {
  const wanted = ["idle", "draft", "draft-two-lines", "paste-one-kilobyte", "slash-menu", "busy-begin", "busy-stream"];
  const scenes = common.filter((scene) => wanted.includes(scene.name));
  const rest: Scene = {
    name: "idle-after-turn",
    truth: IDLE,
    reach: async (session) => {
      session.model.wordDelayMs = 0;
      await session.idle(60_000);
    },
  };
  const permission = asked("permission-shell", "RUN-TOOL touch made-by-tool", "permission");
  return [...scenes, rest, permission].map((scene) => ({ ...scene, name: `${prefix}${scene.name}` }));
}

/** The scenes of each program from which screens are recorded. */
export const SCENES: Readonly<Record<AgentKind, readonly SceneRun[]>> = { claude, codex, opencode };
