import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const IMPORT = /^(?:import|export)\s(?!type\b)(?:[^;]*?\sfrom\s)?"([^"]+)"/gms;

/**
 * The packages and Node's own slow modules that a file loads before it runs: through imports, except type imports and
 * `import()`.
 */
function loadedBy(file: string): readonly string[] {
  const seen = new Set<string>();
  const pending = [join(import.meta.dirname, file)];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (!path.endsWith(".ts")) continue;
    for (const [, name = ""] of readFileSync(path, "utf8").matchAll(IMPORT)) {
      pending.push(name.startsWith(".") ? join(dirname(path), name) : name);
    }
  }
  return [...seen].filter((name) => !name.startsWith("/") && !QUICK.test(name)).sort();
}

/** Modules that Node has loaded already, or loads in a few milliseconds. */
const QUICK = /^node:(?:events|fs|fs\/promises|net|os|path|stream|url|util)$/;
/** Modules for running tmux, and for naming the requests to it. */
const FOR_TMUX = ["node:child_process", "node:crypto"];

it.each([
  ["main.ts", []],
  ["../../internal/cli/command/help-on.ts", []],
  ["agents/run-agents.ts", []],
  ["peek/run-peek.ts", []],
  ["../../internal/terminal/places/local-tmux.ts", FOR_TMUX],
  ["../../internal/terminal/places/open-quickly.ts", []],
])("%s loads no library and no slow module of Node except %j", (file, slow) => {
  expect(loadedBy(file)).toEqual(slow);
});

it.each([
  ["../../internal/terminal/places/open-sidecar.ts", "@connectrpc/connect"],
  ["../../internal/base/logger.ts", "pino"],
  ["../../internal/terminal/local-agent.ts", "@xterm/headless"],
])("%s loads %s", (file, name) => {
  expect(loadedBy(file)).toContain(name);
});
