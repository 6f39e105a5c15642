/** The server that answered, from the transport's outcome to the report, over lanes and lives. */
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/delivery/transport.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { deferred, delivered, stages, submission, type Stage } from '../stage.js'

const remote = 'mx.example.net[192.0.2.1]:25'
const later: Outcome = { kind: 'deferred', status: '4.2.1', reason: '451 4.2.1 try later', remote }
const refused: Outcome = { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 no such user', remote }

const reportOf = ({ data }: Stage): string | undefined =>
  [...data.values()].find((text) => text.includes('message/delivery-status'))

const retry = fixedRetry([100], 18_000_000)

describe.each(stages)('on the %s disk', (_, run) => {
  test('a refusal is reported with the server and its reply', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { sender }) => (sender === '' ? delivered : refused)
      const queue = await stage.open({ retry })
      const events: unknown[] = []
      queue.on('failed', ({ text, remote: by, attempt, dataBytes }) =>
        events.push({ text, by, attempt, dataBytes }),
      )
      await queue.submit(submission())
      await stage.until('nothing is left', () => stage.isEmpty())
      const dataBytes = submission().data.length
      expect(events).toEqual([{ text: '550 5.1.1 no such user', by: remote, attempt: 1, dataBytes }])
      expect(reportOf(stage)).toMatch(
        /Remote-MTA: dns; mx\.example\.net\r\nDiagnostic-Code: smtp; 550 5\.1\.1 no such user\r\n/,
      )
    })
  })

  test('an expired message is reported with the last reply, though a crash came after it', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { sender }) => (sender === '' ? delivered : later)
      await (await stage.open({ retry: fixedRetry([10_000_000], 18_000_000) })).submit(submission())
      await stage.until('it waits in its lane', async () => {
        for await (const { notes } of stage.queue.list({ all: true })) return notes[0]?.remote === remote
        return false
      })
      const queue = await stage.open()
      await queue.expire({ all: true })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(reportOf(stage)).toMatch(
        /Status: 5\.4\.7\r\nRemote-MTA: dns; mx\.example\.net\r\nDiagnostic-Code: smtp; 451 4\.2\.1 try later\r\n/,
      )
    })
  })

  test('words of ours are reported as such', async () => {
    await run(async (stage) => {
      stage.answer = (_recipient, { sender }) =>
        sender === '' ? delivered : { ...deferred, kind: 'failed', status: '5.4.6', reason: 'mail loops' }
      await (await stage.open({ retry })).submit(submission())
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(reportOf(stage)).toMatch(/Status: 5\.4\.6\r\nDiagnostic-Code: x-waybill; mail loops\r\n/)
    })
  })
})
