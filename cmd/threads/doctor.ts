import { Client, type ClientConfig, type Pool } from "pg";
import { checkTlsFolder } from "../../internal/auth/tls/check-tls-folder.ts";
import { publicKeysOf } from "../../internal/auth/token-key-files.ts";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { readRegularFile } from "../../internal/files/regular-file.ts";
import { listLocalSidecars } from "../../internal/terminal/finding/local-sidecars.ts";
import { publicKeyPath } from "../../internal/threads/client/local-issuer.ts";
import { localServer } from "../../internal/threads/client/local-server.ts";
import type { DatabaseAddress } from "../../internal/threads/store/database.ts";
import { schemaState } from "../../internal/threads/store/migrate.ts";
import { BridgeRuntimes } from "../../internal/threads/wake/bridge-runtimes.ts";
import { type CommonSettings, runtimeOf, tlsOf } from "./config.ts";
import { withPool } from "./database-place.ts";
import { sidecarFolder } from "./sidecar-folder.ts";
import { withAnyDatabase } from "./with-database.ts";

const CLOCK_MS = 5000;
const PROBE_MS = 5000;
const NO_DATABASE = 3;
const NO_KEY = 4;

/**
 * Checks everything that a server needs, and prints a line for each. Returns the exit code of the first failure: 3 for
 * the database, 4 for a key or certificate, 5 for the folder of a private database.
 */
export async function doctor(config: CommonSettings, { out, clock, signal }: CommandContext): Promise<number> {
  const logger = createLogger("threads", "silent");
  let code = 0;
  const say = (ok: boolean, what: string, fails: number) => {
    out.line(printable`${ok ? out.paint("green", "ok   ") : out.paint("red", "FAIL ")} ${what}`);
    if (!ok && code === 0) code = fails;
  };
  const running = localServer(config.stateDir);
  if (running !== undefined) say(true, `a server runs at ${running.url}`, 0);
  try {
    await withAnyDatabase(config, { clock, logger, signal }, (address) =>
      withPool(address, logger, {}, (pool) => lookAtDatabase(pool, address, clock, say)),
    );
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    say(false, `database: ${err.message}`, err.fields["problem"] === "folder" ? 5 : NO_DATABASE);
  }
  for (const kind of ["person", "agent"] as const) {
    const path = publicKeyPath(config.stateDir, kind);
    const fault = await readRegularFile(path).then(
      (text) => (publicKeysOf(text, path).length > 0 ? "" : "no key"),
      (err: unknown) => errorText(err),
    );
    say(fault === "", fault === "" ? `key ${path}` : `key ${path}: ${fault} (threads serve makes it)`, NO_KEY);
  }
  const tls = tlsOf(config.fromFile.values);
  if (tls !== undefined) {
    const fault = faultOf(() => checkTlsFolder(tls.dir, tls.trust, clock.now()));
    say(fault === "", fault === "" ? `certificate in ${tls.dir}` : fault, NO_KEY);
  }
  await lookAtRuntime(config, { clock, signal }, say);
  return code;
}

/** A bridge that does not answer fails with 4: its address, or the credentials for it, cannot be used. */
async function lookAtRuntime(
  { fromFile, runtimeDir, workspace }: CommonSettings,
  { clock, signal }: Pick<CommandContext, "clock" | "signal">,
  say: Say,
): Promise<void> {
  const runtime = runtimeOf(fromFile.values?.runtime);
  if (runtime === "none") return say(true, "runtime none: no agent is woken", 0);
  if (runtime === "local") {
    const folder = sidecarFolder({ runtimeDir });
    const sidecars = await listLocalSidecars(folder);
    return say(true, `runtime local: ${sidecars.length} sidecars in ${folder}`, 0);
  }
  using runtimes = new BridgeRuntimes(clock, runtime);
  const fault = await runtimes.check(workspace, signal).then(
    () => "",
    (err: unknown) => errorText(err),
  );
  say(fault === "", `runtime bridge: ${runtime.server}${fault === "" ? " answers" : `: ${fault}`}`, NO_KEY);
}

/** The text of the DomainError that `check` throws; empty: it throws none. */
function faultOf(check: () => unknown): string {
  try {
    check();
    return "";
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    return err.message;
  }
}

type Say = (ok: boolean, what: string, fails: number) => void;

async function lookAtDatabase(pool: Pool, address: DatabaseAddress, clock: Clock, say: Say): Promise<void> {
  const setting = async (name: string) =>
    String((await pool.query<{ value: string }>("select current_setting($1) as value", [name])).rows[0]?.value);
  say(true, `PostgreSQL ${await setting("server_version")}`, NO_DATABASE);
  for (const name of ["fsync", "synchronous_commit", "full_page_writes"]) {
    const value = await setting(name);
    say(value !== "off", `${name} = ${value}`, NO_DATABASE);
  }
  const state = await schemaState(pool);
  const name = "name" in state ? ` ${state.name}` : "";
  say(
    state.type === "current",
    `schema ${state.type}${name}${state.type === "current" ? "" : ": run threads migrate"}`,
    NO_DATABASE,
  );
  const { rows } = await pool.query<{ now: Date }>("select clock_timestamp() as now");
  const apart = Math.abs((rows[0]?.now.getTime() ?? 0) - clock.now());
  say(apart < CLOCK_MS, `its clock differs by ${apart} ms`, NO_DATABASE);
  const hears = await listens(pool, address, clock);
  say(
    true,
    hears ? "notifications come through" : "notifications do not come through: changes are found by looking",
    0,
  );
}

async function listens(pool: Pool, address: DatabaseAddress, clock: Clock): Promise<boolean> {
  const place: ClientConfig = "url" in address ? { connectionString: address.url } : { ...address };
  const client = new Client({ ...place, connectionTimeoutMillis: PROBE_MS });
  client.on("error", () => {});
  const heard = new AbortController();
  client.on("notification", () => heard.abort());
  try {
    await client.connect();
    await client.query("listen threads_doctor");
    await pool.query("select pg_notify('threads_doctor', '')");
    await clock.sleep(PROBE_MS, heard.signal).catch(() => {});
    return heard.signal.aborted;
  } finally {
    await client.end().catch(() => {});
  }
}
