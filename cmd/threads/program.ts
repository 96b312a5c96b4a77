import { checkTlsFolder } from "../../internal/auth/tls/check-tls-folder.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { noArguments, usageError } from "../../internal/cli/command/arguments.ts";
import type { Command, Program } from "../../internal/cli/command/command.ts";
import { unknownCommand } from "../../internal/cli/command/unknown-word.ts";
import { reportConfig } from "../../internal/config/report-config.ts";
import { readTls } from "../../internal/terminal/trust/tls-files.ts";
import { readArchive, readCommonSettings, readServe, readTokenConfig, tlsOf } from "./config.ts";
import { ARCHIVE_FLAGS, CHECK_FLAGS, COMMON_FLAGS, SERVE_FLAGS, TOKEN_FLAGS } from "./flags.ts";

const EXIT_CODES = `Exit codes: 0 done; 1 a bug, or an address in use; 2 usage or configuration; 3 the database cannot be reached, is older
than 15 or needs migrate, or there is no PostgreSQL; 4 a key or certificate cannot be used; 5 the private database's
folder is in use, out of its user's reach, or of another major version.`;

const serve: Command<typeof SERVE_FLAGS> = {
  name: "serve",
  flags: SERVE_FLAGS,
  help: {
    usage: "",
    summary: "serve; with nothing configured it owns a private PostgreSQL",
    text: "Serves threads until SIGTERM. With nothing configured it owns a private PostgreSQL.",
    notes: EXIT_CODES,
    examples: ["threads serve --database-url postgres://threads@db/threads"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readServe(given, context.env);
    return await (await import("./serve.ts")).serve(config, context);
  },
};

const token: Command<typeof TOKEN_FLAGS> = {
  name: "token",
  flags: TOKEN_FLAGS,
  help: {
    usage: "--agent A",
    summary: "print a token of the local issuer",
    text: "Prints a token of the local issuer, or keeps a file with a valid one.",
    notes: EXIT_CODES,
    examples: ["threads token --agent gastown/reviewer --file /run/user/1000/reviewer.token"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readTokenConfig(given, context.env);
    return await (await import("./token.ts")).token(config, context);
  },
};

const migrate: Command<typeof COMMON_FLAGS> = {
  name: "migrate",
  flags: COMMON_FLAGS,
  help: {
    usage: "",
    summary: "bring the database's schema up to this version",
    text: "Brings the database's schema up to this version.",
    notes: EXIT_CODES,
    examples: ["threads migrate --database-url postgres://threads@db/threads"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readCommonSettings(given, context.env);
    return await (await import("./migrate.ts")).migrateDatabase(config, context);
  },
};

const doctor: Command<typeof COMMON_FLAGS> = {
  name: "doctor",
  flags: COMMON_FLAGS,
  help: {
    usage: "",
    summary: "look at the database, the keys and the runtimes",
    text: "Looks at the database, the keys and the runtimes: a line for each.",
    notes: EXIT_CODES,
    examples: ["threads doctor"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readCommonSettings(given, context.env);
    return await (await import("./doctor.ts")).doctor(config, context);
  },
};

const exportAll: Command<typeof ARCHIVE_FLAGS> = {
  name: "export",
  flags: ARCHIVE_FLAGS,
  help: {
    usage: "",
    summary: "write everything as lines of JSON, even while a server runs",
    text: "Writes everything in the database as lines of JSON with their hashes, as of one instant: for a backup, another PostgreSQL or its next major version. A server may run meanwhile.",
    notes: EXIT_CODES,
    examples: ["threads export --file threads.jsonl"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readArchive(given, context.env);
    return await (await import("./archive.ts")).exportThreads(config, context);
  },
};

const importAll: Command<typeof ARCHIVE_FLAGS> = {
  name: "import",
  flags: ARCHIVE_FLAGS,
  help: {
    usage: "",
    summary: "store what threads export wrote in an empty database",
    text: "Stores what threads export wrote in a database without threads, once every hash in it has been checked: all or nothing.",
    notes: EXIT_CODES,
    examples: ["threads import --file threads.jsonl --state-dir /var/lib/threads-18"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readArchive(given, context.env);
    return await (await import("./archive.ts")).importThreads(config, context);
  },
};

const check: Command<typeof CHECK_FLAGS> = {
  name: "check",
  flags: CHECK_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "check a configuration without starting",
    text: "Prints every fault of a configuration, and of the files that it names, with its line.",
    notes: EXIT_CODES,
    examples: ["threads check --config threads.yaml"],
  },
  completion: [],
  run: async (given, { out, err, clock }) => {
    noArguments("threads check", given);
    const { config: file } = given.values;
    if (file === undefined) throw usageError("threads check", "check needs --config");
    const { config, findings } = (await import("./open-config.ts")).openConfig(file);
    const tls = tlsOf(config.values);
    if (tls !== undefined) findings.tried(["tls", "dir"], () => checkTlsFolder(tls.dir, tls.trust, clock.now()));
    const bridgeTls = config.values?.runtime.tls_dir;
    await readTls({ dir: bridgeTls }).catch((err: unknown) => {
      if (!(err instanceof DomainError)) throw err;
      findings.failed(["runtime", "tls_dir"], err);
    });
    reportConfig(findings, out, err);
    return 0;
  },
};

const root: Command<typeof SERVE_FLAGS> = {
  ...serve,
  name: "threads",
  help: {
    ...serve.help,
    summary: "the same as threads serve",
    text: "Threads: durable conversations between agents and people, and wake-ups with receipts. Without a command it serves.",
    examples: [
      "threads",
      "threads --database-url postgres://threads@db/threads",
      "threads token --agent gastown/reviewer --file /run/user/1000/reviewer.token",
    ],
  },
  commands: {
    serve: async () => serve,
    token: async () => token,
    migrate: async () => migrate,
    doctor: async () => doctor,
    check: async () => check,
    export: async () => exportAll,
    import: async () => importAll,
  },
  run: async (given, context) => {
    const [word] = given.positionals;
    if (word !== undefined) throw unknownCommand("threads", word, []);
    return await serve.run(given, context);
  },
};

/** `threads`: serves threads, mints tokens, and maintains its database. */
export const threads: Program = root;
