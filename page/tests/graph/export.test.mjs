import assert from 'node:assert/strict'
import test from 'node:test'

import { load, node, relationship } from './load.mjs'

const { csv, escape, json, svg } = await load('graph/export')
const { cell } = await load('server/csv')

test('cells are quoted as RFC 4180 says', () => {
  assert.equal(cell('plain'), 'plain')
  assert.equal(cell('a,b'), '"a,b"')
  assert.equal(cell('say "hi"'), '"say ""hi"""')
  assert.equal(cell('two\nlines'), '"two\nlines"')
})

test('no cell is a formula', () => {
  for (const first of ['=', '+', '-', '@', '\t', '\r']) assert.match(cell(`${first}SUM(A1)`), /^"?'/)
  assert.equal(cell('=HYPERLINK("x")'), '"\'=HYPERLINK(""x"")"')
  // Numbers are none.
  assert.equal(cell('-1.5'), '-1.5')
  assert.equal(cell('-1+2'), "'-1+2")
})

test('a row for each element, a column for each property', () => {
  const text = csv({
    nodes: [node('n:0', ['A', 'B'], { name: 'x', born: 1n })],
    relationships: [relationship('r:0', 'n:0', 'n:0', 'T', { '=w': 1.5 })]
  })
  assert.equal(text, "_kind,_id,_labels,_type,_start,_end,'=w,born,name\r\n" +
    'node,n:0,A;B,,,,,1,x\r\nrelationship,r:0,,T,n:0,n:0,1.5,,\r\n')
})

test('JSON', () => {
  const shown = { nodes: [node('n:0', ['A'], { big: 2n ** 60n })], relationships: [] }
  const { nodes, relationships } = JSON.parse(json(shown))
  assert.deepEqual(nodes, [{ id: 'n:0', labels: ['A'], properties: { big: String(2n ** 60n) } }])
  assert.deepEqual(relationships, [])
})

test('a picture has no markup of the data', () => {
  assert.equal(escape('<a b="c">&\u0000'), '&lt;a b=&quot;c&quot;&gt;&amp;\ufffd')
  const at = (x, y) => ({ x, y, caption: '<script>alert(1)</script>', color: '#112233', size: 9 })
  const ends = { source: at(0, 0), target: at(100, 0) }
  const edge = {
    ...ends, caption: '"><image href="x"/>', color: '#000000', size: 1, curvature: 0.2, loop: 0
  }
  const loop = { ...edge, target: edge.source, loop: 1 }
  const picture = svg(
    {
      nodes: [edge.source, edge.target],
      edges: [edge, loop],
      text: '#000000',
      edgeText: '#000000',
      background: '#ffffff'
    },
    { left: 0, right: 100, bottom: 0, top: 0 }
  )
  assert.ok(!/<script|<image/.test(picture))
  assert.equal(picture.match(/<circle/g).length, 2)
  assert.equal(picture.match(/<path/g).length, 2)
  assert.equal(picture.match(/<polygon/g).length, 1)
  assert.match(picture, /&lt;script&gt;/)
  assert.ok(!picture.includes('NaN'))
})
