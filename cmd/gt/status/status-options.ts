import type { PlaceConfig } from "../common/place/place-config.ts";

export interface StatusOptions {
  readonly place: PlaceConfig;
  /** Absent: all that are found. */
  readonly agent?: string;
  readonly follow: boolean;
  readonly json: boolean;
}
