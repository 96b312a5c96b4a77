import { inSidecar } from "../support/agents/agent-places.ts";
import { backendConformance } from "./backend-conformance.ts";

backendConformance("GRPCSidecarBackend", inSidecar);
