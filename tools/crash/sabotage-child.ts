/** Hunts in a damaged copy of the engine: `node sabotage-child.js <directory of the copy> <places,
 * as JSON>`. Prints what it found. */
import { pathToFileURL } from 'node:url'
import type * as HuntModule from '../../src/sim/hunt/hunt.js'
import type { Place } from './clues.js'

const [directory = '', places = ''] = process.argv.slice(2)
const { hunt } = (await import(pathToFileURL(`${directory}/sim/hunt/hunt.js`).href)) as typeof HuntModule
let crashCount = 0
const say = (found: object): void => {
  process.stdout.write(`${JSON.stringify(found)}\n`)
}
process.on('uncaughtException', (error) => {
  say({ hunt: 'any', oracle: 'O8', text: `the process died: ${error.message}`, crashCount })
  process.exit(0)
})
for (const place of JSON.parse(places) as Place[]) {
  const result = await hunt(place.hunt, place.seed, place.op)
  crashCount += result.crashCount
  const [finding] = result.findings
  if (finding === undefined) continue
  say({ hunt: place.hunt, ...finding, crashCount })
  process.exit(0)
}
say({ crashCount })
