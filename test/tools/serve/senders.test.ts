/** `waybill serve --senders`, as a separate process. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, startedRelay, waybillPath } from '../../end-to-end/relay-process.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import type { ForeignServer } from '../../relay/foreign-server.js'
import { greetedClient } from '../../relay/raw-client.js'
import { runProgram, runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('senders')
})
const at = (name: string): string => join(directory, name)

async function start(...args: string[]): Promise<{ relay: RelayProcess; outside: ForeignServer }> {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const here = ['--hostname', 'host.internal', '--relay', `127.0.0.2:${port}`, '--senders', at('senders')]
  const relay = await startedRelay(['--queue', at('queue'), ...here, ...args])
  return { relay, outside: servers[0]! }
}

/** Sender and author of what has come to the server, in order. */
const authorsOf = ({ taken }: ForeignServer): (string | undefined)[][] =>
  taken.map(({ commands, data }) => [
    /^MAIL FROM:<(.*?)>/m.exec(commands.join('\n'))?.[1],
    /^From: (.*)\r$/m.exec(data.toString())?.[1],
  ])

async function say(relay: RelayProcess, sender: string, localAddress = '127.0.0.1'): Promise<string> {
  const client = await greetedClient(relay.endpoint.port, relay.endpoint.host, { localAddress })
  for (const line of [`MAIL FROM:<${sender}>`, 'RCPT TO:<bob@example.net>', 'DATA']) await client.say(line)
  return client.say(`From: Cron <${sender}>\r\nSubject: x\r\n\r\nFrom: ${sender}\r\n.`)
}

test.each([['yes'], ['no']])(
  'senders of this machine leave as the table says, and a reload changes it; a thread: %s',
  async (word) => {
    await writeFile(at('senders'), 'root@host.internal ops@example.org\n@localhost @example.org\n')
    const { relay, outside } = await start('--smtp-thread', word)
    const sendmail = [
      waybillPath,
      'sendmail',
      '--queue',
      at('queue'),
      '--origin',
      'host.internal',
      '-f',
      'root',
    ]
    const sent = await runProgram(process.execPath, [...sendmail, 'bob@example.net'], {
      directory,
      input: 'Subject: x\n\nhello\n',
    })
    expect(sent).toMatchObject({ exitCode: 0 })
    await expect.poll(() => authorsOf(outside)).toEqual([['ops@example.org', 'ops@example.org']])
    expect(await say(relay, 'www-data@localhost')).toMatch(/^250 /)
    await expect
      .poll(() => authorsOf(outside).at(-1))
      .toEqual(['www-data@example.org', 'Cron <www-data@example.org>'])
    expect(outside.taken.at(-1)!.data.toString()).toMatch(/\r\n\r\nFrom: www-data@localhost\r\n/)
    await writeFile(at('senders'), '@localhost web@example.org\n')
    const reload = await runWaybill(['reload', '--queue', at('queue')], { directory })
    expect(reload.stdout).toContain('1 sender')
    expect(await say(relay, 'www-data@localhost')).toMatch(/^250 /)
    await expect.poll(() => authorsOf(outside).at(-1)).toEqual(['web@example.org', 'Cron <web@example.org>'])
  },
)

test('reports are from an address that the table has', async () => {
  await writeFile(at('senders'), '@host.internal ops@example.org\n')
  const { servers, port } = await serversAt({
    '127.0.0.2': (line) => (line.startsWith('RCPT TO:<bob@') ? '550 5.1.1 nobody' : undefined),
  })
  const here = ['--hostname', 'host.internal', '--relay', `127.0.0.2:${port}`, '--senders', at('senders')]
  const relay = await startedRelay(['--queue', at('queue'), ...here])
  expect(await say(relay, 'root@host.internal')).toMatch(/^250 /)
  await expect.poll(() => authorsOf(servers[0]!)).toEqual([['', 'Mail Delivery System <ops@example.org>']])
  expect(servers[0]!.taken[0]!.recipients).toEqual(['ops@example.org'])
})

test('the sender of a stranger stays', async () => {
  await writeFile(at('senders'), '.example ours@example.org\n')
  await writeFile(at('domains'), 'example.net\n')
  const { relay, outside } = await start('--relay-domains', at('domains'), '--trust', '127.0.0.1')
  expect(await say(relay, 'eve@far.example', '127.0.0.9')).toMatch(/^250 /)
  await expect.poll(() => authorsOf(outside)).toEqual([['eve@far.example', 'Cron <eve@far.example>']])
  expect(await say(relay, 'ada@far.example')).toMatch(/^250 /)
  await expect.poll(() => authorsOf(outside).at(-1)).toEqual(['ours@example.org', 'Cron <ours@example.org>'])
})
