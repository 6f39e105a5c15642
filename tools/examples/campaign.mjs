/** A campaign: many messages for one time, which pass nobody, and can be cancelled.
 *
 *     QUEUE=./campaign-queue COUNT=1000000 node campaign.mjs
 *
 * It submits COUNT messages that are due in an hour, tagged by campaign and by half, sends a password
 * reset at once, cancels one half by its tag, and tells how much memory the waiting mail takes. Its
 * transport only counts: put `smtpTransport({ host, port })` in its place. */
import { openQueue, postfixRetry } from 'waybill'

const { QUEUE = './campaign-queue', COUNT = '1000' } = process.env
const count = Number(COUNT)
const dueAt = Date.now() + 3_600_000

let sentCount = 0
const counting = {
  deliver: () => {
    sentCount++
    return { kind: 'delivered' }
  },
}

const queue = await openQueue(QUEUE, {
  transports: { counting },
  route: () => ({ transport: 'counting', nexthop: 'example.net' }),
  retry: postfixRetry(),
})

/** Memory in use, bytes; exact with `node --expose-gc`. */
const memoryBytes = () => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function* campaign() {
  for (let n = 0; n < count; n++)
    yield {
      sender: 'news@example.org',
      recipients: [`reader-${n}@example.net`],
      data: `Subject: Spring\r\n\r\nHello reader ${n}.\r\n`,
      tags: ['spring', n % 2 === 0 ? 'half-a' : 'half-b'],
      priority: 'low',
      notBefore: dueAt,
      // A run that was cut short is started again: no reader gets two.
      idempotencyKey: `spring-${n}`,
    }
}

const beforeBytes = memoryBytes()
let acceptedCount = 0
for await (const { error, index } of queue.submitMany(campaign())) {
  if (error === undefined) acceptedCount++
  else console.error(`message ${index}: ${error.message}`)
}
// Settles when all of it waits in its lane.
await queue.idle()
const waitingBytes = Math.max(0, memoryBytes() - beforeBytes)

await queue.submit({
  sender: 'accounts@example.org',
  recipients: ['ada@example.net'],
  data: 'Subject: Your password\r\n\r\nhttps://example.org/reset\r\n',
  priority: 'high',
  expiresAt: Date.now() + 600_000,
})
await queue.idle()
console.log(
  `${acceptedCount} wait, ${sentCount} sent, ${(waitingBytes / 2 ** 20).toFixed(1)} MiB more memory`,
)

const { messageCount, missedCount } = await queue.delete({ tag: 'half-b' })
console.log(`${messageCount} cancelled, ${missedCount} missed`)
let leftCount = 0
for await (const _ of queue.list({ tag: 'spring' })) leftCount++
console.log(`${leftCount} left`)
queue.crash()
