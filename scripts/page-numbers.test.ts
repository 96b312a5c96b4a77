// Compares the numbers on the pages with the code: each row takes a number from the code and looks for it on the page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const pages = new Map<string, string>();

/** The text of a page, or of a contract's comments, with line breaks as blanks. */
function page(name: string): string {
  const known = pages.get(name) ?? readFileSync(join(root, name), "utf8").replaceAll(/\s+(?:\/\/ )?/g, " ");
  pages.set(name, known);
  return known;
}

/** The value of a constant, a field or a default in a source file: a number, or a product of numbers. */
function numberIn(file: string, name: string): number {
  const text = readFileSync(join(root, file), "utf8");
  const set = `\\b${name}\\b(?:: \\w+)?\\s*[=:]\\s*(?:\\w+\\([^)]*\\)\\.default\\()?`;
  const [, product] = new RegExp(`${set}([\\d_.]+n?(?: \\* [\\d_.]+n?)*)`).exec(text) ?? [];
  if (product === undefined) throw new Error(`${file} has no number ${name}`);
  const factors = product.split(" * ").map((factor) => Number(factor.replaceAll("_", "").replace(/n$/, "")));
  return factors.reduce((all, factor) => all * factor, 1);
}

type Unit = keyof typeof UNITS;

/** The units as the pages write them. */
const UNITS = {
  "": 1,
  ms: 1,
  s: 1000,
  seconds: 1000,
  minutes: 60_000,
  h: 3_600_000,
  bytes: 1,
  KiB: 1024,
  MiB: 1024 * 1024,
} as const;

const written = (value: number, unit: Unit): string =>
  `${(value / UNITS[unit]).toLocaleString("en-US", { maximumFractionDigits: 3 })} ${unit}`.trim();

/** `{}` stands for the number with its unit. */
type Row = readonly [sentence: string, unit: Unit, file: string, name: string];

const NUMBERS: Readonly<Record<string, readonly Row[]>> = {
  "docs/bridge.md": [
    [
      "StartSession waits until it has started, at most {};",
      "s",
      "internal/bridge/local/local-sessions.ts",
      "START_WAIT_MS",
    ],
    ["beyond {} ended sessions,", "", "internal/bridge/local/session-table.ts", "MAX_ENDED"],
    ["or {} of their events,", "MiB", "internal/bridge/local/session-table.ts", "MAX_ENDED_BYTES"],
    ["(at most {} lines, without colours)", "", "internal/bridge/local/final-snapshot.ts", "KEPT_LINES"],
    ["a name of more than {} characters is cut", "", "internal/auth/tls/identities.ts", "MAX_CHARS"],
    ["{} inputs may wait for a stdio agent", "", "internal/providers/stdio/held-inputs.ts", "MAX_HELD"],
    ["Keys are kept for {},", "h", "internal/bridge/local/input-ledger.ts", "KEEP_MS"],
    ["at most {} per session and", "", "internal/providers/stdio/input-book.ts", "MAX_IDS"],
    ["per session and {} per caller", "", "internal/bridge/local/input-ledger.ts", "MAX_OF_ONE"],
    ["{} spans wait,", "", "internal/tracing/otlp-tracer.ts", "MAX_WAITING"],
    ["each request has {},", "s", "internal/tracing/otlp-tracer.ts", "ANSWER_MS"],
    ["shutdown waits {} at most", "s", "internal/tracing/otlp-tracer.ts", "FLUSH_MS"],
  ],
  "docs/security.md": [
    ["A lifetime of more than {} is refused", "minutes", "internal/auth/token-verifier.ts", "MAX_TOKEN_TTL_MS"],
    ["remembered by hash, {} of each", "", "internal/auth/token-verifier.ts", "cacheEntries"],
    ["TLS handshakes that begin | {} at once", "", "internal/rpc/server/server.ts", "handshakeBurst"],
    ["at once, then {} a second | they wait", "", "internal/rpc/server/server.ts", "handshakesPerSecond"],
    ["the first SETTINGS | {} |", "s", "internal/rpc/server/server.ts", "handshakeTimeoutMs"],
    ["PING does not count | {};", "s", "internal/rpc/server/server.ts", "idleMs"],
    ["{} for a caller without a role;", "s", "internal/rpc/server/server.ts", "idleWithoutRoleMs"],
    ["{} on the health port | GOAWAY", "s", "internal/rpc/server/health-http.ts", "idleMs"],
    ["{} to their first bytes | the longest", "s", "internal/rpc/server/health-http.ts", "handshakeTimeoutMs"],
    ["{} on the health port | they wait", "", "internal/rpc/server/health-http.ts", "maxStreams"],
    ["requests being received, in total | {} |", "MiB", "internal/rpc/server/server.ts", "maxRequestBytes"],
    ["unread responses, in total | {},", "MiB", "internal/rpc/server/server.ts", "maxAnswerBytes"],
    ["per caller {}; responses of", "MiB", "internal/rpc/server/server.ts", "maxAnswerBytesOfOne"],
    ["except a stream of requests | {} |", "s", "internal/rpc/server/server.ts", "requestTimeoutMs"],
    ["does not answer PING | {} and", "s", "internal/rpc/server/server.ts", "pingIntervalMs"],
    ["and {} more | the connection ends", "s", "internal/rpc/server/server.ts", "pingTimeoutMs"],
    ["or before their first bytes | {} |", "", "internal/rpc/server/server.ts", "maxHalfOpen"],
    ["| connections | {};", "", "internal/rpc/server/server.ts", "maxConnections"],
    ["(per address without certificates) {} |", "", "internal/rpc/server/server.ts", "maxConnectionsOfOne"],
    ["callers without a role | {} together", "", "internal/rpc/server/server.ts", "maxWithoutRole"],
    ["connections to the health port | {};", "", "internal/rpc/server/health-http.ts", "maxConnections"],
    ["headers of a request | {} |", "KiB", "internal/rpc/port/header-limit.ts", "MAX_HEADER_BYTES"],
    ["message of a request | {} |", "KiB", "internal/rpc/server/server.ts", "readMaxBytes"],
    ["still being sent; {} later the stream ends", "MiB", "internal/rpc/server/adapter.ts", "MAX_DISCARDED_BYTES"],
    ["concurrent calls, streams included | {};", "", "internal/rpc/server/server.ts", "maxCalls"],
    ["(per address without one) {} |", "", "internal/rpc/server/server.ts", "maxCallsOfOne"],
    ["for all but those of up to {} |", "KiB", "internal/rpc/server/calls.ts", "SMALL_BYTES"],
    ["responses of up to {} may exceed that", "KiB", "internal/rpc/server/calls.ts", "SMALL_ANSWER_BYTES"],
    ["a stream that is not read | {};", "KiB", "internal/pane/watch/watch-sink.ts", "WATCH_BACKLOG_BYTES"],
    ["streams of a connection | {};", "", "internal/rpc/server/server.ts", "maxStreams"],
    ["wait for their answers | {} |", "", "internal/rpc/port/pipelines.ts", "MAX_UNANSWERED"],
    ["requests that begin | {} per turn", "", "internal/rpc/port/request-turns.ts", "perTurn"],
    ["they wait: {},", "", "internal/rpc/port/request-turns.ts", "maxWaiting"],
    ["per caller {}; further ones are reset", "", "internal/rpc/port/request-turns.ts", "maxWaitingOfOne"],
    ["resetting them within a second | {} at once", "", "internal/rpc/port/caller-budget.ts", "BURST"],
    ["at once, then {} a second, per caller over all", "", "internal/rpc/port/caller-budget.ts", "PER_SECOND"],
  ],
  "docs/cluster.md": [
    ["SendInput waits for that, at most {},", "s", "internal/controller/sessions/pod-sessions.ts", "START_WAIT_MS"],
    ["it is closed {} ", "seconds", "internal/controller/sessions/shared-events.ts", "IDLE_MS"],
    ["sidecar does not answer for {},", "seconds", "internal/controller/sessions/event-tail.ts", "AWAY_MS"],
    ["not ready within `sessions.startTimeout` ({})", "minutes", "cmd/gt-controller/config-schema.ts", "start_timeout"],
    ["controllers read that Secret every {} and", "seconds", "cmd/gt-controller/config-schema.ts", "reload"],
    ["which the controller uses; 0 below {} |", "s", "internal/kube/access/cluster-clock.ts", "TOLERANCE_MS"],
  ],
  "docs/container.md": [
    ["checks {} apart", "ms", "internal/process/reaper.ts", "LOOK_EVERY_MS"],
    ["silent for {}", "s", "internal/sidecar/supervisor/serving-keeper.ts", "SILENT_MS"],
    ["make it larger than {})", "MiB", "internal/eventlog/journal.ts", "JOURNAL_MAX_BYTES"],
  ],
  "docs/protocols/attach.md": [
    ["message is `hello`, within {}.", "s", "internal/sidecar/serving/attach.ts", "HELLO_MS"],
    ["caller is more than {} behind", "KiB", "internal/pane/attach/attach.ts", "BEHIND_BYTES"],
    ["says so, every {} at most", "s", "internal/pane/attach/attach.ts", "BEHIND_EVERY_MS"],
    ["a message over {} |", "KiB", "internal/rpc/server/server.ts", "readMaxBytes"],
    ["in order, {} at a time", "KiB", "internal/pane/attach/attach-keys.ts", "WRITE_MAX_BYTES"],
    ["for {} after a key", "s", "internal/pane/attach/attach-people.ts", "TYPING_MS"],
    ["wait at most {} for a delivery", "ms", "internal/pane/attach/attach-keys.ts", "PEN_MS"],
    ["A paste of more than {} is split", "KiB", "internal/pane/attach/attach-input.ts", "PASTE_MAX_BYTES"],
    ["end of a paste is awaited for {}.", "s", "internal/pane/attach/attach-keys.ts", "CUT_PASTE_MS"],
    ["Up to {} may wait per caller", "MiB", "internal/pane/attach/attach-keys.ts", "PENDING_MAX_BYTES"],
    ["keys wait for up to {}.", "s", "internal/sidecar/lifecycle/pane-access.ts", "CALL_MS"],
    ["the size stays for {} ", "s", "internal/pane/attach/attach-people.ts", "RETURN_MS"],
    ["| title | unchanged, {} characters", "", "cmd/gt/attach/attach-screen.ts", "TITLE_MAX"],
  ],
  "docs/protocols/delivery.md": [
    ["as `[Pasted text #1 +4 lines]`), within {}.", "s", "internal/pane/delivery/delivery.ts", "ECHO_MS"],
    ["the delivery waits {} for it", "s", "internal/pane/delivery/delivery-submit.ts", "CURSOR_MS"],
    ["the message is also UNKNOWN after {} (", "s", "internal/pane/delivery/delivery-submit.ts", "HANGS_MS"],
    ["it has been stable for {}.", "ms", "internal/pane/delivery/agent-deliveries.ts", "CALM_MS"],
    ["opened less than {} ago", "ms", "internal/pane/delivery/respond.ts", "FRESH_MS"],
    ["stays closed for {},", "ms", "internal/pane/delivery/respond.ts", "STANDS_MS"],
    ["dialog is still there after {},", "s", "internal/pane/delivery/respond.ts", "END_MS"],
  ],
  "docs/protocols/events.md": [
    ["{} positions are kept,", "", "internal/session/subscriber.ts", "max"],
    ["are kept, {} of them per caller,", "", "internal/session/subscriber.ts", "maxOfOne"],
    ["each for {} of uptime", "h", "internal/session/subscriber.ts", "idleMs"],
    ["events of at most {}. For a subscriber", "MiB", "cmd/bridge/daemon.ts", "EVENT_BYTES"],
    ["does not read, at most {} are in", "KiB", "internal/bridge/unread-stream.ts", "UNREAD_BYTES"],
    ["text waits for {} of silence", "s", "internal/session/output-text.ts", "QUIET_MS"],
    ["of silence, {} at most", "s", "internal/session/output-text.ts", "WAIT_MS"],
  ],
  "docs/protocols/output.md": [
    ["in slices of {}.", "KiB", "internal/pane/screen/drawing.ts", "SLICE_BYTES"],
    ["When it is more than {} behind and bytes", "KiB", "internal/pane/screen/drawing.ts", "HURRY_BYTES"],
    ["When it is more than {} behind (", "MiB", "internal/pane/screen/output.ts", "BEHIND_BYTES"],
    ["been silent for {} the screen", "ms", "internal/sidecar/agent/output-reader.ts", "QUIET_MS"],
    ["A peek waits at most {} for", "ms", "internal/pane/screen/peek.ts", "DRAW_WAIT_MS"],
    ["sends a HEARTBEAT every {}.", "s", "internal/pane/watch/raw-cursor.ts", "HEARTBEAT_MS"],
    ["with {} in transit receives nothing", "KiB", "internal/pane/watch/watch-sink.ts", "WATCH_BACKLOG_BYTES"],
  ],
  "docs/protocols/providers.md": [
    [
      "agent's own instructions; at most {} |",
      "bytes",
      "internal/providers/conversation/agent-options.ts",
      "MAX_PROMPT_BYTES",
    ],
    ["the bridge holds up to {} messages", "", "internal/providers/stdio/held-inputs.ts", "MAX_HELD"],
    ["ended or said nothing for {};", "s", "internal/providers/stdio/stdio-handle.ts", "TAKEN_WITHIN_MS"],
    ["A line of standard output of more than {},", "MiB", "internal/providers/stdio/agent-output.ts", "MAX_LINE_BYTES"],
    [
      "At most {} of a line that is not of the protocol",
      "KiB",
      "internal/providers/stdio/agent-output.ts",
      "MAX_TEXT_BYTES",
    ],
  ],
  "docs/protocols/state.md": [
    ["STARTING for up to {} more", "s", "internal/pane/state/judge.ts", "BEGINNING_MS"],
    ["a `generic` one after {}.", "s", "internal/pane/state/judge.ts", "SILENT_START_MS"],
    ["submitted less than {} ago", "s", "internal/pane/state/judge.ts", "WAITING_HOOK_MS"],
    ["nothing supports it for {},", "s", "internal/pane/state/judge.ts", "LONELY_HOOK_MS"],
    ["around the composer for {}, or for", "s", "internal/pane/state/judge.ts", "SCREEN_IDLE_MS"],
    ["{} if the last hook reported work", "s", "internal/pane/state/judge.ts", "STILL_AFTER_HOOK_MS"],
    ["twice within {}:", "s", "internal/sidecar/agent/work-watch.ts", "WINDOW_MS"],
    ["or writing {} counts as work", "KiB", "internal/process/process-work.ts", "WORKING_BYTES"],
    ["For up to {} after the last resize", "s", "internal/pane/state/resize-grace.ts", "GRACE_MS"],
    ["after the last resize, {} in all", "s", "internal/pane/state/resize-grace.ts", "GRACE_MAX_MS"],
    ["one line of at most {} characters", "", "internal/pane/state/background.ts", "MAX_TITLE"],
    ["the first restart comes after {}.", "s", "internal/process/restart-policy.ts", "firstMs"],
    ["gets TERM after {} and", "s", "internal/sidecar/supervisor/agent-processes.ts", "HANG_UP_MS"],
    ["within `--timeout` ({})", "minutes", "cmd/gt/wait/wait-options.ts", "DEFAULT_TIMEOUT_MS"],
    ["a loss of contact of {} while waiting", "s", "cmd/gt/wait/wait-until.ts", "AWAY_MS"],
    ["with `--version`, for at most {}.", "s", "internal/sidecar/supervisor/agent-version.ts", "TIMEOUT_MS"],
  ],
  "docs/protocols/threads.md": [
    ["types a line of at most {} into its terminal", "bytes", "internal/threads/domain/wake-text.ts", "MAX_BYTES"],
    [
      "A person's token is valid for at most {},",
      "minutes",
      "internal/threads/client/local-issuer.ts",
      "PERSON_TTL_MS",
    ],
  ],
  "proto/bridge/v1/bridge.proto": [
    ["A request larger than {} is", "KiB", "internal/rpc/server/server.ts", "readMaxBytes"],
    ["1 to {} (`input.max_size_bytes`)", "bytes", "internal/session/nudge-request.ts", "MESSAGE_MAX_BYTES"],
    ["of the reader: at most {},", "bytes", "internal/session/subscriber.ts", "MAX_BYTES"],
    ["plain text, at most {} characters;", "", "internal/session/event-types.ts", "EVENT_TEXT_CHARS"],
    ["with all of these labels, at most {}.", "", "internal/bridge/calls/watch-sessions.ts", "MAX_LABELS"],
  ],
  "proto/gastown/v1/sidecar.proto": [
    ["A request larger than {} is", "KiB", "internal/rpc/server/server.ts", "readMaxBytes"],
    ["Ids are kept for {},", "h", "internal/pane/delivery/nudge-book.ts", "RECEIPT_KEEP_MS"],
    ["While tmux is away it waits, up to {}.", "s", "internal/sidecar/lifecycle/pane-access.ts", "CALL_MS"],
    ["do not count. Under {}.", "MiB", "internal/pane/screen/peek-text.ts", "PEEK_MAX_BYTES"],
    ["1 to {}, otherwise", "bytes", "internal/session/nudge-request.ts", "MESSAGE_MAX_BYTES"],
    ["in the queue, at most {}.", "", "internal/pane/delivery/nudge-book.ts", "QUEUE_LIMIT"],
    ["of the reader: at most {},", "bytes", "internal/session/subscriber.ts", "MAX_BYTES"],
    ["event of its stream; at most {} characters.", "", "internal/session/event-types.ts", "EVENT_TEXT_CHARS"],
    ["Typed literally, at most {}.", "bytes", "internal/session/check-typed-text.ts", "MAX_BYTES"],
    ["for an hour, at most {} per identity", "", "internal/session/idempotent-calls.ts", "IDEMPOTENT_KEEP"],
    ["per identity and {} in total", "", "internal/session/idempotent-calls.ts", "IDEMPOTENT_KEEP_OF_ALL"],
    ["one line of at most {}.", "bytes", "internal/sidecar/agent/type-text.ts", "TEXT_MAX_BYTES"],
    ["seen within {} after that time", "s", "internal/sidecar/lifecycle/stop-request.ts", "NOTICE_MS"],
  ],
  "docs/protocols/relay.md": [
    ["with the work's `id`, up to {}.", "KiB", "internal/relay/lanes/lane-control.ts", "MAX_BYTES"],
    ["has dialled this lane {} times at once", "", "internal/relay/door/agent-door.ts", "burst"],
  ],
};

for (const [name, rows] of Object.entries(NUMBERS)) {
  it.each(rows)(`${name}: "%s" has the number of the code`, (sentence, unit, file, constant) => {
    expect(page(name)).toContain(sentence.replace("{}", written(numberIn(file, constant), unit)));
  });
}

it("reads a number from the code as it is written there", () => {
  expect(numberIn("internal/bridge/local/session-table.ts", "MAX_ENDED_BYTES")).toBe(256 * 1024 * 1024);
  expect(written(1500, "s")).toBe("1.5 s");
  expect(written(16_384, "bytes")).toBe("16,384 bytes");
});
