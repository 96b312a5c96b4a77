/** A section of bench/RESULTS.md: the result files that it covers, and the rows of interest to readers. */
export interface Group {
  readonly title: string;
  readonly files: readonly string[];
  /** The description of the measurement and how to repeat it, as sentences. */
  readonly about: string;
  readonly rows: readonly RegExp[];
  /** For tables: by their title, the rows whose first cell matches. */
  readonly tables?: readonly (readonly [title: string, rows: readonly RegExp[]])[];
}

const ALL = [/./];
/** Recorded after the rules were fixed. */
const HELD_OUT = [/^claude\/2\.1\.270$/, /^codex\/0\.163\.0$/, /^opencode\/1\.18\.20$/];

export const GROUPS: readonly Group[] = [
  {
    title: "Receipts",
    files: ["nudge"],
    about:
      "Nudge with its receipt, beside `send-keys -l`, 500 ms, Enter in a second instance of the same agent; what arrived is read at the agent or the model. `npm run bench -- --only nudge`.",
    rows: [/: answer, p50$/, /: arrived exactly once/, /dialog answered by it$/],
  },
  {
    title: "Delivery laboratory",
    files: ["lab"],
    about:
      "Each send is judged by what the program itself received; in brackets the 95 % upper bound of a rate of which nothing was seen. `npm run lab`.",
    rows: ALL,
    tables: [
      ["Receipts", [/^\*\*/]],
      ["Killed with -9 at random instants", ALL],
      ["Frozen at random instants", ALL],
      ["Lines in many scripts", ALL],
    ],
  },
  {
    title: "Reported and true state",
    files: ["phases", "screens"],
    about:
      "An hour of real agents: `Status` asked again and again beside the model's log. Recorded screens: each judged alone, as if it had stood like that for long; these versions were recorded after the rules stood. `npm run soak -- --only phases`, `npm run screens`.",
    rows: [/: idle seen p99$/, /: false idle$/],
    tables: [["Recorded screens", HELD_OUT]],
  },
  {
    title: "Streams and the relay under faults",
    files: ["streams", "relay-soak"],
    about:
      "Readers through proxies that cut at any byte, while the serving half is killed and the agent floods; each byte and event is compared with what was printed. Work of sampled and ACP agents by two relays on one NATS, while agents, relays and server are cut, killed and suspended; each result is compared with what the agents did. `npm run soak -- --only streams`, `npm run soak -- --only relay`.",
    rows: [
      /lost, doubled/,
      /soak, relay: (?:bound|uncertain)/,
      /streams: delivered and checked$/,
      /memory of the serving half/,
    ],
  },
  {
    title: "A sidecar alone",
    files: ["start", "peek", "output", "latency", "attach", "stalled", "watchers"],
    about:
      "Baselines: bare Node; a server that forks tmux for each call; `pipe-pane` into a bare reader; `tmux attach`; a handler that makes every message for every watcher. `npm run bench -- --only start,peek,output,latency,attach,stalled,watchers`.",
    rows: [
      /to ready, p50/,
      /both halves, anonymous/,
      /mTLS, c=1: p50$/,
      /RAW watcher: p50/,
      /key echo: p50/,
      /100 MB past a stalled reader: (?:how long|bytes)/,
      /500 watchers, (?:10|500) connections, mTLS, connect: CPU/,
    ],
  },
  {
    title: "In a container and on a cluster",
    files: ["container"],
    about: "`npm run e2e`, `npm test -- first-process sidecar-crash`, `npm run conformance`.",
    rows: ALL,
    tables: [["Container", [/back later than/, /Ready on a real node/, /Connect's conformance/]]],
  },
  {
    title: "Trust",
    files: ["trust", "revocation", "floods"],
    about:
      "CPU of the process; handshakes of both ends together. Floods: thousands of connections of each kind for two minutes, and what probes and an operator notice. `npm run bench -- --only trust,revocation`, `npm run floods`.",
    rows: [/: added to a/, /^RPC port, (?:idle|a certificate with a role|resets): .*p99$/],
  },
  {
    title: "Bridge, and gt from shell to shell",
    files: ["bridge", "gt"],
    about:
      "Over mTLS. Events of 1 KiB; passing a sidecar's streams on; `gt` beside `node -e 0`. `npm run bench -- --only bridge,gt`.",
    rows: [/^500 subscribers,/, /passed through/, /first event, .*stdio/, /^gt --help/],
  },
  {
    title: "Relay",
    files: ["relay"],
    about:
      "Work on NATS in, results out, by agents that answer at once. Baseline: the JetStream calls of the same turns, without relay and agents. `npm run bench -- --only relay`.",
    rows: [/one turn, p50/, /100 lanes/, /reconnect to .*max$/, /memory for each/, /live memory/],
  },
  {
    title: "The controller and the API server",
    files: ["informer", "starts", "pods", "rolling", "hop", "load", "sidecars"],
    about:
      "A real API server and etcd. The reflector beside client-node's informer through faults; pods held back by a gate; the hop beside a direct call. `npm run bench:cluster`.",
    rows: [
      /^changes missed.*informer\)$/,
      /^connections of 300/,
      /^StartSession/,
      /^\d+ pods: (started|peak|GetSession.*p99)/,
      /^rolling.*: (?:reads|changes)/,
      /^hop: (?:Peek.*p50|CPU)/,
      /^load: (?:wrong|.*p50)/,
      /^\d+ sidecars: streams/,
    ],
  },
  {
    title: "The controller in a cluster that goes wrong",
    files: ["controller"],
    about:
      "Three replicas and pods with the demo agent on a real node, while replicas, API server, etcd, kubelet, pods, Secrets, agents and serving halves are killed, silenced or damaged at random; each receipt is compared with what its agent took. `npm run soak -- --only controller`.",
    rows: [/lost, doubled/, /controller: (?:sessions|messages|events)/, /never ended/],
  },
  {
    title: "Desk",
    files: ["desk"],
    about:
      "Two halves by hand, with the built-in reader: links swapped under reads, halves killed while texts cross, users who ask for the administrator's files in every disguise. `npm run lab:desk`.",
    rows: ALL,
  },
  {
    title: "Threads",
    files: ["threads", "threads-review"],
    about:
      "Two servers on one PostgreSQL, writers, and idle agents in sidecars (demo agents and a real one), while servers, PostgreSQL and serving halves are killed at random; messages are compared with what was acknowledged, receipts with what the agents took. The bound is the rule of three. In review, Claude Code reviews and Codex and OpenCode fix, beside the same by hand: a person who carries each text and thinks for no time. How many teams use it cannot be measured here. `npm run lab:threads`, `npm run lab:threads -- --review`.",
    rows: [/lost$/, /twice$/, /false$/, /: acknowledged$/, /texts that agents took$/, /bound$/, /, p95$/, /^review: /],
  },
];
