import { once } from "node:events";
import { GO } from "../../internal/sidecar/supervisor/serving-processes.ts";

/** First argument of a process that loads its code and then waits for `GO`. */
export const STANDBY = "--standby";

/** True when it may begin; false if the supervising half has ended. */
export async function waitForGo(stdin: NodeJS.ReadStream): Promise<boolean> {
  stdin.setEncoding("utf8");
  for await (const chunk of stdin.iterator({ destroyOnReturn: false })) if (String(chunk) === GO) return true;
  return false;
}

/** A signal that aborts with `signal`, or when stdin ends, which means that the supervising half has ended. */
export function endsWith(stdin: NodeJS.ReadStream, signal: AbortSignal): AbortSignal {
  const orphaned = new AbortController();
  void once(stdin, "end", { signal }).then(
    () => orphaned.abort(new Error("the supervising half has ended")),
    () => {},
  );
  stdin.resume();
  return AbortSignal.any([signal, orphaned.signal]);
}
