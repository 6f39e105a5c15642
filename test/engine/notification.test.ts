/** Requested reports (RFC 3461): each once, by the report that belongs to the end. */
import { describe, expect, test } from 'vitest'
import type { RecipientDsn } from '../../src/base/notification.js'
import type { DeliveryRequest, Outcome } from '../../src/delivery/transport.js'
import type { ListedMessage } from '../../src/admin/select/listing.js'
import type { AskedRecipient } from '../../src/base/notification.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { reportNames } from '../../src/sim/model/model-reports.js'
import {
  deferred,
  delivered,
  failed,
  mail,
  pause,
  simulated,
  stages,
  submission,
  type Stage,
} from './stage.js'

const relayed = { ...delivered, relayed: 'without-dsn' } as const
const passedOn = { ...delivered, relayed: 'with-dsn' } as const

const outcomes: Readonly<Record<string, Outcome>> = { failed, deferred, delivered, relayed, passed: passedOn }

/** What happens to a recipient stands before the first dot of its address. */
const scripted = (stage: Stage): void => {
  stage.answer = (recipient) => outcomes[recipient.split('.')[0]!] ?? delivered
}

/** The reports that reached the sender, each once, as recipients with outcomes. */
const reports = (stage: Stage): string[] =>
  [...stage.data].filter(([key]) => key.includes('-')).map(([, data]) => data)

const named = (report: string): string[] =>
  [...report.matchAll(/^Final-Recipient: rfc822; (\S+)\r\nAction: (\S+)\r$/gm)].map(
    ([, address, action]) => `${address} ${action}`,
  )

const ask = (local: string, notify?: RecipientDsn['notify']): AskedRecipient => ({
  address: `${local}.x@example.net`,
  notify,
})

describe.each(stages)('on the %s disk', (_, run) => {
  test.each<[string, AskedRecipient, string | undefined]>([
    ['a failure, unless told otherwise', ask('failed'), 'failed'],
    ['a failure that was asked for', ask('failed', ['failure', 'success']), 'failed'],
    ['no failure where only success was asked for', ask('failed', ['success']), undefined],
    ['no failure where nothing was asked for', ask('failed', 'never'), undefined],
    ['no success, unless told otherwise', ask('delivered'), undefined],
    ['a success that was asked for', ask('delivered', ['success']), 'delivered'],
    ['no success where only failures were asked for', ask('delivered', ['failure', 'delay']), undefined],
    ['a success that went on without a word', ask('relayed', ['success', 'failure']), 'relayed'],
    ['no success that the next server tells', ask('passed', ['success']), undefined],
    ['what grew too old as a failure', ask('deferred', ['failure']), 'failed'],
    ['nothing of what grew too old where nothing was asked for', ask('deferred', 'never'), undefined],
  ])('the sender is told %s', async (_, recipient, action) => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open({ retry: fixedRetry([20], 100) })
      await queue.submit({ ...submission(), recipients: [recipient] })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(reports(stage).map(named)).toEqual(
        action === undefined ? [] : [[`${recipient.address} ${action}`]],
      )
    })
  })

  test('the null sender is told nothing, whatever was asked for', async () => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open()
      const recipients = [ask('failed', ['failure']), ask('delivered', ['success'])]
      await queue.submit({ ...submission(), sender: '', recipients })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(reports(stage)).toEqual([])
    })
  })

  test('each success is told once, with the attempt in which it came, also when others wait longer', async () => {
    await run(async (stage) => {
      stage.answer = (recipient, { attempts }) =>
        recipient.startsWith('late') && attempts === 0 ? deferred : delivered
      const queue = await stage.open()
      const actions: string[] = []
      queue.on('reported', ({ action }) => actions.push(action))
      const recipients = [ask('soon', ['success']), ask('late', ['success']), ask('mute')]
      await queue.submit({ ...submission(), recipients })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(reports(stage).map(named)).toEqual([
        ['soon.x@example.net delivered'],
        ['late.x@example.net delivered'],
      ])
      expect(actions).toEqual(['delivered', 'delivered'])
    })
  })

  test('what is said of a delivery to a mailbox is not for the sender', async () => {
    await run(async (stage) => {
      stage.answer = () => ({ kind: 'delivered', response: 'kept as new/4711.kept' })
      const queue = await stage.open()
      await queue.submit({ ...submission(), recipients: [ask('delivered', ['success'])] })
      await stage.until('nothing is left', () => stage.isEmpty())
      const [report] = reports(stage)
      expect(report).toContain('\r\nAction: delivered\r\n')
      expect(report).not.toContain('4711')
      expect(report).not.toContain('Diagnostic-Code')
    })
  })

  test('a report says who was meant and what the message was called, as the sender said it', async () => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open()
      await queue.submit({
        ...submission(),
        recipients: [
          {
            address: 'delivered.x@example.net',
            notify: ['success'],
            orcpt: 'rfc822;list+a=b  c@example.org',
          },
          { address: 'failed.x@example.net', orcpt: 'X400;/C=US/' },
          'failed.y@example.net',
        ],
        dsn: { id: 'QQ 314159  2', return: 'headers' },
      })
      await stage.until('nothing is left', () => stage.isEmpty())
      const [report] = reports(stage)
      expect(report).toContain('\r\nOriginal-Envelope-Id: QQ 314159  2\r\nReporting-MTA:')
      expect(report).toContain(
        'Original-Recipient: rfc822;list+a=b  c@example.org\r\nFinal-Recipient: rfc822; delivered.x@example.net',
      )
      expect(report).toContain(
        '\r\n\r\nOriginal-Recipient: X400;/C=US/\r\nFinal-Recipient: rfc822; failed.x@',
      )
      expect(report).toContain('\r\n\r\nFinal-Recipient: rfc822; failed.y@example.net')
      expect(report).not.toContain('Hello.')
    })
  })

  test.each<[string, string, 'full' | 'headers' | undefined, number, boolean]>([
    ['the whole message, with a failure', 'failed', 'full', 100, true],
    ['the header of a message that is too large', 'failed', 'full', 50_001, false],
    ['the header, with a success', 'delivered', 'full', 100, false],
    ['the header, unless told otherwise', 'failed', undefined, 100, false],
    ['the header, when told so', 'failed', 'headers', 100, false],
  ])('a report returns %s', async (_, local, ret, bytes, isWhole) => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open()
      const line = 'one line of the body, caf\u00e9\n'
      const body = line.repeat(Math.ceil(bytes / line.length))
      await queue.submit({
        ...submission([], mail(body)),
        recipients: [ask(local, ['success', 'failure'])],
        dsn: { return: ret },
      })
      await stage.until('nothing is left', () => stage.isEmpty())
      const [report] = reports(stage)
      const crlf = Buffer.from(mail(body)).toString('latin1').replaceAll(/\r?\n/g, '\r\n')
      expect(report!.includes(crlf)).toBe(isWhole)
      expect(report!.includes('Content-Type: message/rfc822')).toBe(isWhole)
      expect(report).toContain('Subject: test')
    })
  })

  test('the sender is warned of recipients that are late, except those for which it asked for less', async () => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open({
        retry: { ...fixedRetry([50], 600_000), delayWarningAgesMs: [0, 100] },
      })
      const recipients = [
        ask('deferred.usual'),
        ask('deferred.delay', ['delay']),
        ask('deferred.never', 'never'),
        ask('deferred.failure', ['failure', 'success']),
      ]
      await queue.submit({ ...submission(), recipients })
      await stage.until('he was warned twice', () => reports(stage).length === 2)
      await pause(stage, 200)
      const late = ['deferred.usual.x@example.net', 'deferred.delay.x@example.net']
      expect(reports(stage).map((report) => reportNames(Buffer.from(report)).late)).toEqual([late, late])
    })
  })

  test('an address that is named twice is one recipient, with what was asked where it was named last', async () => {
    await run(async (stage) => {
      scripted(stage)
      const queue = await stage.open()
      const recipients = [
        ask('failed', ['failure']),
        ask('delivered', ['success']),
        ask('failed', 'never'),
        'delivered.x@example.net',
      ]
      await queue.submit({ ...submission(), recipients, dsn: { notify: ['failure'] } })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(stage.attempts).toHaveLength(2)
      expect(reports(stage)).toEqual([])
    })
  })

  test('a transport is told what was asked, and nothing where nothing was', async () => {
    await run(async (stage) => {
      const requests: DeliveryRequest[] = []
      stage.answer = (_, request) => (requests.push(request), delivered)
      const queue = await stage.open()
      await queue.submit(submission())
      await queue.submit({
        ...submission(),
        recipients: [
          'a@example.net',
          { address: 'b@example.net', notify: 'never' },
          { address: 'c@example.net', orcpt: 'rfc822;c@example.org' },
        ],
        dsn: { id: 'id', return: 'full', notify: ['delay', 'failure'] },
      })
      await stage.until('nothing is left', () => stage.isEmpty())
      // Which of the two is attempted first is nobody's to say.
      const plain = requests.find(({ recipients }) => recipients.length === 1)!
      const asked = requests.find(({ recipients }) => recipients.length === 3)!
      expect(plain.dsn).toBeUndefined()
      const byAddress = asked.recipients.map((address, i) => [address, asked.dsn?.recipients[i]])
      expect(Object.fromEntries(byAddress)).toEqual({
        'a@example.net': { notify: ['failure', 'delay'], orcpt: undefined },
        'b@example.net': { notify: 'never', orcpt: undefined },
        'c@example.net': { notify: ['failure', 'delay'], orcpt: 'rfc822;c@example.org' },
      })
      expect(asked.dsn).toMatchObject({ ret: 'full', envid: 'id' })
    })
  })
})

/** 1003 recipients, in two frames: the request of each stands in its address. */
const crowd: readonly AskedRecipient[] = Array.from({ length: 1003 }, (_, i) => {
  const word = ['never', 'success', 'failure', 'usual'][i % 4]!
  return {
    address: `${word}.${i}@example.net`,
    notify: word === 'usual' ? undefined : word === 'never' ? 'never' : [word as 'success'],
    orcpt: i % 5 < 2 ? `rfc822;original.${i}@example.org` : undefined,
  }
})

const roomy = { segmentBytes: 1 << 20, laneSegmentBytes: 1 << 20 }

/** What a request, or a listing, says of its recipients is what was asked. */
function expectAsked({ recipients, dsn }: DeliveryRequest | ListedMessage): void {
  expect(recipients.length).toBeGreaterThan(0)
  const byAddress = new Map(crowd.map(({ address, notify, orcpt }) => [address, { notify, orcpt }]))
  expect(recipients.map((_, i) => dsn?.recipients[i])).toEqual(
    recipients.map((address) => byAddress.get(address)),
  )
  expect(dsn).toMatchObject({ ret: 'full', envid: 'crowd' })
}

test.each([7, 1003])('what was asked of %s recipients stays with them wherever they go', async (count) => {
  await simulated(
    async (stage) => {
      const seen = new Set<string>()
      let round = 0
      stage.answer = (recipient, request) => {
        if (request.sender === '') return delivered
        expectAsked(request)
        seen.add(recipient)
        // Every fifth of those that are left gets it in each round.
        return round < 3 && Number(recipient.split(/[.@]/)[1]) % 5 !== round ? deferred : delivered
      }
      const retry = fixedRetry([5_000], 600_000)
      const queue = await stage.open({ retry })
      const recipients = crowd.slice(0, count)
      const { id } = await queue.submit({ ...submission(), recipients, dsn: { id: 'crowd', return: 'full' } })
      const waits = (where: string) => async (): Promise<boolean> => {
        for await (const listed of stage.queue.list({ id })) {
          expectAsked(listed)
          return listed.where === where
        }
        return false
      }
      await stage.until('it waits', waits('retry'))
      expect(seen.size).toBe(count)
      round = 1
      await stage.queue.hold({ id })
      await stage.until('it is on hold', waits('hold'))
      await stage.open({ retry })
      await stage.queue.release({ id })
      await stage.until('it waits again', waits('retry'))
      round = 2
      await stage.queue.requeue({ id })
      await stage.until('it waits once more', waits('retry'))
      await stage.queue.reroute({ id }, { nexthop: 'elsewhere.test' })
      round = 3
      await stage.open({ retry, layout: 'single' })
      await stage.queue.flush({ all: true })
      await stage.until('nothing is left', () => stage.isEmpty(), 600_000)
      const successes = recipients.filter(({ address }) => address.startsWith('success'))
      const told = reports(stage).flatMap((report) => named(report.replaceAll('\r\n ', ' ')))
      expect(told.sort()).toEqual(successes.map(({ address }) => `${address} delivered`).sort())
      const originals = [
        ...reports(stage)
          .join('')
          .matchAll(/^Original-Recipient: (\S+)\r$/gm),
      ]
      expect(new Set(originals.map(([, orcpt]) => orcpt))).toEqual(
        new Set(successes.flatMap(({ orcpt }) => orcpt ?? [])),
      )
    },
    { queue: roomy },
  )
})

test.each([7, 1003])(
  'a listing shows what was asked of those of %s recipients who still wait, and of no others',
  async (count) => {
    await simulated(
      async (stage) => {
        const retry = fixedRetry([3_600_000])
        // In odd order, so that the waiting ones are no prefix of all.
        stage.answer = (recipient) => (Number(recipient.split(/[.@]/)[1]) % 3 === 0 ? delivered : deferred)
        const queue = await stage.open({ retry, deliver: false })
        const recipients = crowd.slice(0, count)
        await queue.submit(submission())
        await queue.submit({ ...submission(), recipients, dsn: { id: 'crowd', return: 'full' } })
        const all = async (): Promise<readonly [plain: ListedMessage, asked: ListedMessage]> => {
          const listed: ListedMessage[] = []
          for await (const message of stage.queue.list()) listed.push(message)
          const [one, other] = listed
          return one!.recipientCount === 1 ? [one!, other!] : [other!, one!]
        }
        const atFirst = await all()
        expect(atFirst[1]).toMatchObject({ where: 'incoming', recipientCount: count })
        expectAsked(atFirst[1])
        await stage.open({
          retry,
          transports: { out: { deliver: () => new Promise<never>(() => undefined) } },
        })
        await stage.until('it is active', async () => (await all())[1].where === 'active')
        expectAsked((await all())[1])
        await stage.open({ retry })
        await stage.until('it waits', async () => (await all())[1]?.where === 'retry')
        const [plain, asked] = await all()
        expect(asked.recipientCount).toBe(recipients.filter((_, i) => i % 3 !== 0).length)
        expectAsked(asked)
        expect(plain).not.toHaveProperty('dsn')
      },
      { queue: roomy },
    )
  },
)

test('a success that was durable before a crash is told in the next life, with the server\u2019s words', async () => {
  await simulated(async (stage) => {
    let hang = true
    const recipients = [ask('first', ['success']), { address: 'second@other.test', notify: 'never' as const }]
    const transports = {
      out: {
        deliver: (request: DeliveryRequest): Promise<Outcome> | Outcome => {
          if (request.sender === '') {
            stage.data.set(request.id, '')
            return request.data().then((data) => {
              stage.data.set(request.id, Buffer.isBuffer(data) ? data.toString() : '')
              return delivered
            })
          }
          return hang && request.nexthop === 'other.test'
            ? new Promise<Outcome>(() => undefined)
            : { kind: 'delivered', relayed: 'without-dsn', response: '250 taken as 4711' }
        },
      },
    }
    const queue = await stage.open({ transports })
    await queue.submit({ ...submission(), recipients })
    await stage.until('one has it', () => queue.stats().journal.stagedBytes === 0)
    await pause(stage, 1000)
    for (let life = 0; life < 3; life++) {
      await stage.open({ transports })
      await pause(stage, 100)
    }
    expect(stage.data.size).toBe(0)
    hang = false
    await stage.open({ transports })
    await stage.until('nothing is left', () => stage.isEmpty())
    const [report] = [...stage.data.values()]
    expect(named(report!)).toEqual(['first.x@example.net relayed'])
    expect(report).toContain('250 taken as 4711')
    expect(stage.data.size).toBe(1)
  })
})

test('a message with so much asked of it that no record could hold it is refused', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const orcpt = `rfc822;${'x'.repeat(480)}@example.org`.slice(0, 500)
    const of = (count: number, isAsked: boolean) => ({
      ...submission(),
      recipients: Array.from({ length: count }, (_, i) => ({
        address: `r${i}@example.net`,
        orcpt: isAsked ? orcpt : undefined,
      })),
    })
    await queue.submit(of(16, false))
    await expect(queue.submit(of(16, true))).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
  })
})
