"""The same database for asyncio."""

import asyncio
import time

import pytest
import telar
import telar.aio
from waits import LONG


def run(main):
    async def opened():
        async with telar.aio.open() as db:
            return await main(db)

    return asyncio.run(opened())


def test_queries_and_transactions():
    async def main(db):
        await db.query("CREATE (:City {name: $name})", name="Ulm")
        async with db.transaction() as tx:
            await tx.query("CREATE (:City)")
        tx = await db.transaction()
        await tx.query("CREATE (:City)")
        await tx.rollback()
        with pytest.raises(ValueError):
            async with db.transaction() as tx:
                await tx.query("CREATE (:City)")
                raise ValueError
        return (await db.query("MATCH (c:City) RETURN count(c)")).value()

    assert run(main) == 2


def test_managed_transactions():
    async def main(db):
        await db.query("CREATE (:Counter {n: 0})")

        async def add(tx, by):
            n = (await tx.query("MATCH (c:Counter) RETURN c.n")).value()
            await asyncio.sleep(0.001)
            await tx.query("MATCH (c:Counter) SET c.n = $n", n=n + by)

        await asyncio.gather(*(db.write(add, 1, tries=1000) for _ in range(10)))
        return (await db.query("MATCH (c:Counter) RETURN c.n")).value()

    assert run(main) == 10


def test_a_cancelled_task_ends_its_statement():
    async def main(db):
        began = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(db.query(LONG), 0.2)
        assert time.monotonic() - began < 5
        running = await db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN count(*)")
        return running.value()

    assert run(main) == 1


def test_the_loop_goes_on_and_sessions_have_settings():
    async def main(db):
        with pytest.raises(telar.TimeLimitError):
            await db.session(timeout=0.2).query(LONG)
        slow = asyncio.ensure_future(db.session(timeout=60).query(LONG))
        shown = "SHOW TRANSACTIONS YIELD currentQuery AS q RETURN q"
        while not slow.done() and LONG not in (await db.query(shown)).values():
            await asyncio.sleep(0.01)
        for _ in range(11):
            await asyncio.sleep(0.01)
        assert not slow.done(), "the loop did not go on until the time was over"
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow

    run(main)


def test_streams_end_with_their_rows_and_before():
    async def main(db):
        found = [row["n"] async for row in db.stream("UNWIND range(1, 5000) AS n RETURN n")]
        assert found == list(range(1, 5001))
        assert [row async for row in db.stream("MATCH (n:None) RETURN n")] == []
        async with db.stream("UNWIND range(1, 1000000000) AS n RETURN n") as rows:
            async for row in rows:
                if row["n"] == 3:
                    break
        with pytest.raises(telar.CypherSyntaxError):
            async for _ in db.stream("RETURN"):
                pass
        slow = db.stream(LONG)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow.__anext__(), 0.2)
        running = await db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN count(*)")
        return running.value()

    assert run(main) == 1


def test_loads_algorithms_and_functions():
    async def main(db):
        assert (await db.create_nodes("P", {"id": [1, 2, 3]}, unique=["P.id"]))["nodes"] == 3
        report = await db.create_relationships("TO", {"a": [1, 2], "b": [2, 3]}, src="a", dst="b", label="P")
        assert report["relationships"] == 2
        with pytest.raises(ZeroDivisionError):
            async with db.load() as load:
                load.nodes("P", {"id": [4]})
                raise ZeroDivisionError
        with pytest.raises(telar.ConstraintError):
            await db.create_nodes("P", {"id": [1]})
        ranks = await db.algo.page_rank(nodes="P", relationships="TO", key="id")
        assert len(ranks) == 3
        with pytest.raises(AttributeError):
            await db.algo.page_wank()
        db.create_function("my.half", lambda n: n // 2)
        assert db.is_owner
        await db.checkpoint()
        return (await db.query("MATCH (p:P) RETURN sum(my.half(p.id))")).value()

    assert run(main) == 2


def test_a_cancelled_task_ends_its_algorithm():
    async def main(db):
        await db.query("UNWIND range(1, 2000) AS n CREATE (:N)")
        await db.query("MATCH (a:N), (b:N) WHERE id(a) < id(b) AND (id(a) + id(b)) % 20 = 0 CREATE (a)-[:TO]->(b)")
        began = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(db.algo.page_rank(max_iterations=10000000, tolerance=0), 0.3)
        assert time.monotonic() - began < 10
        running = await db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN count(*)")
        return running.value()

    assert run(main) == 1
