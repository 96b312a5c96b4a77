import { expect, it } from "vitest";
import { REVISIONS, runSuite } from "../conformance-mcp/run-suite.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** The scenarios of each revision that must pass; the files of expected failures give the others. */
const WHOLE = [
  ...["tools-list", "tools-call-simple-text", "tools-call-error", "resources-list", "resources-read-text"],
  ...["resources-templates-read", "dns-rebinding-protection"],
];

it.for(REVISIONS)(
  "NFR-06: threads meets MCP %s, apart from the listed exceptions",
  { timeout: 400_000 },
  async (revision, context) => {
    const program = await requireComponent(context, "mcp-conformance");
    const { code, stdout, stderr } = await runSuite(program, revision);
    expect([code, stderr], stdout).toEqual([0, ""]);
    expect(stdout).toContain("Baseline check passed");
    for (const scenario of WHOLE) expect(stdout).toMatch(new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`));
  },
);
