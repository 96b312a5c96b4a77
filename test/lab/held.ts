import { readdirSync } from "node:fs";

/**
 * The memory that one of our programs keeps after collections, MiB: the old generation and the memory outside its heap.
 */
export async function keptMiB(healthUrl: string): Promise<number> {
  const text = await fetch(`${healthUrl}/metrics`).then((answer) => answer.text());
  const kept = /^nodejs_(?:heap_space_size_used_bytes\{space="(?:old|large_object)"\}|external_memory_bytes) (\d+)/gm;
  return [...text.matchAll(kept)].reduce((all, [, bytes]) => all + Number(bytes), 0) / 1024 / 1024;
}

export function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
