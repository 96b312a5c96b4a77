import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { initialise } from "../../internal/threads/postgres/initialise.ts";
import { PostgresServer } from "../../internal/threads/postgres/postgres-server.ts";
import { findPostgres } from "../../internal/threads/postgres/programs.ts";
import { postgresUser } from "../../internal/threads/postgres/system-user.ts";

const SIGNAL = AbortSignal.timeout(400_000);
const ODD = `a "b", $(touch pwned) 'c' \\d`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync("/tmp/gt-threads-odd-");
  chmodSync(folder, 0o711);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("a private PostgreSQL starts in a folder whose path has quotes, commas and a shell's characters", async () => {
  const stop = new AbortController();
  const options = { stateDir: join(folder, ODD), env: { PATH: process.env["PATH"] }, from: "npm" };
  const server = new PostgresServer({ clock: systemClock, logger: createLogger("database", "silent") }, options);
  const done = server.run(stop.signal);
  done.catch(() => {}); // `ready` says the same
  const { host } = await server.ready;
  expect(existsSync(join(host, ".s.PGSQL.5432"))).toBe(true);
  stop.abort();
  await done;
});

it("initdb runs from a copy of the programs in such a folder", async () => {
  const { home = "", ...programs } = await findPostgres({ env: process.env, from: "npm" }, SIGNAL);
  const copy = join(folder, `${ODD}-programs`);
  cpSync(home, copy, { recursive: true, verbatimSymlinks: true });
  const data = join(folder, "data");
  const user = postgresUser(process.getuid?.() ?? 0);
  await initialise({ ...programs, home: copy, bin: join(copy, "bin") }, user, data, SIGNAL);
  expect(existsSync(join(data, "PG_VERSION"))).toBe(true);
});
