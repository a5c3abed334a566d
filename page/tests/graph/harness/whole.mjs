// Measures a whole graph of 100,000 nodes and 200,000 relationships, by the graphics card and by the processor:
// `node tests/graph/harness/whole.mjs`. Chromium without a card has WebGL by the processor (SwiftShader).

import { frames, launch, repeat } from '../../chromium.mjs'
import { serve } from './serve.mjs'

const MOVED_MILLISECONDS = 3000

const server = await serve()
const browser = await launch()

async function measure (name, hasCard) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(120_000)
  if (!hasCard) await page.route(/gpu.*\.js$/, route => route.abort())
  await page.goto(`${server.url}?data=100000`)
  const isRunning = wanted =>
    page.waitForFunction(is => window.harness.performer?.isRunning.value === is, wanted, { polling: 50 })
  await isRunning(true)
  const whileLaidOut = await frames(page, () => isRunning(false))
  const { rounds, milliseconds } = await page.evaluate(() => {
    const { layout, layoutMilliseconds } = window.harness.performer
    return { rounds: layout.rounds, milliseconds: layoutMilliseconds }
  })
  const { x, y } = await page.locator('.graph-stage').boundingBox()
  await page.mouse.move(x + 400, y + 300)
  await page.mouse.down()
  const whileMoved = await frames(page, () => repeat(MOVED_MILLISECONDS, async step => {
    await page.mouse.move(x + 400 + 80 * Math.sin(step / 15), y + 300 + 60 * Math.cos(step / 15))
    await page.waitForTimeout(8)
  }))
  await page.mouse.up()
  console.log(`${name}: ${rounds} rounds in ${(milliseconds / 1000).toFixed(1)} s, ` +
    `${whileLaidOut.toFixed(0)} frames a second meanwhile, ${whileMoved.toFixed(0)} while the camera is moved`)
  await page.close()
}

for (let round = 0; round < 3; round++) {
  await measure('WebGL', true)
  await measure('processor', false)
}
await browser.close()
server.close()
