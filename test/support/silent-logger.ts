import { createLogger } from "../../internal/base/logger.ts";

/** A logger for tests whose subject is not what is logged. */
export const silentLogger = createLogger("test", "silent");
