/** The child: a queue under load in a process that may be killed at any moment.
 * It reports everything and decides nothing. It ends when its standard input does, so that no child
 * outlives its parent. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { below, seededPrng } from '../../src/base/prng.js'
import { fixedRetry, isWaybillError, openQueue } from '../../src/index.js'
import type { DeliveryRequest, Outcome, Queue, RetryPolicy, Transport } from '../../src/index.js'
import { leftovers } from './leftovers.js'
import { attemptsOfNever, fateOf, neverNexthop, numberedMail, outcomeFor } from './mail.js'
import { tell } from './trace.js'
import { queueSizes, retryIntervalsMs, type WorkerTask } from './worker-task.js'

const attemptMsMax = 20
const pauseMsMax = 4
const pauseAfterRejectionMs = 50
const drainMsMax = 30_000
const quietMs = 400
const listedMax = 20

const task = JSON.parse(process.argv[2] ?? '{}') as WorkerTask
const prng = seededPrng(task.seed + task.firstNumber)
let gate = task.gate
/** Called when the gate is opened. */
const atGate: (() => void)[] = []

const transport: Transport = {
  async deliver(request) {
    const content = await read(request)
    await sleep(below(prng, attemptMsMax))
    if (gate === 'hangs' && request.recipients.some((recipient) => fateOf(recipient) === 'gate'))
      await new Promise<void>((resolve) => atGate.push(resolve))
    return request.recipients.map((recipient) => effect(request, recipient, content))
  },
}

interface Content {
  readonly hash: string
  readonly named: readonly string[]
}

async function read(request: DeliveryRequest): Promise<Content> {
  try {
    const data = (await request.data()) as Buffer
    const named = request.sender === '' ? data.toString().matchAll(/^Final-Recipient: rfc822; ?(\S+)/gim) : []
    return {
      hash: createHash('sha256').update(data).digest('hex'),
      named: Array.from(named, ([, name]) => name!),
    }
  } catch (error) {
    // After the end of this life nothing can be read.
    if (!isWaybillError(error, 'QUEUE_CRASHED'))
      tell({ kind: 'unreadable', recipient: request.recipients[0]!, ...codeOf(error) })
    throw error
  }
}

function effect(request: DeliveryRequest, recipient: string, { hash, named }: Content): Outcome {
  const { id, sender, attempts } = request
  const outcome = outcomeFor(recipient, attempts, gate === 'open')
  tell({ kind: 'effect', id, sender, recipient, attempts, outcome: outcome.kind, hash, named })
  return outcome
}

function retryPolicy(): RetryPolicy {
  const fixed = fixedRetry(retryIntervalsMs)
  return {
    ...fixed,
    decide: (state, random) =>
      state.nexthop === neverNexthop && state.attempts >= attemptsOfNever
        ? { kind: 'expire' }
        : fixed.decide(state, random),
  }
}

function codeOf(error: unknown): { readonly code: string; readonly message: string } {
  return { code: isWaybillError(error) ? error.code : 'UNKNOWN', message: String(error) }
}

async function open(): Promise<Queue> {
  try {
    const queue = await openQueue(task.directory, {
      ...queueSizes,
      freeBytesMin: task.freeBytesMin,
      transports: { world: transport },
      route: (recipient) => ({ transport: 'world', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
      retry: retryPolicy(),
      // A message that was active at each of many kills has done nothing wrong.
      fruitlessRecoveriesMax: 0,
    })
    tell({ kind: 'opened' })
    return queue
  } catch (error) {
    tell({ kind: 'unopened', ...codeOf(error) })
    return process.exit(4)
  }
}

function listen(queue: Queue): Promise<void> {
  for (const kind of ['delivered', 'deferred', 'failed'] as const)
    queue.on(kind, ({ id, recipients }) => tell({ kind: 'recorded', id, recipients }))
  queue.on('warning', ({ code, message }) => tell({ kind: 'warning', code, message }))
  queue.on('crashed', ({ error }) => {
    if (error === undefined) return
    tell({ kind: 'crashed', ...codeOf(error) })
    process.exit(3)
  })
  return new Promise((resolve) => {
    queue.once('recovered', ({ messageCount, cutBytes }) => {
      tell({ kind: 'recovered', messageCount, cutBytes })
      resolve()
    })
  })
}

/** Submits one message. Resolves with whether it was accepted. */
async function submit(queue: Queue, number: number): Promise<boolean> {
  const { sender, recipients, data } = numberedMail(task.seed, number, task.mixture)
  tell({ kind: 'begun', number })
  try {
    await queue.submit({ sender, recipients, data })
    tell({ kind: 'settled', number })
    return true
  } catch (error) {
    tell({ kind: 'rejected', number, ...codeOf(error) })
    return false
  }
}

async function load(queue: Queue): Promise<void> {
  let next = task.firstNumber
  const end = task.firstNumber + task.messageCount
  const produce = async (): Promise<void> => {
    while (next < end) {
      const accepted = await submit(queue, next++)
      await sleep(accepted ? below(prng, pauseMsMax) : pauseAfterRejectionMs)
    }
  }
  await Promise.all(Array.from({ length: task.producerCount }, produce))
  tell({ kind: 'idle' })
}

/** Waits until the queue is empty; one last message proves durable what was recorded before it. */
async function drain(queue: Queue): Promise<void> {
  await empty(queue)
  if (!(await submit(queue, task.firstNumber)))
    tell({ kind: 'stuck', messages: ['the last message was rejected'] })
  await empty(queue)
  let left: readonly string[] = []
  // A checkpoint whose record begins a segment still needs the segment before; the next checkpoint
  // does not.
  for (let checkpoint = 0; checkpoint < 2; checkpoint++) {
    for await (const { id } of queue.list()) tell({ kind: 'stuck', messages: [id] })
    left = leftovers(task.directory, queue.stats())
    if (left.length === 0) break
    await sleep(200)
  }
  tell({ kind: 'drained', leftovers: left })
}

/** Waits until nothing is listed. A listing can miss a message that moves from a lane to the active
 * ones meanwhile, so it is asked twice. */
async function empty(queue: Queue): Promise<void> {
  const giveUpAtMs = performance.now() + drainMsMax
  for (let emptyListings = 0; emptyListings < 2;) {
    const messages = await listed(queue)
    emptyListings = messages.length === 0 && queue.stats().activeCount === 0 ? emptyListings + 1 : 0
    if (performance.now() > giveUpAtMs) {
      tell({ kind: 'stuck', messages })
      process.exit(5)
    }
    await sleep(50)
  }
}

async function listed(queue: Queue): Promise<readonly string[]> {
  const messages: string[] = []
  try {
    for await (const { id, where, recipients, notes } of queue.list())
      if (messages.push(`${id} ${where} ${recipients.join(' ')} ${JSON.stringify(notes)}`) >= listedMax) break
  } catch (error) {
    // On a full disk: there are more.
    if (!isWaybillError(error, 'LIST_INCOMPLETE')) throw error
    messages.push(error.message)
  }
  return messages
}

function tellStatistics(queue: Queue): void {
  const { activeCount, journal } = queue.stats()
  const { diskFull, spareCount, stagedBytes } = journal
  tell({ kind: 'statistics', activeCount, diskFull, spareCount, stagedBytes })
}

async function main(): Promise<void> {
  tell({ kind: 'born', pid: process.pid })
  process.stdin.on('data', (chunk) => {
    if (!String(chunk).includes('open the gate')) return
    gate = 'open'
    for (const comeIn of atGate.splice(0)) comeIn()
  })
  process.stdin.on('end', () => process.exit(6))
  const queue = await open()
  const recovered = listen(queue)
  if (task.mixture === 'gated') setInterval(() => tellStatistics(queue), 100).unref()
  switch (task.mode) {
    case 'load':
      return load(queue)
    case 'batch':
      await load(queue)
      await sleep(quietMs)
      break
    case 'drain':
      await drain(queue)
      break
    case 'quiet':
      await recovered
      await sleep(quietMs)
      break
  }
  process.exit(0)
}

await main()
