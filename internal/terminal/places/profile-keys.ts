/** The keys of a profile: names of flags, each with its meaning. */
export const PROFILE_KEYS = {
  server: { help: "a control plane's HOST:PORT", isPath: false },
  context: { help: "a context of your kubeconfig: agents are its cluster's pods", isPath: false },
  namespace: { help: "the namespace of those pods, by default the context's", isPath: false },
  "tls-dir": { help: "folder with tls.crt, tls.key and ca.crt", isPath: true },
  ca: { help: "the CA, instead of DIR/ca.crt", isPath: true },
  cert: { help: "your certificate, instead of DIR/tls.crt", isPath: true },
  key: { help: "its private key, instead of DIR/tls.key", isPath: true },
  "jwt-key": { help: "Ed25519 key that signs tokens for the control plane", isPath: true },
  "jwt-issuer": { help: "the issuer of tokens", isPath: false },
  "jwt-audience": { help: "the audience of tokens, bridge by default", isPath: false },
  project: { help: "the project of your sessions, and the workspace of your threads", isPath: false },
  threads: { help: "URL of the threads server", isPath: false },
  person: { help: "your name in threads", isPath: false },
} as const;

export type ProfileKey = keyof typeof PROFILE_KEYS;

/** Values for flags that were not given, and whose variables are not set. */
export type Profile = { readonly [K in ProfileKey]?: string };

export const profileKeys = Object.keys(PROFILE_KEYS) as readonly ProfileKey[];

export function isProfileKey(name: string): name is ProfileKey {
  return Object.hasOwn(PROFILE_KEYS, name);
}
