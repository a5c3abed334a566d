// Queries with a name, which the browser keeps.

import { put } from '../editor/editor'
import { saved } from '../state/kept'
import { save } from '../view/download'
import { Icon } from '../view/icons'

export function Saved () {
  const forget = (name: string) => { saved.value = saved.value.filter(one => one.name !== name) }
  const file = () => saved.value.map(({ name, text }) => `// ${name}\n${text.trim().replace(/;?$/, ';')}\n`).join('\n')
  return (
    <>
      <ul class='texts'>
        {saved.value.map(({ name, text }) => (
          <li key={name}>
            <button title={text} onClick={() => put(text)}><b>{name}</b><code>{text}</code></button>
            <button class='quiet remove' aria-label={`Remove ${name}`} onClick={() => forget(name)}><Icon name='close' /></button>
          </li>
        ))}
      </ul>
      {saved.value.length === 0
        ? <p class='muted'>Save keeps the text of the editor here, in this browser.</p>
        : <button class='quiet' onClick={() => save('queries.cypher', [file()], 'text/plain')}>Download all</button>}
    </>
  )
}
