const SHELLS = new Set(["sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "nu", "pwsh"]);

/** Whether a program is a shell, by its name or path; a login shell's begins with a dash. */
export function isShell(program: string): boolean {
  return SHELLS.has(program.replace(/^(?:-|.*\/)/, ""));
}
