'use strict';

// Results that JavaScript waits for: promises by number, which threads of the native side finish.

const native = require('./native.js');

const pending = new Map();
let last = 0;

// Keeps the process alive while something is waited for. The time does not matter.
const alive = setInterval(() => {}, 0x7fffffff);
alive.unref();

function settle() {
  for (let done = hub.take(); done !== null; done = hub.take()) {
    const waiting = pending.get(done.number);
    if (waiting === undefined) continue;
    pending.delete(done.number);
    if (done.failure !== undefined) waiting.reject(done.failure);
    else waiting.resolve(done.value ?? done.at);
  }
  if (pending.size === 0) alive.unref();
}

const hub = new native.Hub(settle);

// What was committed is on disk when the program ends, however it ends.
process.on('exit', () => hub.quit());

/**
 * Calls `start` with a number under which the native side will finish, and returns the promise of
 * that. It rejects with a failure of the native side, of which whoever awaits it makes an error:
 * that error then has the stack of whoever awaits.
 */
function submit(start) {
  last = (last + 1) % 0x100000000;
  const number = last;
  const promise = new Promise((resolve, reject) => {
    if (pending.size === 0) alive.ref();
    pending.set(number, { resolve, reject });
  });
  try {
    start(hub, number);
  } catch (error) {
    forget(number);
    throw error;
  }
  return promise;
}

/** Gives up a number that was not used. */
function forget(number) {
  pending.delete(number);
  if (pending.size === 0) alive.unref();
}

/** As `submit`, where `start` may return a value at once: then there is nothing to wait for. */
function submitOr(start) {
  let now;
  let number;
  const promise = submit((own, its) => {
    number = its;
    now = start(own, its);
  });
  if (now === undefined) return promise;
  forget(number);
  return now;
}

module.exports = { hub, submit, submitOr };
