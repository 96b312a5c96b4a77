// Loaded before a program's own files (node --import): caches Node's compilation of the TypeScript sources, so that
// every later start takes a third of the time. Plain JavaScript: stripping types from this file would cost the time
// that it saves. An environment variable would be inherited by the agents that we start.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

enableCompileCache(join(import.meta.dirname, "..", "node_modules", ".cache", "node-compile"));
