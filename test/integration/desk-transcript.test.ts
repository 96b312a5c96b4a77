import { expect, it } from "vitest";
import { deskBed, parseJsonLines } from "../support/desk/desk-bed.ts";

/** Every key of the configuration. The reader needs no credentials, so those files may be missing. */
const WHOLE = `version: 1
supervisor: { agent: reader, root: ./admin, read: ["/admin/**"], credentials: ./admin.env }
intent:
  by: rules
  rules: [{ match: '(?i)^(tell|ask|inform) (the )?customers?\\b', route: customer }]
  default: answer
customer: { agent: reader, root: ./docs, read: ["/docs/**"], credentials: ./customer.env, isolation: auto }
limits: { input_bytes: 65536, file_bytes: 262144, turn: 5m, threads: 100, sessions: 8, queue: 8 }
`;

it("the transcript counts withheld bytes, with every key of the configuration in use", async () => {
  await using bed = deskBed({ "desk.yaml": WHOLE });
  await bed.events("admin", [{ text: "read /admin/prices.md" }, { text: "tell customers caf\u00e9" }]);
  const { out } = await bed.run(["transcript", "--json"]);
  const [answered, routed] = parseJsonLines(out);
  const sizes = (...of: readonly (readonly [string, number])[]) =>
    expect.arrayContaining(of.map(([channel, bytes]) => ({ channel, bytes })));
  expect(answered).toMatchObject({
    answer: "wholesale 4.20",
    withheld: sizes(["admin_input", 21], ["answer", 14], ["crossing", 0], ["reply", 0]),
  });
  expect(routed).toMatchObject({
    crossing: { admin_input: "tell customers caf\u00e9", bytes: 20, outcome: "SUBMITTED" },
    withheld: sizes(["answer", 0], ["reply", 5]),
  });
  expect(JSON.stringify(routed?.["withheld"])).not.toContain("admin_input");
}, 300_000);
