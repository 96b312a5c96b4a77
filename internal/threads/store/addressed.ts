/** The message `m` is addressed to the participant `p`, and not its own or the system's. */
export const FOR_ME = `m.sender <> p.agent_id and m.kind <> 'system'
  and (m.recipients is null or p.agent_id = any (m.recipients))`;
/** The role of the participant `p`, whose agent is `a`. */
export const ROLE = "coalesce(nullif(p.role, ''), a.role, '')";
