import { generateKeyPairSync } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { decodeToken } from "../../auth/token-format.ts";
import { DeliverRequestSchema } from "../../gen/desk/v1/desk_pb.ts";
import { nodeOf, runTurn } from "../engine/engine.ts";
import { bridgeNode } from "./bridge-node.ts";
import { type GlobalState, globalChannels } from "./global-state.ts";

const { privateKey: key } = generateKeyPairSync("ed25519");
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
const sizes = fc.record({ bytes: fc.nat(), sha256: text });
const past = fc.record({ input: text, isBriefing: fc.boolean(), answer: text });

/** Anything that the administrator's side may hold when a text is routed to the customer. */
const anyState: fc.Arbitrary<GlobalState> = fc.record({
  admin_input: text,
  intent: fc.record({ route: fc.constant("customer" as const), rule: fc.nat(), reason: text }),
  files_read: fc.array(fc.record({ path: text, bytes: fc.nat(), sha256: text })),
  answer: text,
  history: fc.array(past),
  crossing: fc.option(sizes.map((size) => ({ ...size, id: "earlier", thread: "main", outcome: "SUBMITTED" as const }))),
  reply: fc.option(text),
});

/** The message that a turn with this state sends, as the front decodes it, and the claims beside it. */
async function crossingOf(state: GlobalState) {
  let sent = { bytes: new Uint8Array(), token: "" };
  const bridge = bridgeNode(
    {
      ...{ clock: new FakeClock(), key, maxBytes: 65_536, ready: async () => {} },
      ...{ onIntended: () => {}, onOutcome: () => {}, onReplyFailed: () => {} },
      async deliver(message, token) {
        expect(Reflect.ownKeys(message)).toEqual(["admin_input"]);
        const request = create(DeliverRequestSchema, { adminInput: message.admin_input });
        sent = { bytes: toBinary(DeliverRequestSchema, request), token };
        return { outcome: "SUBMITTED" };
      },
    },
    "main",
  );
  const first = nodeOf<GlobalState>()({ name: "classify", reads: [], writes: [], run: async () => ({}) });
  const edge = { reads: [] as const, to: { bridge }, guarded: ["bridge"], choose: () => "bridge" };
  await runTurn({ channels: globalChannels, first, edge }, state, { turn: "t", signal: new AbortController().signal });
  return { decoded: fromBinary(DeliverRequestSchema, sent.bytes), sent };
}

it("sends one field, the typed text byte for byte, whatever the state contains", () =>
  fc.assert(
    fc.asyncProperty(anyState, async (state) => {
      const { decoded, sent } = await crossingOf(state);
      expect(Object.keys(decoded).sort()).toEqual(["$typeName", "adminInput"]);
      expect(Buffer.from(decoded.adminInput).equals(Buffer.from(state.admin_input))).toBe(true);
      // A tag, a length and the text.
      const length = Buffer.byteLength(state.admin_input);
      expect(sent.bytes.length - length).toBe(length < 128 ? 2 : 3);
    }),
  ));

it("signs nothing but the envelope of the text", () =>
  fc.assert(
    fc.asyncProperty(anyState, async (state) => {
      const { sent } = await crossingOf(state);
      const { claims } = decodeToken(sent.token);
      const names = ["aud", "bytes", "exp", "iat", "iss", "jti", "sha256", "sub", "thread"];
      expect(Object.keys(claims).sort()).toEqual(names);
      expect(claims).toMatchObject({ thread: "main", bytes: Buffer.byteLength(state.admin_input) });
    }),
  ));
