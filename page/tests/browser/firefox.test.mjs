// The page in Firefox, driven by WebDriver BiDi: Playwright would need a build of its own.
//
//   FIREFOX  the browser; /usr/bin/firefox-esr if it is not said. Without one this is skipped, and TELAR_SKIPPED
//            gets a line.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import test, { after, before } from 'node:test'

import puppeteer from 'puppeteer-core'

import { PASSWORD, Server } from './world.mjs'

const executablePath = process.env.FIREFOX ?? '/usr/bin/firefox-esr'
const isThere = fs.existsSync(executablePath)
const { SHOTS, TELAR_SKIPPED } = process.env
if (!isThere && TELAR_SKIPPED) fs.appendFileSync(TELAR_SKIPPED, 'Firefox: page/tests/browser/firefox.test.mjs\n')
const skip = isThere ? false : `there is no ${executablePath}`

const server = new Server([])
let browser
let page
const problems = []

before(async () => {
  if (!isThere) return
  await server.start()
  browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true })
  page = await browser.newPage()
  await page.setViewport({ width: 1280, height: 800 })
  page.setDefaultTimeout(60_000)
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    const isOrdinary = /status of 40|401|WebGL/.test(message.text())
    if (message.type() === 'error' && !isOrdinary) problems.push(message.text())
  })
  page.on('request', request => {
    const url = new URL(request.url())
    if (url.host !== server.address && !['data:', 'blob:'].includes(url.protocol)) problems.push(`asked ${url}`)
  })
})
after(async () => {
  await browser?.close()
  if (isThere) await server.close()
})

const text = selector => page.$eval(selector, element => element.innerText)
const button = name => page.locator(`::-p-aria([name="${name}"][role="button"])`)
const tab = name => page.locator(`::-p-aria([name="${name}"][role="tab"])`)

async function shot (name) {
  if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}.png`) })
}

// Replaces what is in the editor, and runs it by keys.
async function run (statement) {
  await page.locator('>>> .cm-content').click()
  await page.keyboard.down('Control')
  await page.keyboard.press('a')
  await page.keyboard.up('Control')
  await page.keyboard.press('Delete')
  await page.keyboard.type(statement)
  // Without what is offered to complete it.
  await page.keyboard.press('Escape')
  await page.keyboard.down('Control')
  await page.keyboard.press('Enter')
  await page.keyboard.up('Control')
}

async function outcome (pattern) {
  await page.waitForFunction(
    source => new RegExp(source).test(document.querySelector('.outcome')?.innerText ?? ''), {}, pattern.source
  )
}

test('one logs in', { skip }, async () => {
  await page.goto(server.url)
  const field = await page.waitForSelector('input[type=password]')
  await field.type(PASSWORD)
  await page.keyboard.press('Enter')
  await button('Run').wait()
})

test('what is typed is run and shown as a table and as JSON', { skip }, async () => {
  await run("UNWIND [1, 2.5, 'x'] AS v RETURN v")
  await outcome(/^3 rows/)
  assert.deepEqual(await page.$$eval('.body .row', rows => rows.map(row => row.children[1].innerText)), ['1', '2.5', 'x'])
  await tab('JSON').click()
  await page.waitForSelector('.json pre')
  assert.match(await text('.json pre'), /"v": 2\.5/)
})

test('a mistake is underlined where it is', { skip }, async () => {
  await run('MATCH (n) RETRUN n')
  await page.waitForSelector('>>> .cm-lintRange-error')
  assert.equal(await page.$eval('>>> .cm-lintRange-error', mark => mark.innerText), 'RETRUN')
})

test('nodes are drawn, or listed where there is no WebGL', { skip }, async () => {
  await run("CREATE p = (:Weaver {name: 'Alba'})-[:KNOWS]->(:Weaver {name: 'Bruno'}) RETURN p")
  await outcome(/2 nodes created/)
  await tab('Graph').click()
  await page.waitForSelector('.graph-details')
  const hasWebGL = await page.evaluate(() => document.createElement('canvas').getContext('webgl2') !== null)
  if (hasWebGL) {
    await page.waitForSelector('.graph-stage canvas')
  } else {
    await page.waitForFunction(() => /Alba/.test(document.querySelector('.graph-list')?.innerText ?? ''))
    assert.match(await text('.graph-blind'), /no WebGL 2/)
  }
  await shot('firefox')
})

test('panels and colours', { skip }, async () => {
  await button('Status').click()
  await page.waitForFunction(() => /Up for/.test(document.querySelector('table.status')?.innerText ?? ''))
  await page.waitForSelector('section[aria-label="Slow queries"]')
  await page.locator('::-p-xpath(//button[starts-with(@aria-label, "Colours")])').click()
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
  await shot('firefox-dark')
})

test('nothing went wrong, and nobody else was asked', { skip }, () => {
  assert.deepEqual(problems, [])
})
