"""A prompt by prompt_toolkit. Appends what was submitted to the file named in argv[1], one base64 line each."""

import base64
import sys

from prompt_toolkit import PromptSession

session = PromptSession("> ")
while True:
    try:
        text = session.prompt()
    except KeyboardInterrupt:
        continue
    except EOFError:
        break
    if text:
        with open(sys.argv[1], "ab") as log:
            log.write(base64.b64encode(text.encode()) + b"\n")
