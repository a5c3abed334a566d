// The types that are promised are there, and TypeScript takes and refuses what it should.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import * as all from 'telar';
import telar from 'telar';
import { HERE } from './helpers.mjs';

const CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2022', 'esnext.disposable', 'es2024.string'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    skipLibCheck: false,
  },
  files: ['use.mts', 'use.cts'],
};

test('tsc --strict takes what is right and refuses what is wrong', async () => {
  writeFileSync(path.join(HERE, 'tsconfig.json'), JSON.stringify(CONFIG));
  const tsc = path.join(HERE, '../node_modules/typescript/bin/tsc');
  const done = await promisify(execFile)(process.execPath, [tsc, '-p', HERE]).catch(
    (error) => error,
  );
  assert.equal(done.stdout, '');
});

test('import and require have the same names', () => {
  const required = createRequire(import.meta.url)('telar');
  const { default: other, ...names } = all;
  assert.equal(required, telar);
  assert.equal(other, telar);
  assert.deepEqual(Object.keys(names).sort(), Object.keys(required).sort());
  for (const name of Object.keys(names)) assert.equal(names[name], required[name]);
});

test('the version is that of the package', () => {
  const require = createRequire(import.meta.url);
  assert.equal(telar.version, require('telar/package.json').version);
  assert.match(telar.version, /^\d+\.\d+\.\d+$/);
  assert.notEqual(telar.version, '0.0.0');
});

/** The names of a class in index.d.ts, of instances and of the class itself. */
function declared(text, name) {
  const [, body] = text.match(new RegExp(`^export class ${name}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms'));
  const members = body.matchAll(/^ {2}(static )?(?:readonly )?(\w+|\[Symbol\.\w+\])[(<:?]/gm);
  return [...members].map(([, , member]) => member);
}

test('everything is declared, and everything declared is there', () => {
  const require = createRequire(import.meta.url);
  const file = path.join(path.dirname(require.resolve('telar')), 'index.d.ts');
  const text = readFileSync(file, 'utf8');
  for (const name of Object.keys(telar)) {
    assert.match(text, new RegExp(`^export (class|function|const) ${name}\\b`, 'm'), name);
    if (typeof telar[name] !== 'function' || !/^[A-Z]/.test(name) || name.endsWith('Error'))
      continue;
    const names = new Set(declared(text, name));
    const own = Object.getOwnPropertyNames(telar[name].prototype);
    const statics = Object.getOwnPropertyNames(telar[name]).filter(
      (key) => !['length', 'name', 'prototype'].includes(key),
    );
    const missing = [...own, ...statics].filter(
      (key) => key !== 'constructor' && !names.has(key) && !['toJSON', 'valueOf'].includes(key),
    );
    assert.deepEqual(missing, [], `${name} has members that index.d.ts does not declare`);
  }
});
