// Runs MCP's own conformance suite against a threads server: what each revision of the protocol requires.
//
//   npm run conformance:mcp                  all revisions
//   npm run conformance:mcp -- 2026-07-28    some
//
// test/conformance-mcp/expected-REVISION.yaml lists the checks that threads fails on purpose, with reasons. Exit code 1
// if a check that is not listed fails, or if a listed one passes. If the suite is not installed, a line says how to
// install it, and the exit code is 0 (1 with CI=true).

import { component } from "../support/cluster/components.ts";
import { REVISIONS, runSuite } from "./run-suite.ts";

const found = await component("mcp-conformance");
if ("missing" in found) {
  process.stdout.write(`skipped: ${found.missing}\n`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
} else {
  const given = process.argv.slice(2);
  for (const revision of given.length === 0 ? REVISIONS : given) {
    const { code, stdout, stderr } = await runSuite(found.path, revision);
    process.stdout.write(`${stdout}${stderr}\n`);
    if (code !== 0) process.exitCode = 1;
  }
}
