import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ThreadTools } from "../../internal/agents/thread-tools.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { isLoopbackAddress } from "../../internal/base/loopback.ts";

interface Values {
  readonly threads?: string;
  readonly "threads-token"?: string;
}

/** Where `gt` lies: beside this program's sources, or beside the one file that was made of them. */
const FILES = ["../gt/main.ts", "./gt.mjs"];

/**
 * The agent's tools, where both a server and a token are named; the environment may name one of them for others.
 * @throws DomainError `invalid` for what is no URL, a server in plaintext elsewhere, and a flag without its other
 */
export function readThreadsFlags(values: Values, ownFlags: readonly string[]): ThreadTools | undefined {
  const { threads: url, "threads-token": token } = values;
  const isGiven = ownFlags.some((word) => word === "--threads" || word.startsWith("--threads="));
  if (isGiven && !token) {
    throw new DomainError("invalid", "--threads needs --threads-token: every call of threads has a token", {
      fields: { hint: "threads token --agent ADDRESS --file FILE writes and renews one" },
    });
  }
  if (!url || !token) return undefined;
  checkUrl(url);
  const env = {
    GT_THREADS: url,
    GT_THREADS_TOKEN_FILE: resolve(token),
  };
  return { command: [...gtCommand(), "threads", "mcp"], env };
}

function checkUrl(text: string): void {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.search !== "") {
    throw new DomainError(
      "invalid",
      `--threads takes a URL such as http://127.0.0.1:9448, not ${JSON.stringify(text)}`,
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol === "https:" || host === "localhost" || isLoopbackAddress(host)) return;
  throw new DomainError("invalid", `--threads: a token does not go to ${host} in plaintext`, {
    fields: { hint: "use https://" },
  });
}

/** `gt` of this version; by its name where it did not come with this program. */
function gtCommand(): readonly [string, ...string[]] {
  const file = FILES.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  return file === undefined ? ["gt"] : [process.execPath, "--disable-warning=ExperimentalWarning", file];
}
