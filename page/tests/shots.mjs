// The pictures of docs/page.md and the README, made by doing what they show: `SHOTS=FOLDER node shots.mjs`.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'

import { animation } from './apng.mjs'
import { Server, type } from './browser/world.mjs'
import { launch } from './chromium.mjs'

const SETTLED_MS = 3500

const folder = path.resolve(process.env.SHOTS)
fs.mkdirSync(folder, { recursive: true })
const server = new Server(['--no-auth'])
await server.start()
const browser = await launch()
const page = await browser.newPage({ viewport: { width: 1200, height: 720 } })
page.on('pageerror', error => assert.fail(error.message))

const walk = []
const take = () => page.screenshot({ caret: 'initial', animations: 'allow' })
const shot = async name => fs.writeFileSync(path.join(folder, `${name}.png`), await take())
// A picture of the walk, which is looked at so long.
const step = async (ms = 1500) => { walk.push({ png: await take(), ms }) }
const item = text => page.locator('[role^=menuitem]').filter({ hasText: text })
const button = name => page.getByRole('button', { name, exact: true })

try {
  await page.goto(server.url)
  await button('Load a sample graph').waitFor()
  await step()
  await button('Load a sample graph').click()
  await page.locator('.body .row').first().waitFor()
  await step(2500)
  await button('Next').click()
  await page.waitForTimeout(SETTLED_MS)
  await step(2500)
  await button('Next').click()
  await button('Colours and sizes').click()
  await item('Colour by communities').click()
  await page.waitForTimeout(SETTLED_MS)
  await step(2500)
  await button('End the tour').click()
  await button('Colours and sizes').click()
  await item('Size by degree').click()
  await page.waitForTimeout(SETTLED_MS)
  await shot('graph')
  await step(2500)
  await button('Algorithms').click()
  const dialog = page.getByRole('dialog', { name: 'Algorithms' })
  await dialog.getByLabel(/^the database/).check()
  await dialog.getByLabel('Person').check()
  await dialog.getByLabel('KNOWS').check()
  await dialog.getByText('of memory').waitFor()
  await shot('algorithm')
  await button('Cancel').click()

  await server.run("MATCH (p:Person {name: 'Bruno Ortega'}) DETACH DELETE p")
  await button('Now').click()
  const slider = page.getByRole('slider')
  await slider.waitFor()
  await button('Run').click()
  await page.waitForTimeout(SETTLED_MS)
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await page.locator('.outcome').filter({ hasText: 'as of' }).waitFor()
  await page.waitForTimeout(SETTLED_MS)
  await shot('past')
  await step(3000)
  await page.keyboard.press('End')
  await button('Now').click()

  await type(page, 'MATCH (p:Person)-[:KNOWS]->(q:Person)\nWHERE p.born < 1970 AND q.born > 1985\nRETURN p.name AS older, collect(q.name) AS younger')
  await button('Profile').click()
  await page.getByRole('tab', { name: 'Plan' }).click()
  await page.locator('.operator').filter({ hasText: 'Expand' }).first().hover()
  await page.waitForTimeout(500)
  await shot('plan')
  await page.getByRole('tab', { name: 'Table' }).click()
  await type(page, 'MATCH (p:Person) RETRUN p.name')
  await page.locator('.cm-lintRange-error').hover()
  await page.locator('.cm-diagnostic').waitFor()
  await shot('mistake')
  await type(page, '')

  await button('Status').click()
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.waitForTimeout(9000)
  await shot('status')
  fs.writeFileSync(path.join(folder, 'walk.png'), animation(walk))
} finally {
  await browser.close()
  await server.close()
}
