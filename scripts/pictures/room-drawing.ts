import { dirname } from "node:path";

/** One import between two files, as paths from the repository's top. */
export interface Dependency {
  readonly from: string;
  readonly to: string;
}

/**
 * The floors' imports as a Mermaid graph: a node names a floor and its rooms; arrows are in alphabetical order. Omits
 * tests, `base`, which every room may import, and arrows that a path of other arrows implies.
 */
export function drawing(dependencies: readonly Dependency[]): string {
  const roomsOf = new Map<string, Set<string>>();
  const arrows = new Map<string, Set<string>>();
  const enter = (room: string) => {
    const floor = floorOfRoom(room);
    if (!roomsOf.has(floor)) roomsOf.set(floor, new Set());
    roomsOf.get(floor)?.add(room);
    return floor;
  };
  for (const { from, to } of dependencies) {
    const [source, target] = [roomOf(from), roomOf(to)];
    if (source === undefined || isBase(source) || from.endsWith(".test.ts")) continue;
    const above = enter(source);
    if (target === undefined || isBase(target)) continue;
    const below = enter(target);
    if (above !== below) arrows.set(above, (arrows.get(above) ?? new Set()).add(below));
  }
  const nodes = [...roomsOf].sort(([a], [b]) => (a < b ? -1 : 1)).map(([floor, inside]) => node(floor, inside));
  return ["```mermaid", "graph TD", ...nodes, ...withoutImplied(arrows), "```"].join("\n");
}

function isBase(room: string): boolean {
  return room === "base" || room === "base/text";
}

function withoutImplied(arrows: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const below = (floor: string) => [...(arrows.get(floor) ?? [])];
  const reaches = (from: string, to: string): boolean => below(from).some((next) => next === to || reaches(next, to));
  return [...arrows]
    .flatMap(([from, targets]) => {
      const direct = [...targets].filter((to) => !below(from).some((other) => other !== to && reaches(other, to)));
      return direct.map((to) => `  ${idOf(from)} --> ${idOf(to)}`);
    })
    .sort();
}

/**
 * Cyclic imports between folders and between floors, not counting tests. dependency-cruiser checks those between files.
 */
export function cycles(dependencies: readonly Dependency[]): readonly string[] {
  const ours = dependencies.filter(({ from, to }) => roomOf(to) !== undefined && !from.endsWith(".test.ts"));
  return [dirname, floorOf].flatMap((nameOf) => inCycles(ours.map(({ from, to }) => [nameOf(from), nameOf(to)])));
}

/**
 * The arrows that remain after names without incoming or without outgoing arrows are removed, until there are no such
 * names.
 */
function inCycles(pairs: readonly (readonly [from: string, to: string])[]): readonly string[] {
  let left = pairs.filter(([from, to]) => from !== to);
  for (let before = -1; before !== left.length; ) {
    before = left.length;
    const [sources, targets] = [new Set(left.map(([from]) => from)), new Set(left.map(([, to]) => to))];
    left = left.filter(([from, to]) => targets.has(from) && sources.has(to));
  }
  return [...new Set(left.map(([from, to]) => `${from} --> ${to}`))].sort();
}

/** Replaces the part of `text` between the two markers. Throws if a marker is missing. */
export function replaceBetween(text: string, begin: string, end: string, body: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`markers "${begin}" and "${end}" are missing`);
  return `${text.slice(0, from)}${begin}\n\n${body}\n\n${text.slice(to)}`;
}

function roomOf(path: string): string | undefined {
  const [top, name, ...rest] = path.split("/");
  if (rest.length === 0) return undefined;
  if (top === "internal") return rest.length === 1 || name === "gen" ? name : `${name}/${rest[0]}`;
  return top === "cmd" || top === "pkg" ? `${top}/${name}` : undefined;
}

function floorOf(path: string): string {
  return path.split("/", 2).join("/");
}

const isBinary = (name: string): boolean => /^(cmd|pkg)\//.test(name);
const floorOfRoom = (room: string): string => (isBinary(room) ? room : (room.split("/")[0] ?? room));
const idOf = (name: string): string => name.replaceAll("/", "_");

/** A floor with its rooms; binaries and packages have their own shape. */
function node(floor: string, rooms: ReadonlySet<string>): string {
  if (isBinary(floor)) return `  ${idOf(floor)}[["${floor}"]]`;
  const inside = [...rooms].filter((room) => room !== floor).map((room) => room.slice(floor.length + 1));
  const label = inside.length === 0 ? floor : `${floor}: ${inside.sort().join(", ")}`;
  return `  ${idOf(floor)}["${label}"]`;
}
