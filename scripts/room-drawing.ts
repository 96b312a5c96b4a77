/** One import between two files, as paths from the repository's top. */
export interface Dependency {
  readonly from: string;
  readonly to: string;
}

/**
 * The rooms' imports as a Mermaid graph: binaries above, arrows in alphabetical order. `base`, which everything may
 * import, and tests are left out.
 */
export function drawing(dependencies: readonly Dependency[]): string {
  const arrows = new Set<string>();
  const alone = new Set<string>();
  const linked = new Set<string>(["base"]);
  for (const { from, to } of dependencies) {
    const [source, target] = [roomOf(from), roomOf(to)];
    if (source === undefined || from.endsWith(".test.ts")) continue;
    alone.add(source);
    if (target === undefined || target === source || target === "base") continue;
    arrows.add(`  ${node(source)} --> ${node(target)}`);
    linked.add(source).add(target);
  }
  const others = [...alone.difference(linked)].map((room) => `  ${node(room)}`);
  return ["```mermaid", "graph TD", ...[...arrows].sort(), ...others.sort(), "```"].join("\n");
}

/** `text` with what stands between the two markers replaced. Throws when a marker is missing. */
export function replaceBetween(text: string, begin: string, end: string, body: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`markers "${begin}" and "${end}" are missing`);
  return `${text.slice(0, from)}${begin}\n\n${body}\n\n${text.slice(to)}`;
}

function roomOf(path: string): string | undefined {
  const [top, name, file] = path.split("/");
  if (file === undefined) return undefined;
  if (top === "internal") return name;
  return top === "cmd" || top === "pkg" ? `${top}/${name}` : undefined;
}

/** Binaries and packages are drawn with their own shape, so that a room and a binary of one name stay apart. */
function node(room: string): string {
  return room.includes("/") ? `${room.replace("/", "_")}[["${room}"]]` : room;
}
