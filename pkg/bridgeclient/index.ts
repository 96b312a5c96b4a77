// The public API of the package @gastown/bridgeclient.
export * from "../../internal/gen/bridge/v1/bridge_pb.ts";
export {
  AgentState,
  type Dialog,
  DialogKind,
  type Evidence,
  EvidenceConfidence,
  type Gap,
  GapReason,
  NudgeOutcome,
  type NudgeReceipt,
} from "../../internal/gen/gastown/v1/common_pb.ts";
export {
  NudgeMode,
  NudgePriority,
  RespondOutcome,
  type SidecarAttachOutput,
  type SidecarNudgeResponse,
  type SidecarOutputUpdate,
  type SidecarPeekResponse,
  type SidecarRespondResponse,
  type SidecarSendKeysResponse,
  type SidecarStatusResponse,
  UpdateKind,
  WatchMode,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
export { type BridgeClient, createClient } from "./client.ts";
export { BridgeError, type BridgeErrorCode } from "./errors.ts";
export type { EventsOptions } from "./events.ts";
export type {
  CallOptions,
  ClientOptions,
  JwtOptions,
  KeepaliveOptions,
  MtlsOptions,
  RetryOptions,
  TimeoutOptions,
} from "./options.ts";
export type { Session } from "./session.ts";
