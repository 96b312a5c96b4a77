import type { Command } from "../../../internal/cli/command/command.ts";
import { PROFILE_KEYS } from "../../../internal/terminal/places/profile-keys.ts";
import { CONFIG_FLAGS, type ConfigFlags } from "./config-flags.ts";

const KEYS = Object.entries(PROFILE_KEYS).map(([name, { help }]) => `${name} (${help})`);

/** `gt config`: stores the settings of a control plane. */
export const config: Command<ConfigFlags> = {
  name: "config",
  flags: CONFIG_FLAGS,
  help: {
    usage: "[show|set KEY VALUE|unset KEY|use NAME|path]",
    summary: "store the settings for a control plane",
    text: `Shows or changes the profile file, $XDG_CONFIG_HOME/gt/config.json. Other commands take from the current profile what
neither a flag nor a variable gives. It holds names, addresses and paths, but no private key and no token; only you
may read it.

show prints the profiles, set and unset change one, use makes one the current one, path prints where the file is.`,
    notes: `Keys: ${KEYS.join(", ")}. Paths are kept as absolute ones.`,
    examples: [
      "gt config set server bridge.example.com:9445",
      "gt config set tls-dir ~/.gt/tls",
      "gt config set jwt-key ~/.gt/jwt-signing.key && gt config set jwt-issuer shop",
      "gt config set project shop",
      "gt config set server 127.0.0.1:9445 --profile local && gt config use local",
      "gt config show",
    ],
  },
  completion: ["show", "set", "unset", "use", "path"],
  run: async (given, context) => (await import("./run-config.ts")).runConfig(given, context),
};
