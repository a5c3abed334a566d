// Builds the page: `node build.mjs`, with the packages of ./node_modules.
//
// The folder dist receives index.html and the assets that it names, compressed, each with a hash of its
// content in its name, so that a browser may keep them for ever. The server embeds all that is in there.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import esbuild from 'esbuild'

// The greatest size of all that is loaded, compressed (issue 20).
const GZIP_BYTES_MAX = 400_000

const here = path.dirname(fileURLToPath(import.meta.url))
const out = path.join(here, 'dist')

const bundle = await esbuild.build({
  absWorkingDir: here,
  bundle: true,
  entryNames: '[name]',
  entryPoints: ['src/main.tsx', 'src/graph/layout.worker.ts', 'src/style.css'],
  // The worker is a file of its own: the policy of the page allows no script in a URL.
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  minify: true,
  outdir: out,
  target: 'es2022',
  write: false
})

// A name for what `content` is.
function named (name, content) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
  const { name: stem, ext } = path.parse(name)
  return `${stem}.${hash}${ext}`
}

fs.rmSync(out, { recursive: true, force: true })
fs.mkdirSync(out, { recursive: true })
const files = Object.fromEntries(bundle.outputFiles.map(file => [path.basename(file.path), file.contents]))
const names = {}
let bytes = 0
const emit = (name, content) => {
  const compressed = gzipSync(content, { level: 9 })
  fs.writeFileSync(path.join(out, `${name}.gz`), compressed)
  bytes += compressed.length
}
for (const [name, content] of Object.entries(files)) {
  if (name === 'main.js') continue
  names[name] = named(name, content)
  emit(names[name], content)
}
// The script learns its worker's name by a placeholder, and the document those of both by theirs.
const script = Buffer.from(files['main.js']).toString().replaceAll('layout.worker.js', names['layout.worker.js'])
names['main.js'] = named('main.js', script)
emit(names['main.js'], script)
const html = fs.readFileSync(path.join(here, 'index.html'), 'utf8')
  .replaceAll(/@(main\.js|style\.css)@/g, (_, name) => `page/${names[name]}`)
emit('index.html', html)
console.log(`page: ${Object.keys(names).length + 1} files, ${(bytes / 1000).toFixed(1)} kB compressed`)
if (bytes > GZIP_BYTES_MAX) {
  console.error(`the page is larger than ${GZIP_BYTES_MAX / 1000} kB compressed`)
  process.exit(1)
}
