import { fileURLToPath } from "node:url";

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The arguments of `connectconformance` for a test of our server; `only`: patterns of case names, default all. */
export function conformanceArgs(only: readonly string[] = []): readonly string[] {
  return [
    ...["--mode", "server", "--conf", here("config.yaml"), "--known-flaky", `@${here("known-flaky.txt")}`],
    ...["--max-servers", "2", "--parallel", "4"],
    ...only.flatMap((pattern) => ["--run", pattern]),
    ...["--", process.execPath, here("server-main.ts")],
  ];
}
