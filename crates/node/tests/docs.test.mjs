// The programs of the pages run as they stand there.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { run } from './helpers.mjs';

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
    const done = await run(t, `process.chdir(${JSON.stringify(folder)});\n${programs.join('\n')}`);
    assert.equal(done.code, 0, done.stderr);
  });
}
