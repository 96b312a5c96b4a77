/** The hello of a person's terminal. */
export interface AttachHello {
  readonly cols: number;
  readonly rows: number;
  /** Watches only: every key ends the attachment as `denied`, and its size is ignored. */
  readonly readOnly: boolean;
  /** Shown to others. */
  readonly name: string;
}

/** A message of a person's terminal after its hello. */
export type AttachInput =
  | { readonly type: "data"; readonly data: Uint8Array }
  | { readonly type: "resize"; readonly cols: number; readonly rows: number };

/** A message to a person's terminal. */
export type AttachOutput =
  | { readonly type: "data"; readonly data: Uint8Array }
  | { readonly type: "resized"; readonly cols: number; readonly rows: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "end"; readonly reason: string; readonly exitCode: number };

/** The allowed sizes of the window; no person needs smaller or larger ones. */
export const ATTACH_COLS = { min: 20, max: 500 } as const;
export const ATTACH_ROWS = { min: 5, max: 200 } as const;
