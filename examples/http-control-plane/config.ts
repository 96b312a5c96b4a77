import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ClientOptions } from "../../pkg/bridgeclient/index.ts";

/** The server's own settings, and how it reaches its bridge. */
export interface Config {
  readonly listenPort: number;
  readonly projectId: string;
  readonly bridge: ClientOptions;
}

/** Reads a JSON file; paths in it are relative to its folder. */
export function readConfig(path: string): Config {
  const text = JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, string | number>>;
  const must = (key: string): string => {
    const value = text[key];
    if (value === undefined || value === "") throw new Error(`${path}: ${key} is missing`);
    return String(value);
  };
  const file = (key: string) => resolve(dirname(path), must(key));
  const projectId = must("project_id");
  return {
    listenPort: Number(text["listen_port"] ?? 8080),
    projectId,
    bridge: {
      target: must("bridge_target"),
      mtls: { caCertPath: file("bridge_ca"), certPath: file("bridge_cert"), keyPath: file("bridge_key") },
      jwt: { privateKeyPath: file("jwt_key"), issuer: must("jwt_issuer"), audience: "bridge", projectId },
    },
  };
}
