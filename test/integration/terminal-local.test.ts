import { inLocalTmux } from "../support/agent-places.ts";
import { backendConformance } from "./backend-conformance.ts";

backendConformance("TmuxBackend", inLocalTmux);
