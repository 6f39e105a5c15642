/** The crash test of own-transport.mjs: the queue runs with it through kills and power losses, on a
 * simulated disk and clock. `SEEDS=1000 node own-transport-crash-test.mjs` takes some seconds; the
 * exit code is 1 when a message was lost, and the seed shows it again (`FROM=seed SEEDS=1`).
 *
 * `HASTY=yes` tests a transport that answers before the gateway has. The test has to fail with it. */
import { fixedRetry } from 'waybill'
import { simulate } from 'waybill/sim'
import { gatewayTransport } from './own-transport.mjs'

const { SEEDS = '200', FROM = '1', HASTY = '' } = process.env

/** The other side: it survives our crashes, is slow, and every third call finds it out of reach. */
const world = () => ({ kept: new Map(), calls: 0 })

const gatewayOf = (outside, clock) => ({
  async put(key, text) {
    await new Promise((resolve) => clock.after(30, resolve))
    if (++outside.calls % 3 === 0) throw new Error('the gateway is out of reach')
    outside.kept.set(key, text.toString())
  },
})

const hasty = (gateway) => ({
  ...gateway,
  put: async (key, text) => void gateway.put(key, text).catch(() => undefined),
})

const recipients = ['ada@example.org', 'grace@example.net', 'edsger@example.com']
const submissions = recipients.map((recipient) => ({
  sender: 'app@example.org',
  recipients: [recipient],
  data: `Subject: for ${recipient}\r\n\r\nhello\r\n`,
}))

const { runs, crashes, failure } = await simulate({
  world,
  transports: (outside, clock) => {
    const gateway = gatewayOf(outside, clock)
    return { gateway: gatewayTransport(HASTY === '' ? gateway : hasty(gateway)) }
  },
  submissions,
  check: ({ kept }, settled) => {
    const texts = [...kept.values()]
    for (const index of settled) {
      const count = texts.filter((text) => text === submissions[index].data).length
      if (count !== 1) throw new Error(`message ${index} was promised, and is kept ${count} times`)
    }
  },
  queue: { retry: fixedRetry([60_000]) },
  seeds: Number(SEEDS),
  from: Number(FROM),
})

console.log(`${runs} runs, ${crashes} crashes`)
if (failure !== undefined) {
  console.error(`seed ${failure.seed}: ${failure.error.message}`)
  for (const { op, operation, left } of failure.crashes)
    console.error(`  before ${op}, ${operation}: ${left}`)
  process.exitCode = 1
}
