import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@connectrpc/connect";
import { expect } from "vitest";
import { type AgentDaemon, Event_Kind } from "../../../examples/orchestrator-agentd/gen/orch/v1/agent_daemon_pb.ts";
import { until } from "../sidecar/sidecar.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A running program of `examples/`. */
export interface ExampleProgram extends AsyncDisposable {
  readonly url: string;
  output(): string;
}

/** Runs an example with a configuration in `dir`, beside the files that it names, and waits until it listens. */
export async function exampleProgram(
  name: "http-control-plane" | "orchestrator-agentd",
  dir: string,
  config: Readonly<Record<string, string>>,
): Promise<ExampleProgram> {
  const path = join(dir, `${name}.json`);
  await writeFile(path, JSON.stringify({ listen_port: 0, ...config }));
  const child = spawn(process.execPath, [join(root, "examples", name, "main.ts"), path], { stdio: "pipe" });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const exited = new Promise<number | null>((resolve) => child.on("close", resolve));
  const listening = () => /listening on (\S+)/.exec(output)?.[1];
  const end = async () => {
    child.kill("SIGTERM");
    expect(await exited, output).toBe(0);
  };
  try {
    const url = await until(`${name} to listen`, 30_000, listening, () => output);
    return { url, output: () => output, [Symbol.asyncDispose]: end };
  } catch (err) {
    child.kill("SIGKILL");
    throw err;
  }
}

/** A call of the HTTP control plane; returns its status and its JSON body. */
export async function httpCall(url: string, method: string, path: string, body?: object | null) {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The kinds of a run's events, in order, to its end: the run is cancelled at its first output. */
export async function kindsOfCancelledRun(client: Client<typeof AgentDaemon>, runId: string): Promise<Event_Kind[]> {
  const kinds: Event_Kind[] = [];
  for await (const event of client.streamEvents({ runId })) {
    expect(event.runId).toBe(runId);
    kinds.push(event.kind);
    if (event.kind === Event_Kind.OUTPUT) await client.cancelRun({ runId });
  }
  return kinds;
}
