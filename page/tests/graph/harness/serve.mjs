// Builds the harness and serves it under the policy of the page.

import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

import esbuild from 'esbuild'

const here = path.dirname(fileURLToPath(import.meta.url))
const page = path.resolve(here, '../../..')

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
  "connect-src 'self'; worker-src 'self'"
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' }
const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Graph</title>
<link rel="stylesheet" href="page.css"><link rel="icon" href="data:,"></head>
<body><div id="app"></div><script type="module" src="main.js"></script></body></html>`

// Returns the address and what ends it.
export async function serve () {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'graph-harness-'))
  await esbuild.build({
    absWorkingDir: page,
    bundle: true,
    define: { LAYOUT_WORKER: '"page/layout.worker.js"' },
    entryNames: '[name]',
    entryPoints: [`${here}/main.tsx`, `${here}/page.css`],
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    outdir: out,
    target: 'es2022'
  })
  await esbuild.build({
    absWorkingDir: page,
    bundle: true,
    entryPoints: ['src/graph/layout.worker.ts'],
    format: 'esm',
    minify: true,
    outdir: path.join(out, 'page'),
    splitting: true,
    target: 'es2022'
  })
  fs.writeFileSync(path.join(out, 'index.html'), HTML)
  const server = http.createServer((request, response) => {
    const name = new URL(request.url, 'http://x').pathname.slice(1) || 'index.html'
    const file = path.join(out, name)
    if (!file.startsWith(out) || !fs.existsSync(file)) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'Content-Security-Policy': POLICY, 'Content-Type': TYPES[path.extname(file)] ?? 'text/plain'
    })
    response.end(fs.readFileSync(file))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
      fs.rmSync(out, { recursive: true })
    }
  }
}
