import { createLogger } from "../../internal/base/logger.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { migrate } from "../../internal/threads/store/migrate.ts";
import type { CommonSettings } from "./config.ts";
import { withPool } from "./database-place.ts";
import { withDatabase } from "./with-database.ts";

/** Brings the schema up to this version. */
export async function migrateDatabase(config: CommonSettings, { out, clock, signal }: CommandContext): Promise<number> {
  const logger = createLogger("threads", "warn");
  const place = { ...config, databaseUrl: config.migrateUrl };
  return await withDatabase(place, { clock, logger, signal }, async (address) => {
    const done = await withPool(address, logger, { patient: true }, migrate);
    for (const name of done) out.line(printable`migrated to ${name}`);
    if (done.length === 0) out.line(printable`the schema is up to date`);
    return 0;
  });
}
