/** A participant as flags name it: an address, and after a colon its role. */
export function participantOf(text: string): { readonly agent_id: string; readonly role?: string } {
  const at = text.lastIndexOf(":");
  return at < 0 ? { agent_id: text } : { agent_id: text.slice(0, at), role: text.slice(at + 1) };
}
