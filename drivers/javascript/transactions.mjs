// Transactions: of all kinds, their ends, their limits, and what others see of them.

import { assert, behaviour, eventually, fails, int, neo4j, value, within } from './behaviour.mjs'

// Takes about for ever, without taking memory.
const ENDLESS = 'UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 9 RETURN count(i)'

const count = (runner, label) => value(runner, `MATCH (n:${label}) RETURN count(n)`)

behaviour('auto_commit', async server => {
  await server.driver(async driver => {
    await within(driver, one => within(driver, async other => {
      await one.run('CREATE (:A)')
      assert.equal(await count(other, 'A'), 1)
    }))
    // With nobody reading the rows of the result; unlike the other drivers, this one must be waited for.
    await within(driver, session => session.run('CREATE (n:A) RETURN n').summary())
    assert.equal(await within(driver, session => count(session, 'A')), 2)
  })
})

behaviour('execute_query', async server => {
  await server.driver(async driver => {
    const made = await driver.executeQuery('CREATE (n:A {x: $x}) RETURN n.x AS x', { x: int(3) })
    assert.deepEqual([made.records[0].get('x'), made.keys], [int(3), ['x']])
    assert.equal(made.summary.counters.updates().nodesCreated, 1)
    const read = await driver.executeQuery('MATCH (n:A) RETURN n.x AS x', {},
      { routing: neo4j.routing.READ, database: 'neo4j' })
    assert.deepEqual(read.records[0].get('x'), int(3))
  })
})

behaviour('managed_transactions', async server => {
  await server.session(async session => {
    assert.equal(await session.executeWrite(tx => value(tx, 'CREATE (n:A) RETURN 1')), 1)
    assert.equal(await session.executeRead(tx => count(tx, 'A')), 1)
    const error = await fails(() => session.executeWrite(async tx => {
      await tx.run('CREATE (:A)')
      throw new RangeError('mine')
    }))
    assert.equal(error.message, 'mine')
    assert.equal(await session.executeRead(tx => count(tx, 'A')), 1)
  })
})

behaviour('conflicts_are_retried', async server => {
  const [workers, rounds] = [8, 25]
  await server.driver(async driver => {
    await driver.executeQuery('CREATE (:Counter {value: 0})')
    const work = () => within(driver, async session => {
      for (let i = 0; i < rounds; i++) {
        await session.executeWrite(async tx => {
          const v = await value(tx, 'MATCH (n:Counter) SET n.lock = 1 RETURN n.value')
          await tx.run('MATCH (n:Counter) SET n.value = $v', { v: int(v + 1) })
        })
      }
    })
    await Promise.all(Array.from({ length: workers }, work))
    const total = await within(driver, session => value(session, 'MATCH (n:Counter) RETURN n.value'))
    assert.equal(total, workers * rounds)
  }, { maxTransactionRetryTime: 60000 })
})

behaviour('conflicts_are_marked_retryable', async server => {
  if (!server.isTelar) return // Neo4j locks: the second writer waits for the first.
  await server.driver(driver => within(driver, one => within(driver, async two => {
    await one.run('CREATE (:A {x: 0})')
    const [first, second] = [await one.beginTransaction(), await two.beginTransaction()]
    await first.run('MATCH (n:A) SET n.x = 1')
    const error = await fails(async () => {
      await second.run('MATCH (n:A) SET n.x = 2')
      await first.commit()
      await second.commit()
    })
    assert(error.code.startsWith('Neo.TransientError.') && error.retriable, error.code)
    if (first.isOpen()) await first.commit()
    await second.close()
    assert.equal(await value(two, 'MATCH (n:A) RETURN n.x'), 1)
  })))
})

behaviour('explicit_commit_and_rollback', async server => {
  await server.driver(driver => within(driver, session => within(driver, async other => {
    let transaction = await session.beginTransaction()
    await transaction.run('CREATE (:A)')
    assert.deepEqual([await count(transaction, 'A'), await count(other, 'A')], [1, 0])
    await transaction.commit()
    assert.equal(await count(other, 'A'), 1)
    transaction = await session.beginTransaction()
    await transaction.run('CREATE (:A)')
    await transaction.rollback()
    assert.equal(await count(session, 'A'), 1)
    await fails(() => transaction.run('RETURN 1'))
  })))
})

behaviour('closing_rolls_back', async server => {
  const begin = async session => {
    const transaction = await session.beginTransaction()
    await transaction.run('CREATE (:A)')
    return transaction
  }
  await server.driver(async driver => {
    await within(driver, async session => (await begin(session)).close())
    await within(driver, begin)
    await server.driver(async lost => { await begin(lost.session()) })
    assert.equal(await within(driver, session => count(session, 'A')), 0)
  })
})

behaviour('failed_transactions', async server => {
  await server.session(async session => {
    const transaction = await session.beginTransaction()
    await transaction.run('CREATE (:A)')
    await fails(() => transaction.run('NONSENSE'), 'Neo.ClientError.Statement.SyntaxError')
    await fails(() => transaction.run('RETURN 1'))
    await fails(() => transaction.commit())
    await transaction.close()
    assert.equal(await count(session, 'A'), 0)
    // An error after the first rows undoes the auto-commit transaction.
    await fails(() => session.run('UNWIND [1, 0] AS x CREATE (:A) RETURN 1 / x'),
      'Neo.ClientError.Statement.ArithmeticError')
    assert.equal(await count(session, 'A'), 0)
  })
})

behaviour('bookmarks', async server => {
  await server.driver(async driver => {
    const [first, second] = await within(driver, async session => {
      await session.run('CREATE (:A)')
      const first = session.lastBookmarks()
      await session.run('CREATE (:A)')
      return [first, session.lastBookmarks()]
    })
    assert(first.length > 0 && second.length > 0)
    assert.notDeepEqual(first, second)
    for (const bookmarks of [first, second, [...first, ...second]]) {
      assert.equal(await within(driver, session => count(session, 'A'), { bookmarks }), 2)
    }
    for (let i = 1; i <= 50; i++) {
      const bookmarks = await within(driver, async session => {
        await session.executeWrite(tx => tx.run('CREATE (:A)'))
        return session.lastBookmarks()
      })
      assert.equal(await within(driver, session => count(session, 'A'), { bookmarks }), 2 + i)
    }
    await within(driver, session => fails(() => session.run('RETURN 1'),
      'Neo.ClientError.Transaction.InvalidBookmark',
      'Neo.ClientError.Transaction.InvalidBookmarkMixture'), { bookmarks: ['nonsense'] })
  })
})

const TIMED_OUT = ['Neo.ClientError.Transaction.TransactionTimedOut',
  'Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration']

behaviour('timeouts', async server => {
  await server.session(async session => {
    const started = Date.now()
    await fails(() => session.run(ENDLESS, {}, { timeout: 300 }), ...TIMED_OUT)
    assert(Date.now() - started < 10000, 'it ended about when it had to')
    const transaction = await session.beginTransaction({ timeout: 300 })
    await transaction.run('CREATE (:A)')
    await fails(() => transaction.run(ENDLESS), ...TIMED_OUT)
    await transaction.close()
    assert.equal(await count(session, 'A'), 0)
    assert.equal((await session.run('RETURN 1', {}, { timeout: 30000 })).records.length, 1)
  })
})

async function running (session, text) {
  const query = 'SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery CONTAINS $text RETURN transactionId'
  return (await session.run(query, { text })).records.map(record => record.get(0))
}

behaviour('cancellation', async server => {
  await server.session(async watch => {
    // Losing the connection in the middle of a query ends the query.
    let mark = 'lost in the middle'
    const proxy = await server.proxy()
    const lost = fails(() => server.session(
      session => session.run(`/* ${mark} */ ${ENDLESS}`), { uri: proxy.uri }))
    await eventually(async () => (await running(watch, mark)).length > 0, 'the query runs')
    await proxy.close()
    await lost
    await eventually(async () => (await running(watch, mark)).length === 0, 'the query ended')
    // Leaving a result half read frees what it held.
    mark = 'half read'
    await server.session(async session => {
      for await (const record of session.run(`UNWIND range(1, 100000000) AS i RETURN i // ${mark}`)) {
        assert(record)
        break
      }
    }, { session: { fetchSize: 1 } })
    await eventually(async () => (await running(watch, mark)).length === 0, 'the query ended')
  })
})

behaviour('terminated_transactions', async server => {
  await server.driver(driver => within(driver, session => within(driver, async other => {
    const mark = 'terminated by another'
    const failure = fails(() => other.run(`/* ${mark} */ ${ENDLESS}`))
    await eventually(async () => (await running(session, mark)).length > 0, 'the query runs')
    const [id] = await running(session, mark)
    const { records } = await session.run('TERMINATE TRANSACTIONS $id', { id })
    assert.equal(records[0].get('message'), 'Transaction terminated.')
    assert((await failure).code.includes('Terminated'))
  })))
})

behaviour('transaction_metadata', async server => {
  await server.driver(driver => within(driver, session => within(driver, async other => {
    const metadata = { app: 'drivers', n: int(7) }
    const transaction = await session.beginTransaction({ metadata })
    await transaction.run('RETURN 1')
    const query = "SHOW TRANSACTIONS YIELD metaData, database WHERE metaData.app = 'drivers' RETURN metaData, database"
    const { records } = await other.run(query)
    assert.deepEqual(records.map(record => record.toObject()), [{ metaData: metadata, database: server.database }])
    await transaction.rollback()
    const own = 'SHOW TRANSACTIONS YIELD metaData RETURN metaData.auto AS auto'
    const rows = (await session.run(own, {}, { metadata: { auto: true } })).records
    assert(rows.some(row => row.get('auto') === true))
  })))
})

behaviour('read_mode_refuses_writes', async server => {
  const code = 'Neo.ClientError.Statement.AccessMode'
  await server.session(async session => {
    await fails(() => session.run('CREATE (:A)'), code)
    await fails(() => session.executeRead(tx => tx.run('CREATE (:A)')), code)
    assert.equal(await count(session, 'A'), 0)
  }, { session: { defaultAccessMode: neo4j.session.READ } })
})

behaviour('concurrent_sessions', async server => {
  const [sessions, rounds] = [50, 10]
  await server.driver(async driver => {
    await Promise.all(Array.from({ length: sessions }, async (_, by) => {
      for (let i = 0; i < rounds; i++) {
        await within(driver, async session => {
          await session.run('CREATE (:S {by: $by, i: $i})', { by: int(by), i: int(i) })
          const query = 'MATCH (n:S {by: $by}) RETURN count(n)'
          assert.equal(await value(session, query, { by: int(by) }), i + 1)
        })
      }
    }))
    assert.equal(await within(driver, session => count(session, 'S')), sessions * rounds)
  }, { maxConnectionPoolSize: 10 })
})
