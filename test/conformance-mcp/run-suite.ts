import { fileURLToPath } from "node:url";
import { runToEnd } from "../support/run-to-end.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";
import { BearerProxy } from "./bearer-proxy.ts";

/** The revisions of MCP for which `expected-REVISION.yaml` lists what threads does not offer, with reasons. */
export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;

const AGENT = "town/suite";
const SUITE_MS = 400_000;

/**
 * Runs the scenarios that a revision of MCP requires against a threads server. Exit code 0: exactly the listed ones
 * fail.
 */
export async function runSuite(program: string, revision: string) {
  await using server = await ThreadsServer.start("--runtime", "none");
  using person = server.client("ann", "operator");
  // The suite reads a resource with this number, and looks for the number in its text.
  const thread = await startThread(person, "number 123", [AGENT], AbortSignal.timeout(SUITE_MS));
  await using proxy = await BearerProxy.open(server.url, () => server.token(AGENT), {
    tools: {
      test_simple_text: { name: "whoami", arguments: {} },
      test_error_handling: { name: "get_thread", arguments: { thread_id: "t-none" } },
    },
    resources: { "test://static-text": "inbox://me", "test://template/123/data": `thread://${thread}` },
  });
  const expected = fileURLToPath(new URL(`expected-${revision}.yaml`, import.meta.url));
  const args = ["--url", `${proxy.url}/v1/mcp`, "--requirements", revision, "--expected-failures", expected];
  return await runToEnd(process.execPath, [program, "server", ...args], {
    env: { ...server.env },
    timeoutMs: SUITE_MS,
  });
}
