'use strict';

// Options: objects whose keys and types are checked, since a misspelled one would do nothing.

/** Checks the keys of `given` and the types of their values; returns it, or an empty object. */
function options(what, given, known) {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new TypeError(`${what} takes its options as an object`);
  }
  for (const [key, value] of Object.entries(given)) {
    const type = known[key];
    if (type === undefined) {
      throw new TypeError(
        `${what} has no option ${key}; there are ${Object.keys(known).join(', ')}`,
      );
    }
    if (value === undefined || value === null) continue;
    const fits = type === 'signal' ? value instanceof AbortSignal : typeof value === type;
    if (!fits) {
      const name = type === 'signal' ? 'an AbortSignal' : `a ${type}`;
      throw new TypeError(`the option ${key} of ${what} is ${name}, not ${typeof value}`);
    }
  }
  return given;
}

/** An option for the native side, which knows no null. */
function given(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value != null));
}

function textOf(text) {
  if (typeof text !== 'string') throw new TypeError(`a statement is a string, not ${typeof text}`);
  return text;
}

/**
 * Runs `work`, which `cancel` ends early. Once the signal has ended it, the reason of the signal is
 * the error, as with `fetch`.
 */
async function abortable(signal, cancel, work) {
  if (!signal) return work();
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await work();
  } catch (error) {
    if (error.failed === 'InterruptedError') signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

module.exports = { options, given, textOf, abortable };
