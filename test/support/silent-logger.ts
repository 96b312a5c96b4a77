import { createLogger } from "../../internal/base/logger.ts";

/** A logger for tests that do not examine the log. */
export const silentLogger = createLogger("test", "silent");
