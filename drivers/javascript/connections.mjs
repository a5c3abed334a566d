// Connections: addresses, routing, TLS, who one is, what stays the same between them.

import { ENCRYPTED, assert, behaviour, fails, hasCustomCertificates, neo4j, value, within } from './behaviour.mjs'

behaviour('connectivity_and_server_info', async server => {
  await server.driver(async driver => {
    await driver.verifyConnectivity()
    const info = await driver.getServerInfo()
    assert.equal(info.address, server.address)
    assert(info.agent.startsWith('Neo4j/5.'), info.agent)
    const version = info.protocolVersion
    assert(Number(version?.major ?? version) >= 5, `${version}`)
    const { records } = await driver.executeQuery('CALL dbms.components() YIELD name, versions, edition')
    assert(records[0].get('versions').length > 0)
    assert(await driver.supportsMultiDb())
  })
})

behaviour('routing', async server => {
  const query = 'MATCH (n:A) RETURN count(n)'
  await server.driver(async driver => {
    await driver.verifyConnectivity()
    await within(driver, async session => {
      await session.executeWrite(tx => tx.run('CREATE (:A)'))
      assert.equal(await session.executeRead(tx => value(tx, query)), 1)
      await fails(() => session.executeRead(tx => tx.run('CREATE (:A)')))
    })
    const read = await driver.executeQuery(query, {}, { database: 'neo4j', routing: neo4j.routing.READ })
    assert.equal(read.records.length, 1)
    await fails(() => driver.executeQuery('RETURN 1', {}, { database: 'nosuch' }),
      'Neo.ClientError.Database.DatabaseNotFound')
  }, { uri: `${server.routingScheme}://${server.address}` })
})

behaviour('element_ids_are_stable', async server => {
  await server.session(async session => {
    const query = 'CREATE (a:A)-[r:R]->(b:B) RETURN elementId(a) AS a, elementId(r) AS r, a AS node, r AS rel'
    const made = (await session.run(query)).records[0].toObject()
    assert.deepEqual([made.node.elementId, made.rel.elementId], [made.a, made.r])
    await session.run('MATCH (a:A)-[r]->(b) SET a.x = 1, r.x = 1, a:C CREATE (:A), (b)-[:R]->(a)')
    const find = 'MATCH (a)-[r]->() WHERE elementId(a) = $a AND elementId(r) = $r RETURN a, r'
    const { records } = await session.run(find, { a: made.a, r: made.r })
    assert.deepEqual(records.map(row => [row.get('a').elementId, row.get('r').elementId]), [[made.a, made.r]])
    const { summary } = await session.run('MATCH (a) WHERE elementId(a) = $a DETACH DELETE a', { a: made.a })
    assert.equal(summary.counters.updates().nodesDeleted, 1)
    const gone = "MATCH (a) WHERE elementId(a) IN [$a, 'nonsense'] RETURN count(a)"
    assert.equal(await value(session, gone, { a: made.a }), 0)
  })
})

behaviour('impersonation', async server => {
  // Neo4j community has none; who may impersonate whom is a matter of roles.
  await server.driver(async driver => {
    await within(driver, session => fails(() => session.run('RETURN 1')), { impersonatedUser: 'nobody' })
    assert.equal(await within(driver, session => value(session, 'RETURN 1')), 1)
  }, { uri: `bolt${ENCRYPTED}://${server.secureAddress}`, auth: server.auth })
})

behaviour('changing_users', async server => {
  const { basic } = neo4j.auth
  await server.driver(async driver => {
    const system = { database: 'system' }
    await driver.executeQuery(
      "CREATE OR REPLACE USER other SET PASSWORD 'other-password' CHANGE NOT REQUIRED", {}, system)
    const user = auth => within(driver,
      session => value(session, 'SHOW CURRENT USER YIELD user RETURN user'), { ...system, auth })
    assert.equal(await user(), 'neo4j')
    assert.equal(await user(basic('other', 'other-password')), 'other')
    await fails(() => user(basic('neo4j', 'wrong'))) // The driver hides the code behind one of its own.
    assert.equal(await user(), 'neo4j')
    await driver.executeQuery('DROP USER other', {}, system)
  }, { uri: `bolt${ENCRYPTED}://${server.secureAddress}`, auth: server.auth })
})

behaviour('encryption', async server => {
  const works = async settings => {
    const { records } = await server.driver(driver => driver.executeQuery('RETURN 1'),
      { auth: server.auth, ...settings })
    assert.equal(records.length, 1)
  }
  for (const scheme of ['bolt', 'neo4j']) {
    await works({ uri: `${scheme}${ENCRYPTED}://${server.secureAddress}` })
  }
  if (!hasCustomCertificates) return
  const trusted = {
    encrypted: 'ENCRYPTION_ON',
    trust: 'TRUST_CUSTOM_CA_SIGNED_CERTIFICATES',
    trustedCertificates: [server.certificate]
  }
  // The driver's TLS wants a name, not an address of numbers, where it checks certificates.
  await works({ uri: `bolt://${server.secureAddress.replace('127.0.0.1', 'localhost')}`, ...trusted })
})

behaviour('untrusted_certificates', async server => {
  for (const uri of [`bolt+s://${server.secureAddress}`, `bolt+ssc://${server.address}`]) {
    await server.driver(driver => fails(() => driver.verifyConnectivity(), 'ServiceUnavailable'),
      { uri, auth: server.auth })
  }
})
