/** A real queue in a new directory, and a transport that follows orders; removed after the test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { fixedRetry, openQueue, type Outcome, type Queue, type QueueOptions } from '../../src/index.js'

export interface Taken {
  readonly id: string
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: string
}

export interface Stage {
  readonly queue: Queue
  /** What was delivered. */
  readonly taken: Taken[]
  /** What recipients get from now on. */
  answer: (recipient: string) => Outcome
  /** A new life in the same directory; the one before is crashed. */
  reopen(): Promise<Queue>
}

const delivered: Outcome = { kind: 'delivered' }

export async function openStage(options: Partial<QueueOptions> = {}): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-adapters-'))
  const taken: Taken[] = []
  let queue: Queue
  const open = async (): Promise<Queue> => {
    queue = await openQueue(directory, {
      segmentBytes: 1 << 20,
      transports: {
        take: {
          deliver: async (request) => {
            const { id, sender, recipients } = request
            const data = ((await request.data()) as Buffer).toString('latin1')
            const outcomes = recipients.map((recipient) => stage.answer(recipient))
            const accepted = recipients.filter((_, i) => outcomes[i]!.kind === 'delivered')
            if (accepted.length > 0) taken.push({ id, sender, recipients: accepted, data })
            return outcomes
          },
        },
      },
      route: (recipient) => ({ transport: 'take', nexthop: recipient.split('@')[1] ?? '' }),
      retry: fixedRetry([60_000]),
      ...options,
    })
    queue.on('crashed', () => undefined)
    return queue
  }
  const stage: Stage = {
    get queue() {
      return queue
    },
    taken,
    answer: () => delivered,
    reopen: () => {
      queue.crash()
      return open()
    },
  }
  await open()
  onTestFinished(async () => {
    queue.crash()
    await rm(directory, { recursive: true, force: true })
  })
  return stage
}
