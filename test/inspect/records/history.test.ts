/** What log history tells of a message. */
import { expect, onTestFinished, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue } from '../../../src/index.js'
import { logHistory } from '../../../tools/commands/look/log-history.js'
import { command } from '../commanded.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('the report on a message is shown with it', async () => {
  const path = await temporaryDirectory('history')
  const failed = { kind: 'failed', status: '5.1.1', reason: 'no such user' } as const
  const queue = await openQueue(path, {
    transports: {
      none: { deliver: () => failed },
      slow: { deliver: () => new Promise<never>(() => undefined) },
    },
    route: (recipient) => ({ transport: recipient === 'ada@example.org' ? 'slow' : 'none', nexthop: 'site' }),
    segmentBytes: 2 ** 20,
  })
  onTestFinished(() => queue.crash())
  const data = 'Subject: x\r\n\r\nx\r\n'
  const { id } = await queue.submit({ sender: 'ada@example.org', recipients: ['bob@example.net'], data })
  const envelopes = async (): Promise<string[]> => {
    const { stdout } = await command(logHistory, ['--queue', path, '--json', id], nodeDisk, Date.now())
    const records = stdout.split('\n').filter((line) => line.includes('"kind":"envelope"'))
    return records.map((line) => (JSON.parse(line) as { record: { id: string } }).record.id)
  }
  await expect.poll(envelopes).toEqual([id, `${id}-1`])
})
