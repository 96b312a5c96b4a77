/** An id of a nudge, a session or a call that is repeated: 1 to 128 of A-Z a-z 0-9 . _ - */
export const ID = /^[A-Za-z0-9._-]{1,128}$/;
