// The room rule (docs/architecture.md): which room may import which. Everything may import "base" and "base/text".
import { forTests, rooms } from "./scripts/rooms.mjs";

/** The files of a room: those directly in its folder, of generated code those below it too. */
const filesOf = (room) => (room === "gen" ? "gen/.+" : `${room}/[^/]+`);
/** The rooms that one entry of the table names. */
const named = (entry) =>
  entry.endsWith("/*")
    ? Object.keys(rooms).filter((room) => room === entry.slice(0, -2) || room.startsWith(entry.slice(0, -1)))
    : [entry];
const pathOf = (names) => `^internal/(${names.map(filesOf).join("|")})$`;
const known = pathOf(Object.keys(rooms));
const forbid = (name, from, to, comment) => ({ name, severity: "error", from, to, ...(comment ? { comment } : {}) });

/** The imports that a room's files, except its tests, may have. */
function roomRule(room, allowed, { test = false }, suffix) {
  const tests = "[.]test[.]ts$";
  const from = test ? { path: pathOf([room]).replace(/\$$/, tests) } : { path: pathOf([room]), pathNot: tests };
  return forbid(`room-${room.replace("/", "-")}${suffix}`, from, {
    path: "^internal/",
    pathNot: pathOf([room, "base", "base/text", ...allowed.flatMap(named)]),
  });
}

const forbidden = [
  forbid("no-circular", {}, { circular: true }, "type-only imports count"),
  forbid("no-unresolvable", {}, { couldNotResolve: true }),
  forbid("nobody-imports-cmd", { pathNot: "^(cmd|test|scripts|bench)/" }, { path: "^cmd/" }),
  forbid("cmd-imports-no-other-cmd", { path: "^cmd/([^/]+)/" }, { path: "^cmd/", pathNot: "^cmd/$1/" }),
  forbid(
    "gt-command-imports-no-other-command",
    { path: "^cmd/gt/([^/]+)/", pathNot: "[.]test[.]ts$" },
    { path: "^cmd/gt/", pathNot: "^cmd/gt/(common|$1)/" },
    "what two commands of gt share is in cmd/gt/common",
  ),
  forbid("internal-imports-no-pkg", { path: "^internal/" }, { path: "^pkg/" }),
  forbid(
    "pkg-imports-only-the-wire",
    { path: "^pkg/", pathNot: "[.]test[.]ts$" },
    { path: "^internal/", pathNot: "^internal/(base|gen|pki|rpc/client|rpc/common)/" },
    "what is bundled into the SDK",
  ),
  forbid(
    "product-imports-no-tests",
    { path: "^(internal|cmd|pkg)/", pathNot: "[.]test[.]ts$" },
    { path: "^(test|bench|scripts)/" },
  ),
  forbid(
    "product-imports-no-dev-package",
    { path: "^(internal|cmd|pkg)/", pathNot: "[.]test[.]ts$" },
    { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], pathNot: "node_modules/@types/node/" },
    "what the program needs at run time belongs to dependencies",
  ),
  forbid(
    "unknown-room",
    { pathNot: "^internal/" },
    { path: "^internal/", pathNot: known },
    "a folder under internal/ that scripts/rooms.mjs does not know",
  ),
  forbid(
    "serving-half-runs-no-tmux",
    { path: "^internal/(sidecar/(agent|serving)|pane/[^/]+)/", pathNot: "[.]test[.]ts$" },
    { path: "^internal/tmux/client/", reachable: true },
    "a tmux client obeys its server, which is the agent's where the halves are two containers",
  ),
  forbid("unknown-room-imports", { path: "^internal/", pathNot: known }, {}),
  ...Object.entries(rooms).flatMap(([room, allowed]) => [
    roomRule(room, allowed, {}, ""),
    roomRule(room, [...allowed, ...(forTests[room] ?? [])], { test: true }, "-tests"),
  ]),
];

export default {
  forbidden,
  options: {
    doNotFollow: { path: "node_modules" },
    // Programs for tests with packages of their own, and what is built.
    exclude: { path: "^(test/(agents|ink)|pkg/[^/]+/dist)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
      extensions: [".ts", ".mjs", ".js", ".json"],
    },
  },
};
