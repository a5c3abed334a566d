// Every type there is, as parameter and as result.

import { assert, behaviour, int, neo4j, value } from './behaviour.mjs'

// Each of `values` comes back as it was sent: alone, in a list, in a map.
async function roundTrip (server, values, settings) {
  await server.session(async session => {
    for (const sent of values) {
      const query = 'RETURN $v AS alone, [$v] AS list, {key: $v} AS map'
      const record = (await session.run(query, { v: sent })).records[0]
      assert.deepEqual(record.get('alone'), sent)
      assert.deepEqual(record.get('list'), [sent])
      assert.deepEqual(record.get('map'), { key: sent })
    }
  }, settings)
}

// Each of `values` is a legal property and comes back from the graph.
async function stored (server, values, settings) {
  await server.session(async session => {
    for (const sent of values) {
      await session.run('MERGE (n:Store) SET n.v = $v', { v: sent })
      const { records } = await session.run('MATCH (n:Store) RETURN n.v AS v')
      assert.deepEqual(records[0].get('v'), sent)
    }
  }, settings)
}

// Cypher expressions give what the driver's own type says.
async function madeByServer (server, expected) {
  await server.session(async session => {
    for (const [expression, made] of expected) {
      const { records } = await session.run(`RETURN ${expression} AS v`)
      assert.deepEqual(records[0].get('v'), made, expression)
    }
  })
}

behaviour('null_and_booleans', async server => {
  await roundTrip(server, [null, true, false])
  await stored(server, [true, false])
})

behaviour('integers', async server => {
  const edges = [0n, 1n, -1n, -16n, -17n, 127n, 128n, -128n, -129n, 32767n, 32768n, -32768n, -32769n]
  edges.push(2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n), -(2n ** 31n) - 1n, 2n ** 63n - 1n, -(2n ** 63n))
  await roundTrip(server, edges, { useBigInt: true })
  await stored(server, edges, { useBigInt: true })
  await roundTrip(server, edges.map(edge => int(edge)))
  await madeByServer(server, [['9223372036854775807', int('9223372036854775807')],
    ['-9223372036854775808', int('-9223372036854775808')]])
})

behaviour('floats', async server => {
  const edges = [0.5, 1.5, -2.25, 0.1, Number.MAX_VALUE, Number.MIN_VALUE, Infinity, -Infinity, NaN, -0]
  await roundTrip(server, edges)
  await stored(server, edges)
  await madeByServer(server, [['1.0 / 4', 0.25], ['toFloat(3)', 3]])
})

behaviour('strings', async server => {
  const texts = ['', 'a', 'ä', '日本語', '👩‍👩‍👧 e\u0301', 'a\0b', '\'"\\\n`$', '\u{10ffff}']
  for (const size of [15, 16, 255, 256, 65535, 65536]) texts.push('x'.repeat(size))
  await roundTrip(server, texts)
  await stored(server, texts)
  await madeByServer(server, [['\'\\u00e4\' + "ö"', 'äö']])
})

behaviour('bytes_values', async server => {
  const edges = [0, 1, 255, 256, 70000].map(size => Int8Array.from({ length: size }, (_, i) => i % 256))
  await roundTrip(server, edges)
  await stored(server, edges)
})

behaviour('lists_and_maps', async server => {
  const nested = { a: [int(1), 'two', 3.5, null, [true, { b: [] }]], '': {}, 'ключ`': { c: { d: [[]] } } }
  const numbers = Array.from({ length: 300 }, (_, i) => int(i))
  const map = Object.fromEntries(numbers.map(number => [number.toString(), number]))
  await roundTrip(server, [[], {}, [[]], nested, numbers, map])
  const long = Array.from({ length: 70000 }, (_, i) => int(i))
  await stored(server, [[int(1), int(2)], ['a', ''], [1.5], [true, false], long])
  await madeByServer(server, [['range(1, 3)', [int(1), int(2), int(3)]],
    ['{a: 1, b: [null]}', { a: int(1), b: [null] }]])
})

behaviour('nodes', async server => {
  await server.session(async session => {
    const made = await session.run("CREATE (n:A:`B c` {name: 'x', list: [1, 2]}) RETURN n")
    const node = made.records[0].get('n')
    assert(neo4j.isNode(node))
    assert.deepEqual(node.labels.toSorted(), ['A', 'B c'])
    assert.deepEqual(node.properties, { name: 'x', list: [int(1), int(2)] })
    assert(typeof node.elementId === 'string' && node.elementId.length > 0)
    const again = (await session.run('MATCH (n:A) RETURN n, [n] AS l, {m: n} AS m')).records[0]
    assert.equal(again.get('n').elementId, node.elementId)
    assert.equal(again.get('l')[0].elementId, node.elementId)
    assert.equal(again.get('m').m.elementId, node.elementId)
    const bare = (await session.run('CREATE (n) RETURN n')).records[0].get('n')
    assert.deepEqual([bare.labels, bare.properties], [[], {}])
  })
})

behaviour('relationships', async server => {
  await server.session(async session => {
    const query = 'CREATE (a:A)-[r:`KNOWS of` {since: 1999}]->(b:B) RETURN a, r, b'
    const record = (await session.run(query)).records[0]
    const relationship = record.get('r')
    assert(neo4j.isRelationship(relationship))
    assert.equal(relationship.type, 'KNOWS of')
    assert.deepEqual(relationship.properties, { since: int(1999) })
    assert.equal(relationship.startNodeElementId, record.get('a').elementId)
    assert.equal(relationship.endNodeElementId, record.get('b').elementId)
    const loop = (await session.run('CREATE (a)-[r:LOOP]->(a) RETURN r')).records[0].get('r')
    assert.equal(loop.startNodeElementId, loop.endNodeElementId)
    const two = 'MATCH (a:A), (b:B) CREATE (a)-[r:P]->(b), (a)-[s:P]->(b) RETURN r, s'
    const parallel = (await session.run(two)).records[0]
    assert.notEqual(parallel.get('r').elementId, parallel.get('s').elementId)
  })
})

behaviour('paths', async server => {
  const places = path => [path.start, ...path.segments.map(segment => segment.end)]
    .map(node => node.properties.i.toNumber())
  await server.session(async session => {
    const path = async pattern =>
      (await session.run(`MATCH p = ${pattern} RETURN p`)).records[0].get('p')
    await session.run('CREATE (:P {i: 0})-[:X {w: 1}]->(:P {i: 1})<-[:Y]-(:P {i: 2})')
    const there = await path('(:P {i: 0})-->()<--()')
    assert(neo4j.isPath(there))
    assert.deepEqual(places(there), [0, 1, 2])
    assert.deepEqual(there.segments.map(segment => segment.relationship.type), ['X', 'Y'])
    assert.deepEqual(there.segments[0].relationship.properties, { w: int(1) })
    assert.equal(there.segments[1].relationship.startNodeElementId, there.end.elementId)
    assert.equal(there.length, 2)
    assert.deepEqual(places(await path('(:P {i: 2})-->()<--()')), [2, 1, 0])
    const alone = await path('(:P {i: 1})')
    assert.deepEqual([alone.length, places(alone)], [0, [1]])
    await session.run('CREATE (a:C {i: 0})-[:X]->(b:C {i: 1})-[:X]->(a)')
    assert.deepEqual(places(await path('(:C {i: 0})-[:X*2]->()')), [0, 1, 0])
  })
})

behaviour('dates_and_times', async server => {
  const { Date, DateTime, LocalDateTime, LocalTime, Time } = neo4j.types
  const clock = [12, 34, 56, 123456789].map(part => int(part))
  const day = (...parts) => parts.map(part => int(part))
  const offset = int(5 * 3600 + 45 * 60)
  const values = [
    ["date('2024-02-29')", new Date(...day(2024, 2, 29))],
    ["date('-0044-03-15')", new Date(...day(-44, 3, 15))],
    ["localtime('12:34:56.123456789')", new LocalTime(...clock)],
    ["time('12:34:56.123456789+05:45')", new Time(...clock, offset)],
    ["localdatetime('1969-12-31T12:34:56.123456789')", new LocalDateTime(...day(1969, 12, 31), ...clock)],
    ["datetime('2024-07-01T12:34:56.123456789+05:45')",
      new DateTime(...day(2024, 7, 1), ...clock, offset)],
    ["datetime('1955-01-01T12:34:56.123456789Z')", new DateTime(...day(1955, 1, 1), ...clock, int(0))],
    ["datetime('2024-01-01T12:34:56.123456789[Europe/Stockholm]')",
      new DateTime(...day(2024, 1, 1), ...clock, int(3600), 'Europe/Stockholm')],
    ["datetime('2024-07-01T12:34:56.123456789[Europe/Stockholm]')",
      new DateTime(...day(2024, 7, 1), ...clock, int(7200), 'Europe/Stockholm')]
  ]
  await server.session(async session => {
    for (const [text, v] of values) {
      const query = `MERGE (n:T) SET n.v = $v RETURN $v AS back, ${text} AS made, $v = ${text} AS equal, n.v AS v`
      const record = (await session.run(query, { v })).records[0]
      assert(record.get('equal'), `${text} is not the parameter ${v}`)
      for (const key of ['back', 'made', 'v']) assert.equal(record.get(key).toString(), v.toString(), key)
    }
  })
})

behaviour('durations', async server => {
  const { Duration } = neo4j.types
  const duration = (...parts) => new Duration(...parts.map(part => int(part)))
  const values = [duration(0, 0, 0, 0), duration(14, 3, 5, 7), duration(-1, 40, -61, 0),
    duration(0, 0, -1, 999999999)]
  await roundTrip(server, values)
  await stored(server, values)
  await madeByServer(server, [['duration(\'P1Y2M3DT4H5M6.000000007S\')', duration(14, 3, 14706, 7)],
    ['duration({days: -1, seconds: 90000})', duration(0, -1, 90000, 0)]])
})

behaviour('points', async server => {
  const point = (srid, ...coordinates) => new neo4j.types.Point(int(srid), ...coordinates)
  const values = [point(7203, 1.5, -2), point(9157, 1, 2, 3.5), point(4326, 12.5, 56.25),
    point(4979, -12.5, -56.25, 100)]
  await roundTrip(server, values)
  await stored(server, values)
  await madeByServer(server, [['point({x: 1, y: 2})', point(7203, 1, 2)],
    ['point({x: 1, y: 2, z: 3})', point(9157, 1, 2, 3)],
    ['point({longitude: 1, latitude: 2})', point(4326, 1, 2)],
    ['point({longitude: 1, latitude: 2, height: 3})', point(4979, 1, 2, 3)]])
})

behaviour('vectors', async server => {
  if (!server.isTelar) return // The vectors of Neo4j are those of its block format.
  if (!neo4j.vector) { // a driver before Bolt 6
    await madeByServer(server, [['vector([1, -2], 2, INT8)', [int(1), int(-2)]],
      ['vector([1, 0.5], 2, FLOAT32)', [1, 0.5]]])
    return
  }
  const values = [Int8Array.of(1, -2), Int16Array.of(1, -2), Int32Array.of(1, -2), BigInt64Array.of(1n, -2n),
    Float32Array.of(1, -0.5), Float64Array.of(1, 1e300), new Float32Array(4096)].map(neo4j.vector)
  await roundTrip(server, values)
  await stored(server, values)
  await madeByServer(server, [['vector([1, -2], 2, INT8)', neo4j.vector(Int8Array.of(1, -2))],
    ['vector([1, 0.5], 2, FLOAT32)', neo4j.vector(Float32Array.of(1, 0.5))]])
})

behaviour('thousand_parameters', async server => {
  const numbers = Array.from({ length: 1000 }, (_, i) => i)
  const parameters = Object.fromEntries(numbers.map(i => [`p${i}`, int(i)]))
  const query = `RETURN [${numbers.map(i => `$p${i}`).join(', ')}] AS all`
  await server.session(async session => {
    assert.deepEqual(await value(session, query, parameters), numbers.map(i => int(i)))
  })
})

behaviour('large_strings', async server => {
  const text = '0123456789abcdeä'.repeat(10 * 2 ** 20 / 17)
  await server.session(async session => {
    const query = 'CREATE (n:Big {v: $v}) RETURN n.v AS v, size($v) AS size'
    const record = (await session.run(query, { v: text })).records[0]
    assert.equal(record.get('size').toNumber(), text.length)
    assert(record.get('v') === text)
    assert(await value(session, 'MATCH (n:Big) RETURN n.v AS v') === text)
  })
})

behaviour('deep_lists', async server => {
  let deep = int(0)
  for (let i = 0; i < 60; i++) deep = [deep]
  await roundTrip(server, [deep])
  let made = []
  for (let i = 0; i < 49; i++) made = [made]
  await madeByServer(server, [['['.repeat(50) + ']'.repeat(50), made]])
})
