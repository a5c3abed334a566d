import assert from 'node:assert/strict'
import test from 'node:test'

import { byId, load, node, relationship } from './load.mjs'

const {
  View, difference, isEmpty, place, spiral, nearest, isInside, control, boxOf, bestProperty, nodeCaption,
  sizer, scale, load: loadStyles, save
} = await load('graph/view', 'graph/difference', 'graph/placement', 'graph/geometry', 'graph/styles')

const source = (nodes, relationships) => ({ nodes: byId(nodes), relationships: byId(relationships) })
const triangle = () => source(
  [node('a', ['P'], { name: 'A' }), node('b', ['P'], { name: 'B' }), node('c', ['Q'], { name: 'C' })],
  [relationship('ab', 'a', 'b'), relationship('bc', 'b', 'c', 'LIKES')]
)

test('the difference of two results', () => {
  const before = triangle()
  const after = triangle()
  assert.ok(isEmpty(difference(before, after)))
  after.nodes.set('a', node('a', ['P', 'R'], { name: 'A' }))
  after.nodes.set('d', node('d'))
  after.nodes.delete('c')
  after.relationships.delete('bc')
  after.relationships.set('ab', relationship('ab', 'a', 'b', 'KNOWS', { since: 1n }))
  const { added, changed, removed } = difference(before, after)
  assert.deepEqual([...added], ['d'])
  assert.deepEqual([...changed], ['a', 'ab'])
  assert.deepEqual([...removed.keys()], ['c', 'bc'])
})

test('1 and 1.0 are different, and so are a value and none', () => {
  const one = value => source([node('a', [], value)], [])
  assert.equal(difference(one({ x: 1n }), one({ x: 1 })).changed.size, 1)
  assert.equal(difference(one({ x: 1n }), one({})).changed.size, 1)
  assert.equal(difference(one({ x: 1n }), one({ y: 1n })).changed.size, 1)
})

test('a view keeps places, and shows what is gone while changes are marked', () => {
  const view = new View()
  view.take(triangle(), false)
  assert.equal(view.scene.value.nodes.size, 3)
  view.positions.set('a', { x: 1000, y: 7 })
  const after = triangle()
  after.nodes.delete('c')
  after.relationships.delete('bc')
  view.take(after, true)
  assert.deepEqual(view.scene.value.nodes.has('c'), true)
  assert.deepEqual(view.positions.get('a'), { x: 1000, y: 7 })
  view.mark(undefined)
  assert.equal(view.scene.value.nodes.has('c'), false)
})

test('hiding, removing and selecting', () => {
  const view = new View()
  view.take(triangle(), false)
  view.select(['a', 'b'])
  view.hide(['a'])
  assert.deepEqual([...view.selection.value], ['b'])
  assert.equal(view.scene.value.relationships.size, 1)
  view.showHidden()
  assert.equal(view.scene.value.nodes.size, 3)
  view.select(['a'])
  view.selectNeighbours()
  assert.deepEqual([...view.selection.value].sort(), ['a', 'b'])
  view.invert()
  assert.deepEqual([...view.selection.value], ['c'])
  view.select(['a'], true)
  view.select(['c'], true)
  assert.deepEqual([...view.selection.value], ['a'])
  view.remove(new Set(['b']))
  assert.equal(view.scene.value.relationships.size, 0)
  assert.equal(view.scene.value.degrees.get('a'), 0)
})

test('finding by identity, label, type and value', () => {
  const view = new View()
  view.take(triangle(), false)
  assert.deepEqual(view.find('q'), ['c'])
  assert.deepEqual(view.find('likes'), ['bc'])
  assert.deepEqual(view.find('AB'), ['ab'])
  assert.deepEqual(view.find('  '), [])
})

test('counts of labels and types', () => {
  const view = new View()
  view.take(triangle(), false)
  assert.deepEqual(view.labels.value, [{ name: 'P', count: 2 }, { name: 'Q', count: 1 }])
  assert.deepEqual(view.types.value, [{ name: 'KNOWS', count: 1 }, { name: 'LIKES', count: 1 }])
})

test('places are the same each time, apart from each other, and near a known neighbour', () => {
  const ids = Array.from({ length: 200 }, (_, i) => `${i}`)
  const edges = ids.slice(1).map(id => ({ source: id, target: '0' }))
  const places = place(ids, edges, new Map())
  assert.deepEqual(places, place(ids, edges, new Map()))
  assert.equal(new Set([...places.values()].map(({ x, y }) => `${x.toFixed(2)} ${y.toFixed(2)}`)).size, 200)
  const known = new Map([['0', { x: 500, y: 500 }]])
  const { x, y } = place(['0', '1'], [{ source: '0', target: '1' }], known).get('1')
  assert.ok(Math.hypot(x - 500, y - 500) < 60)
  assert.ok(Math.hypot(spiral(4).x, spiral(4).y) > 0)
})

test('edges to nodes that are not there place nothing', () => {
  assert.deepEqual([...place(['a'], [{ source: 'a', target: 'gone' }], new Map()).keys()], ['a'])
})

test('geometry', () => {
  const square = [{ x: 0, y: 0 }, { x: 4, y: 0 }, { x: 4, y: 4 }, { x: 0, y: 4 }]
  assert.ok(isInside({ x: 2, y: 2 }, square))
  assert.ok(!isInside({ x: 5, y: 2 }, square))
  const points = [['up', { x: 0, y: 5 }], ['right', { x: 5, y: 1 }], ['far', { x: 50, y: 0 }]]
  assert.equal(nearest({ x: 0, y: 0 }, points, 'right'), 'right')
  assert.equal(nearest({ x: 0, y: 0 }, points, 'up'), 'up')
  assert.equal(nearest({ x: 0, y: 0 }, points, 'left'), undefined)
  assert.deepEqual(control({ x: 0, y: 0 }, { x: 10, y: 0 }, 0.5), { x: 5, y: 5 })
  assert.equal(boxOf([]), undefined)
})

test('the best caption', () => {
  assert.equal(bestProperty({ age: 1n, Title: 'x', name: 'y' }), 'name')
  assert.equal(bestProperty({ age: 1n, userId: 'u', note: 'n' }), 'userId')
  assert.equal(bestProperty({}), undefined)
  assert.equal(nodeCaption(node('n:0', ['P'])), 'P')
  assert.equal(nodeCaption(node('n:0')), 'n:0')
  assert.equal(nodeCaption(node('n:0', [], { name: 'x'.repeat(99) })).length, 40)
  assert.equal(nodeCaption(node('n:0', [], { name: 'x', code: 'y' }), { caption: 'code' }), 'y')
})

test('sizes and scales', () => {
  const size = sizer([0, 100])
  assert.ok(size(100) > size(50) && size(50) > size(0))
  assert.equal(sizer([5, 5])(5), 9)
  const few = scale(['x', 'y', 'y'])
  assert.deepEqual([...few.values], [['y', 0], ['x', 1]])
  const many = scale(Array.from({ length: 50 }, (_, i) => BigInt(i)))
  assert.deepEqual(many, { kind: 'ramp', low: 0, high: 49 })
  assert.equal(scale(Array.from({ length: 50 }, (_, i) => BigInt(i)), true).kind, 'categories')
})

test('styles that the browser kept are checked', () => {
  const storage = { text: '', getItem () { return this.text }, setItem (_, text) { this.text = text } }
  save({ P: { color: '#112233', size: { by: 'fixed', value: 12 } } }, storage)
  assert.deepEqual({ ...loadStyles(storage) }, { P: { color: '#112233', size: { by: 'fixed', value: 12 } } })
  storage.text = JSON.stringify({
    P: { color: 'red; x', size: { by: 'fixed', value: 1e9 }, caption: 7, colorBy: {} }
  })
  assert.deepEqual({ ...loadStyles(storage) }, { P: {} })
  storage.text = 'no JSON'
  assert.deepEqual({ ...loadStyles(storage) }, {})
})
