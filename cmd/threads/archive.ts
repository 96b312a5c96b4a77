import { once } from "node:events";
import { createWriteStream, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Pool } from "pg";
import { firstOf } from "../../internal/base/abort.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { type CutLine, LineCutter } from "../../internal/base/text/line-cutter.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { refuseLink } from "../../internal/files/refuse-link.ts";
import { exportArchive } from "../../internal/threads/store/export-archive.ts";
import { importArchive } from "../../internal/threads/store/import-archive.ts";
import { checkSchema, migrate } from "../../internal/threads/store/migrate.ts";
import type { ArchiveConfig, CommonSettings } from "./config.ts";
import { withPool } from "./database-place.ts";
import { withAnyDatabase } from "./with-database.ts";

/** The longest line, bytes; a message has at most 64 KiB of text and 16 KiB of metadata. */
const MAX_LINE = 4 * 1024 * 1024;

/** Writes an archive of everything, even while a server runs. */
export async function exportThreads(config: ArchiveConfig, context: CommandContext): Promise<number> {
  const { archive: file } = config;
  if (file === undefined && context.stdout.isTTY) {
    throw new DomainError("invalid", "an archive is not for a terminal: give --file, or redirect the output");
  }
  if (file !== undefined) refuseLink(file);
  const part = file === undefined ? undefined : `${file}.${process.pid}.part`;
  const to = part === undefined ? context.stdout : createWriteStream(part, { mode: 0o600, flags: "wx" });
  let failed: Error | undefined;
  to.on("error", (err) => (failed = err));
  const write = async (line: string) => {
    if (failed !== undefined) throw cannot("written", file, failed);
    if (!to.write(line)) await drained(to);
  };
  try {
    const count = await withOpenDatabase(config, context, async (pool) => {
      await checkSchema(pool);
      return await exportArchive(pool, write);
    });
    if (part !== undefined && file !== undefined) {
      to.end();
      await finished(to);
      renameSync(part, file);
      context.err.line(printable`${count} rows in ${file}`);
    }
    return 0;
  } catch (err) {
    if (part !== undefined) rmSync(part, { force: true });
    throw failed === undefined ? err : cannot("written", file, failed);
  }
}

/** Imports an archive into a database without threads. */
export async function importThreads(config: ArchiveConfig, context: CommandContext): Promise<number> {
  const { archive: file } = config;
  await using opened = file === undefined ? undefined : await openToRead(file);
  const from = opened?.createReadStream() ?? context.stdin;
  const count = await withOpenDatabase(config, context, async (pool) => {
    if (config.databaseUrl === undefined) await migrate(pool);
    else await checkSchema(pool);
    return await importArchive(pool, linesOf(from, file));
  });
  context.out.line(printable`${count} rows imported, and every chain of hashes is whole`);
  return 0;
}

async function openToRead(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (err) {
    throw cannot("read", file, err);
  }
}

async function withOpenDatabase<T>(
  config: CommonSettings,
  { clock, signal }: CommandContext,
  use: (pool: Pool) => Promise<T>,
): Promise<T> {
  const logger = createLogger("threads", "warn");
  return await withAnyDatabase(config, { clock, logger, signal }, (address) =>
    withPool(address, logger, { patient: true }, use),
  );
}

async function* linesOf(from: Readable, file: string | undefined): AsyncIterable<string> {
  const lines = new LineCutter(MAX_LINE);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const mustFit = ({ lostBytes }: { readonly lostBytes: number }) => {
    if (lostBytes > 0) throw new DomainError("invalid", "the archive cannot be used: a line is too long");
  };
  const text = (line: CutLine) => {
    mustFit(line);
    return decoder.decode(line.bytes);
  };
  try {
    for await (const chunk of from) {
      yield* lines.push(chunk as Buffer).map(text);
      mustFit(lines);
    }
    const last = lines.end();
    if (last !== undefined) yield text(last);
  } catch (err) {
    throw err instanceof DomainError ? err : cannot("read", file, err);
  }
}

async function drained(to: Writable): Promise<void> {
  await firstOf(
    undefined,
    (signal) => once(to, "drain", { signal }),
    (signal) => once(to, "close", { signal }),
  );
}

function cannot(what: string, file: string | undefined, err: unknown): DomainError {
  return new DomainError("invalid", `${file ?? "the archive"} cannot be ${what}: ${errorText(err)}`);
}
