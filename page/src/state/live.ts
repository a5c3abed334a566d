// Following the database: what is shown is asked again when somebody has committed something.

import { effect, signal } from '@preact/signals'

import { asOf, isRunning, rerun } from './run'
import { api, noteError } from './session'

export const isLive = signal(false)
// Why it is not followed any more.
export const problem = signal('')
// The newest commit that was heard of.
export const commit = signal('')

// The least time between two looks: whoever commits a thousand times a second is looked at twice.
const PAUSE_MS = 500

effect(() => {
  if (!isLive.value) return
  const abort = new AbortController()
  asOf.value = ''
  problem.value = ''
  void follow(abort.signal)
  return () => abort.abort()
})

async function follow (signal: AbortSignal): Promise<void> {
  const asking = api.value
  let timer: ReturnType<typeof setTimeout> | undefined
  let look: AbortController | undefined
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      // What runs may have begun before the commit.
      if (isRunning.value) soon()
      else void rerun(look = new AbortController())
    }, PAUSE_MS)
  }
  try {
    const response = await asking.fetch(`db/${encodeURIComponent(asking.database)}/changes`, { signal })
    // What was committed after what is shown, and before the stream began.
    soon()
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const heard = [...value.matchAll(/^\{"commit":(\d+)/gm)].at(-1)?.[1]
      // Between commits the stream says that it is alive.
      if (heard === undefined) continue
      commit.value = heard
      soon()
    }
    problem.value = 'The server has ended the stream of changes.'
  } catch (error) {
    if (signal.aborted) return
    noteError(error)
    problem.value = (error as Error).message
  } finally {
    if (signal.aborted) {
      clearTimeout(timer)
      look?.abort()
    }
  }
  isLive.value = false
}
