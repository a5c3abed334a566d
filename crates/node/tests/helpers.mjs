// Helpers that tests share.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A statement that ends only when it is told to. */
export const LONG = 'UNWIND range(1, 1000000000000) AS n RETURN sum(n)';

/** Waits until `LONG` runs. */
export async function runsLong(db) {
  const until = performance.now() + 60_000;
  const shown = 'SHOW TRANSACTIONS YIELD currentQuery AS q RETURN q';
  while (!(await db.query(shown)).values().includes(LONG)) {
    assert.ok(performance.now() < until, 'the statement does not run');
    await sleep(5);
  }
}

/** Folder of the tests, beside which the package is installed. */
export const HERE = path.dirname(fileURLToPath(import.meta.url));

/** A folder that is removed after the test; the path in it does not exist. */
export function folder(t) {
  const parent = mkdtempSync(path.join(tmpdir(), 'telar-node-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  return path.join(parent, 'graph.telar');
}

/** Runs a program in a process of its own: its output and exit status. */
export function run(t, program, options = {}) {
  const file = path.join(HERE, `program-${process.pid}-${Math.random()}.mjs`);
  writeFileSync(file, program);
  t.after(() => rmSync(file, { force: true }));
  return new Promise((resolve) => {
    const { flags = [] } = options;
    execFile(process.execPath, [...flags, file], { timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : (error.code ?? error.signal);
      resolve({ code, stdout, stderr });
    });
  });
}

/** Starts a program in a process of its own. */
export function start(t, program) {
  const file = path.join(HERE, `program-${process.pid}-${Math.random()}.mjs`);
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(file, { force: true });
  });
  return child;
}
