import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { conformanceArgs } from "../conformance/command.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** A short run of `npm run conformance`. */
const SHARE = [
  "TLS Client Certs/**",
  "Basic/HTTPVersion:1/Protocol:PROTOCOL_CONNECT/**",
  "Basic/HTTPVersion:2/Protocol:PROTOCOL_GRPC/**",
  "Server Message Size/HTTPVersion:2/Protocol:PROTOCOL_GRPC/**",
];

it("passes a share of Connect's conformance suite, with and without TLS", { timeout: 180_000 }, async (context) => {
  const program = await requireComponent(context, "connectconformance");
  const { stdout } = await promisify(execFile)(program, conformanceArgs(SHARE)).catch((err) => err);
  expect(stdout).toMatch(/\b0 failed/);
  expect(Number(/(\d+) passed/.exec(stdout)?.[1])).toBeGreaterThan(60);
});
