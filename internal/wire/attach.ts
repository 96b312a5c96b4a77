import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { DomainError } from "../base/errors.ts";
import {
  type SidecarAttachInput,
  SidecarAttachInputSchema,
  type SidecarAttachOutput,
  type SidecarAttachOutputSchema,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../session/attach.ts";

/** Yields the messages of an attach call: the hello first. */
export async function* attachRequests(
  hello: AttachHello,
  inputs: AsyncIterable<AttachInput>,
): AsyncGenerator<SidecarAttachInput, void, undefined> {
  const { cols, rows, readOnly, name } = hello;
  yield create(SidecarAttachInputSchema, { input: { case: "hello", value: { cols, rows, readOnly, name } } });
  for await (const input of inputs) yield requestOf(input);
}

/** Yields the outputs of an attach call; skips unknown kinds, which a newer sidecar may send. */
export async function* attachOutputs(
  messages: AsyncIterable<SidecarAttachOutput>,
): AsyncGenerator<AttachOutput, void, undefined> {
  for await (const { output } of messages) {
    switch (output.case) {
      case "data":
        yield { type: "data", data: output.value };
        break;
      case "resized":
        yield { type: "resized", cols: output.value.cols, rows: output.value.rows };
        break;
      case "notice":
        yield { type: "notice", text: output.value };
        break;
      case "end":
        yield { type: "end", reason: output.value.reason, exitCode: output.value.exitCode };
        break;
      default:
        break;
    }
  }
}

/**
 * Yields a caller's inputs after its hello; skips unknown kinds, which a newer caller may send.
 * @throws DomainError `invalid` for a second hello
 */
export async function* attachInputs(
  iterator: AsyncIterator<SidecarAttachInput>,
): AsyncGenerator<AttachInput, void, undefined> {
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return;
    switch (value.input.case) {
      case "data":
        yield { type: "data", data: value.input.value };
        break;
      case "resize":
        yield { type: "resize", cols: value.input.value.cols, rows: value.input.value.rows };
        break;
      case "hello":
        throw new DomainError("invalid", "hello is sent only once");
      default:
        break;
    }
  }
}

export function attachOutput(message: AttachOutput): MessageInitShape<typeof SidecarAttachOutputSchema> {
  switch (message.type) {
    case "data":
      return { output: { case: "data", value: message.data } };
    case "resized":
      return { output: { case: "resized", value: { cols: message.cols, rows: message.rows } } };
    case "notice":
      return { output: { case: "notice", value: message.text } };
    case "end":
      return { output: { case: "end", value: { reason: message.reason, exitCode: message.exitCode } } };
  }
}

function requestOf(input: AttachInput): SidecarAttachInput {
  if (input.type === "data") {
    return create(SidecarAttachInputSchema, { input: { case: "data", value: input.data } });
  }
  const { cols, rows } = input;
  return create(SidecarAttachInputSchema, { input: { case: "resize", value: { cols, rows } } });
}
