// The programs of the pages run as they stand there.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { HERE, run } from './helpers.mjs';

const ROOT = process.env.TELAR_ROOT;

/** The programs of a page. */
function blocks(page) {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```js\n(.*?)^```/gms)].map((match) => match[1]);
}

for (const page of ['docs/node.md', 'crates/node/npm/README.md', 'README.md']) {
  test(`the programs of ${page}`, async (t) => {
    const programs = blocks(page);
    if (page !== 'README.md') assert.ok(programs.length > 0);
    const folder = mkdtempSync(path.join(tmpdir(), 'telar-docs-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    // Programs that they start find the package where these do.
    const modules = path.join(HERE, '..', 'node_modules');
    const place = `process.chdir(${JSON.stringify(folder)});
      process.env.NODE_PATH = ${JSON.stringify(modules)};`;
    const done = await run(t, `${place}\n${programs.join('\n')}`);
    assert.equal(done.code, 0, done.stderr);
  });
}
