'use strict';

// Graph algorithms as methods: `db.algo.pageRank({ nodes: 'Account', relationships: 'PAYS' })`.

const { Node } = require('./graph.js');

const GRAPH = ['nodes', 'relationships', 'orientation', 'weight', 'defaultWeight', 'pairs'];

// `algo.list` and those of `algo.live` are no algorithms: they have other arguments.
const PROCEDURES = `
  SHOW PROCEDURES YIELD name, argumentDescription AS given, returnDescription AS columns
  WHERE name STARTS WITH 'algo.' AND [a IN given | a.name] = ['graph', 'configuration']
  RETURN name, columns`;

let known = null;

/** Columns of the algorithms: names and types, by the algorithm's name. */
async function procedures(session) {
  if (known === null) {
    const all = new Map();
    for (const { name, columns } of await session.query(PROCEDURES)) all.set(name, columns);
    known = all;
  }
  return known;
}

/** A column of a procedure in the result: nodes are numbers, or a property. */
function shown({ name, type }, key) {
  const node = (of) => (key === undefined ? `id(${of})` : `${of}[$key]`);
  if (type === 'NODE') return `${node(`\`${name}\``)} AS \`${name}\``;
  if (type === 'LIST<NODE>') return `[n IN \`${name}\` | ${node('n')}] AS \`${name}\``;
  return `\`${name}\``;
}

/** A setting: nodes are given by their number. */
function plain(value) {
  if (value instanceof Node) return value.id;
  return Array.isArray(value) ? value.map(plain) : value;
}

async function run(session, name, given = {}, options = undefined) {
  const columns = (await procedures(session)).get(name);
  if (columns === undefined) {
    const within = [...(await procedures(session)).keys()].filter((n) => n.startsWith(`${name}.`));
    throw new TypeError(
      within.length === 0
        ? `there is no algorithm ${name}; CALL algo.list('') lists them`
        : `${name} is a group of algorithms: ${within.join(', ')}`,
    );
  }
  const { key, ...rest } = given;
  const graph = {};
  const settings = {};
  for (const [setting, value] of Object.entries(rest)) {
    (GRAPH.includes(setting) ? graph : settings)[setting] = plain(value);
  }
  const names = columns.map((column) => `\`${column.name}\``).join(', ');
  const returned = columns.map((column) => shown(column, key)).join(', ');
  const text = `CALL ${name}($graph, $settings) YIELD ${names} RETURN ${returned}`;
  return session.query(text, { graph, settings, key }, options);
}

/** The algorithms under a name, or the algorithm of this name. */
function algorithms(session, name = 'algo') {
  return new Proxy(() => {}, {
    get(_, member) {
      // A promise would be asked for `then`.
      if (typeof member === 'symbol' || member === 'then') return undefined;
      return algorithms(session, `${name}.${member}`);
    },
    apply(_, _self, [given, options]) {
      return run(session, name, given, options);
    },
  });
}

module.exports = { algorithms };
