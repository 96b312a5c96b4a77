import { describe, it } from "vitest";
import { randomFrom } from "../fuzz/random.ts";
import { CANARIES, observe, runTwins, secretBed } from "../lab/desk/twins.ts";
import { ENCODING_COUNT, encodingsFound } from "../support/desk/encodings.ts";

/** Process starts take a minute on a busy machine. */
const BUSY_MS = 300_000;

describe.concurrent("the customer's side", () => {
  it(`holds no canary of the administrator's side in any of ${ENCODING_COUNT} encodings, and does not depend on the administrator's side`, {
    timeout: BUSY_MS,
  }, async ({ expect }) => {
    const figures = await runTwins(40, randomFrom(11));
    expect(figures).toMatchObject({ leaks: [], areEqual: true });
    expect(figures.crossings).toBeGreaterThan(5);
    expect(figures.refusedReads).toBeGreaterThan(5);
    expect(ENCODING_COUNT).toBeGreaterThanOrEqual(12);
  });

  it("reveals a planted leak to this search, in a crossing text or encoded", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = secretBed(CANARIES.file);
    const { all } = await observe(bed, [{ text: `tell customers of ${CANARIES.file}` }], []);
    expect(encodingsFound(all, CANARIES.file)).toContain("plain");
    const inBase64 = Buffer.from(`x${CANARIES.answer}y`).toString("base64");
    expect(encodingsFound(Buffer.concat([all, Buffer.from(inBase64)]), CANARIES.answer)).toContain("base64");
    const inHex = Buffer.from(CANARIES.answer).toString("hex");
    expect(encodingsFound(Buffer.concat([all, Buffer.from(inHex)]), CANARIES.answer)).toEqual(["hex"]);
  });
});
