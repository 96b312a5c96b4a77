import { inSidecar } from "../support/agent-places.ts";
import { backendConformance } from "./backend-conformance.ts";

backendConformance("GRPCSidecarBackend", inSidecar);
