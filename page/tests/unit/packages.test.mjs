import assert from 'node:assert/strict'
import fs from 'node:fs'
import test from 'node:test'

const lock = JSON.parse(fs.readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
const packages = Object.entries(lock.packages).filter(([folder]) => folder !== '')

// As deny.toml has it for crates.
const ALLOWED = ['Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']
// Only tests use them, and nothing of them is passed on.
const FOR_TESTS = { 'axe-core': 'MPL-2.0' }

test('every package has a licence that is allowed', () => {
  for (const [folder, { license, dev }] of packages) {
    const name = folder.replace(/^.*node_modules\//, '')
    const fine = ALLOWED.includes(license) || dev && FOR_TESTS[name] === license
    assert(fine, `${name}: ${license}`)
  }
})

test('every package is pinned by its content, and no address of a registry is', () => {
  for (const [folder, { integrity, resolved }] of packages) {
    assert.match(integrity ?? '', /^sha512-/, folder)
    assert.equal(resolved, undefined, folder)
  }
})
