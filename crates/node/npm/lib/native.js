'use strict';

// The database itself: a binary for each platform.

const path = require('node:path');

function load() {
  const name = `telar-${process.platform}-${process.arch}.node`;
  const file = path.join(__dirname, '..', name);
  try {
    return require(file);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    const text = `telar has no binary for ${process.platform} on ${process.arch} (${name})`;
    throw new Error(`${text}: build it with tools/node.sh --package`, { cause: error });
  }
}

module.exports = load();
