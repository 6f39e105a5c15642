/** `waybill serve --routes`, as a separate process. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { transportOf } from '../../../tools/commands/serve/delivery.js'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { serversAt, type Script } from '../../relay/smtp-out/mx-out-fixture.js'
import type { ForeignServer } from '../../relay/foreign-server.js'
import { greetedClient, rawClient, type RawClient } from '../../relay/raw-client.js'
import { deliver } from '../../relay/request.js'
import { runWaybill } from '../command-process.js'

let directory: string
let table: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-routes-'))
  table = join(directory, 'routes')
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

/** A relay with these routes and one server behind it, and a client that has greeted it. */
async function relayed(
  lines: string,
  thread: string,
): Promise<{ server: ForeignServer; client: RawClient; waybill: (...words: string[]) => Promise<string> }> {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  await writeFile(table, lines)
  const queue = join(directory, 'queue')
  const relay = await startedRelay(
    ['--queue', queue, '--relay', `127.0.0.2:${port}`, '--routes', table].concat('--smtp-thread', thread),
  )
  const client = await greetedClient(relay.endpoint.port)
  const waybill = async (...words: string[]): Promise<string> => {
    const { stdout, exitCode } = await runWaybill([...words, '--queue', queue], { directory })
    expect(exitCode).toBe(0)
    return stdout
  }
  return { server: servers[0]!, client, waybill }
}

test('mail goes where the table says, by a transport with limits of its own, and all else to the relay', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined, '127.0.0.3': undefined })
  await writeFile(table, `example.net  slow:[127.0.0.3]:${port}\nexample.org  slow:\n`)
  const queue = join(directory, 'queue')
  const places = ['--queue', queue, '--relay', `127.0.0.2:${port}`, '--routes', table]
  const relay = await startedRelay([...places, '-o', 'slow_destination_rate_delay=1h'])
  const client = await rawClient(relay.endpoint.port)
  for (const round of [1, 2]) {
    if (round === 1) await client.reply()
    await client.say('EHLO client.example')
    await client.say('MAIL FROM:<sender@example.org>')
    for (const recipient of ['one@example.net', 'two@example.org', 'three@example.com'])
      expect(await client.say(`RCPT TO:<${recipient}>`)).toMatch(/^250 /)
    await client.say('DATA')
    expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
  }
  // Of the first message all, of the second mail without a separate transport.
  await expect.poll(() => servers.map(({ taken }) => taken.length)).toEqual([3, 1])
  const { stdout } = await runWaybill(['destinations', '--queue', queue], { directory })
  expect(stdout).toMatch(new RegExp(`^slow +127\\.0\\.0\\.2:${port} `, 'm'))
  expect(stdout).toMatch(new RegExp(`^slow +\\[127\\.0\\.0\\.3\\]:${port} `, 'm'))
})

test.each([['yes'], ['no']])(
  'mail for a domain that is put off waits until its line goes, and a line that returns mail refuses it; a thread: %s',
  async (word) => {
    const { server, client, waybill } = await relayed(
      'example.net retry:4.3.2 until Monday\nexample.org discard:\n',
      word,
    )
    await client.say('MAIL FROM:<sender@example.com>')
    for (const recipient of ['one@example.net', 'two@example.org'])
      expect(await client.say(`RCPT TO:<${recipient}>`)).toMatch(/^250 /)
    await client.say('DATA')
    expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
    await expect.poll(() => waybill('mailq')).toMatch(/4\.3\.2.*until Monday/)
    const listing = await waybill('mailq')
    expect(listing).toContain('one@example.net')
    expect(listing).not.toContain('two@example.org')

    await writeFile(table, 'example.org error:5.1.2 gone\n')
    expect(await waybill('reload')).toMatch(/1 route/)
    await waybill('flush', '--domain', 'example.net')
    await expect.poll(() => server.taken.map((mail) => mail.recipients)).toEqual([['one@example.net']])
    await client.say('MAIL FROM:<sender@example.com>')
    expect(await client.say('RCPT TO:<two@example.org>')).toMatch(/^550 5\.1\.2 gone/)
  },
)

test('the relay hears the password however its route is written, and nobody else does', async () => {
  const host = '127.0.0.2'
  const noTls: Script = (line) => (line === 'STARTTLS' ? '502 5.5.1 no' : undefined)
  const { port } = await serversAt({ [host]: noTls, '127.0.0.3': undefined })
  const surroundings = {
    relay: { host, port },
    direct: false,
    places: [],
    hostname: 'relay.example.org',
    processLimit: 10,
  }
  const auth = { user: 'me', pass: 'secret' }
  const transport = await transportOf(parseArguments(serve, []), surroundings, auth)
  onTestFinished(() => transport.close?.())
  const reasonFor = async (nexthop: string): Promise<string> =>
    JSON.stringify(await deliver(transport, { nexthop }))
  // It has no TLS, without which the password is not told.
  for (const written of [host, `[${host}]`])
    expect(await reasonFor(`${written}:${port}`)).toMatch(/"site".*STARTTLS/)
  expect(await reasonFor(`127.0.0.3:${port}`)).toMatch(/"delivered"/)
})

test.each([
  [['--relay', 'a'], 'example.net', /example\.net|PATTERN NAME:NEXTHOP.*line 1|line 1/],
  [['--maildir', 'm'], 'example.net :', /--routes is for mail that goes to servers/],
  [['--relay', 'a', '--direct'], '', /--relay or --direct, not both/],
  [['--direct'], 'example.net maildir:', /maildir is not here without --maildir.*line 1/],
  [['--direct', '--maildir', 'routes'], 'example.net maildir:', /--maildir: routes is no directory/],
  [[], 'example.net :', /--routes is for mail that goes to servers/],
])('wrong options are refused before anything is made: %j', async (args, text, says) => {
  await writeFile(table, text)
  const ended = await runWaybill(['serve', '--queue', join(directory, 'queue'), '--routes', table, ...args], {
    directory,
  })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).toEqual(['routes'])
})

test.each([['yes'], ['no']])(
  'mail for a domain that is held waits on hold, and goes when an operator releases it; a thread: %s',
  async (word) => {
    const { server, client, waybill } = await relayed('spam.example hold:\n', word)
    for (const recipient of ['eve@spam.example', 'ada@example.net']) {
      await client.say('MAIL FROM:<sender@example.org>')
      await client.say(`RCPT TO:<${recipient}>`)
      await client.say('DATA')
      expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
    }
    const taken = (): string[][] => server.taken.map(({ recipients }) => [...recipients])
    await expect.poll(() => taken().length).toBe(1)
    expect(JSON.stringify(taken())).toContain('ada@example.net')
    await expect.poll(() => waybill('mailq')).toMatch(/![\s\S]*eve@spam\.example/)
    expect(await waybill('release', '--all')).toMatch(/^1 message /)
    await expect.poll(() => taken().length).toBe(2)
  },
)
