import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { reflectionRoutes } from "./reflection.ts";

const transport = createRouterTransport(reflectionRoutes([SidecarService]));

type Ask = {
  readonly case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType";
  readonly value: string;
};

async function filesFor(...asked: Ask[]): Promise<string[][]> {
  const answers: string[][] = [];
  const requests = asked.map((messageRequest) => ({ host: "h", messageRequest }));
  for await (const answer of createClient(ServerReflection, transport).serverReflectionInfo(iterate(requests))) {
    const { messageResponse } = answer;
    if (messageResponse.case !== "fileDescriptorResponse") answers.push([String(messageResponse.case)]);
    else {
      const files = messageResponse.value.fileDescriptorProto;
      answers.push(files.map((file) => fromBinary(FileDescriptorProtoSchema, file).name));
    }
  }
  return answers;
}

async function* iterate<T>(items: readonly T[]) {
  yield* items;
}

it.each([
  ["v1", ServerReflection],
  ["v1alpha", ServerReflectionAlpha],
] as const)("lists the services and itself (%s)", async (_version, service) => {
  const requests = iterate([{ messageRequest: { case: "listServices" as const, value: "" } }]);
  for await (const { messageResponse } of createClient(service, transport).serverReflectionInfo(requests)) {
    const names =
      messageResponse.case === "listServicesResponse" ? messageResponse.value.service.map(({ name }) => name) : [];
    expect(names).toEqual([SidecarService.typeName, ServerReflection.typeName, ServerReflectionAlpha.typeName]);
  }
});

describe("files", () => {
  const sidecar = ["gastown/v1/sidecar.proto", "gastown/v1/common.proto", "google/protobuf/timestamp.proto"];

  it.each<Ask>([
    { case: "fileByFilename", value: "gastown/v1/sidecar.proto" },
    { case: "fileContainingSymbol", value: "gastown.v1.SidecarService" },
    { case: "fileContainingSymbol", value: "gastown.v1.SidecarService.Peek" },
    { case: "fileContainingSymbol", value: "gastown.v1.SidecarPeekRequest" },
  ])("are sent with all their imports: $case $value", async (asked) => {
    expect(await filesFor(asked)).toEqual([sidecar]);
  });

  it("describe the details of errors", async () => {
    const asked: Ask = { case: "fileContainingSymbol", value: "google.rpc.ErrorInfo" };
    expect(await filesFor(asked)).toEqual([["google/rpc/error_details.proto", "google/protobuf/duration.proto"]]);
  });

  it("are not sent again as imports on one stream", async () => {
    const asked = (value: string): Ask => ({ case: "fileByFilename", value });
    const [first, second] = await filesFor(asked("gastown/v1/common.proto"), asked("gastown/v1/sidecar.proto"));
    expect(first).toEqual(["gastown/v1/common.proto", "google/protobuf/timestamp.proto"]);
    expect(second).toEqual(["gastown/v1/sidecar.proto"]);
  });

  it("that are unknown get an answer, and the stream continues", async () => {
    const answers = await filesFor(
      { case: "fileByFilename", value: "etc/passwd" },
      { case: "fileContainingSymbol", value: "x.Y" },
      { case: "allExtensionNumbersOfType", value: "gastown.v1.Gap" },
    );
    expect(answers).toEqual([["errorResponse"], ["errorResponse"], ["allExtensionNumbersResponse"]]);
  });
});
