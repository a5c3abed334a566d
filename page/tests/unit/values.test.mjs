import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from '../load.mjs'

const { decode, elements, literal, name, plain, shown } = await load('server/values.ts')
const { csv } = await load('server/csv.ts')

const typed = ($type, _value) => ({ $type, _value })
const node = (id, labels, properties = {}) => typed('Node', { _element_id: id, _labels: labels, _properties: properties })

test('typed JSON becomes values', () => {
  assert.equal(decode(typed('Null', null)), null)
  assert.equal(decode(typed('Integer', '9223372036854775807')), 9223372036854775807n)
  assert.equal(decode(typed('Float', '-Infinity')), -Infinity)
  assert(Number.isNaN(decode(typed('Float', 'NaN'))))
  assert.equal(decode(typed('Float', '1.0')), 1)
  assert.deepEqual(decode(typed('List', [typed('Boolean', true), typed('String', 'x')])), [true, 'x'])
  assert.deepEqual(decode(typed('Date', '2026-11-26')), { kind: 'typed', type: 'Date', text: '2026-11-26' })
  assert.equal(decode(typed('Vector', { coordinatesType: 'FLOAT32', coordinates: ['1.0', '2.0'] })).text, '[1.0, 2.0]')
  const map = decode(typed('Map', JSON.parse('{"__proto__": {"$type": "Integer", "_value": "1"}}')))
  assert.deepEqual(Object.keys(map.entries), ['__proto__'])
})

test('literals are what Cypher reads', () => {
  assert.equal(literal('it\'s\na \\'), "'it\\'s\\na \\\\'")
  assert.equal(literal(1n), '1')
  assert.equal(literal(1), '1.0')
  assert.equal(literal(1e30), '1e+30')
  assert.equal(literal([null, true, 'x']), "[null, true, 'x']")
  assert.equal(literal(decode(node('n:1', ['A B'], { x: typed('Integer', '1') }))), '(:`A B` {x: 1})')
  assert.equal(name('a`b'), '`a``b`')
  assert.equal(shown('text'), 'text')
})

test('plain JSON loses no digit of an integer', () => {
  assert.equal(plain(9007199254740991n), 9007199254740991)
  assert.equal(plain(9007199254740993n), '9007199254740993')
  assert.equal(plain(NaN), 'NaN')
})

test('elements are found wherever they are', () => {
  const relationship = typed('Relationship', {
    _element_id: 'r:1', _type: 'T', _start_node_element_id: 'n:1', _end_node_element_id: 'n:2', _properties: {}
  })
  const path = typed('Path', [node('n:1', []), relationship, node('n:2', [])])
  const found = elements([decode(typed('Map', { p: typed('List', [path]) })), decode(node('n:3', [])), 1n])
  assert.deepEqual([...found.nodes.keys()], ['n:1', 'n:2', 'n:3'])
  assert.deepEqual([...found.relationships.keys()], ['r:1'])
})

test('CSV quotes what it must and starts no formula', () => {
  assert.equal(csv([['a', 'b"c'], ['x,y', 'z\n']]), 'a,"b""c"\r\n"x,y","z\n"\r\n')
  assert.equal(csv([['=1+1', '@x', '-1.5', '+cmd', '\tx']]), "'=1+1,'@x,-1.5,'+cmd,'\tx\r\n")
})
