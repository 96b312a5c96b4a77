/** A person's terminal, as it introduces itself. */
export interface AttachHello {
  readonly cols: number;
  readonly rows: number;
  /** Looks only: every key ends the attachment as `denied`, and its size moves nothing. */
  readonly readOnly: boolean;
  /** Shown to others. */
  readonly name: string;
}

/** What a person's terminal sends after its hello. */
export type AttachInput =
  | { readonly type: "data"; readonly data: Uint8Array }
  | { readonly type: "resize"; readonly cols: number; readonly rows: number };

/** What a person's terminal gets. */
export type AttachOutput =
  | { readonly type: "data"; readonly data: Uint8Array }
  | { readonly type: "resized"; readonly cols: number; readonly rows: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "end"; readonly reason: string; readonly exitCode: number };

/** The allowed sizes of the window; no person needs smaller or larger ones. */
export const ATTACH_COLS = { min: 20, max: 500 } as const;
export const ATTACH_ROWS = { min: 5, max: 200 } as const;
