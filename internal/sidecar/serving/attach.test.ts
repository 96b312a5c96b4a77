import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { DomainError } from "../../base/errors.ts";
import { type SidecarAttachInput, SidecarAttachInputSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { People } from "../../pane/attach/attach-people.ts";
import { OutputStream } from "../../pane/screen/output.ts";
import { type Peer, peerKey } from "../../rpc/port/peer.ts";
import type { AttachServiceDeps } from "./attach.ts";
import { attachCall } from "./attach.ts";

const READER: Peer = certificate("spiffe://town/client/reader");
const OPERATOR: Peer = certificate("spiffe://town/client/operator");
const roleRules = [
  { pattern: "spiffe://town/client/reader", role: "read" },
  { pattern: "spiffe://town/client/operator", role: "operate" },
] as const;

function certificate(uri: string): Peer {
  return { type: "certificate", identities: [uri], serial: "1", notAfter: 0, address: "127.0.0.1:1" };
}

let clock: FakeClock;
let people: People;
let stop: AbortController;
let typed: string[];
let decisions: string[];
beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  typed = [];
  decisions = [];
});
afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await settle();
  expect(clock.sleeping).toBe(0);
});

async function call(
  peer: Peer,
  ...inputs: readonly NonNullable<MessageInitShape<typeof SidecarAttachInputSchema>["input"]>[]
) {
  const output = new OutputStream({ clock }, { cols: 80, rows: 24, rawBytes: 1000, epoch: "e", startOffset: 0n });
  await output.resumeFrom({ text: "", cols: 80, rows: 24, hasHistory: true });
  const own = { cols: 80, rows: 24 };
  people = new People({ clock, size: () => own, resize: () => Promise.resolve() }, { own });
  const pane = {
    sendBytes: async (data: Uint8Array) => {
      typed.push(Buffer.from(data).toString());
      return "sent" as const;
    },
  };
  const mailbox = { exclusively: (work: (signal: AbortSignal) => Promise<unknown>) => work(stop.signal) };
  const agent = {
    lifecycle: { exitCode: undefined },
    messages: { mailbox },
    pane: { forCall: () => () => Promise.resolve(pane) },
    terminal: { people, output, ended: undefined },
  } as unknown as AttachServiceDeps["agent"];
  const requests = async function* (): AsyncGenerator<SidecarAttachInput> {
    for (const input of inputs) yield create(SidecarAttachInputSchema, { input });
    await new Promise(() => {});
  };
  const context = { values: createContextValues().set(peerKey, peer), signal: stop.signal } as HandlerContext;
  const decided = (_: HandlerContext, refusal: DomainError | undefined) => decisions.push(refusal?.kind ?? "allowed");
  const nameOf = (claimed: string) => `name of ${claimed}`;
  const outputs = attachCall({ clock, agent, roleRules, decided, nameOf }, requests(), context);
  const seen: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const message of outputs) seen.push(message.output?.case);
  })();
  reading.catch(() => {});
  return { seen, reading };
}

const hello = (readOnly: boolean) => ({ case: "hello", value: { cols: 80, rows: 24, readOnly, name: "ann" } }) as const;
const data = { case: "data", value: Buffer.from("x") } as const;

it("lets a reader watch", async () => {
  const { seen } = await call(READER, hello(true));
  await settle();
  expect(seen).toEqual(["resized", "data"]);
  expect(people.count).toBe(1);
});

it("refuses a reader who wants to type, and names what they may do", async () => {
  const { reading } = await call(READER, hello(false), data);
  await expect(reading).rejects.toMatchObject({ kind: "denied", fields: { hint: "attach read-only" } });
  expect(decisions).toEqual(["denied"]);
  expect(typed).toEqual([]);
});

it("refuses a reader's keys after a read-only hello", async () => {
  const { reading } = await call(READER, hello(true), data);
  await expect(clock.until(reading)).rejects.toMatchObject({ kind: "denied" });
  expect(typed).toEqual([]);
  expect(people.count).toBe(0);
});

it("lets an operator type", async () => {
  await call(OPERATOR, hello(false), data);
  await settle();
  expect(decisions).toEqual(["allowed"]);
  expect(typed).toEqual(["x"]);
});

it("refuses a second hello", async () => {
  const { reading } = await call(OPERATOR, hello(false), hello(false));
  await expect(clock.until(reading)).rejects.toMatchObject({ kind: "invalid" });
});

it("waits five seconds for the first hello", async () => {
  const { reading } = await call(OPERATOR);
  await clock.advance(4999);
  const late = expect(reading).rejects.toMatchObject({ kind: "invalid", message: expect.stringContaining("hello") });
  await clock.advance(1);
  await late;
});
