import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from './load.mjs'

const { parse, guess, editable, typeName, typeOf } = await load('graph/input')

const cases = [
  ['automatic', 'Ada', '$value', 'Ada'],
  ['automatic', '42', '$value', 42],
  ['automatic', '1.0', 'toFloat($value)', '1.0'],
  ['automatic', 'true', '$value', true],
  ['automatic', '2026-11-26', 'date($value)', '2026-11-26'],
  ['automatic', '["a"]', '$value', ['a']],
  ['string', ' 42 ', '$value', ' 42 '],
  ['string', '', '$value', ''],
  ['integer', '-7', '$value', -7],
  ['integer', '9007199254740993', 'toInteger($value)', '9007199254740993'],
  ['integer', '-9223372036854775808', 'toInteger($value)', '-9223372036854775808'],
  ['float', '1', 'toFloat($value)', '1'],
  ['float', 'Infinity', 'toFloat($value)', 'Infinity'],
  ['boolean', 'FALSE', '$value', false],
  ['datetime', '2026-11-26T12:00Z', 'datetime($value)', '2026-11-26T12:00Z'],
  ['local datetime', '2026-11-26T12:00', 'localdatetime($value)', '2026-11-26T12:00'],
  ['local time', '12:00', 'localtime($value)', '12:00'],
  ['duration', 'P1D', 'duration($value)', 'P1D'],
  ['point', '{"x": 1, "y": 2}', 'point($value)', { x: 1, y: 2 }],
  ['list', '[1, 2]', '$value', [1, 2]],
  ['list', '[1.0, 2]', '[item IN $value | toFloat(item)]', [1, 2]],
  ['list', '[9007199254740993]', '[item IN $value | toInteger(item)]', ['9007199254740993']],
  ['list', '[]', '$value', []]
]

for (const [type, text, expression, parameter] of cases) {
  test(`${type}: ${text}`, () => assert.deepEqual(parse(type, text), { expression, parameter }))
}

const errors = [
  ['integer', '1.5'], ['integer', ''], ['integer', '9223372036854775808'], ['float', 'x'], ['float', ''],
  ['boolean', 'yes'], ['date', ''], ['point', '{"x": 1}'], ['point', '[1, 2]'], ['list', '1'],
  ['list', '[1, "a"]'], ['list', '[[1]]'], ['list', '[null]']
]

for (const [type, text] of errors) {
  test(`${type} is not ${JSON.stringify(text)}`, () => assert.ok('error' in parse(type, text)))
}

test('what is typed never becomes part of the expression', () => {
  for (const type of ['automatic', 'string', 'date', 'datetime', 'duration', 'time']) {
    const hostile = "x') DETACH DELETE n //"
    assert.ok(!parse(type, hostile).expression.includes('DELETE'))
  }
})

test('types are guessed', () => {
  assert.equal(guess('2026-11-26T12:00:00+01:00'), 'datetime')
  assert.equal(guess('2026-11-26T12:00:00'), 'local datetime')
  assert.equal(guess('1e3'), 'float')
  assert.equal(guess('0x10'), 'string')
})

test('editing begins with what reads back as the same', () => {
  const typed = (type, text) => ({ kind: 'typed', type, text })
  const values = [
    'a', 7n, 1, 1.5, true, [1n, 2n], [1, 2.5], ['a "b"'], typed('Date', '2026-11-26'),
    typed('Duration', 'P1D')
  ]
  for (const value of values) assert.ok(!('error' in parse(typeOf(value), editable(value))), typeName(value))
  assert.equal(editable(1), '1.0')
  assert.equal(editable([1, 2.5]), '[1.0, 2.5]')
  assert.equal(editable(typed('Point', 'SRID=4326;POINT (11.6 48.1)')), '{"longitude":11.6,"latitude":48.1}')
  assert.equal(editable(typed('Point', 'SRID=9157;POINT Z (1 2 3)')), '{"x":1,"y":2,"z":3}')
  assert.equal(editable(typed('Vector', '[1, 2]')), undefined)
})

test('types have names', () => {
  assert.equal(typeName(['a']), 'list of string')
  assert.equal(typeName([1n, 'a']), 'list')
  assert.equal(typeName(7n), 'integer')
})
