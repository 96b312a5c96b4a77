"""A consumer of the bridge in Python: its own gRPC, messages from the plain .proto files, tokens by PyJWT. Prints JSON.

    bridge-client.py HOST:PORT CA CERT KEY DESCRIPTORS TOKEN-KEY ISSUER REPO

DESCRIPTORS: what `buf build proto --as-file-descriptor-set` made of them.
"""
import json
import sys
import time
import uuid

import grpc
import jwt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

address, ca, cert, key, descriptors, token_key, issuer, repo = sys.argv[1:9]


def read(path):
    with open(path, "rb") as file:
        return file.read()


STDOUT = 4
pool = descriptor_pool.DescriptorPool()
files = descriptor_pb2.FileDescriptorSet.FromString(read(descriptors))
for each in files.file:
    pool.Add(each)
service = pool.FindServiceByName("bridge.v1.BridgeService")


def class_of(descriptor):
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def token():
    now = int(time.time())
    claims = {"iss": issuer, "sub": "python", "aud": "bridge", "project_id": issuer,
              "iat": now, "exp": now + 120, "jti": str(uuid.uuid4())}
    return jwt.encode(claims, read(token_key), algorithm="EdDSA")


channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(read(ca), read(key), read(cert)))


def call(method, authorization=None, **fields):
    found = service.methods_by_name[method]
    make = channel.unary_stream if method == "StreamEvents" else channel.unary_unary
    rpc = make("/bridge.v1.BridgeService/" + method,
               request_serializer=lambda message: message.SerializeToString(),
               response_deserializer=class_of(found.output_type).FromString)
    request = class_of(found.input_type)(**fields)
    return rpc(request, timeout=60, metadata=(("authorization", authorization or "Bearer " + token()),))


def code_of(do):
    try:
        do()
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


def main():
    started = call("StartSession", project_id=issuer, session_id="python", repo_path=repo, provider="demo")
    sent = call("SendInput", session_id="python", text="hello from Python")
    types = []
    for event in call("StreamEvents", session_id="python", subscriber_id="python"):
        types.append(event.type)
        if event.type == STDOUT:
            call("StopSession", session_id="python")
    print(json.dumps({
        "session": started.session_id,
        "accepted": sent.accepted,
        "first": types[0],
        "has_output": STDOUT in types,
        "done": event.done,
        "no_token": code_of(lambda: call("GetSession", authorization="Bearer none", session_id="python")),
        "unknown": code_of(lambda: call("GetSession", session_id="nobody")),
    }))


main()
