import type { Command, Program } from "../../internal/cli/command/command.ts";
import { unknownCommand } from "../../internal/cli/command/unknown-word.ts";
import { readPlace, readServe, readToken } from "./config.ts";
import { PLACE_FLAGS, SERVE_FLAGS, TOKEN_FLAGS } from "./flags.ts";

const EXIT_CODES = `Exit codes: 0 done; 1 a bug; 2 usage or configuration; 3 the database cannot be reached, is older than 15 or needs
migrate, or there is no PostgreSQL; 4 a key or certificate cannot be used; 5 the own database's folder is in use, out
of its user's reach, or of another major version.`;

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
    const config = readToken(given, context.env);
    return await (await import("./token.ts")).token(config, context);
  },
};

const migrate: Command<typeof PLACE_FLAGS> = {
  name: "migrate",
  flags: PLACE_FLAGS,
  help: {
    usage: "",
    summary: "bring the database's schema up to this version",
    text: "Brings the database's schema up to this version.",
    notes: EXIT_CODES,
    examples: ["threads migrate --database-url postgres://threads@db/threads"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readPlace(given, context.env);
    return await (await import("./migrate.ts")).migrateDatabase(config, context);
  },
};

const doctor: Command<typeof PLACE_FLAGS> = {
  name: "doctor",
  flags: PLACE_FLAGS,
  help: {
    usage: "",
    summary: "look at the database, the keys and the runtimes",
    text: "Looks at the database, the keys and the runtimes: a line for each.",
    notes: EXIT_CODES,
    examples: ["threads doctor"],
  },
  completion: [],
  run: async (given, context) => {
    const config = readPlace(given, context.env);
    return await (await import("./doctor.ts")).doctor(config, context);
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
  },
  run: async (given, context) => {
    const [word] = given.positionals;
    if (word !== undefined) throw unknownCommand("threads", word, []);
    return await serve.run(given, context);
  },
};

/** `threads`, which serves, mints tokens, and looks after its database. */
export const threads: Program = root;
