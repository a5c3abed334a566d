// Files that are dropped become nodes and relationships.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import test, { after } from 'node:test'

import { open, shot, world } from './world.mjs'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'telar-import-'))
after(() => fs.rmSync(folder, { recursive: true }))
const here = world('--no-auth', '--set', `export.folder=${folder}`)

async function openPanel () {
  await open(here)
  await here.page.getByRole('button', { name: 'Import', exact: true }).first().click()
}

async function choose (name, buffer) {
  const { page } = here
  if (await panel().count() === 0) await openPanel()
  await page.getByLabel('File to import').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(buffer) })
  await page.locator('.panel h3').first().waitFor()
}

const panel = () => here.page.getByRole('complementary', { name: 'Import' })

async function go (said) {
  await panel().getByRole('button', { name: 'Import', exact: true }).click()
  await panel().locator('[role=status]').filter({ hasText: said }).waitFor({ timeout: 30_000 })
}

test('nodes and relationships from CSV', async () => {
  const people = ['id,name,born,score', ...Array.from({ length: 5000 }, (_, at) => `${at},"Person, ${at}",1990-01-0${at % 9 + 1},${at / 4}`)]
  await choose('person.csv', people.join('\n'))
  assert.equal(await panel().getByLabel('Label').inputValue(), 'Person')
  assert.equal(await panel().getByLabel('Type of id').inputValue(), 'integer')
  assert.equal(await panel().getByLabel('Type of born').inputValue(), 'date')
  assert.equal(await panel().getByLabel('Type of score').inputValue(), 'float')
  await shot(here.page, 'import')
  await go('5,000 rows, 5,000 nodes, done')
  const [[n, born]] = await here.server.run("MATCH (p:Person {name: 'Person, 7'}) RETURN p.id, toString(p.born)")
  assert.deepEqual([n, born], [7, '1990-01-08'])
  assert.deepEqual(await here.server.run('SHOW CONSTRAINTS YIELD type RETURN type'), [['UNIQUENESS']])
  // The same file again changes nothing.
  await go('5,000 rows, 5,000 nodes, done')
  assert.deepEqual(await here.server.run('MATCH (p:Person) RETURN count(p)'), [[5000]])

  await choose('knows.csv', 'from,to,since\n1,2,2020\n2,3,\n3,9999999,2021\n')
  assert.equal(await panel().getByLabel('Type', { exact: true }).inputValue(), 'KNOWS')
  await go('3 rows, 2 relationships, done; the other rows name ends that are not there')
  assert.deepEqual(await here.server.run('MATCH (a)-[k:KNOWS]->(b) RETURN a.id, b.id, k.since ORDER BY a.id'), [[1, 2, 2020], [2, 3, null]])
})

test('rows that are wrong stop it with a word', async () => {
  await choose('bad.csv', 'when\n' + '2026-01-01\n'.repeat(1500) + 'tomorrow\n')
  await panel().getByRole('button', { name: 'Import', exact: true }).click()
  await panel().getByRole('alert').filter({ hasText: /Rows 1 and on were not imported: .*tomorrow/s }).waitFor()
  assert.deepEqual(await here.server.run('MATCH (b:Bad) RETURN count(b)'), [[0]])
})

test('quotes that do not end, and files of nothing', async () => {
  await openPanel()
  await here.page.getByLabel('File to import').setInputFiles({ name: 'empty.csv', mimeType: 'text/csv', buffer: Buffer.from('') })
  await panel().getByRole('alert').filter({ hasText: 'empty.csv cannot be read' }).waitFor()
  await here.page.getByLabel('File to import').setInputFiles({ name: 'open.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,"2\n3') })
  await panel().getByRole('alert').filter({ hasText: 'open.csv cannot be read' }).waitFor()
})

test('Parquet', async () => {
  await here.server.run(
    "COPY (UNWIND range(1, 3000) AS i RETURN i, 'row ' + i AS text, i / 2.0 AS half, i % 2 = 0 AS even) " +
    "TO 'rows.parquet' (compression = 'snappy')")
  await choose('rows.parquet', fs.readFileSync(path.join(folder, 'rows.parquet')))
  assert.match(await panel().locator('h3').first().innerText(), /3,000 rows/)
  await panel().getByLabel('Label').fill('Row')
  await go('3,000 rows, 3,000 nodes, done')
  assert.deepEqual(await here.server.run('MATCH (r:Row {i: 3}) RETURN r.text, r.half, r.even'), [['row 3', 1.5, false]])
})

test('values of files are data, whatever they say', async () => {
  await choose('evil.csv', "`) DETACH DELETE n //,b\n'); MATCH (n) DETACH DELETE n //,<img src=x onerror=alert(1)>\n")
  await panel().getByLabel('Label').fill('Ev`il')
  await go('1 rows, 1 nodes, done')
  assert.deepEqual(await here.server.run('MATCH (n:`Ev``il`) RETURN n.b'), [['<img src=x onerror=alert(1)>']])
  assert.deepEqual(await here.server.run('MATCH (p:Person) RETURN count(p)'), [[5000]])
})
