// Modules of the page as tests import them: TypeScript bundled on the way.

import path from 'node:path'
import { fileURLToPath } from 'node:url'

import esbuild from 'esbuild'

const page = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

// All that the modules at `names` export, as one.
export async function load (...names) {
  const { outputFiles: [file] } = await esbuild.build({
    stdin: { contents: names.map(name => `export * from './src/${name}'`).join('\n'), resolveDir: page, loader: 'ts' },
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    platform: 'browser',
    target: 'node20',
    write: false
  })
  return import('data:text/javascript;base64,' + Buffer.from(file.contents).toString('base64'))
}
