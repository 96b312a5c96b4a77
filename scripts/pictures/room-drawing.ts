import { dirname } from "node:path";

/** One import between two files, as paths from the repository's top. */
export interface Dependency {
  readonly from: string;
  readonly to: string;
}

/**
 * The rooms' imports as a Mermaid graph: binaries above, floors as boxes around their rooms, arrows in alphabetical
 * order. `base`, which every room may import, and tests are left out.
 */
export function drawing(dependencies: readonly Dependency[]): string {
  const arrows = new Set<string>();
  const seen = new Set<string>();
  for (const { from, to } of dependencies) {
    const [source, target] = [roomOf(from), roomOf(to)];
    if (source === undefined || isBase(source) || from.endsWith(".test.ts")) continue;
    seen.add(source);
    if (target === undefined || target === source || isBase(target)) continue;
    seen.add(target);
    arrows.add(`  ${idOf(source)} --> ${idOf(target)}`);
  }
  const names = [...seen].sort();
  return ["```mermaid", "graph TD", ...boxes(names), ...[...arrows].sort(), "```"].join("\n");
}

function isBase(room: string): boolean {
  return room === "base" || room === "base/text";
}

/** The nodes; those of a floor are together in its box. */
function boxes(names: readonly string[]): readonly string[] {
  const floors = Map.groupBy(names, (name) => (isBinary(name) ? name : (name.split("/")[0] ?? name)));
  return [...floors].flatMap(([floor, inside]) =>
    inside.length === 1 && inside[0] === floor
      ? [`  ${node(floor)}`]
      : [`  subgraph ${floor}_floor["${floor}"]`, ...inside.map((name) => `    ${node(name)}`), "  end"],
  );
}

/** Circular imports between folders, and between floors, without tests. dependency-cruiser checks files. */
export function cycles(dependencies: readonly Dependency[]): readonly string[] {
  const ours = dependencies.filter(({ from, to }) => roomOf(to) !== undefined && !from.endsWith(".test.ts"));
  return [dirname, floorOf].flatMap((nameOf) => inCircles(ours.map(({ from, to }) => [nameOf(from), nameOf(to)])));
}

/** The arrows that remain after every name without incoming or without outgoing arrows is removed, repeatedly. */
function inCircles(pairs: readonly (readonly [from: string, to: string])[]): readonly string[] {
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
const idOf = (name: string): string => name.replaceAll("/", "_");

/** Binaries and packages are drawn with their own shape. */
function node(name: string): string {
  return isBinary(name) ? `${idOf(name)}[["${name}"]]` : `${idOf(name)}["${name}"]`;
}
