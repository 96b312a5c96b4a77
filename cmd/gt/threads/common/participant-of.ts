/** Parses a participant in a flag: `ADDRESS` or `ADDRESS:ROLE`. */
export function parseParticipant(text: string): { readonly agent_id: string; readonly role?: string } {
  const at = text.lastIndexOf(":");
  return at < 0 ? { agent_id: text } : { agent_id: text.slice(0, at), role: text.slice(at + 1) };
}
