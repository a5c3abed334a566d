import assert from 'node:assert/strict'
import test from 'node:test'

import { load, relationship } from './load.mjs'

const { bundle, edgeCaption, FAN_MAX } = await load('graph/bundle')

test('a single relationship is a straight line', () => {
  const [edge, ...more] = bundle([relationship('r', 'a', 'b')])
  assert.equal(more.length, 0)
  assert.deepEqual([edge.key, edge.source, edge.target, edge.curvature, edge.loop], ['r', 'a', 'b', 0, 0])
})

test('parallel ones are a fan, in which both directions have a curve of their own', () => {
  const ends = [['a', 'b'], ['b', 'a'], ['a', 'b']]
  const edges = bundle(ends.map(([start, end], index) => relationship(`${index}`, start, end)))
  // To the left from a is to the right from b.
  const sides = edges.map(({ source, curvature }) => source === 'a' ? curvature : -curvature)
  assert.equal(new Set(sides.map(side => side.toFixed(3))).size, 3)
  assert.ok(Math.abs(sides.reduce((sum, side) => sum + side, 0)) < 1e-9)
})

test('many become one thick edge for each direction', () => {
  const there = Array.from({ length: FAN_MAX }, (_, i) => relationship(`t${i}`, 'a', 'b'))
  assert.equal(bundle(there).length, FAN_MAX)
  const edges = bundle([...there, relationship('back', 'b', 'a', 'LIKES')])
  assert.deepEqual(edges.map(({ members }) => members.length), [FAN_MAX, 1])
  assert.equal(edgeCaption(edges[0]), `${FAN_MAX} × KNOWS`)
  assert.equal(edgeCaption(edges[1]), 'LIKES')
  assert.notEqual(edges[0].curvature, 0)
})

test('a bundle of several types says how many it is', () => {
  const many = Array.from({ length: FAN_MAX + 1 }, (_, i) => relationship(`${i}`, 'a', 'b', `T${i % 2}`))
  assert.equal(edgeCaption(bundle(many)[0]), `${FAN_MAX + 1} relationships`)
})

test('loops have numbers', () => {
  const edges = bundle([relationship('1', 'a', 'a'), relationship('2', 'a', 'a')])
  assert.deepEqual(edges.map(({ loop }) => loop), [1, 2])
})

test('identities with the same beginning are not confused', () => {
  const edges = bundle([relationship('1', 'a', 'bc'), relationship('2', 'ab', 'c')])
  assert.ok(edges.every(({ curvature }) => curvature === 0))
})
