/** A queue that moves from a directory into a store and back, with its ids and its mail. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { fixedRetry, openQueue, type Queue, type QueueOptions } from '../../src/index.js'
import { initStore, storeDisk } from '../../src/store/open-store.js'
import { serveStoreControl } from '../../src/control/store-server.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { withParameters } from '../../tools/commands/cli/store-parameters.js'
import { Adoption } from '../../tools/commands/store/adoption.js'
import { openQueueDisk } from '../../tools/commands/cli/queue-disk.js'
import { backup } from '../../tools/commands/operate/backup.js'
import { restore } from '../../tools/commands/operate/restore.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { command } from '../inspect/commanded.js'

const missing = postgresMissing()
const reason = missing === undefined ? '' : `: ${missing}`
const large = 'a line of a large message\r\n'.repeat(20_000)

const deferring: QueueOptions = {
  transports: { none: { deliver: () => ({ kind: 'deferred', status: '4.0.0', reason: 'not yet' }) } },
  route: () => ({ transport: 'none', nexthop: 'none' }),
  retry: fixedRetry([3_600_000]),
}

/** Of all messages by their ids: where they are, and how much data they have. */
async function mailIn(queue: Queue): Promise<Record<string, string>> {
  const mail: Record<string, string> = {}
  for await (const { id, where } of queue.list()) {
    const found = await queue.message(id)
    let bytes = 0
    for await (const piece of found!.data()) bytes += piece.length
    mail[id] = `${where}, ${bytes} bytes`
  }
  return mail
}

async function filled(queue: Queue): Promise<Record<string, string>> {
  const submit = async (data: string): Promise<string> =>
    (await queue.submit({ sender: 'a@b.example', recipients: ['c@d.example'], data })).id
  const held = await submit('Subject: held\r\n\r\nheld\r\n')
  await submit('Subject: small\r\n\r\nsmall\r\n')
  await submit(`Subject: large\r\n\r\n${large}`)
  const whereAll = async (): Promise<readonly string[]> => Object.values(await mailIn(queue)).sort()
  await expect.poll(whereAll).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^retry/)))
  await queue.hold({ id: held })
  return mailIn(queue)
}

async function run(
  called: typeof backup | typeof restore,
  words: readonly string[],
): Promise<readonly [number, string]> {
  const { signal } = new AbortController()
  const { exitCode, stdout, stderr } = await command(called, words, openQueueDisk, Date.now(), signal)
  return [exitCode, stdout + stderr]
}

async function places(): Promise<(name: string) => string> {
  const root = await mkdtemp(join(tmpdir(), 'waybill-moved-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  return (name) => join(root, name)
}

describe.skipIf(missing !== undefined)(`a queue that moves${reason}`, () => {
  let servers: Servers | undefined
  const made = async (name: string): Promise<string> => {
    const url = `${servers!.url}?safety=assumed&ttl=400ms&queue=${name}`
    await initStore(storePlaceOf(url), { name, quotaBytes: undefined }, systemClock)
    return url
  }

  beforeAll(async () => {
    servers = await Servers.start(0)
  })
  afterAll(() => servers?.remove())

  // The first: here queues of other tests are not adopted.
  test('no other node adopts a restored queue before its own has served it', async () => {
    const at = await places()
    const before = await openQueue(at('queue'), deferring)
    await filled(before)
    before.crash()
    const url = await made('looked-at')
    await run(backup, ['--queue', at('queue'), '--to', at('copy')])
    await run(restore, ['--from', at('copy'), '--to', url])
    const adopted: Queue[] = []
    const adoption = new Adoption({
      url: withParameters(url, { queue: 'another' }),
      queue: 'another',
      node: 'another',
      ttlMs: 400,
      options: deferring,
      log: pino({ level: 'silent' }),
      onAdopted: (queue) => adopted.push(queue),
    })
    onTestFinished(() => {
      adoption.stop()
      for (const queue of adopted) queue.crash()
    })
    void adoption.run()
    await sleep(2500)
    expect(adopted).toEqual([])
    const own = await openQueue(url, deferring)
    own.crash()
    await expect.poll(() => adopted.length).toBe(1)
  })

  test('from a directory into a store has all its mail, and the next node delivers it', async () => {
    const at = await places()
    const before = await openQueue(at('queue'), deferring)
    const mail = await filled(before)
    before.crash()
    const url = await made('in')
    expect(await run(backup, ['--queue', at('queue'), '--to', at('copy')])).toMatchObject([
      0,
      expect.any(String),
    ])
    expect(await run(restore, ['--from', at('copy'), '--to', url])).toEqual([
      0,
      expect.stringContaining('the queue is in postgres://'),
    ])
    await using after = await openQueue(url, deferring)
    expect(await mailIn(after)).toEqual(mail)
    after.crash()
    const again = run(restore, ['--from', at('copy'), '--to', url])
    await expect(again).rejects.toThrow('has been used, and is not overwritten')
  })

  test('from a store into a directory has all its mail, while its node runs', async () => {
    const at = await places()
    const url = await made('out')
    const disk = storeDisk({ url })
    await using before = await openQueue('out', { ...deferring, disk })
    const server = serveStoreControl(before, disk.calls!, () => disk.life)
    before.on('crashed', () => server.close())
    const mail = await filled(before)
    expect(await run(backup, ['--queue', url, '--to', at('copy')])).toMatchObject([0, expect.any(String)])
    expect(before.isCrashed).toBe(false)
    expect(await run(restore, ['--from', at('copy'), '--to', at('queue')])).toMatchObject([
      0,
      expect.any(String),
    ])
    await using after = await openQueue(at('queue'), deferring)
    expect(await mailIn(after)).toEqual(mail)
  })

  test('a restore that was cut short is no queue, and the next one begins anew', async () => {
    const at = await places()
    const before = await openQueue(at('queue'), deferring)
    const mail = await filled(before)
    before.crash()
    const url = await made('cut')
    await run(backup, ['--queue', at('queue'), '--to', at('copy')])
    const disk = storeDisk({ url })
    await disk.lock('lock')
    await disk.makeDirectory('journal')
    await (await disk.open('journal/000000000000.log', 'create')).close()
    disk.abandon()
    await expect(openQueue(url, deferring)).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
    expect(await run(restore, ['--from', at('copy'), '--to', url])).toMatchObject([0, expect.any(String)])
    await using after = await openQueue(url, deferring)
    expect(await mailIn(after)).toEqual(mail)
  })
})
