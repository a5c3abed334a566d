// The server as the page asks it: Neo4j's Query API over HTTP, with typed JSON, a line for an event.
//
// Nothing else is asked and no other origin: the policy of the page allows none.

import { decode, type Value } from './values'

export interface ServerError {
  code: string
  message: string
}

// What the server, or the way to it, refused.
export class RequestError extends Error {
  constructor (readonly code: string, message: string, readonly status: number) {
    super(message)
  }

  // Whether the credentials are what is wrong.
  get isAboutLogin (): boolean {
    return this.status === 401 || this.code === 'Neo.ClientError.Security.CredentialsExpired'
  }

  // Whether nobody was there to answer.
  get isUnreachable (): boolean {
    return this.code === UNREACHABLE
  }
}

export const UNREACHABLE = 'Telar.Page.Unreachable'

// An operator of a plan, and those below it.
export interface Operator {
  operatorType: string
  identifiers: string[]
  arguments: Record<string, string | number>
  children: Operator[]
  dbHits?: number
  records?: number
  time?: number
}

export interface Notification {
  code: string
  title: string
  description: string
  severity: string
  category: string
  position?: { offset: number, line: number, column: number }
}

export interface Summary {
  queryType: 'r' | 'w' | 'rw' | 's'
  counters: Record<string, number | boolean>
  queryPlan?: Operator
  profiledQueryPlan?: Operator
  notifications?: Notification[]
  bookmarks?: string[]
}

export interface Credentials {
  user: string
  password: string
}

export interface Statement {
  text: string
  // Parameters as JSON: plain, or typed where `$type` says so.
  parameters?: Record<string, unknown>
  readOnly?: boolean
  signal?: AbortSignal
}

// What a statement answers, as it comes. `rows` gets batches; it may return false to have no more.
export interface Receiver {
  fields?: (names: string[]) => void
  rows: (rows: Value[][]) => boolean | undefined | void
}

export interface Answer {
  fields: string[]
  // None if the receiver wanted no more.
  summary?: Summary
}

const TYPED_LINES = 'application/vnd.neo4j.query.v1.1+jsonl'

export class Api {
  constructor (readonly database: string, readonly credentials?: Credentials) {}

  // The same server and user with another database.
  on (database: string): Api {
    return new Api(database, this.credentials)
  }

  // Runs a statement and hands over its rows as they come.
  async stream (statement: Statement, receiver: Receiver): Promise<Answer> {
    const response = await this.fetch(`db/${encodeURIComponent(this.database)}/query/v2`, {
      method: 'POST',
      headers: { Accept: TYPED_LINES, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        statement: statement.text,
        parameters: statement.parameters ?? {},
        includeCounters: true,
        ...statement.readOnly ? { accessMode: 'READ' } : {}
      }),
      ...statement.signal ? { signal: statement.signal } : {}
    })
    const answer: Answer = { fields: [] }
    for await (const lines of linesOf(response)) {
      const rows: Value[][] = []
      for (const line of lines) {
        const event = JSON.parse(line)
        switch (event.$event) {
          case 'Header':
            answer.fields = event._body.fields
            receiver.fields?.(answer.fields)
            break
          case 'Record': rows.push(event._body.map(decode)); break
          case 'Summary': answer.summary = event._body; break
          case 'Error': throw new RequestError(event._body[0].code, event._body[0].message, response.status)
        }
      }
      // Leaving the loop hangs up, which ends the statement.
      if (rows.length > 0 && receiver.rows(rows) === false) return answer
    }
    return answer
  }

  // Runs a statement and returns all rows: for answers that are known to be small.
  async run (text: string, parameters: Record<string, unknown> = {}, signal?: AbortSignal): Promise<{ fields: string[], rows: Value[][], summary: Summary }> {
    const rows: Value[][] = []
    const { fields, summary } = await this.stream(
      { text, parameters, ...signal ? { signal } : {} },
      { rows: more => { for (const row of more) rows.push(row) } }
    )
    if (!summary) throw new RequestError(UNREACHABLE, 'the server hung up before the answer was complete', 0)
    return { fields, rows, summary }
  }

  // Asks for what is JSON.
  async json<T> (path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await this.fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Accept: 'application/json', ...body === undefined ? {} : { 'Content-Type': 'application/json' } },
      ...body === undefined ? {} : { body: JSON.stringify(body) },
      ...signal ? { signal } : {}
    })
    return await response.json() as T
  }

  async fetch (path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers)
    if (this.credentials) headers.set('Authorization', basic(this.credentials))
    let response: Response
    try {
      response = await fetch(path, { ...init, headers, credentials: 'omit', cache: 'no-store', redirect: 'error' })
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw new RequestError(UNREACHABLE, 'the server does not answer', 0)
    }
    if (response.ok) return response
    const error = errorOf(await response.text()) ?? { code: `HTTP ${response.status}`, message: response.statusText }
    throw new RequestError(error.code, error.message, response.status)
  }
}

// The error in a body: `{"errors": [...]}`, or a line of events.
function errorOf (body: string): ServerError | undefined {
  try {
    const read = JSON.parse(body)
    return (read.errors ?? read._body)?.[0]
  } catch {
    return undefined
  }
}

function basic ({ user, password }: Credentials): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  return 'Basic ' + btoa(String.fromCharCode(...bytes))
}

// The lines of a body, as many at once as have come.
async function * linesOf (response: Response): AsyncGenerator<string[]> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      let chunk: ReadableStreamReadResult<string>
      try {
        chunk = await reader.read()
      } catch (error) {
        if (error instanceof DOMException && error.name === 'AbortError') throw error
        throw new RequestError(UNREACHABLE, 'the server hung up before the answer was complete', 0)
      }
      if (chunk.done) break
      const lines = (rest + chunk.value).split('\n')
      rest = lines.pop()!
      if (lines.length > 0) yield lines
    }
    if (rest !== '') yield [rest]
  } finally {
    // Hangs up where not everything was read.
    await reader.cancel().catch(() => {})
  }
}
