import { readdirSync } from "node:fs";

/**
 * What the collector of a program of ours has kept, MiB, and what is outside its heap; without the young generation.
 */
export async function keptMiB(healthUrl: string): Promise<number> {
  const text = await fetch(`${healthUrl}/metrics`).then((answer) => answer.text());
  const kept = /^nodejs_(?:heap_space_size_used_bytes\{space="(?:old|large_object)"\}|external_memory_bytes) (\d+)/gm;
  return [...text.matchAll(kept)].reduce((all, [, bytes]) => all + Number(bytes), 0) / 1024 / 1024;
}

export function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
