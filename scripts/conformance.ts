// Runs Connect's own conformance suite against this server: all of its protocols, HTTP versions and kinds of TLS.
//
//   npm run conformance               all cases; the last lines count them
//   npm run conformance -- PATTERN …  some, e.g. "Basic/**"
//
// test/conformance/config.yaml lists the omitted cases, and known-flaky.txt the cases that may fail, with reasons. Exit
// code 1 if a case fails; if the suite's program is missing, one line says where to get it, and the exit code is 0 (1
// with CI=true).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { conformanceArgs } from "../test/conformance/command.ts";
import { component } from "../test/support/cluster/components.ts";

const found = await component("connectconformance");
if ("missing" in found) {
  console.log(`skipped: ${found.missing}`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
} else {
  const child = spawn(found.path, ["-v", ...conformanceArgs(process.argv.slice(2))], { stdio: "inherit" });
  const [code] = await once(child, "exit");
  process.exitCode = code === 0 ? 0 : 1;
}
