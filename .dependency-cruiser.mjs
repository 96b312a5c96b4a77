// The room rule (docs/architecture.md): which room may import which. Everything may import "base".
import { rooms } from "./scripts/rooms.mjs";

const known = Object.keys(rooms);
const forbidden = [
  { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
  {
    name: "nobody-imports-cmd",
    severity: "error",
    from: { pathNot: "^(cmd|test|scripts|bench)/" },
    to: { path: "^cmd/" },
  },
  {
    name: "cmd-imports-no-other-cmd",
    severity: "error",
    from: { path: "^cmd/([^/]+)/" },
    to: { path: "^cmd/", pathNot: "^cmd/$1/" },
  },
  { name: "internal-imports-no-pkg", severity: "error", from: { path: "^internal/" }, to: { path: "^pkg/" } },
  {
    name: "product-imports-no-tests",
    severity: "error",
    from: { path: "^(internal|cmd|pkg)/", pathNot: "[.]test[.]ts$" },
    to: { path: "^(test|bench|scripts)/" },
  },
  { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  {
    name: "unknown-room",
    comment: "a folder under internal/ that scripts/rooms.mjs does not know",
    severity: "error",
    from: { path: "^internal/[^/]+/", pathNot: `^internal/(${known.join("|")})/` },
    to: {},
  },
  ...known.map((room) => ({
    name: `room-${room}`,
    severity: "error",
    from: { path: `^internal/${room}/` },
    to: { path: "^internal/", pathNot: `^internal/(${[room, "base", ...rooms[room]].join("|")})/` },
  })),
];

export default {
  forbidden,
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^test/agents/node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
      extensions: [".ts", ".mjs", ".js", ".json"],
    },
  },
};
