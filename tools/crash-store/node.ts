/** A node of the crash test, a separate process: waits for the queue, owns it, sends mail to
 * itself.
 * Invariant: accepted messages, attempts and deliveries stand in its ledger, a local file, before
 * anything else happens: the ledger of a killed node is complete. */
import { closeSync, openSync, writeSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryResult } from '../../src/delivery/transport.js'
import { fixedRetry, isWaybillError, openQueue, type Queue } from '../../src/index.js'
import { storeDisk } from '../../src/store/open-store.js'
import type { StoreDisk } from '../../src/store/store-disk.js'

export interface NodeRequest {
  readonly url: string
  readonly role: 'home' | 'adopter'
  /** A name for this life, in every address. */
  readonly life: string
  readonly ledger: string
  /** Zero for a life that only delivers. */
  readonly ratePerSecond: number
}

const request = JSON.parse(process.argv[2] ?? '{}') as NodeRequest
const descriptor = openSync(request.ledger, 'a')
const note = (...words: readonly (string | number)[]): void =>
  void writeSync(descriptor, `${words.join(' ')}\n`)

/** Deliveries take so long, and one message of ten is deferred once. */
const deliveryMs = 20
const retryMs = 300
const tickMs = 20
/** Until it is ended, it says how it stands, for the ledger of a round that went wrong. */
const accountMs = 5000

let isQuiet = false
let hasNews = false
process.on('message', (word) => {
  if (word === 'quiet') isQuiet = true
  hasNews = true
})
process.on('disconnect', () => process.exit(0))

async function owned(): Promise<{ queue: Queue; disk: StoreDisk }> {
  for (;;) {
    const { url, role } = request
    const disk = storeDisk({ url, role, onEvent: ({ kind }) => note('E', kind, Date.now()) })
    try {
      const queue = await openQueue('store', {
        disk,
        transports: { ledger: { deliver } },
        route: () => ({ transport: 'ledger', nexthop: 'ledger' }),
        retry: fixedRetry([retryMs]),
      })
      return { queue, disk }
    } catch (error) {
      if (!isWaybillError(error)) throw error
      if (error.code !== 'QUEUE_LOCKED') note('X', error.code, error.message.replaceAll(' ', '_'))
      await sleep(100)
    }
  }
}

const deferred = new Set<string>()

async function deliver({ recipients }: { readonly recipients: readonly string[] }): Promise<DeliveryResult> {
  const token = recipients[0]!.split('@')[0]!
  note('B', token, request.life, Date.now())
  await sleep(deliveryMs)
  if (token.endsWith('0') && !deferred.has(token)) {
    deferred.add(token)
    return { kind: 'deferred', status: '4.0.0', reason: 'once' }
  }
  note('D', token, request.life)
  return { kind: 'delivered' }
}

async function main(): Promise<void> {
  const { queue, disk } = await owned()
  note('C', disk.statistics.epoch, request.life, Date.now())
  queue.on('crashed', ({ error }) => {
    note('X', isWaybillError(error) ? error.code : 'other', String(error).replaceAll(' ', '_'))
    process.exit(1)
  })
  let count = 0
  let accountAtMs = 0
  const perTick = Math.round((request.ratePerSecond * tickMs) / 1000)
  for (;;) {
    if (hasNews || (isQuiet && Date.now() >= accountAtMs)) {
      note('S', Date.now(), JSON.stringify({ store: disk.statistics, queue: queue.stats() }))
      accountAtMs = Date.now() + accountMs
    }
    hasNews = false
    if (!isQuiet) for (let i = 0; i < perTick; i++) void submit(queue, `${request.life}-${++count}`)
    await sleep(tickMs)
  }
}

async function submit(queue: Queue, token: string): Promise<void> {
  try {
    await queue.submit({
      sender: '',
      recipients: [`${token}@example.org`],
      data: `Subject: ${token}\r\n\r\n${'x'.repeat(900)}\r\n`,
    })
    note('A', token, request.life, Date.now())
  } catch (error) {
    note('N', token, isWaybillError(error) ? error.code : 'other')
  }
}

process.on('exit', () => closeSync(descriptor))
await main()
