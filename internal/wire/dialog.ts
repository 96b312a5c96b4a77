import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Dialog, DialogKind, DialogSchema } from "../gen/gastown/v1/common_pb.ts";
import * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type * as pane from "../session/types.ts";
import { enumWords } from "./enum-words.ts";
import { evidenceMessage, evidenceOf } from "./evidence.ts";
import { millisecondsOf } from "./wire-time.ts";

const KINDS = enumWords<pane.Dialog["kind"]>()(DialogKind, {
  trust: DialogKind.TRUST,
  theme: DialogKind.THEME,
  login: DialogKind.LOGIN,
  permission: DialogKind.PERMISSION,
  plan: DialogKind.PLAN,
  question: DialogKind.QUESTION,
  picker: DialogKind.PICKER,
  limit: DialogKind.LIMIT,
  other: DialogKind.OTHER,
});

const OUTCOMES = enumWords<pane.RespondResult["outcome"]>()(pb.RespondOutcome, {
  answered: pb.RespondOutcome.ANSWERED,
  changed: pb.RespondOutcome.CHANGED,
  unknown: pb.RespondOutcome.UNKNOWN,
});

export function dialogMessage(dialog: pane.Dialog): Dialog {
  const choices = dialog.choices.map((choice) => ({ ...choice }));
  return create(DialogSchema, {
    ...dialog,
    kind: KINDS.values[dialog.kind],
    choices,
    since: timestampFromMs(dialog.since),
  });
}

export function dialogOf(message: Dialog): pane.Dialog {
  return {
    id: message.id,
    kind: KINDS.word(message.kind) ?? "other",
    title: message.title,
    text: message.text,
    choices: message.choices.map(({ key, label, selected }) => ({ key, label, selected })),
    since: millisecondsOf(message.since),
  };
}

export function respondRequest(request: pane.RespondRequest): MessageInitShape<typeof pb.SidecarRespondRequestSchema> {
  return { ...request, text: request.text ?? "" };
}

export function respondRequestOf(request: pb.SidecarRespondRequest): pane.RespondRequest {
  const { dialogId, choice, text, requestId } = request;
  return { dialogId, choice, requestId, text: text || undefined };
}

export function respondResponse(result: pane.RespondResult): MessageInitShape<typeof pb.SidecarRespondResponseSchema> {
  return { outcome: OUTCOMES.values[result.outcome], evidence: result.evidence.map(evidenceMessage) };
}

export function respondResult(message: pb.SidecarRespondResponse): pane.RespondResult {
  return { outcome: OUTCOMES.word(message.outcome) ?? "unknown", evidence: message.evidence.map(evidenceOf) };
}
