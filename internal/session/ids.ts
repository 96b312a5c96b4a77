/** An id of a nudge or a session, or an idempotency key: 1 to 128 of A-Z a-z 0-9 . _ - */
export const ID = /^[A-Za-z0-9._-]{1,128}$/;
