/** What every measurement gets. */
export interface BenchContext {
  /** Aborted by Ctrl-C: stop, and leave nothing behind. */
  readonly signal: AbortSignal;
  readonly quick: boolean;
  /** The bundled gt-sidecar. */
  readonly program: string;
  /** Environment that every sidecar gets besides its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Tells a waiting person what continues. */
  readonly say: (text: string) => void;
  /** Something that a reader of the figures must know. */
  readonly note: (text: string) => void;
}
