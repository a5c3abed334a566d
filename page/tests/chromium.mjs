// The browser of tests and measurements, and what it draws.

import { chromium } from 'playwright-core'

// Without a graphics card WebGL is drawn by the processor.
const ARGUMENTS = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']

export const launch = (...more) =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...ARGUMENTS, ...more] })

// Frames a second that a page draws until `act` has ended.
export async function frames (page, act) {
  await page.evaluate(() => {
    window.drawn = 0
    cancelAnimationFrame(window.asked)
    const count = () => { window.drawn += 1; window.asked = requestAnimationFrame(count) }
    window.asked = requestAnimationFrame(count)
  })
  const begun = performance.now()
  await act()
  const drawn = await page.evaluate(() => window.drawn)
  return drawn / ((performance.now() - begun) / 1000)
}

// Does it again and again for so long.
export async function repeat (milliseconds, act) {
  const begun = performance.now()
  for (let step = 0; performance.now() - begun < milliseconds; step++) await act(step)
}
