import { describe, expect, it } from "vitest";
import { fc } from "../../test/support/property.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor, RedactStream } from "./redact.ts";

const usual = new Redactor(DEFAULT_REDACT_PATTERNS);

describe("a text", () => {
  it.each([
    ["password: hunter2 and more", "[redacted] and more"],
    ["API_KEY=abc", "[redacted]"],
    ["the Token :  x", "the [redacted]"],
    ["secret\n= s3cret", "[redacted]"],
    ["a token of thanks", "a token of thanks"],
    ["password=a token=b", "[redacted] [redacted]"],
    ["", ""],
    ['{"password": "hunter2", "user": "ann"}', '{"[redacted], "user": "ann"}'],
    ['{"db_password":"two words","n":1}', '{"db_[redacted],"n":1}'],
    ['"{\\"secret\\": \\"hunter2\\"}"', '"{\\"[redacted]}"'],
    ["mysql --password hunter2 -u ann", "mysql [redacted] -u ann"],
    ["run --api-key 'two words' now", "run [redacted] now"],
    ["AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_[redacted]"],
    ["AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_[redacted]"],
    ["id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."],
    ["aws_secret_access_key = wJalr", "aws_[redacted]"],
    ["Authorization: Bearer eyJhbGciOi.eyJzdWIi.sig-x", "[redacted]"],
    ["Authorization: Basic YW5uOmh1bnRlcjI=", "[redacted]"],
    ["curl -H 'x: Bearer abc123'", "curl -H 'x: [redacted]'"],
    ["Basic understanding", "Basic understanding"],
    ["git clone https://ann:hunter2@example.org/x.git", "git clone [redacted]example.org/x.git"],
    ["postgres://:hunter2@db/x", "[redacted]db/x"],
    ["see https://example.org:8080/a@b", "see https://example.org:8080/a@b"],
    ["the bearer of news", "the bearer of news"],
    ["--password", "--password"],
  ])("%j becomes %j", (text, redacted) => expect(usual.redact(text)).toBe(redacted));

  it("loses the secrets of several patterns, even where they overlap", () => {
    const redactor = new Redactor(["ab+c", "(?i)CD+", "^x$"]);
    expect(redactor.redact("_abbcDd_\nx\nxx")).toBe("_[redacted]_\n[redacted]\nxx");
  });

  it("is unchanged without patterns, or with a pattern that matches only the empty text", () => {
    expect(new Redactor([]).redact("password: x")).toBe("password: x");
    expect(new Redactor(["q*"]).redact("abc")).toBe("abc");
  });
});

/** The same pattern, which the redactor does not know as a default one. */
const asOwn = (source: string): string => `(?:${source})`;

it("finds by the default patterns whatever RE2 finds by them", () => {
  const own = new Redactor(DEFAULT_REDACT_PATTERNS.map(asOwn));
  const keys = ["ghp", "gho", "ghs", "ghu", "github_pat", "xoxa", "xoxb", "xoxp", "sk-ant", "sk-proj", "glpat"];
  const part = fc.constantFrom(
    ...["api_key", "access-key", "privatekey", "\u212aey", "to\u212aen=", "token=", "secret", "\u017fecret", "secrets"],
    ...["passwd", "PASSWORD", "passphrase", "Authorization: basic ", "bearer ", "x://u:", "://", ":", "=", "@", "/"],
    ...["AKIA0123456789ABCDEF", "ASIA0123456789ABCDEF", ...keys.map((key) => `${key}_${"x".repeat(16)}`)],
    ...[" ", "\u00a0", "\u2003", "\n", '"', "'", "\\", "--", "1", "a", "x".repeat(8)],
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      expect(usual.find(parts.join(""))).toEqual(own.find(parts.join("")));
    }),
    { numRuns: 2000 },
  );
});

it("refuses an invalid pattern, and too many patterns", () => {
  expect(() => new Redactor(["(unclosed"]).check()).toThrow('"(unclosed" is not a valid RE2 pattern');
  expect(() => new Redactor(["(?=look)"]).check()).toThrow("not a valid RE2 pattern");
  expect(() => new Redactor(Array(33).fill("a")).check()).toThrow("at most 32 patterns");
  expect(() => new Redactor(["a".repeat(1001)]).check()).toThrow("longer than 1000");
});

it("needs no longer for a pattern that would make other engines backtrack", () => {
  const redactor = new Redactor(["(a+)+$"]);
  const before = performance.now();
  redactor.find(`${"a".repeat(200_000)}b`);
  expect(performance.now() - before).toBeLessThan(5000);
});

describe("a text in pieces", () => {
  const inPieces = (pieces: readonly string[], redactor = usual) => {
    const stream = new RedactStream(redactor);
    return pieces.map((piece) => stream.push(piece)).join("") + stream.flush();
  };

  it("is redacted as if it were whole, wherever it is cut", () => {
    const filler = fc.stringMatching(/^[a-z ]{0,3000}$/);
    const secret = fc.stringMatching(/^ password: [a-zA-Z0-9]{1,600} $/);
    const text = fc.array(fc.oneof(filler, secret), { maxLength: 12 }).map((parts) => parts.join(""));
    const cuts = fc.array(fc.nat(10_000), { maxLength: 20 });
    fc.assert(
      fc.property(text, cuts, (whole, at) => {
        const ends = [...new Set(at.filter((cut) => cut < whole.length)), whole.length].sort((a, b) => a - b);
        const pieces = ends.map((end, i) => whole.slice(ends[i - 1] ?? 0, end));
        expect(inPieces(pieces)).toBe(usual.redact(whole));
      }),
      { numRuns: 200 },
    );
  });

  it("hides all of a secret that is longer than the text held back", () => {
    const whole = `see token=${"abcdefgh".repeat(20_000)} end`;
    for (const size of [100, 4096, 5000, 70_000]) {
      const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
        whole.slice(i * size, (i + 1) * size),
      );
      expect(inPieces(pieces)).toBe("see [redacted] end");
    }
  });

  it("hides the rest of a secret whose beginning was already returned", () => {
    const stream = new RedactStream(usual);
    expect(stream.push("token=abc") + stream.flush()).toBe("[redacted]");
    expect(stream.push("defghi jkl") + stream.flush()).toBe(" jkl");
    expect(stream.push(" password:") + stream.flush()).toBe(" password:");
    expect(stream.push(" hunter2\n") + stream.flush()).toBe("[redacted]\n");
  });

  it("is not split within a character", () => {
    const stream = new RedactStream(usual);
    const given = [stream.push("😀".repeat(4001)), stream.push("x😀".repeat(3000)), stream.flush()];
    for (const text of given) expect(text.isWellFormed()).toBe(true);
    expect(given.join("")).toBe("😀".repeat(4001) + "x😀".repeat(3000));
  });
});

it("leaves the counts of a quota readable, but redacts the values of secrets", () => {
  const redactor = new Redactor(DEFAULT_REDACT_PATTERNS);
  const quota = "exceeded quota: small, requested: count/secrets=1,pods=1, used: count/secrets=12, limited: secrets=12";
  expect(redactor.redact(quota)).toBe(quota);
  for (const name of ["secret", "secrets", "SECRET_KEY", "my-secret-1", "secrets_file", "client_secret"])
    for (const value of ["hunter2", '"1"', "1a2b3c"])
      expect(redactor.redact(`${name}=${value} rest`)).not.toContain(value);
  for (const text of ["secret=1234 x", "password: 1234 x", "token=99 x"])
    expect(redactor.redact(text)).toMatch(/^\[redacted\] x$/);
});
