/** `waybill serve --routes` with lines `PATTERN lmtp:SERVER`, as a separate process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { queueParameters } from '../../../tools/commands/parameters/scheduler-parameters.js'
import { transportsOf } from '../../../tools/commands/serve/transports.js'
import { tablesOf } from '../../../tools/commands/serve/tables.js'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { greetedClient } from '../../relay/raw-client.js'
import { deliver } from '../../relay/request.js'
import { runWaybill } from '../command-process.js'

let directory: string
let table: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-lmtp-'))
  table = join(directory, 'routes')
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

test('mail for users with mailboxes goes to their server, all else to the relay; a line may come by reload', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined, '127.0.0.3': undefined })
  await writeFile(table, '')
  const queue = join(directory, 'queue')
  const relay = await startedRelay(['--queue', queue, '--relay', `127.0.0.2:${port}`, '--routes', table])
  await writeFile(table, `example.net  lmtp:[127.0.0.3]:${port}\n`)
  expect((await runWaybill(['reload', '--queue', queue], { directory })).exitCode).toBe(0)
  const client = await greetedClient(relay.endpoint.port)
  await client.say('MAIL FROM:<sender@example.org>')
  for (const recipient of ['one@example.net', 'two@example.net', 'three@example.com'])
    expect(await client.say(`RCPT TO:<${recipient}>`)).toMatch(/^250 /)
  await client.say('DATA')
  expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
  await expect.poll(() => servers.map(({ taken }) => taken.length)).toEqual([1, 1])
  expect(servers.map(({ commands }) => commands[0]!.slice(0, 6))).toEqual(['1 EHLO', '1 LHLO'])
  expect(servers[1]!.taken[0]!.recipients).toEqual(['one@example.net', 'two@example.net'])
})

test('a table of TLS is for its servers, too, and DANE is not', async () => {
  const { servers, port } = await serversAt({
    '127.0.0.2': (line) => (line === 'STARTTLS' ? '502 5.5.1 what' : undefined),
  })
  const policy = join(directory, 'tls')
  const args = parseArguments(serve, ['--direct', '--tls-policy', policy, '--routes', table])
  await writeFile(table, '')
  const server = `[127.0.0.2]:${port}`
  const surroundings = {
    relay: undefined,
    direct: true,
    places: [],
    hostname: 'relay.example.org',
  }
  const resultOf = async (lines: string): Promise<unknown> => {
    await writeFile(policy, lines)
    const tables = await tablesOf(args)
    const { lmtp } = await transportsOf(args, ['lmtp'], surroundings, tables, queueParameters([], ['lmtp']))
    onTestFinished(() => lmtp!.close?.())
    return deliver(lmtp!, { nexthop: server })
  }
  expect(await resultOf(`${server} encrypt\n`)).toMatchObject({ kind: 'site', status: '4.7.4' })
  expect(servers[0]!.taken).toEqual([])
  expect(await resultOf(`${server} dane\nexample.net encrypt\n`)).toMatchObject([{ kind: 'delivered' }])
})
