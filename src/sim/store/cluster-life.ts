/** A program of a simulated cluster: waits for the queue, owns it, sends mail to itself, until
 * it ends. */
import { pause } from '../../base/clock.js'
import { below, type Prng } from '../../base/prng.js'
import { isWaybillError } from '../../errors.js'
import { fixedRetry } from '../../policy/fixed-retry.js'
import { openQueue, type Queue } from '../../queue.js'
import { StoreDisk } from '../../store/store-disk.js'
import { codeOf, textOf } from '../life/error-text.js'
import type { ClusterModel } from './cluster-model.js'
import type { SimProgram } from './sim-node.js'
import type { SimStore } from './sim-store.js'

export interface ClusterLifeParts {
  readonly program: SimProgram
  readonly store: SimStore
  readonly prng: Prng
  readonly model: ClusterModel
  readonly queue: string
  readonly role: 'home' | 'adopter'
  readonly ttlMs: number
  readonly proofMs: number
  readonly resumeMs: number
  /** Mail is sent. */
  readonly isBusy: () => boolean
  /** Of the life that has the queue. */
  readonly nonce: () => string
}

const lookAgainMs = 50
const submitEveryMs = 20
const deliveryMsMax = 30
const retryMs = 150
/** A program tells by these why it ended, and its supervisor starts it again. */
const reasons: ReadonlySet<string> = new Set(['QUEUE_LOST', 'STORE_UNREACHABLE', 'QUEUE_LOCKED'])

/** Settles when its life is over, or never: when it is killed. */
export async function clusterLife(parts: ClusterLifeParts): Promise<void> {
  const { program, model } = parts
  try {
    const { queue, nonce } = await opened(parts)
    model.openedCount++
    const ended = new Promise<unknown>((resolve) => queue.on('crashed', ({ error }) => resolve(error)))
    void traffic(parts, queue, nonce)
    throw await ended
  } catch (error) {
    const code = isWaybillError(error) ? error.code : ''
    if (!reasons.has(code)) model.violate('O8', `a life ended: ${codeOf(error)} ${textOf(error)}`)
    if (code !== 'QUEUE_LOCKED') model.troubleCount++
    await pause(program.clock, lookAgainMs, undefined)
  }
}

async function opened(parts: ClusterLifeParts): Promise<{ queue: Queue; nonce: string }> {
  const { program, store, prng, model, role, ttlMs, proofMs, resumeMs } = parts
  const { clock, node } = program
  const disk = new StoreDisk({
    store,
    queue: parts.queue,
    node: node.name,
    role,
    safety: 'required',
    ttlMs,
    proofMs,
    resumeMs,
    clock,
    prng,
    onEvent: ({ kind }) => {
      if (kind === 'resumed') model.resumedCount++
    },
  })
  let nonce = ''
  const queue = await openQueue('store', {
    disk,
    clock,
    prng,
    segmentBytes: 65_536,
    laneSegmentBytes: 65_536,
    inlineBytesMax: 2048,
    retry: fixedRetry([retryMs]),
    route: () => ({ transport: 'model', nexthop: 'model' }),
    transports: {
      model: {
        deliver: async ({ recipients: [recipient = ''], attempts }) => {
          const token = recipient.split('@')[0]!
          model.attempted(token, nonce || parts.nonce())
          await pause(clock, below(prng, deliveryMsMax), undefined)
          if (token.endsWith('3') && attempts === 0)
            return { kind: 'deferred', status: '4.0.0', reason: 'once' }
          model.delivered(token)
          return { kind: 'delivered' }
        },
      },
    },
  })
  nonce = parts.nonce()
  return { queue, nonce }
}

async function traffic(parts: ClusterLifeParts, queue: Queue, nonce: string): Promise<void> {
  const { program, prng, model, isBusy } = parts
  for (let count = 1; !queue.isCrashed; count++) {
    if (isBusy()) void submit(queue, model, `${nonce}-${count}`, below(prng, 8) === 0 ? 5000 : 300)
    await pause(program.clock, submitEveryMs, undefined)
  }
}

async function submit(queue: Queue, model: ClusterModel, token: string, bytes: number): Promise<void> {
  try {
    const data = `Subject: ${token}\r\n\r\n${'x'.repeat(60)}\r\n`.repeat(Math.ceil(bytes / 80))
    await queue.submit({ sender: '', recipients: [`${token}@example.org`], data })
    model.accepted(token)
  } catch (error) {
    // Not accepted, as far as anybody was told.
    if (!isWaybillError(error)) model.violate('O8', textOf(error))
  }
}
