// The platform of the behaviours: a page in a browser. node.mjs is that of Node.js, with the same exports.
// The server of the page (browser.mjs) does for it what no page can: proxies, memory of processes.

import driver from '/driver.mjs'

export const neo4j = driver
export const { SETTINGS, LISTED, DRIVER_VERSION } = await (await fetch('/settings')).json()
export const CANNOT = {
  untrusted_certificates: 'the browser is told to trust any certificate here; an_untrusted_certificate_is_refused is about one that is not'
}
// Pages choose no trust of their own.
export const ENCRYPTED = '+s'
export const hasCustomCertificates = false
export const collectGarbage = globalThis.gc

// A page is told the size of its values only, so that is its memory here.
export async function residentMib (process) {
  if (process === undefined) return performance.memory.usedJSHeapSize / 2 ** 20
  return ask('memory', { process })
}

async function ask (what, parameters) {
  const answer = await fetch(`/${what}?${new URLSearchParams(parameters)}`, { method: 'POST' })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

export async function openProxy (address) {
  const proxy = await ask('proxy', { address })
  const tell = what => () => ask(what, { proxy })
  return { address: proxy, cut: tell('cut'), close: tell('close') }
}

// The part of node:assert/strict that behaviours use.

class AssertionError extends Error {}

export function assert (truth, message = 'not true') {
  if (!truth) throw new AssertionError(message)
}

function show (value) {
  const plain = (_, part) => {
    if (typeof part === 'bigint') return `${part}n`
    return ArrayBuffer.isView(part) ? [...part].map(String) : part
  }
  return String(JSON.stringify(value, plain)).slice(0, 500)
}

function isDeepEqual (one, other) {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false
  if (Array.isArray(one) && one.length !== other.length) return false
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  return keys.every(key => Object.hasOwn(other, key) && isDeepEqual(one[key], other[key]))
}

function compare (holds, sign) {
  return (one, other, message = '') => assert(holds(one, other), `${message} ${show(one)} ${sign} ${show(other)}`)
}

assert.equal = compare(Object.is, 'is not')
assert.notEqual = compare((one, other) => !Object.is(one, other), 'is')
assert.deepEqual = compare(isDeepEqual, 'differs from')
assert.notDeepEqual = compare((one, other) => !isDeepEqual(one, other), 'equals')
assert.fail = message => assert(false, message)
