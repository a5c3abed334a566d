"""`telar mcp` and `/mcp` of `telar serve`: tools, called by the SDK of the Model Context Protocol, over stdio and HTTP."""

import asyncio
import json
import os
import subprocess
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from case import ADDRESS, KIND, PASSWORD, USER, case, equal, run
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TELAR = os.environ["FRAMEWORKS_TELAR"]
READS = ["schema", "read_query", "search", "neighbourhood", "changes"]


def stdio(*arguments, **environment):
    return StdioServerParameters(command=TELAR, args=["mcp", *map(str, arguments)], env={**os.environ, **environment})


@asynccontextmanager
async def over_stdio(folder, *arguments, mode="auto"):
    async with Client(stdio(folder / "graph.telar", *arguments), mode=mode) as client:
        yield client


@asynccontextmanager
async def by_handshake(folder, *arguments):
    async with over_stdio(folder, *arguments, mode="legacy") as client:
        yield client


@asynccontextmanager
async def over_http(folder, *arguments, mode="auto"):
    command = [TELAR, "mcp", folder / "graph.telar", "--http", "127.0.0.1:0", *arguments]
    server = await asyncio.create_subprocess_exec(*map(str, command), stdout=subprocess.PIPE)
    try:
        line = (await server.stdout.readline()).decode().split()
        async with Client(line[-1], mode=mode) as client:
            yield client
    finally:
        server.terminate()
        equal(await asyncio.wait_for(server.wait(), 20), 0, "exit code")


@asynccontextmanager
async def in_a_session(folder, *arguments):
    async with over_http(folder, *arguments, mode="legacy") as client:
        yield client


@asynccontextmanager
async def on_server(_folder, *arguments):
    named = [argument for argument in arguments if argument not in ("--retain", "1000")]
    async with Client(stdio(f"bolt://{ADDRESS}", "--user", USER, *named, TELAR_PASSWORD=PASSWORD)) as client:
        yield client


class Serve:
    """A `telar serve` of its own, and clients of its `/mcp` with the header of a user."""

    def __init__(self, folder, *settings):
        self.command = [TELAR, "serve", folder / "served.telar", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        for setting in ("store.retention=1000 commits", *settings):
            self.command += ["--set", setting]

    async def __aenter__(self):
        environment = {**os.environ, "TELAR_AUTH_INITIAL_PASSWORD": PASSWORD}
        self.server = await asyncio.create_subprocess_exec(*map(str, self.command), env=environment,
                                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = ""
        while not line.startswith("HTTP at "):
            line = (await self.server.stdout.readline()).decode()
        self.url = line.split()[-1]
        return self

    async def __aexit__(self, *_):
        self.server.terminate()
        equal(await asyncio.wait_for(self.server.wait(), 30), 0, "exit code")

    @asynccontextmanager
    async def client(self, path="/mcp", user=USER, password=PASSWORD, mode="auto"):
        async with httpx2.AsyncClient(auth=httpx2.BasicAuth(user, password), timeout=60) as http:
            async with Client(streamable_http_client(self.url + path, http_client=http), mode=mode) as client:
                yield client

    async def run(self, statement):
        """A statement over the Query API."""
        async with httpx2.AsyncClient(auth=httpx2.BasicAuth(USER, PASSWORD)) as http:
            answer = await http.post(self.url + "/db/system/query/v2", json={"statement": statement})
            equal(answer.json().get("errors"), None, statement)


@asynccontextmanager
async def served(folder, *arguments, mode="auto"):
    equal("--allow-writes" in arguments, True, "what is asked for")
    async with Serve(folder, "mcp.allow_writes=true") as server:
        async with server.client(mode=mode) as client:
            yield client


@asynccontextmanager
async def served_in_a_session(folder, *arguments):
    async with served(folder, *arguments, mode="legacy") as client:
        yield client


async def tool(client, name, **arguments):
    """What a tool returns; the SDK compares it with the schema that the tool has."""
    result = await client.call_tool(name, arguments)
    equal(result.is_error, False, f"{name}: {result.content}")
    equal(json.loads(result.content[0].text), result.structured_content, "the text")
    return result.structured_content


async def refused(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    equal(result.is_error, True, f"{name}: {result.content}")
    return result.content[0].text


async def everything(transport):
    """Each tool, resource and prompt; the version of the protocol."""
    with tempfile.TemporaryDirectory() as folder:
        async with transport(Path(folder), "--allow-writes", "--retain", "1000") as client:
            listed = [found.name for found in (await client.list_tools()).tools]
            equal(sorted(listed), sorted([*READS, "write_query"]), "tools")
            written = await tool(client, "write_query", parameters={"names": ["Ada", "Bob"]}, query=(
                "UNWIND range(0, 1) AS i CREATE (:Person {name: $names[i], e: [1.0 - i, toFloat(i)]})"))
            equal(written["counters"], {"nodes_created": 2, "properties_set": 4, "labels_added": 2}, "counters")
            await tool(client, "write_query", query=(
                "MATCH (a:Person {name: 'Ada'}), (b:Person {name: 'Bob'}) CREATE (a)-[:KNOWS {since: 1833}]->(b)"))
            await tool(client, "write_query", query="CREATE FULLTEXT INDEX people FOR (p:Person) ON EACH [p.name]")
            schema = await tool(client, "schema")
            equal([(found["label"], found["count"]) for found in schema["nodes"]], [("Person", 2)], "labels")
            equal(schema["relationships"][0]["patterns"], [{"from": ["Person"], "to": ["Person"], "found": 1}],
                  "patterns")
            read = await tool(client, "read_query", query="MATCH (p:Person) RETURN p.name AS name ORDER BY name")
            equal(read["rows"], [["Ada"], ["Bob"]], "rows")
            found = await tool(client, "search", query="ada", vector=[1.0, 0.0], property="e", label="Person", hops=1)
            equal(found["hits"][0]["node"]["properties"]["name"], "Ada", "the best hit")
            equal(len(found["neighbourhood"]["relationships"]), 1, "relationships around the hits")
            near = await tool(client, "neighbourhood", label="Person", property="name", value="Bob")
            equal([node["properties"]["name"] for node in near["nodes"]], ["Bob", "Ada"], "the neighbourhood")
            await tool(client, "write_query", query="MATCH (p:Person {name: 'Bob'}) SET p.name = 'Robert'")
            changes = await tool(client, "changes", after=read["at"])
            equal([change["value"] for change in changes["commits"][-1]["changes"]], ["Robert"], "changes")
            error = await refused(client, "read_query", query="MATCH (n)\nRETURN m")
            equal("(line 2, column 8)" in error, True, error)
            await refused(client, "read_query", query="CALL apoc.create.node(['A'], {}) YIELD node RETURN node")
            contents = (await client.read_resource("telar://schema")).contents
            equal(json.loads(contents[0].text)["nodes"][0]["label"], "Person", "the resource")
            prompt = await client.get_prompt("ask_graph", {"question": "Who knows Bob?"})
            equal("Who knows Bob?" in prompt.messages[0].content.text, True, "the prompt")
            return client.protocol_version


async def past(client, at):
    then = await tool(client, "read_query", query="MATCH (p:Person) RETURN p.name AS name ORDER BY name", at=at)
    equal(then["rows"], [["Ada"], ["Bob"]], "rows of the past")


@case
async def all_tools_over_stdio():
    equal(await everything(over_stdio), "2026-07-28", "version")
    equal(await everything(by_handshake), "2025-11-25", "version")


@case
async def all_tools_over_http():
    equal(await everything(over_http), "2026-07-28", "version")
    equal(await everything(in_a_session), "2025-11-25", "version")


if KIND == "telar":
    @case
    async def all_tools_on_a_server():
        await everything(on_server)


@case
async def all_tools_of_telar_serve():
    equal(await everything(served), "2026-07-28", "version")
    equal(await everything(served_in_a_session), "2025-11-25", "version")


@case
async def telar_serve_lets_users_do_what_they_may():
    with tempfile.TemporaryDirectory() as folder:
        async with Serve(Path(folder), "mcp.allow_writes=true") as server:
            await server.run("CREATE USER ann SET PASSWORD 'correct-horse' CHANGE NOT REQUIRED")
            await server.run("GRANT ROLE reader TO ann")
            await server.run("CREATE DATABASE shop")
            for mode in ("auto", "legacy"):
                async with server.client("/db/shop/mcp", mode=mode) as admin:
                    await tool(admin, "write_query", query="MERGE (:Item {name: 'tea'})")
                async with server.client("/db/shop/mcp", "ann", "correct-horse", mode=mode) as reader:
                    found = await tool(reader, "read_query", query="MATCH (i:Item) RETURN i.name")
                    equal(found["rows"], [["tea"]], "rows")
                    error = await refused(reader, "write_query", query="CREATE (:Item)")
                    equal("Neo.ClientError.Security.Forbidden" in error, True, error)
                for path, user, password in (("/mcp", "ann", "wrong-horse"), ("/db/none/mcp", "ann", "correct-horse")):
                    try:
                        async with server.client(path, user, password, mode=mode):
                            raise AssertionError(f"{path} lets {user} in")
                    except* MCPError as errors:
                        equal(len(errors.exceptions), 1, f"{path}: {errors}")
        async with Serve(Path(folder)) as server, server.client() as client:
            equal(sorted(found.name for found in (await client.list_tools()).tools), sorted(READS), "tools")


@case
async def a_program_reads_what_another_writes():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        async with over_stdio(folder, "--allow-writes", "--retain", "1000") as writer:
            await tool(writer, "write_query", query="CREATE (:Person {name: 'Ada'}), (:Person {name: 'Bob'})")
            at = (await tool(writer, "read_query", query="RETURN 1"))["at"]
            async with over_http(folder) as reader:
                equal(sorted(found.name for found in (await reader.list_tools()).tools), sorted(READS), "tools")
                await tool(writer, "write_query", query="MATCH (p:Person {name: 'Bob'}) DELETE p")
                now = await tool(reader, "read_query", query="MATCH (p:Person) RETURN count(p)")
                equal(now["rows"], [[1]], "rows now")
                await past(reader, at)
                found = await tool(reader, "changes", after=at)
                equal(found["commits"][0]["changes"][-1]["event"], "nodeDeleted", "changes")


@case
async def a_call_that_is_given_up_ends():
    slow = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a WHERE a + b < 0 RETURN count(*)"
    with tempfile.TemporaryDirectory() as folder:
        async with over_stdio(Path(folder), "--allow-writes", "--timeout", "60") as client:
            call = asyncio.create_task(client.call_tool("read_query", {"query": slow.replace("WITH a ", "WITH a, b ")}))
            await asyncio.sleep(0.5)
            call.cancel()
            shown = await tool(client, "read_query", query="SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery")
            for _ in range(100):
                if len(shown["rows"]) == 1:
                    break
                await asyncio.sleep(0.1)
                shown = await tool(client, "read_query",
                                   query="SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery")
            equal(len(shown["rows"]), 1, "queries that run")


run("telar_mcp")
