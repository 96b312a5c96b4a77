#!/usr/bin/env bash
# A prompt by bash's own line editor. Appends what was submitted to the file named in $1, one base64 line each.
while IFS= read -e -r -p '> ' line; do
  [ -n "$line" ] || continue
  printf '%s' "$line" | base64 -w0 >>"$1"
  printf '\n' >>"$1"
done
