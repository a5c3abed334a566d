// Runs the behaviours of ../README.md with the official JavaScript driver.
//
//     node main.mjs [PART OF A NAME]...

import './values.mjs'
import './results.mjs'
import './transactions.mjs'
import './failures.mjs'
import './connections.mjs'
import { run } from './behaviour.mjs'

process.exit(await run(process.argv.slice(2)))
