// Loaded before a program's own files (node --import): keeps what Node makes of the TypeScript sources, so that every
// start after the first takes a third of the time. Plain JavaScript: stripping types from this file would cost what it
// saves. Not by environment variable, which the agents that we start would inherit.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

enableCompileCache(join(import.meta.dirname, "..", "node_modules", ".cache", "node-compile"));
