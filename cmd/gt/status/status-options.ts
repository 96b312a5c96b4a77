import type { PlaceConfig } from "../../../internal/terminal/places/place-config.ts";

export interface StatusOptions {
  readonly place: PlaceConfig;
  /** Absent: all agents that are found. */
  readonly agent?: string;
  readonly follow: boolean;
  readonly json: boolean;
}
