// Modules of the page as tests import them: TypeScript bundled on the way.

import path from 'node:path'
import { fileURLToPath } from 'node:url'

import esbuild from 'esbuild'

const source = path.join(path.dirname(fileURLToPath(import.meta.url)), '../src')

export async function load (module) {
  const { outputFiles } = await esbuild.build({
    bundle: true, entryPoints: [path.join(source, module)], format: 'esm', jsx: 'automatic', jsxImportSource: 'preact',
    platform: 'browser', target: 'node20', write: false
  })
  return import('data:text/javascript;base64,' + Buffer.from(outputFiles[0].contents).toString('base64'))
}
