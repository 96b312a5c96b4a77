const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/;

/** Whether a text can be the address of an agent or a person. */
export function isAgentId(text: string): boolean {
  return AGENT_ID.test(text);
}
