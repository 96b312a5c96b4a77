import { expect, it } from "vitest";
import { givenTo, usageErrorOf } from "../../../../test/support/bridge/gt-usage.ts";
import { attach } from "../../attach/attach.ts";
import { readAttach } from "../../attach/attach-options.ts";
import { keys } from "../../keys/keys.ts";
import { readKeys } from "../../keys/keys-options.ts";
import { nudge } from "../../nudge/nudge.ts";
import { readNudge } from "../../nudge/nudge-options.ts";
import { peek } from "../../peek/peek.ts";
import { readPeek } from "../../peek/peek-options.ts";
import { respond } from "../../respond/respond.ts";
import { readRespond } from "../../respond/respond-options.ts";
import { wait } from "../../wait/wait.ts";
import { readWait } from "../../wait/wait-options.ts";
import { watch } from "../../watch/watch.ts";
import { readWatch } from "../../watch/watch-options.ts";

const HERE = ["--port", "9090"];

const read = {
  peek: (argv: readonly string[], env = {}) => readPeek(givenTo(peek, argv), env),
  nudge: (argv: readonly string[], env = {}) => readNudge(givenTo(nudge, argv), env),
  respond: (argv: readonly string[], env = {}) => readRespond(givenTo(respond, argv), env),
  keys: (argv: readonly string[], env = {}) => readKeys(givenTo(keys, argv), env),
  watch: (argv: readonly string[], env = {}) => readWatch(givenTo(watch, argv), env),
  attach: (argv: readonly string[], env = {}) => readAttach(givenTo(attach, argv), env),
  wait: (argv: readonly string[], env = {}) => readWait(givenTo(wait, argv), env),
};

it.each<[keyof typeof read, string[], object]>([
  ["peek", [], { agent: "", lines: 100 }],
  ["peek", ["5"], { agent: "", lines: 5 }],
  ["peek", ["toast"], { agent: "toast", lines: 100 }],
  ["peek", ["toast", "5"], { agent: "toast", lines: 5 }],
  ["nudge", ["hello there"], { agent: "", message: "hello there" }],
  ["nudge", ["toast", "hello"], { agent: "toast", message: "hello" }],
  ["nudge", ["-m", "hello"], { agent: "", message: "hello" }],
  ["nudge", ["toast", "-m", "hello"], { agent: "toast", message: "hello" }],
  ["nudge", ["--stdin"], { agent: "" }],
  ["nudge", ["toast", "--stdin"], { agent: "toast" }],
  ["respond", [], { agent: "" }],
  ["respond", ["2"], { agent: "", choice: "2" }],
  ["respond", ["toast"], { agent: "toast" }],
  ["respond", ["toast", "2"], { agent: "toast", choice: "2" }],
  ["keys", ["y"], { agent: "", request: { keys: ["y"] } }],
  ["keys", ["C-c", "Down", "x"], { agent: "", request: { keys: ["C-c", "Down", "x"] } }],
  ["keys", ["toast", "y"], { agent: "toast", request: { keys: ["y"] } }],
  ["keys", ["--text", "y"], { agent: "", request: { text: "y" } }],
  ["keys", ["toast", "--text", "y"], { agent: "toast", request: { text: "y" } }],
  ["watch", [], { agent: "" }],
  ["attach", ["toast"], { agent: "toast" }],
  ["wait", ["--for", "idle"], { agent: "" }],
])("gt %s %j needs no name if the flags address one sidecar", (command, argv, expected) => {
  expect(read[command]([...argv, ...HERE])).toMatchObject(expected);
  expect(read[command](argv, { GT_SIDECAR_HOST: "h" })).toMatchObject(expected);
});

it.each<[keyof typeof read, string[], string]>([
  ["nudge", [], "no message"],
  ["nudge", ["gastown/toast"], "no message"],
  ["keys", ["toast"], 'not a tmux key: "toast"'],
  ["keys", [], "which keys?"],
  ["peek", ["toast", "5", "6"], 'too many arguments: "6"'],
])("gt %s %j is refused there: %s", (command, argv, message) => {
  expect(usageErrorOf(() => read[command]([...argv, ...HERE]))[0]).toBe(message);
});

it.each(["peek", "watch", "attach"] as const)("gt %s needs a name everywhere else", (command) => {
  for (const argv of [[], ["--server", "b"], ["--socket", "t"]])
    expect(usageErrorOf(() => read[command](argv))[0]).toBe("which agent?");
});
