import { expect, it } from "vitest";
import { initdbReason } from "./initdb-reason.ts";

it.each([
  [
    "the server's fatal error, behind a progress line",
    `creating configuration files ... ok
running bootstrap script ... 2026-11-29 13:30:02.209 UTC [20649] FATAL:  could not write to file "pg_wal/x": No space left on device
child process exited with exit code 1
initdb: removing contents of data directory "/data.part"
`,
    'could not write to file "pg_wal/x": No space left on device',
  ],
  [
    "initdb's own error",
    `initdb: error: directory "/data.part" exists but is not empty
initdb: hint: If you want to create a new database system, either remove or empty it.
`,
    'directory "/data.part" exists but is not empty',
  ],
  ["the last line where none is marked", "one\nsegmentation fault\n", "segmentation fault"],
  ["nothing where there is no output", "", ""],
])("names %s", (_case, output, reason) => {
  expect(initdbReason(output)).toBe(reason);
});
