/** `waybill store drain` and a relay over a real PostgreSQL server: mail that came before is
 * delivered, and none comes behind it. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { startedRelay } from '../end-to-end/relay-process.js'
import { foreignServer } from '../relay/foreign-server.js'
import { greetedClient, rawClient, sendTo } from '../relay/raw-client.js'
import { runWaybill, type Ended } from '../tools/command-process.js'
import { temporaryDirectory } from '../temporary-directory.js'

const missing = postgresMissing()

describe.skipIf(missing !== undefined)(`a drained node${missing === undefined ? '' : `: ${missing}`}`, () => {
  let servers: Servers | undefined
  beforeAll(async () => {
    servers = await Servers.start(0)
  })
  afterAll(() => servers?.remove())

  test('takes no mail any more, delivers what it has, and says when that is done', async () => {
    const directory = await temporaryDirectory('drained')
    const store = `${servers!.url}?safety=assumed&ttl=1s`
    const waybill = (...words: string[]): Promise<Ended> => runWaybill(words, { directory })
    const named = ['--store', store, '--queue', 'mx1']
    expect((await waybill('store', 'init', ...named)).exitCode).toBe(0)
    const none = await waybill('store', 'drain', ...named)
    expect(none.exitCode).toBe(1)
    expect(none.stderr).toMatch(/no relay owns queue mx1/)

    let isOpen = false
    const site = await foreignServer(() => (isOpen ? undefined : '421 4.3.2 come again'))
    onTestFinished(() => site.close())
    const relay = await startedRelay(
      [...named, '--relay', `${site.host}:${site.port}`, '--trust', '127.0.0.1'],
      {},
      { makesQueue: true },
    )
    const client = await greetedClient(relay.endpoint.port)
    expect(await sendTo(client, ['grace@example.net'])).toEqual(['250 2.1.5'])

    const drained = waybill('store', 'drain', ...named)
    await expect.poll(() => relay.log).toMatch(/takes no mail any more/)
    await expect(rawClient(relay.endpoint.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await client.say('MAIL FROM:<ada@example.org>')
    await client.say('RCPT TO:<alan@example.net>')
    await client.say('DATA')
    expect(await client.say('Subject: late\r\n\r\nlate\r\n.')).toMatch(/^451 4\.3\.2 /)
    client.destroy()
    expect(site.taken).toEqual([])

    isOpen = true
    const place = `${store}&queue=mx1`
    const flush = async (): Promise<number> => {
      await waybill('flush', '--all', '--queue', place)
      return site.taken.length
    }
    await expect.poll(flush, { interval: 1000 }).toBe(1)
    const { exitCode, stdout } = await drained
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/1 message left[^]*queue mx1 is empty, and takes no mail: stop its relay/)
    expect(site.taken.map(({ recipients }) => recipients)).toEqual([['grace@example.net']])
    await relay.kill()
    const removed = await waybill('store', 'remove', ...named, '--yes')
    expect(removed.stdout).toMatch(/queue mx1: removed/)
  })
})
