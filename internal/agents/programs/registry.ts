import { DomainError } from "../../base/errors.ts";
import { type ProfileName, profileNames } from "../known-programs.ts";
import type { AgentProfile } from "../profile.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { demo } from "./demo.ts";
import { generic } from "./generic.ts";
import { opencode } from "./opencode.ts";

const PROFILES: Readonly<Record<ProfileName, AgentProfile>> = { claude, codex, opencode, demo, generic };

/** The profile of that name. @throws DomainError `invalid`, listing the names, if there is none */
export function profileNamed(name: string): AgentProfile {
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name as ProfileName] : undefined;
  if (profile === undefined) {
    throw new DomainError("invalid", `no agent profile is named "${name}"; there are ${profileNames.join(", ")}`);
  }
  return profile;
}
