// Errors that a client meets, by the codes it tells them by.

import { ENCRYPTED, assert, behaviour, fails, neo4j, value, within } from './behaviour.mjs'

const LOST = ['ServiceUnavailable', 'SessionExpired']

behaviour('syntax_errors', async server => {
  await server.session(async session => {
    const code = 'Neo.ClientError.Statement.SyntaxError'
    for (const query of ['RETRUN 1', 'MATCH (n RETURN n', 'RETURN', 'MATCH (n) RETURN m']) {
      await fails(() => session.run(query), code)
    }
    const error = await fails(() => session.run('RETURN 1 AS x\nRETRUN 2'), code)
    assert(error.message.includes('line 2'), error.message)
    assert.equal(await value(session, 'RETURN 1'), 1, 'the connection goes on')
  })
})

behaviour('constraint_violations', async server => {
  await server.session(async session => {
    const constraint = 'CREATE CONSTRAINT FOR (n:Unique) REQUIRE n.id IS UNIQUE'
    const twice = 'CREATE (:Unique {id: 1})'
    const code = 'Neo.ClientError.Schema.ConstraintValidationFailed'
    await session.run(constraint)
    await session.run(twice)
    await fails(() => session.run(twice), code)
    await fails(() => session.executeWrite(tx => tx.run(twice)), code)
    await fails(() => session.run('CREATE (n:Node)-[:R]->() DELETE n'), code)
    await fails(() => session.run(constraint), 'Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists',
      'Neo.ClientError.Schema.ConstraintAlreadyExists')
    assert.equal(await value(session, 'MATCH (n) RETURN count(n)'), 1)
  })
})

behaviour('runtime_errors', async server => {
  await server.session(async session => {
    const statement = (kind, query, parameters) =>
      fails(() => session.run(query, parameters), `Neo.ClientError.Statement.${kind}`)
    await statement('TypeError', 'CREATE (n {v: $v}) RETURN 1 + n.v', { v: true })
    await statement('ParameterMissing', 'RETURN $missing')
    await statement('ArithmeticError', 'RETURN 1 / $x', { x: neo4j.int(0) })
    await statement('ArgumentError', 'RETURN range(1, 2, $x)', { x: neo4j.int(0) })
    await fails(() => session.run('CALL no.such.procedure()'), 'Neo.ClientError.Procedure.ProcedureNotFound')
    await fails(() => session.run('CREATE (n {v: $v})', { v: { a: 'map' } }))
  })
})

behaviour('unknown_databases', async server => {
  await server.driver(async driver => {
    await fails(() => driver.executeQuery('RETURN 1', {}, { database: 'nosuch' }),
      'Neo.ClientError.Database.DatabaseNotFound')
    const { records } = await driver.executeQuery('RETURN 1', {}, { database: 'neo4j' })
    assert.equal(records.length, 1)
  })
})

behaviour('lost_connections', async server => {
  const proxy = await server.proxy()
  await server.driver(async driver => {
    await driver.verifyConnectivity()
    await within(driver, async session => {
      await fails(async () => {
        for await (const record of session.run('UNWIND range(1, 100000000) AS i RETURN i')) {
          assert(record)
          await proxy.cut()
        }
      }, ...LOST)
    }, { fetchSize: 10 })
    await within(driver, async session => {
      assert.equal(await value(session, 'RETURN 1'), 1, 'reconnected')
      // A transaction that is lost before its commit is not there.
      const transaction = await session.beginTransaction()
      await transaction.run('CREATE (:Lost)')
      await proxy.cut()
      await fails(() => transaction.commit(), ...LOST)
      // A managed transaction tries again by itself.
      let runs = 0
      await session.executeWrite(async tx => {
        await tx.run('CREATE (:Kept)')
        runs += 1
        if (runs === 1) await proxy.cut()
      })
      assert.equal(runs, 2)
      const { records } = await session.run('MATCH (n) RETURN labels(n)[0] AS label')
      assert.deepEqual(records.map(record => record.get('label')), ['Kept'])
    })
    await proxy.close()
  }, { uri: proxy.uri })
  await server.driver(driver => fails(() => driver.verifyConnectivity(), ...LOST), { uri: proxy.uri })
})

behaviour('bad_credentials', async server => {
  const code = 'Neo.ClientError.Security.Unauthorized'
  const uri = `bolt${ENCRYPTED}://${server.secureAddress}`
  const { basic } = neo4j.auth
  for (const auth of [basic('neo4j', 'wrong'), basic('nobody', 'wrong'), undefined]) {
    await server.driver(driver => fails(() => driver.executeQuery('RETURN 1'), code), { uri, auth })
  }
  await server.driver(async driver => {
    assert.equal((await driver.executeQuery('RETURN 1')).records.length, 1)
    assert.equal(await driver.verifyAuthentication(), true)
    assert.equal(await driver.verifyAuthentication({ auth: basic('neo4j', 'wrong') }), false)
  }, { uri, auth: server.auth })
})
