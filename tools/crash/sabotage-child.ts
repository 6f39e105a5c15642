/** Hunts in a damaged copy of the engine: `node sabotage-child.js <directory of the copy> <seed> <hunt> …`. Prints what it found. */
import { pathToFileURL } from 'node:url'
import type * as HuntModule from '../../src/sim/hunt.js'

const [directory, seed, ...names] = process.argv.slice(2)
const { hunt } = (await import(pathToFileURL(`${directory}/sim/hunt.js`).href)) as typeof HuntModule
let crashCount = 0
const say = (found: object): void => {
  process.stdout.write(`${JSON.stringify(found)}\n`)
}
process.on('uncaughtException', (error) => {
  say({
    hunt: 'any',
    oracle: 'O8',
    text: `the process died: ${error.message}`,
    seed: Number(seed),
    op: 0,
    crashCount,
  })
  process.exit(0)
})
for (const name of names as HuntModule.HuntName[]) {
  const result = await hunt(name, Number(seed))
  crashCount += result.crashCount
  const [finding] = result.findings
  if (finding === undefined) continue
  say({ hunt: name, ...finding, crashCount })
  process.exit(0)
}
say({ crashCount })
