/** `npm run fortnight`: lives through two weeks of a relay, and prints their timeline.
 * It exits 1 when a recipient did not end when the documents say, and lists the first of them.
 * test/sim/fortnight.test.ts compares the timeline with its golden file. */
import { Ledger } from './fortnight/ledger.js'
import { liveThroughFortnight } from './fortnight/lives.js'
import { fortnightOfMail } from './fortnight/mail.js'
import { broken, intervalRules } from './fortnight/rules.js'
import { timelineOf } from './fortnight/timeline.js'

const seed = 29
const shownMax = 20

const ledger = new Ledger()
ledger.rules = intervalRules(ledger)
await liveThroughFortnight({ seed, mail: fortnightOfMail(seed), ledger })
const wrong = [...broken(ledger)]
for (const words of wrong.slice(0, shownMax)) process.stderr.write(`${words}\n`)
if (wrong.length > shownMax) process.stderr.write(`and ${wrong.length - shownMax} more\n`)
process.stdout.write(timelineOf(ledger))
process.exitCode = wrong.length === 0 ? 0 : 1
