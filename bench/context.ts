/** The context of every measurement. */
export interface BenchContext {
  /** Aborted by Ctrl-C: stop, and clean up. */
  readonly signal: AbortSignal;
  readonly quick: boolean;
  /** The bundled gt-sidecar. */
  readonly program: string;
  /** Variables that every sidecar gets in addition to its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Reports progress to a waiting person. */
  readonly say: (text: string) => void;
  /** Records a remark that readers of the figures need. */
  readonly note: (text: string) => void;
}
