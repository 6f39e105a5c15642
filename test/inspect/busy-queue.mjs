/** A queue working at full rate in a process of its own: `busy-queue DIR`. A third of the attempts delivers, a third defers for a moment,
 * a third refuses; segments are small, so that they are recycled many times a second. It tells how much was accepted, now and then; at a
 * SIGTERM it takes no more, brings everything to its end, and tells as its last line what became of it. */
import { openQueue, fixedRetry } from '../../dist/src/index.js'

const [directory = ''] = process.argv.slice(2)
const outcomes = [
  { kind: 'delivered' },
  { kind: 'deferred', status: '4.2.0', reason: 'later' },
  { kind: 'failed', status: '5.1.1', reason: 'no' },
]
const patienceMs = 30_000
const delivered = { kind: 'delivered' }

let attempts = 0
let isEnding = false
const queue = await openQueue(directory, {
  transports: {
    sink: {
      deliver: ({ recipients }) => recipients.map(() => (isEnding ? delivered : outcomes[attempts++ % 3])),
    },
  },
  route: (recipient) => ({ transport: 'sink', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
  retry: fixedRetry([50, 200, 700]),
  segmentBytes: 256 * 1024,
  laneSegmentBytes: 256 * 1024,
  inlineBytesMax: 4096,
  checkpointIntervalMs: 20,
  suffixBytesMax: 512 * 1024,
})
/** How often each recipient came to an end: delivered or refused. */
const ends = new Map()
const end = ({ recipients }) => {
  for (const recipient of recipients)
    if (!recipient.endsWith('@from.example')) ends.set(recipient, (ends.get(recipient) ?? 0) + 1)
}
queue.on('delivered', end)
queue.on('failed', end)
let trouble = ''
queue.on('warning', ({ message }) => (trouble ||= message))
queue.on('crashed', ({ error }) => (trouble ||= String(error)))

let begun = 0
let submitted = 0
let recipientCount = 0
const submit = async () => {
  while (!isEnding) {
    const number = begun++
    const data = Buffer.alloc(number % 50 === 0 ? 8192 : 600, 'waybill at work\r\n')
    const recipients = [`a${number}@one.example`, `b${number}@two.example`]
    // So many that they stand in frames of their own.
    if (number % 500 === 0) for (let i = 0; i < 1100; i++) recipients.push(`m${number}-${i}@many.example`)
    await queue.submit({ sender: `s${number % 7}@from.example`, recipients, data })
    recipientCount += recipients.length
    if (++submitted % 1000 === 0) process.stdout.write(`${submitted}\n`)
  }
}
process.once('SIGTERM', () => (isEnding = true))
await Promise.all(Array.from({ length: 40 }, submit))
const deadline = performance.now() + patienceMs
while (ends.size < recipientCount && trouble === '' && performance.now() < deadline)
  await new Promise((resolve) => setTimeout(resolve, 20))
const lost = recipientCount - ends.size
const twice = [...ends.values()].filter((count) => count > 1).length
process.stdout.write(`${JSON.stringify({ submitted, lost, twice, trouble })}\n`, () => process.exit(0))
