import { within } from "../../../../internal/base/abort.ts";
import { DomainError } from "../../../../internal/base/errors.ts";
import { asObjects } from "../../../../internal/base/json-fields.ts";
import { runTasks } from "../../../../internal/base/task-group.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { leaveRawMode } from "../../../../internal/cli/raw-mode.ts";
import type { ThreadsClient } from "../../../../internal/threads/client/threads-client.ts";
import { LiveScreen } from "../../common/text/live-screen.ts";
import { connectAgain } from "../../common/text/watch-again.ts";
import type { CallOperation } from "../common/with-threads.ts";
import { nextThatWaits, waitsOf } from "./waits.ts";
import { ACTIONS, type Action } from "./watch-actions.ts";
import { KeyReader, PASTES, type WatchKey } from "./watch-keys.ts";
import { type Shown, threadsPicture } from "./watch-picture.ts";
import { WatchView } from "./watch-view.ts";

/** Redraw this often without updates, since ages grow. */
const DRAW_MS = 1000;
/** Updates within this time are drawn together. */
const COALESCE_MS = 50;
const NOTE_MS = 8000;
const PAGE = 10;
/** The number of threads to move down, by key; negative: up. */
const STEPS: Readonly<Record<string, number>> = {
  ...{ up: -1, k: -1, down: 1, j: 1, pageUp: -PAGE, pageDown: PAGE },
  ...{ home: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY },
};
const BEFORE = 50;
const MAX_ANSWER = 16_384;

interface Who {
  readonly workspace: string;
  readonly me: string;
}

/** A question to the person, and the answer typed so far. */
interface Asked {
  readonly action: Action;
  readonly question: string;
  readonly thread: string;
  text: string;
}

/** The live screen. Redraws itself as threads change, and acts on keys until the person leaves. */
export class LiveWatch {
  readonly #call: CallOperation;
  readonly #client: ThreadsClient;
  readonly #context: CommandContext;
  readonly #who: Who;
  readonly #view = new WatchView();
  readonly #left = new AbortController();
  #chosen: string | undefined;
  /** True if the person chose the thread by going to the next wait. */
  #isAtWait = false;
  /** The thread whose messages were last requested; `#loaded`: the one whose messages last arrived. */
  #asksFor: string | undefined;
  #loaded: string | undefined;
  readonly #keys = new KeyReader();
  #asked: Asked | undefined;
  #note: (NonNullable<Shown["note"]> & { readonly at: number }) | undefined;
  #lost = "";
  #news = Promise.withResolvers<void>();
  #work: Promise<void> = Promise.resolve();
  /** Separate, so that an action does not wait for messages. */
  #loading: Promise<void> = Promise.resolve();
  #failure: { readonly err: unknown } | undefined;

  constructor(call: CallOperation, client: ThreadsClient, context: CommandContext, who: Who) {
    this.#call = call;
    this.#client = client;
    this.#context = context;
    this.#who = who;
  }

  /** @throws as `connectAgain` */
  async run(): Promise<number> {
    const { stdin, stdout, signal } = this.#context;
    const stop = AbortSignal.any([signal, this.#left.signal]);
    using screen = new LiveScreen(stdout);
    const onInput = (data: Buffer) => this.#typed(data.toString("utf8"));
    const onResize = () => this.#draw(screen);
    const isTerminal = stdin.isTTY === true;
    const onGone = () => this.#left.abort();
    stdin.on("error", isTerminal ? onGone : () => {}); // stays: without a listener an error ends the process
    if (isTerminal) {
      stdin.setRawMode(true).on("end", onGone);
      stdout.write(PASTES.say);
    }
    stdin.on("data", onInput);
    stdout.on("resize", onResize);
    try {
      const drawing = { run: (over: AbortSignal) => this.#drawAgain(screen, over) };
      await runTasks(stop, [{ run: (over) => this.#follow(over) }, drawing]);
    } catch (err) {
      if (!this.#left.signal.aborted) throw err;
    } finally {
      stdout.off("resize", onResize);
      stdin.off("data", onInput).off("end", onGone).pause();
      if (isTerminal) {
        stdout.write(PASTES.silent);
        leaveRawMode(stdin);
      }
      await Promise.all([this.#work, this.#loading]);
    }
    if (this.#failure !== undefined) throw this.#failure.err;
    return 0;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const after = new Map<string, number>();
    const lost = (text: string) => {
      this.#lost = text;
      this.#news.resolve();
    };
    const back = (text: string) => {
      this.#lost = "";
      this.#say(text, false);
    };
    const { clock } = this.#context;
    const open = () => this.#client.watch(after, signal);
    for await (const update of connectAgain(open, { clock, signal, lost, back })) {
      this.#view.take(update);
      this.#choose(this.#chosen);
      this.#news.resolve();
    }
  }

  async #drawAgain(screen: LiveScreen, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    while (!signal.aborted) {
      this.#draw(screen);
      this.#news = Promise.withResolvers<void>();
      await within(clock, DRAW_MS, this.#news.promise, signal);
      await clock.sleep(COALESCE_MS, signal).catch(() => {});
    }
  }

  #draw(screen: LiveScreen): void {
    const { clock, out } = this.#context;
    if (this.#note !== undefined && clock.monotonicMs() - this.#note.at > NOTE_MS) this.#note = undefined;
    const isLoading = this.#chosen !== this.#loaded;
    const state = {
      chosen: this.#chosen,
      isAtWait: this.#isAtWait,
      isLoading,
      lost: this.#lost,
      prompt: this.#asked,
      note: this.#note,
    };
    const { columns, maxLines: rows } = screen;
    const paint = out.paint.bind(out);
    screen.draw(threadsPicture(this.#view, { ...this.#who, ...state }, { columns, rows, paint, now: clock.now() }));
  }

  #typed(input: string): void {
    for (const key of this.#keys.read(input)) {
      if (key.type === "quit") this.#left.abort();
      else if (this.#asked === undefined) this.#command(key);
      else this.#answer(this.#asked, key);
    }
    this.#news.resolve();
  }

  #command(key: WatchKey): void {
    if (key.type === "paste") return;
    if (key.type !== "text") {
      this.#move(STEPS[key.type] ?? 0);
      return;
    }
    const [first = "", ...rest] = key.text;
    const step = STEPS[first];
    const action = ACTIONS[first];
    const thread = this.#view.thread(this.#chosen);
    if (step !== undefined) this.#move(step);
    else if (first === "q") this.#left.abort();
    else if (first === "n") this.#moveToWait();
    else if (action !== undefined && thread !== undefined) {
      if (action.question === undefined) this.#do(action, thread.id, "");
      else this.#asked = { action, question: action.question(thread), thread: thread.id, text: "" };
    }
    if (rest.length === 0) return;
    const more = { type: "text", text: rest.join("") } as const;
    if (this.#asked === undefined) this.#command(more);
    else this.#answer(this.#asked, more);
  }

  #answer(asked: Asked, key: WatchKey): void {
    if (key.type === "text" || key.type === "paste") asked.text = `${asked.text}${key.text}`.slice(0, MAX_ANSWER);
    else if (key.type === "erase") asked.text = [...asked.text].slice(0, -1).join("");
    else if (key.type === "escape") this.#asked = undefined;
    else if (key.type === "enter") {
      this.#asked = undefined;
      this.#do(asked.action, asked.thread, asked.text);
    }
  }

  /** Runs actions one after the other, and shows what the server refuses. */
  #do(action: Action, threadId: string, answer: string): void {
    const work = async () => {
      const thread = this.#view.thread(threadId);
      if (thread === undefined) return;
      const now = this.#context.clock.now();
      try {
        this.#say(await action.run(this.#call, { thread, view: this.#view, answer, now }), false);
      } catch (err) {
        if (!(err instanceof DomainError)) throw err;
        const { hint } = err.fields;
        this.#say(typeof hint === "string" ? `${err.message} (${hint})` : err.message, true);
      }
    };
    this.#work = this.#work.then(work).catch((err: unknown) => this.#fail(err));
  }

  /** Ends the screen with an error. */
  #fail(err: unknown): void {
    this.#failure ??= { err };
    this.#left.abort();
  }

  #say(text: string, isBad: boolean): void {
    this.#note = { text, isBad, at: this.#context.clock.monotonicMs() };
    this.#news.resolve();
  }

  #moveToWait(): void {
    const waits = waitsOf(this.#view, this.#who.me, this.#context.clock.now());
    this.#isAtWait = true;
    this.#choose(nextThatWaits(waits, this.#chosen) ?? this.#chosen);
  }

  #move(step: number): void {
    this.#isAtWait = false;
    const { threads } = this.#view;
    const at = Math.max(
      0,
      threads.findIndex(({ id }) => id === this.#chosen),
    );
    this.#choose(threads[Math.min(Math.max(0, at + step), threads.length - 1)]?.id);
  }

  /** Chooses the thread with this id, else the first one. Requests its messages once. */
  #choose(threadId: string | undefined): void {
    this.#chosen = this.#view.thread(threadId)?.id ?? this.#view.threads[0]?.id;
    this.#view.open(this.#chosen);
    const chosen = this.#chosen;
    if (chosen === undefined || chosen === this.#asksFor) return;
    this.#asksFor = chosen;
    const work = async () => {
      if (chosen !== this.#chosen) return;
      try {
        const found = await this.#call("search_messages", { thread_id: chosen, limit: BEFORE });
        this.#view.keep(chosen, asObjects(found["hits"]));
        this.#loaded = chosen;
        this.#news.resolve();
      } catch (err) {
        this.#asksFor = undefined;
        if (!(err instanceof DomainError)) throw err;
        this.#say(err.message, true);
      }
    };
    this.#loading = this.#loading.then(work).catch((err: unknown) => this.#fail(err));
  }
}
