// What issue 20 asks to be measured, in one run: medians of several, on a server and a browser of its own.
//
// Chromium without a graphics card draws WebGL by the processor (SwiftShader): frames say what that is.

import { Server, type } from './browser/world.mjs'
import { frames, launch, repeat } from './chromium.mjs'

const ROUNDS = 7

const median = all => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
const say = (what, value, wanted) => console.log(`${what.padEnd(58)} ${String(value).padStart(10)}   ${wanted}`)

async function firstPaint (browser, url) {
  const page = await browser.newPage()
  await page.goto(url)
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  const ready = await page.evaluate(() => performance.now())
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0)
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime)
  await page.close()
  return [paint, ready]
}

// Milliseconds from Enter to the rows, as the page sees them.
async function firstResult (page, query) {
  await type(page, query)
  return page.evaluate(() => new Promise(resolve => {
    const editor = document.querySelector('.editor').shadowRoot.querySelector('.cm-content')
    const begun = performance.now()
    // A text that no earlier result shows.
    const look = () => {
      const cell = document.querySelector('.body .row .cell:nth-child(2)')
      if (cell && document.querySelector('.result')?.dataset.seen !== '1') return resolve(performance.now() - begun)
      requestAnimationFrame(look)
    }
    const old = document.querySelector('.result')
    if (old) old.dataset.seen = '1'
    editor.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))
    look()
  }))
}

async function completion (page) {
  await type(page, '')
  await page.keyboard.type('MATCH (n:Pe')
  await page.locator('.cm-tooltip-autocomplete').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Backspace')
  return page.evaluate(() => new Promise(resolve => {
    const root = document.querySelector('.editor').shadowRoot
    const editor = root.querySelector('.cm-content')
    editor.focus()
    const begun = performance.now()
    const look = () => root.querySelector('.cm-tooltip-autocomplete') ? resolve(performance.now() - begun) : requestAnimationFrame(look)
    document.execCommand('insertText', false, 'e')
    look()
  }))
}

const server = new Server(['--no-auth'])
await server.start()
const browser = await launch('--enable-precise-memory-info')
try {
  await server.run('UNWIND range(1, 1000) AS i CREATE (:Person {id: i, name: "Person " + i})')
  await firstPaint(browser, server.url)
  const painted = []
  for (let round = 0; round < ROUNDS; round++) painted.push(await firstPaint(browser, server.url))
  say('first paint, ms', median(painted.map(([paint]) => paint)).toFixed(0), '<= 300')
  say('ready to type, ms', median(painted.map(([, ready]) => ready)).toFixed(0), '')

  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.goto(server.url)
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  const results = []
  for (let round = 0; round < ROUNDS; round++) results.push(await firstResult(page, `MATCH (p:Person {id: ${round + 1}}) RETURN p.name`))
  say('first result after Enter, ms', median(results).toFixed(0), '<= 100')
  const completions = []
  for (let round = 0; round < ROUNDS; round++) completions.push(await completion(page))
  say('completion after a letter, ms', median(completions).toFixed(0), '<= 30')

  await page.getByLabel('Most rows').selectOption('100000')
  await type(page, 'UNWIND range(1, 100000) AS i RETURN i, "row " + i AS text, i * 0.5 AS half, i % 7 = 0 AS seven')
  const begun = performance.now()
  await page.keyboard.press('Control+Enter')
  await page.locator('.outcome').filter({ hasText: '100,000 rows' }).filter({ hasNotText: 'running' }).waitFor({ timeout: 60_000 })
  say('100,000 rows of four columns fetched, ms', (performance.now() - begun).toFixed(0), '')
  await page.locator('.scroller').hover()
  say('scrolling in them, frames a second', (await frames(page, () => repeat(4000, () => page.mouse.wheel(0, 700)))).toFixed(0), '>= 60')
  await page.requestGC?.()
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize)
  say('heap of the tab with them, MB', (heap / 1e6).toFixed(0), '<= 300')
} finally {
  await browser.close()
  await server.close()
}
