// neovis.js, which draws what a query finds, in a page: with the driver of its own that it brings (4.4), over
// WebSocket.

import assert from 'node:assert/strict'

export const NEOVIS = 'neovis.js/dist/neovis.js'

const DATA = `CREATE (a:NeovisPerson {name: 'Alba', age: 41})-[:NEOVIS_KNOWS {since: 2020}]->(b:NeovisPerson {name: 'Bruno', age: 35}),
  (b)-[:NEOVIS_KNOWS {since: 2021}]->(:NeovisPerson {name: 'Carla', age: 29})`

// Draws a graph of three nodes in `page`, which the servers allow to connect; throws what goes wrong.
export async function neovis (page) {
  const { DRIVERS_BOLT: bolt, DRIVERS_PASSWORD: password } = process.env
  await page.addScriptTag({ url: '/neovis.js' })
  const drawn = await page.evaluate(async ({ bolt, password, data }) => {
    const { default: neo4j } = await import('/driver.mjs')
    const driver = neo4j.driver(`bolt://${bolt}`, neo4j.auth.basic('neo4j', password))
    const change = text => driver.executeQuery(text, {}, { database: 'neo4j' })
    await change(data)
    document.body.innerHTML = '<div id="viz" style="width: 600px; height: 400px"></div>'
    const viz = new window.NeoVis.default({
      containerId: 'viz',
      neo4j: { serverUrl: `bolt://${bolt}`, serverUser: 'neo4j', serverPassword: password },
      labels: { NeovisPerson: { label: 'name', value: 'age' } },
      relationships: { NEOVIS_KNOWS: { value: 'since' } },
      initialCypher: 'MATCH (a:NeovisPerson)-[r:NEOVIS_KNOWS]->(b) RETURN a, r, b'
    })
    const shown = () => ({
      nodes: viz.nodes.get().map(({ label }) => label).sort(),
      edges: viz.edges.length,
      canvas: document.querySelectorAll('#viz canvas').length
    })
    const completed = () => new Promise((resolve, reject) => {
      viz.registerOnEvent('completed', () => resolve(shown()))
      viz.registerOnEvent('error', event => reject(event.error_msg ?? event))
    })
    try {
      const first = completed()
      viz.render()
      const all = await first
      const second = completed()
      viz.renderWithCypher("MATCH (a:NeovisPerson {name: 'Alba'})-[r]->(b) RETURN a, r, b")
      return { all, some: await second }
    } finally {
      await change('MATCH (n:NeovisPerson) DETACH DELETE n')
      await driver.close()
    }
  }, { bolt, password, data: DATA })
  assert.deepEqual(drawn, {
    all: { nodes: ['Alba', 'Bruno', 'Carla'], edges: 2, canvas: 1 },
    some: { nodes: ['Alba', 'Bruno'], edges: 1, canvas: 1 }
  })
}
