// Labels, types, properties, indexes and constraints; a click makes a query of them.

import { put } from '../editor/editor'
import { name } from '../server/values'
import { refreshSchema, schema, type Counted, type Index } from '../state/schema'
import { mayWrite } from '../state/session'
import { loadSample } from './sample'
import { startTour } from './tour'

export function SchemaPanel () {
  const { nodes, relationships, labels, types, properties, indexes, constraints } = schema.value
  return (
    <>
      <p class='figures'>
        <b>{nodes.toLocaleString('en')}</b> nodes, <b>{relationships.toLocaleString('en')}</b> relationships
        <button class='quiet' title='Look again' onClick={() => { void refreshSchema() }}>refresh</button>
      </p>
      {nodes === 0 && <Empty />}
      <Chips
        title='Labels' kind='label' all={labels}
        query={label => `MATCH (n:${name(label)}) RETURN n LIMIT 50`}
      />
      <Chips
        title='Relationship types' kind='type' all={types}
        query={type => `MATCH p = ()-[:${name(type)}]->() RETURN p LIMIT 50`}
      />
      {properties.size > 0 && (
        <details>
          <summary>Properties</summary>
          <dl>
            {[...properties].map(([of, keys]) => [<dt key={of}>{of}</dt>, <dd key={`${of}.`}>{keys.join(', ')}</dd>])}
          </dl>
        </details>
      )}
      <Listed title='Indexes' all={indexes.filter(({ type }) => type !== 'LOOKUP')} />
      <Listed title='Constraints' all={constraints} />
    </>
  )
}

function Empty () {
  return (
    <div class='empty'>
      <p>The database is empty.</p>
      {mayWrite.value && (
        <button class='primary' onClick={async () => { if (await loadSample()) startTour() }}>Load a sample graph</button>
      )}
    </div>
  )
}

function Chips ({ title, kind, all, query }: { title: string, kind: string, all: Counted[], query: (name: string) => string }) {
  if (all.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <div class='chips'>
        {all.map(({ name, count }) => (
          <button key={name} class={kind} title={query(name)} onClick={() => put(query(name), true)}>
            {name}<small>{count.toLocaleString('en')}</small>
          </button>
        ))}
      </div>
    </section>
  )
}

function Listed ({ title, all }: { title: string, all: Index[] }) {
  if (all.length === 0) return null
  return (
    <details>
      <summary>{title} ({all.length})</summary>
      <ul class='listed'>
        {all.map(({ name, type, of, properties, state }) => (
          <li key={name}>
            <b>{name}</b> <span class='muted'>{type.toLowerCase()}{state === 'ONLINE' ? '' : `, ${state.toLowerCase()}`}</span>
            <br />{of.join(', ')} ({properties.join(', ')})
          </li>
        ))}
      </ul>
    </details>
  )
}
