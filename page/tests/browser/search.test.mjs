// Searches by words and by nearness.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import test from 'node:test'

import { open, outcome, run, shot, stage, world } from './world.mjs'

const here = world('--no-auth')

const panel = () => here.page.locator('.panel')
const search = () => panel().getByRole('button', { name: 'Search', exact: true })
const titles = () => here.page.locator('.body .row').evaluateAll(rows => rows.map(row => row.children[1]?.innerText ?? ''))

// Waits until these are what the first rows tell of: those of the statement before may still be shown.
async function first (...expected) {
  let found
  for (const until = Date.now() + 30_000; Date.now() < until; await here.page.waitForTimeout(50)) {
    found = (await titles()).slice(0, expected.length).map(title => /threads of (\w+)/.exec(title)?.[1])
    if (isDeepStrictEqual(found, expected)) break
  }
  assert.deepEqual(found, expected)
}

const openPanel = () => here.page.getByRole('button', { name: 'Search', exact: true }).first().click()

// The first test is the first to find a server.
test('what is searched', async () => {
  const { server } = here
  await server.run(`UNWIND [['silk', [1.0, 0.0, 0.0]], ['velvet', [0.9, 0.1, 0.0]], ['wool', [0.0, 1.0, 0.0]], ['stone', [0.0, 0.0, 1.0]]] AS one
    CREATE (d:Doc {title: 'threads of ' + one[0], v: one[1]})`)
  await server.run("MATCH (a:Doc {title: 'threads of silk'}), (b:Doc {title: 'threads of wool'}) CREATE (a)-[:LIKE {v: [1.0, 1.0, 0.0]}]->(b), (b)-[:LIKE {v: [0.0, 1.0, 1.0]}]->(a)")
})

test('where there is no index, the panel says how one is made', async () => {
  await open(here)
  await openPanel()
  assert.equal(await panel().getByRole('button', { name: /CREATE (FULLTEXT|VECTOR) INDEX/ }).count(), 2)
  await panel().getByRole('button', { name: /VECTOR/ }).click()
  assert.match(await here.page.locator('.cm-content').innerText(), /vector\.dimensions/)
})

test('by words', async () => {
  await here.server.run('CREATE FULLTEXT INDEX docs IF NOT EXISTS FOR (d:Doc) ON EACH [d.title]')
  await here.server.run('CALL db.awaitIndexes(60)')
  await open(here)
  await openPanel()
  await here.page.getByLabel('Words').fill('silk')
  await search().click()
  assert.match(await outcome(here.page), /^1 row/)
})

test('like a node that words find, like one that is selected, and like numbers', async () => {
  const { server, page } = here
  await server.run("CREATE VECTOR INDEX near IF NOT EXISTS FOR (d:Doc) ON d.v OPTIONS {indexConfig: {`vector.dimensions`: 3, `vector.similarity_function`: 'cosine'}}")
  await server.run('CALL db.awaitIndexes(60)')
  await open(here)
  await openPanel()
  await panel().getByLabel('Index').selectOption('near')
  await panel().getByText('Select a node in the graph, or find one by words.').waitFor()
  assert(await search().isDisabled())
  await panel().getByLabel('Find one by words').fill('silk')
  await page.keyboard.press('Enter')
  await panel().getByRole('button', { name: '(:Doc) threads of silk' }).click()
  await panel().getByLabel('How many').fill('2')
  await shot(page, 'vector')
  assert.match(await panel().getByLabel('The statement').innerText(), /queryNodes\('near', 3, n\.v\)/)
  await search().click()
  await outcome(page)
  await page.getByRole('tab', { name: 'Table' }).click()
  await first('velvet', 'wool')
  assert.equal((await titles()).length, 2)

  await run(page, "MATCH (d:Doc {title: 'threads of wool'}) RETURN d")
  await outcome(page)
  await (await stage(page, 1)).press('ArrowRight')
  await panel().getByText('Like (:Doc) threads of wool').waitFor()
  await search().click()
  await page.locator('.outcome').filter({ hasText: '2 rows' }).waitFor()
  await page.getByRole('tab', { name: 'Table' }).click()
  await first('velvet')

  await panel().getByLabel('numbers').check()
  await panel().getByRole('textbox', { name: 'Vector' }).fill('[0, 0]')
  await panel().getByText('There are 2 numbers; vectors of the index have 3.').waitFor()
  await panel().getByRole('textbox', { name: 'Vector' }).fill('0, 0, 1')
  await search().click()
  await page.locator('.cm-content').filter({ hasText: '$vector' }).waitFor()
  await outcome(page)
  await first('stone')
})

test('relationships have indexes, too', async () => {
  const { server, page } = here
  await server.run("CREATE VECTOR INDEX likes IF NOT EXISTS FOR ()-[l:LIKE]-() ON l.v OPTIONS {indexConfig: {`vector.dimensions`: 3}}")
  await server.run('CALL db.awaitIndexes(60)')
  await open(here)
  await openPanel()
  await panel().getByLabel('Index').selectOption('likes')
  await panel().getByLabel('numbers').check()
  await panel().getByRole('textbox', { name: 'Vector' }).fill('1 1 0')
  await search().click()
  assert.match(await outcome(page), /^2 rows/)
  await panel().getByLabel('a node or relationship').check()
  await panel().getByLabel('Find one by words').fill('silk')
  await panel().getByRole('button', { name: 'Find', exact: true }).click()
  await panel().getByRole('button', { name: '(:Doc) threads of silk' }).click()
  assert.match(await panel().getByLabel('The statement').innerText(), /queryRelationships\('likes', \d+, n\.v\)/)
})

test('what was selected in one database is not looked for in another', async () => {
  const { server, page } = here
  await server.run('CREATE DATABASE other IF NOT EXISTS')
  await open(here)
  await openPanel()
  await panel().getByLabel('Index').selectOption('near')
  await run(page, "MATCH (d:Doc {title: 'threads of wool'}) RETURN d")
  await outcome(page)
  await (await stage(page, 1)).press('ArrowRight')
  await panel().getByText('Like (:Doc) threads of wool').waitFor()
  const database = page.getByLabel('Database', { exact: true })
  await database.selectOption('other')
  await panel().getByRole('button', { name: /CREATE VECTOR INDEX/ }).waitFor()
  await database.selectOption('telar')
  await panel().getByText('Select a node in the graph, or find one by words.').waitFor()
})
