/** What a program gives a queue as an object is checked by its names: a member that nobody heeds
 * would be a consumer that forgets, a drain without an end, or a limit without effect. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prometheus } from '../../../src/adapters/prometheus.js'
import { smtpHandlers } from '../../../src/adapters/smtp-server.js'
import {
  ClauseAgents,
  lmtpTransport,
  maildirTransport,
  mxTransport,
  openQueue,
  pipeTransport,
  postfixRetry,
  postOutcomes,
  serveControl,
  smtpTransport,
  zmailerPolicy,
  type OpenOptions,
  type Queue,
} from '../../../src/index.js'
import { simulate } from '../../../src/sim/index.js'

const usual: OpenOptions = {
  transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
  route: () => ({ transport: 'none', nexthop: 'none' }),
}
const mail = { sender: 'a@example.org', recipients: ['b@example.org'], data: 'x' }
const rate = { count: 1, perMs: 1000 }

const root = mkdtempSync(join(tmpdir(), 'waybill-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let queue: Queue
beforeAll(async () => {
  queue = await openQueue(join(root, 'queue'), { ...usual, segmentBytes: 32_768, laneSegmentBytes: 32_768 })
})
afterAll(() => queue.crash())

/** As a program without types calls them. */
type Wrong = never
const first = (items: AsyncIterator<unknown>): Promise<unknown> => items.next()

const calls: readonly (readonly [string, (member: object) => unknown])[] = [
  ['submit', (member) => queue.submit({ ...mail, ...member })],
  ['the requests for reports of submit', (member) => queue.submit({ ...mail, dsn: member as Wrong })],
  ['submitMany', (member) => first(queue.submitMany([mail], member as Wrong))],
  ['list', (member) => first(queue.list({}, member as Wrong)[Symbol.asyncIterator]())],
  ['a selector', (member) => queue.page(member as Wrong)],
  ['page', (member) => queue.page({}, member as Wrong)],
  ['message', (member) => queue.message('x', member as Wrong)],
  ['hold', (member) => queue.hold({ all: true }, member as Wrong)],
  ['release', (member) => queue.release({ all: true }, member as Wrong)],
  ['requeue', (member) => queue.requeue({ all: true }, member as Wrong)],
  ['flush', (member) => queue.flush({ all: true }, member as Wrong)],
  ['a new route', (member) => queue.reroute({ all: true }, { nexthop: 'x', ...member })],
  ['reroute', (member) => queue.reroute({ all: true }, { nexthop: 'x' }, member as Wrong)],
  ['expire', (member) => queue.expire({ all: true }, member as Wrong)],
  ['delete', (member) => queue.delete({ all: true }, member as Wrong)],
  ['slow', (member) => queue.slow({ nexthop: 'x', ...rate, ...member })],
  ['suspend', (member) => queue.suspend({ nexthop: 'x' }, member as Wrong)],
  ['the target of suspend', (member) => queue.suspend({ nexthop: 'x', ...member })],
  ['unsuspend', (member) => queue.unsuspend({ nexthop: 'x', ...member })],
  ['reconfigure', (member) => queue.reconfigure(member)],
  ['outcomes', (member) => first(queue.outcomes({ consumer: 'it', ...member }))],
  ['outcomeBatches', (member) => first(queue.outcomeBatches({ consumer: 'it', ...member }))],
  ['history', (member) => queue.history({ id: 'x' }, member as Wrong)],
  ['the selector of history', (member) => queue.history({ id: 'x', ...member })],
  ['backup', (member) => queue.backup({ to: join(root, 'backup'), ...member })],
  ['drain', (member) => queue.drain(member as Wrong)],
  ['openQueue', (member) => openQueue(join(root, 'other'), { ...usual, ...member })],
  ['attempt', (member) => openQueue(join(root, 'other'), { ...usual, attempt: member as Wrong })],
  [
    'history of openQueue',
    (member) => openQueue(join(root, 'other'), { ...usual, history: member as Wrong }),
  ],
  ['scheduler', (member) => openQueue(join(root, 'other'), { ...usual, scheduler: member as Wrong })],
  [
    'a limit',
    (member) => queue.reconfigure({ limits: [{ kind: 'tag', pattern: '*', ...rate, ...member } as Wrong] }),
  ],
  [
    'shaping',
    (member) => queue.reconfigure({ shaping: [{ reply: '421', forMs: 1000, ...rate, ...member } as Wrong] }),
  ],
  ['smtpTransport', (member) => smtpTransport({ host: 'localhost', ...member })],
  [
    'credentials',
    (member) =>
      smtpTransport({ host: 'localhost', tls: 'required', auth: { user: 'a', pass: 'b', ...member } }),
  ],
  ['mxTransport', (member) => mxTransport({ ...member })],
  ['lmtpTransport', (member) => lmtpTransport({ host: 'localhost', ...member })],
  ['maildirTransport', (member) => maildirTransport({ directory: root, ...member })],
  ['pipeTransport', (member) => pipeTransport({ command: ['cat'], ...member } as Wrong)],
  ['ClauseAgents', (member) => new ClauseAgents({ directory: root, policy: () => undefined, ...member })],
  ['postfixRetry', (member) => postfixRetry(member)],
  ['zmailerPolicy', (member) => zmailerPolicy('*/*\n', member as Wrong)],
  [
    'postOutcomes',
    (member) =>
      postOutcomes(queue, { url: 'http://127.0.0.1', secret: `whsec_${'A'.repeat(32)}`, ...member }),
  ],
  ['serveControl', (member) => serveControl(queue, root, member as Wrong)],
  ['prometheus', (member) => prometheus(queue, undefined, member as Wrong)],
  ['smtpHandlers', (member) => smtpHandlers(queue, member as Wrong)],
  ['simulate', (member) => simulate({ ...member } as Wrong)],
]

describe.each(calls)('%s', (_, call) => {
  test('refuses a member that it does not have, by its name', async () => {
    const refused = Promise.resolve().then(() => call({ noSuch: 5 }))
    await expect(refused).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      place: { option: expect.stringMatching(/(^|\.)noSuch$/) },
    })
  })
})
