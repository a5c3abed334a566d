// Texts of a database that want to be scripts, and pages of others that want to ask.

import assert from 'node:assert/strict'
import http from 'node:http'
import test from 'node:test'

import { open, outcome, run, world } from './world.mjs'

const here = world('--no-auth')
here.expected = /status of (400|403)|Content Security Policy|frame-ancestors|Failed to load|CORS|ERR_/

const EVIL = ['<img src=x onerror="window.hurt=1">', '"><script>window.hurt=1</script>', "';window.hurt=1//", 'javascript:window.hurt=1', '{{constructor.constructor("window.hurt=1")()}}']

async function unhurt () {
  await here.page.waitForTimeout(300)
  assert.equal(await here.page.evaluate(() => window.hurt), undefined)
  assert.equal(await here.page.evaluate(() => document.querySelectorAll('img, iframe, object').length), 0)
}

test('labels, types, keys, values and messages are shown and not obeyed', async () => {
  const quoted = text => '`' + text.replaceAll('`', '``') + '`'
  for (const text of EVIL) {
    const q = quoted(text)
    await here.server.run(`CREATE (:${q} {${q}: $text, name: $text})-[:${q} {${q}: $text}]->(:${q} {name: $text})`, { text })
  }
  await open(here)
  const { page } = here
  await run(page, 'MATCH p = (a)-[r]->(b) RETURN p, a, r, b, labels(a) AS l, properties(a) AS m, a.name AS name')
  assert.match(await outcome(page), /^5 rows/)
  for (const look of ['Graph', 'Table', 'JSON']) {
    await page.getByRole('tab', { name: look }).click()
    await unhurt()
  }
  for (const text of EVIL) {
    await run(page, `RETURN ${quoted(text)}`)
    await page.locator('.failure').waitFor()
    await unhurt()
    await run(page, `PROFILE MATCH (n:${quoted(text)}) WHERE n.name = '${text.replace(/[\\']/g, '\\$&')}' RETURN n AS ${quoted(text)}`)
    await outcome(page)
    await unhurt()
  }
  await page.getByRole('button', { name: 'What is in the database' }).click()
  await page.getByRole('button', { name: 'What is in the database' }).click()
  await page.getByText('Properties').first().click()
  await unhurt()
  await page.getByRole('button', { name: 'History', exact: true }).click()
  await unhurt()
})

test('an address that holds markup is a text', async () => {
  await open(here, '#cypher=' + encodeURIComponent(EVIL[0]))
  await unhurt()
  assert.equal(await here.page.locator('.cm-content').innerText(), EVIL[0])
  await open(here, '#cypher=%E0%A4%A')
  await unhurt()
})

test('scripts that are put in do not run', async () => {
  await open(here)
  await here.page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.hurt = 1'
    document.body.append(script)
    const image = document.createElement('div')
    image.innerHTML = '<b onclick="window.hurt = 1">x</b>'
    document.body.append(image)
    image.firstChild.click()
  })
  assert.equal(await here.page.evaluate(() => window.hurt), undefined)
  const foreign = await here.page.evaluate(() => fetch('http://127.0.0.1:1/').then(() => 'asked', () => 'refused'))
  assert.equal(foreign, 'refused')
  here.problems.length = 0
})

// A page of somebody else at another port, which is another origin, and under another name.
async function foreign (html) {
  const server = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(html)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

test('pages of others can neither ask nor frame it, and may link to it', async () => {
  const evil = await foreign(`<a href="${here.server.url}">go</a><iframe src="${here.server.url}"></iframe>`)
  const { page } = here
  try {
    await page.goto(`http://127.0.0.1:${evil.address().port}/`)
    const answers = await page.evaluate(async url => {
      const ask = init => fetch(url + 'db/telar/query/v2', init).then(r => r.status, () => 'refused')
      return Promise.all([
        ask({ method: 'POST', body: '{"statement":"CREATE (:Hurt)"}', headers: { 'Content-Type': 'application/json' } }),
        ask({ method: 'POST', body: '{"statement":"CREATE (:Hurt)"}', headers: { 'Content-Type': 'text/plain' } }),
        ask({ method: 'POST', body: '{"statement":"CREATE (:Hurt)"}', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } })
      ])
    }, here.server.url)
    assert.deepEqual(answers.slice(0, 2), ['refused', 'refused'])
    assert.deepEqual(await here.server.run('MATCH (n:Hurt) RETURN count(n)'), [[0]])
    const framed = page.frames().find(frame => frame !== page.mainFrame())
    assert.equal(await framed?.locator('.workbench').count().catch(() => 0), 0)
    await page.getByRole('link', { name: 'go' }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  } finally {
    evil.close()
    here.problems.length = 0
  }
})

test('a name that was pointed here is not answered: DNS rebinding', async () => {
  const [, port] = here.server.address.split(':')
  const status = await new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port, path: '/', headers: { Host: `evil.example:${port}`, Accept: 'text/html' } },
      response => { response.resume(); resolve(response.statusCode) }).on('error', reject)
  })
  assert.equal(status, 403)
})
