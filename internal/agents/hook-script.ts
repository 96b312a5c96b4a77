/** Name of the hook script below the launch's folder. */
export const HOOK_SCRIPT = "hook.sh";

/**
 * A hook as a tiny shell program: `hook.sh EVENT [spool]`. It writes one short line to the FIFO, which is atomic. With
 * `spool` it first saves its stdin in a file of its own (mode 0600) and names the file in the line: a payload may be
 * longer than an atomic write. Opening the FIFO for both directions never blocks; without a FIFO the script does
 * nothing. It prints nothing and always succeeds, so it cannot change what the agent does.
 */
export function hookScript(): string {
  return `#!/bin/sh
fifo=$GT_HOOK_FIFO dir=$GT_HOOK_DIR
[ -p "$fifo" ] || exit 0
exec 2>/dev/null
line=$1
if [ "$2" = spool ] && umask 077 && file=$(mktemp "$dir/payload.XXXXXXXXXX"); then
  cat >"$file" && line="$1 \${file##*/}"
fi
printf '%s\\n' "$line" 1<>"$fifo"
exit 0
`;
}

/** A command line for `sh -c` that runs the script; the path may hold any character. */
export function hookCommand(script: string, event: string, spool: boolean): string {
  return `sh '${script.replaceAll("'", "'\\''")}' ${event}${spool ? " spool" : ""}`;
}
