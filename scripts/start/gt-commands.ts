/** A command for a person to type in another terminal. */
export interface GtCommand {
  readonly command: string;
  readonly what: string;
}

/** The commands for one agent; they work unchanged, from any folder. */
export function gtCommands(program: string, address: string): readonly GtCommand[] {
  return [
    { command: `${program} peek ${address}`, what: "see its screen" },
    { command: `${program} nudge ${address} "hello"`, what: "send it a message" },
    { command: `${program} status ${address}`, what: "what it does, and how we know" },
    { command: `${program} watch ${address}`, what: "follow it live" },
    { command: `${program} attach ${address}`, what: "use its terminal as yours; Ctrl-] leaves" },
    { command: `${program} respond ${address}`, what: "show its dialog and answer it" },
  ];
}

/** The shortest way to write a path that a shell in any folder understands. */
export function shellPath(path: string, home: string | undefined): string {
  if (home !== undefined && home !== "" && home !== "/" && path.startsWith(`${home}/`)) {
    return `~/${quoted(path.slice(home.length + 1))}`;
  }
  return quoted(path);
}

function quoted(text: string): string {
  return /^[A-Za-z0-9_./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
