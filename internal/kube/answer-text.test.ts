import { describe, expect, it } from "vitest";
import { leadingText, wholeText } from "./answer-text.ts";

describe("the text of an answer", () => {
  let given = 0;
  let isLeft = false;
  async function* chunks(count: number): AsyncGenerator<Uint8Array> {
    [given, isLeft] = [0, false];
    try {
      for (; given < count; given++) yield Buffer.from("four");
    } finally {
      isLeft = true;
    }
  }

  it("is complete up to the limit", async () => {
    expect(await wholeText(chunks(2), 8)).toBe("fourfour");
    expect(await wholeText(chunks(0), 8)).toBe("");
    expect(await leadingText(chunks(2), 8)).toBe("fourfour");
  });

  it.each([7, 5])("of 8 bytes is refused with a limit of %i", async (maxBytes) => {
    await expect(wholeText(chunks(2), maxBytes)).rejects.toThrow(`more than ${maxBytes} bytes`);
  });

  it("that does not end is read only up to the limit, and then closed", async () => {
    expect(await leadingText(chunks(Number.POSITIVE_INFINITY), 6)).toBe("fourfo");
    expect([given, isLeft]).toEqual([1, true]);
    await expect(wholeText(chunks(Number.POSITIVE_INFINITY), 6)).rejects.toThrow(RangeError);
    expect([given, isLeft]).toEqual([1, true]);
  });
});
