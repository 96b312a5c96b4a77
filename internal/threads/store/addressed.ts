/** SQL condition: the message `m` is addressed to the participant `p`, and is neither its own nor the system's. */
export const FOR_ME = `m.sender <> p.agent_id and m.kind <> 'system'
  and (m.recipients is null or p.agent_id = any (m.recipients))`;
/** SQL expression: the role of the participant `p`, else that of its agent `a`, else empty. */
export const ROLE = "coalesce(nullif(p.role, ''), a.role, '')";
