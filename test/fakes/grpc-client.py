"""Calls a server with Python's own gRPC, without generated code: messages are bytes. Prints what came back as JSON.

    grpc-client.py HOST:PORT CA CERT KEY
"""
import json
import sys

import grpc

address, ca, cert, key = sys.argv[1:5]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def outcome(call):
    try:
        return call()
    except grpc.RpcError as error:
        return {"code": error.code().name, "details": error.details()}


def connect(*own):
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(read(ca), *own))


def main():
    known = connect(read(key), read(cert))
    peek = known.unary_unary("/gastown.v1.SidecarService/Peek")
    watch = known.unary_stream("/gastown.v1.SidecarService/WatchOutput")
    nobody = connect().unary_unary("/gastown.v1.SidecarService/Peek")
    lines_3 = b"\x08\x03"
    not_found = varint_field(-404)
    print(json.dumps({
        "peek": outcome(lambda: peek(lines_3, timeout=10).count(b"line\n")),
        "failure": outcome(lambda: peek(not_found, timeout=10).decode()),
        "watch": outcome(lambda: sum(1 for _ in watch(lines_3, timeout=10))),
        "nobody": outcome(lambda: nobody(lines_3, timeout=10).decode()),
    }))


def varint_field(value):
    """Field 1 with a number, negative ones as 64 bits."""
    value &= 2**64 - 1
    out = bytearray(b"\x08")
    while value > 127:
        out.append(value % 128 + 128)
        value >>= 7
    out.append(value)
    return bytes(out)


main()
