#!/usr/bin/env python3
"""An agent in Python: it appends messages to one mbox file.

    agent.py FILE

src/relay/agents/PROTOCOL.md has the protocol. Addresses whose local part is `nobody` are refused,
to show how a recipient fails while others are delivered.
"""

import os
import sys


def requests(stream):
    """Yields (fields, recipients, data) until the end of input."""
    fields, recipients = {}, []
    for line in iter(stream.readline, b""):
        name, _, value = line.decode().rstrip("\n").partition(" ")
        if name == "to":
            tag, _, address = value.partition(" ")
            recipients.append((tag, address))
        elif name:
            fields[name] = value
        else:
            yield fields, recipients, stream.read(int(fields.get("size", 0)))
            fields, recipients = {}, []


def report(tag, words):
    print(tag, words, flush=True)


def main(path):
    for fields, recipients, data in requests(sys.stdin.buffer):
        for tag, address in recipients:
            if address.startswith("nobody@"):
                report(tag, "failed 5.1.1 nobody has no mailbox here")
                continue
            try:
                with open(path, "ab") as mbox:
                    mbox.write(b"From %s\n" % (fields["sender"] or "MAILER-DAEMON").encode())
                    mbox.write(data.replace(b"\r\n", b"\n").replace(b"\nFrom ", b"\n>From ") + b"\n")
                    # Nothing is reported before a crash can no longer undo it.
                    mbox.flush()
                    os.fsync(mbox.fileno())
            except OSError as error:
                report(tag, "deferred 4.3.0 %s" % error.strerror)
            else:
                report(tag, "delivered 2.0.0 appended for %s" % address)


if __name__ == "__main__":
    main(sys.argv[1])
