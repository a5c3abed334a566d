// Results: rows as they come, and what the summary says of them.

import { assert, behaviour, collectGarbage, int, neo4j, sleep, value, within } from './behaviour.mjs'

behaviour('keys_and_records', async server => {
  await server.session(async session => {
    const query = "UNWIND [1, 2] AS x RETURN x, x * 2 AS `two x`, 'c' AS c ORDER BY x"
    const result = await session.run(query)
    assert.deepEqual(result.records[0].keys, ['x', 'two x', 'c'])
    assert.deepEqual(result.records.map(record => [...record.values()]),
      [[int(1), int(2), 'c'], [int(2), int(4), 'c']])
    const nothing = session.run('MATCH (n:Nobody) RETURN n.a AS a, n.b')
    assert.deepEqual(await nothing.keys(), ['a', 'n.b'])
    assert.deepEqual((await nothing).records, [])
    assert.deepEqual(await session.run('CREATE (:A)').keys(), [])
  })
})

behaviour('query_types', async server => {
  await server.session(async session => {
    for (const [query, kind] of [['RETURN 1', 'r'], ['CREATE (:A)', 'w'], ['MERGE (a:A) RETURN a', 'rw'],
      ['CREATE CONSTRAINT FOR (n:Kind) REQUIRE n.id IS UNIQUE', 's']]) {
      assert.equal((await session.run(query)).summary.queryType, kind, query)
    }
  })
})

behaviour('counters', async server => {
  await server.session(async session => {
    const count = async query => {
      const { counters } = (await session.run(query)).summary
      const some = Object.entries(counters.updates()).filter(([, updates]) => updates !== 0)
      return { ...Object.fromEntries(some), any: counters.containsUpdates() }
    }
    assert.deepEqual(await count('CREATE (a:A:B {x: 1, y: 2})-[:R {z: 1}]->(b:B)'),
      { nodesCreated: 2, relationshipsCreated: 1, propertiesSet: 3, labelsAdded: 3, any: true })
    assert.deepEqual(await count('MATCH (a:A) SET a.x = 5, a:C REMOVE a:B REMOVE a.y'),
      { propertiesSet: 2, labelsAdded: 1, labelsRemoved: 1, any: true })
    assert.deepEqual(await count('MATCH (a) DETACH DELETE a'),
      { nodesDeleted: 2, relationshipsDeleted: 1, any: true })
    assert.deepEqual(await count('MATCH (a) RETURN a'), { any: false })
    const made = await count('CREATE CONSTRAINT counted FOR (n:Counted) REQUIRE n.id IS UNIQUE')
    assert.deepEqual(made, { constraintsAdded: 1, any: true })
    assert.deepEqual(await count('DROP CONSTRAINT counted'), { constraintsRemoved: 1, any: true })
    assert.deepEqual(await count('CREATE INDEX counted FOR (n:Counted) ON (n.id)'), { indexesAdded: 1, any: true })
    assert.deepEqual(await count('DROP INDEX counted'), { indexesRemoved: 1, any: true })
  })
})

const operators = plan => [plan, ...plan.children.flatMap(operators)]

behaviour('plans_and_profiles', async server => {
  await server.session(async session => {
    await session.run('UNWIND range(1, 10) AS i CREATE (:P {i: i})')
    const explained = await session.run('EXPLAIN MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i')
    assert.deepEqual(explained.records, [])
    assert(explained.summary.plan && !explained.summary.profile)
    assert(operators(explained.summary.plan).length >= 2)
    assert(operators(explained.summary.plan).every(operator => operator.operatorType))
    const profiled = await session.run('PROFILE MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i')
    assert.equal(profiled.records.length, 5)
    const profile = profiled.summary.profile
    assert.equal(Number(profile.rows), 5)
    assert(operators(profile).reduce((sum, operator) => sum + Number(operator.dbHits), 0) > 0)
    const plain = (await session.run('MATCH (n:P) RETURN n')).summary
    assert(!plain.plan && !plain.profile)
  })
})

behaviour('notifications', async server => {
  const query = 'MATCH (n:NoSuchLabelAnywhere) RETURN n'
  await server.session(async session => {
    const { summary } = await session.run(query)
    const codes = summary.notifications.map(notification => notification.code)
    assert(codes.includes('Neo.ClientNotification.Statement.UnknownLabelWarning'), codes.join())
    assert.equal(Number(summary.notifications[0].position.line), 1)
    assert(summary.gqlStatusObjects.some(status => status.gqlStatus === '01N50'))
  })
  await server.session(async session => {
    const { summary } = await session.run(query)
    assert.deepEqual(summary.notifications, [])
  }, { notificationFilter: { minimumSeverityLevel: 'OFF' } })
})

behaviour('summaries', async server => {
  await server.session(async session => {
    const { summary } = await session.run('RETURN $x AS x', { x: 1.5 })
    assert.equal(summary.database.name, server.database)
    assert.equal(summary.query.text, 'RETURN $x AS x')
    assert.deepEqual(summary.query.parameters, { x: 1.5 })
    assert(summary.resultAvailableAfter >= 0 && summary.resultConsumedAfter >= 0)
    assert.equal(summary.server.address, server.address)
    const statuses = async query =>
      (await session.run(query)).summary.gqlStatusObjects.map(status => status.gqlStatus)
    assert.deepEqual(await statuses('RETURN 1'), ['00000'])
    assert((await statuses('MATCH (n:P {x: 1}) RETURN n.x')).includes('02000'))
    assert.deepEqual(await statuses('CREATE (:P {x: 1})'), ['00001'])
  })
})

const MILLION = 1_000_000
// A row holds 100 characters, so that a result kept in memory as a whole would take some 150 MiB.
const ROWS = 'UNWIND range(1, $rows) AS i RETURN i, $text + i AS text'
const rows = (count, size = 100) => ({ rows: int(count), text: 'x'.repeat(size) })

behaviour('million_rows_in_constant_memory', async server => {
  await server.session(async session => {
    for await (const record of session.run(ROWS, rows(100000))) assert(record)
    collectGarbage()
    const before = { server: await server.residentMib(), client: await server.clientMib() }
    const highest = { server: 0, client: 0 }
    let count = 0
    let total = 0
    for await (const record of session.run(ROWS, rows(MILLION))) {
      count += 1
      total += record.get(0).toNumber()
      if (count % 10000 === 0) {
        highest.server = Math.max(highest.server, await server.residentMib())
        // Garbage is no part of a result that is kept: V8 leaves up to 100 MiB of it when the machine is busy.
        collectGarbage()
        highest.client = Math.max(highest.client, await server.clientMib())
      }
    }
    assert.deepEqual([count, total], [MILLION, MILLION * (MILLION + 1) / 2])
    for (const side of server.isTelar ? ['client', 'server'] : ['client']) {
      const grown = highest[side] - before[side]
      assert(grown < 64, `the ${side} grew by ${grown.toFixed()} MiB`)
    }
  }, { maxConnectionPoolSize: 1 })
})

behaviour('slow_reader_holds_no_memory', async server => {
  await server.session(async session => {
    await session.run('RETURN 1')
    const before = await server.residentMib()
    let read = 0
    for await (const record of session.run(ROWS, rows(10 * MILLION))) {
      assert(record)
      await sleep(10)
      read += 1
      if (read === 50) break
    }
    const grown = await server.residentMib() - before
    assert(grown < 64 || !server.isTelar, `the server grew by ${grown.toFixed()} MiB`)
  }, { session: { fetchSize: 10 } })
})

behaviour('early_end_of_a_result', async server => {
  await server.session(async session => {
    const started = Date.now()
    const seen = []
    const result = session.run(ROWS, rows(1000 * MILLION, 0))
    for await (const record of result) {
      seen.push(record.get('i').toNumber())
      if (seen.length === 5) break
    }
    assert.deepEqual(seen, [1, 2, 3, 4, 5])
    assert.equal((await result.summary()).queryType, 'r')
    assert.equal(await value(session, 'RETURN 1 AS x'), 1)
    assert(Date.now() - started < 20000, 'discarding does not compute the rest')
  }, { session: { fetchSize: 10 } })
})

behaviour('two_open_results', async server => {
  await server.driver(driver => within(driver, async session => {
    const transaction = session.beginTransaction()
    const open = query => transaction.run(query)[Symbol.asyncIterator]()
    const first = open('UNWIND range(1, 9) AS i RETURN i')
    const second = open('UNWIND range(11, 19) AS i RETURN i')
    const next = async result => (await result.next()).value.get('i').toNumber()
    for (let i = 1; i <= 9; i++) {
      assert.equal(await next(first), i)
      assert.equal(await next(second), i + 10)
    }
    const left = open('UNWIND range(1, 100) AS i RETURN i')
    assert.equal(await next(left), 1)
    await transaction.run('CREATE (:A)')
    for (let i = 2; i <= 100; i++) assert.equal(await next(left), i)
    await transaction.commit()
  }, { fetchSize: 2, defaultAccessMode: neo4j.session.WRITE }))
})
