/** A queue working at full rate in a process of its own, until it is killed: `busy-queue DIR`. A third of the mail is delivered, a
 * third deferred for a moment, a third refused; segments are small, so that they are recycled many times a second. */
import { openQueue, fixedRetry } from '../../dist/src/index.js'

const [directory = ''] = process.argv.slice(2)
const outcomes = [
  { kind: 'delivered' },
  { kind: 'deferred', status: '4.2.0', reason: 'later' },
  { kind: 'failed', status: '5.1.1', reason: 'no' },
]
let attempts = 0
const queue = await openQueue(directory, {
  transports: { sink: { deliver: ({ recipients }) => recipients.map(() => outcomes[attempts++ % 3]) } },
  route: (recipient) => ({ transport: 'sink', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
  retry: fixedRetry([50, 200, 700]),
  segmentBytes: 256 * 1024,
  laneSegmentBytes: 64 * 1024,
  inlineBytesMax: 4096,
  checkpointIntervalMs: 20,
  suffixBytesMax: 512 * 1024,
})
let submitted = 0
const submit = async () => {
  for (;;) {
    const number = submitted++
    const data = Buffer.alloc(number % 50 === 0 ? 8192 : 600, 'waybill at work\r\n')
    const recipients = [`a${number}@one.example`, `b${number}@two.example`]
    await queue.submit({ sender: `s${number % 7}@from.example`, recipients, data })
    if (submitted % 1000 === 0) process.stdout.write(`${submitted}\n`)
  }
}
await Promise.all(Array.from({ length: 40 }, submit))
