import { create } from "@bufbuild/protobuf";
import {
  type SidecarAttachInput,
  SidecarAttachInputSchema,
  type SidecarAttachOutput,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../session/attach.ts";

/** What goes over the wire: the hello first. */
export async function* attachRequests(
  hello: AttachHello,
  inputs: AsyncIterable<AttachInput>,
): AsyncGenerator<SidecarAttachInput, void, undefined> {
  const { cols, rows, readOnly, name } = hello;
  yield create(SidecarAttachInputSchema, { input: { case: "hello", value: { cols, rows, readOnly, name } } });
  for await (const input of inputs) yield requestOf(input);
}

/** What came over the wire; messages of a newer sidecar are left out. */
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

function requestOf(input: AttachInput): SidecarAttachInput {
  if (input.type === "data") {
    return create(SidecarAttachInputSchema, { input: { case: "data", value: input.data } });
  }
  const { cols, rows } = input;
  return create(SidecarAttachInputSchema, { input: { case: "resize", value: { cols, rows } } });
}
