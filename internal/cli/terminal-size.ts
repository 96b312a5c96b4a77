/** The part of a terminal that says how large it is; `process.stdout` fits. */
export interface SizedTerminal {
  readonly columns?: number;
  readonly rows?: number;
}

/**
 * A terminal's size: 80 by 24 where it does not say. A serial line, and the terminal that `kubectl exec -t` makes for a
 * caller without one, say 0 by 0.
 */
export function terminalSize(terminal: SizedTerminal): { readonly columns: number; readonly rows: number } {
  return { columns: terminal.columns || 80, rows: terminal.rows || 24 };
}
