import { create } from "@bufbuild/protobuf";
import { type Evidence, EvidenceConfidence, EvidenceSchema } from "../gen/gastown/v1/common_pb.ts";
import type * as pane from "../session/types.ts";
import { enumWords } from "./enum-words.ts";

const CONFIDENCES = enumWords<pane.Confidence>()(EvidenceConfidence, {
  proof: EvidenceConfidence.PROOF,
  strong: EvidenceConfidence.STRONG,
  weak: EvidenceConfidence.WEAK,
});

const SOURCES: ReadonlySet<string> = new Set<pane.EvidenceSource>([
  "hook",
  "agent-file",
  "screen",
  "title",
  "process",
  "output",
]);

export function evidenceMessage({ ageMs, confidence, ...rest }: pane.Evidence): Evidence {
  return create(EvidenceSchema, { ...rest, ageMs: BigInt(ageMs), confidence: CONFIDENCES.values[confidence] });
}

/** An unknown source, which a newer sidecar may send, becomes `output`; an unknown confidence becomes `weak`. */
export function evidenceOf(message: Evidence): pane.Evidence {
  return {
    source: SOURCES.has(message.source) ? (message.source as pane.EvidenceSource) : "output",
    value: message.value,
    ageMs: Number(message.ageMs),
    confidence: CONFIDENCES.word(message.confidence) ?? "weak",
  };
}
