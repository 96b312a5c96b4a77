import type { DescField } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { EventTypeSchema, SessionEventSchema } from "../gen/bridge/v1/bridge_pb.ts";
import { EventTypeSchema as SidecarEventTypeSchema } from "../gen/gastown/v1/common_pb.ts";
import { SidecarEventSchema } from "../gen/gastown/v1/sidecar_pb.ts";

/** The properties of a field that determine its bytes; the two enums of event types are compared by value. */
function wireOf(field: DescField) {
  const { number, name, fieldKind, presence } = field;
  const type = field.message?.typeName ?? (name === "type" ? "an event's type" : field.enum?.typeName) ?? field.scalar;
  return { number, name, fieldKind, presence, type };
}

it("a bridge's SessionEvent matches a sidecar's SidecarEvent, field by field", () => {
  expect(SessionEventSchema.fields.map(wireOf)).toEqual(SidecarEventSchema.fields.map(wireOf));
});

it("their enums match, value by value", () => {
  const numbers = (values: readonly { readonly name: string; readonly number: number }[], prefix: string) =>
    values.map(({ name, number }) => [number === 0 ? name : name.replace(prefix, ""), number]);
  expect(numbers(EventTypeSchema.values, "")).toEqual(numbers(SidecarEventTypeSchema.values, "EVENT_TYPE_"));
});
