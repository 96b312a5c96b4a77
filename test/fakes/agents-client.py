"""A caller of agents by the agent protocol's own Python client. Prints a line of JSON for each thing that happens.

    agents-client.py NATS-URL discover
    agents-client.py NATS-URL beat SESSION       waits for a heartbeat of an agent of the session, and asks its status
    agents-client.py NATS-URL prompt SESSION TEXT [--id ID] [--answer TEXT] [--attach NAME=TEXT]… [--timeout SECONDS]
"""
import argparse
import asyncio
import json

import nats
from synadia_ai.agents import Agents, Attachment, DiscoverFilter
from synadia_ai.agents.agent import Query
from synadia_ai.agents.interceptor import PromptExtras
from synadia_ai.agents.messages import ResponseChunk, StatusChunk

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("op")
parser.add_argument("session", nargs="?")
parser.add_argument("text", nargs="?")
parser.add_argument("--id")
parser.add_argument("--answer")
parser.add_argument("--attach", action="append", default=[])
parser.add_argument("--timeout", type=float, default=120)
given = parser.parse_args()


def show(**fields):
    print(json.dumps(fields), flush=True)


class Named:
    """Gives prompts their id."""

    async def before_prompt(self, ctx):
        return PromptExtras(headers={"Nats-Msg-Id": given.id}) if given.id else None


async def discovered(agents):
    # A machine under load answers late: look until the agent is there.
    for _ in range(60):
        found = await agents.discover(filter=DiscoverFilter(owner=given.session))
        if found:
            return found[0]
    raise SystemExit("no such agent")


async def prompt(agents):
    agent = await discovered(agents)
    attachments = [Attachment.from_bytes(name, text.encode()) for name, text in (each.split("=") for each in given.attach)]
    try:
        async for message in agent.prompt(given.text, attachments=attachments or None, timeout=given.timeout):
            if isinstance(message, StatusChunk):
                show(status=message.status)
            elif isinstance(message, ResponseChunk):
                show(text=message.text)
            elif isinstance(message, Query):
                show(query=message.prompt)
                if given.answer is not None:
                    await message.reply(given.answer)
        show(end=True)
    except Exception as error:
        show(error=type(error).__name__, message=str(error))


async def beat(agents):
    await agents.start_tracking()
    agent = await discovered(agents)
    for _ in range(600):
        liveness = agents.liveness(agent.instance_id)
        if liveness is not None:
            break
        await asyncio.sleep(0.1)
    status = await agent.status(timeout_s=60)
    show(online=liveness is not None and liveness.is_online, interval=liveness.interval_s if liveness else None,
         ping=await agents.ping(agent.instance_id, timeout=60), status=status.model_dump())


async def discover(agents):
    for agent in await agents.discover(timeout=5):
        show(id=agent.instance_id, agent=agent.agent, owner=agent.owner, session=agent.session_name,
             protocol=agent.protocol_version, subject=agent.prompt_subject,
             max_payload=agent.prompt_endpoint.max_payload_bytes, attachments=agent.prompt_endpoint.attachments_ok,
             endpoints=[endpoint.name for endpoint in agent.endpoints])


async def main():
    connection = await nats.connect(given.url)
    agents = Agents(nc=connection, interceptors=[Named()])
    try:
        await {"discover": discover, "prompt": prompt, "beat": beat}[given.op](agents)
    finally:
        await agents.close()
        await connection.close()


asyncio.run(main())
