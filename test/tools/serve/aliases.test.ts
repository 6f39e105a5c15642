/** `waybill serve --aliases`, as a separate process. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, waybillPath, startedRelay } from '../../end-to-end/relay-process.js'
import { rsaKey } from '../../relay/dkim/dkim-fixture.js'
import { recipientsOf } from '../../relay/foreign-server.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { greetedClient, sendTo, type RawClient, taken, unknown, denied } from '../../relay/raw-client.js'
import { runProgram, runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('aliases')
})

const at = (name: string): string => join(directory, name)

/** A client at 127.0.0.1 is trusted; `example.com` is in Maildirs, `ada` alone
 * is a user there. */
async function start(aliases: string, ...args: string[]): Promise<RelayProcess> {
  await writeFile(at('aliases'), aliases)
  await writeFile(at('domains'), 'ada@example.com\n')
  await writeFile(at('routes'), 'example.com maildir:\n')
  const tables = ['--relay-domains', at('domains'), '--aliases', at('aliases'), '--routes', at('routes')]
  const here = ['--hostname', 'mail.example.com', '--trust', '127.0.0.1', '--maildir', at('mail')]
  return startedRelay(['--queue', at('queue'), ...here, ...tables, ...args])
}

/** Behind EHLO. */
const clientFrom = (localAddress: string, { endpoint }: RelayProcess): Promise<RawClient> =>
  greetedClient(endpoint.port, endpoint.host, { localAddress })

const stranger = '127.0.0.9'
const trusted = '127.0.0.1'

/** The messages in a mailbox. */
async function mailOf(mailbox: string): Promise<string[]> {
  const files = await readdir(join(at('mail'), mailbox, 'new')).catch(() => [])
  return Promise.all(files.map((file) => readFile(join(at('mail'), mailbox, 'new', file), 'utf8')))
}

test('what waits goes where the table says at a requeue, and not where it said when it came', async () => {
  const relay = await start('info@example.com carol@closed.test, ada@example.com\n', '--relay', '127.0.0.2:1')
  expect(await sendTo(await clientFrom(trusted, relay), ['info@example.com'])).toEqual([taken])
  await expect.poll(() => mailOf('ada@example.com')).toHaveLength(1)
  await writeFile(at('aliases'), 'carol@closed.test bob@example.com\n')
  expect((await runWaybill(['reload', '--queue', at('queue')], { directory })).exitCode).toBe(0)
  const { stdout } = await runWaybill(['requeue', '--all', '--queue', at('queue')], { directory })
  expect(stdout).toBe('1 message requeued (1 recipient)\n')
  await expect.poll(() => mailOf('bob@example.com')).toHaveLength(1)
  expect((await mailOf('bob@example.com'))[0]).toContain('X-Original-To: info@example.com')
  expect(await mailOf('ada@example.com')).toHaveLength(1)
})

test.each([['yes'], ['no']])(
  'mail for an alias goes where it leads, here and outside, and what a stranger sent is not signed; a thread: %s',
  async (word) => {
    const { servers, port } = await serversAt({ '127.0.0.2': undefined }, ['PIPELINING', '8BITMIME', 'DSN'])
    const [outside] = servers
    await writeFile(at('key.pem'), rsaKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(at('dkim'), 'example.com mail key.pem\n')
    const table = 'info@example.com ada@example.com, bob@example.net\n@old.example @example.com\n'
    const ways = ['--relay', `127.0.0.2:${port}`, '--dkim', at('dkim'), '--smtp-thread', word]
    const relay = await start(table, ...ways)
    const recipients = ['info@example.com', 'ada@old.example', 'eve@old.example', 'bob@example.net']
    expect(await sendTo(await clientFrom(stranger, relay), recipients)).toEqual([
      taken,
      taken,
      unknown,
      denied,
    ])
    await expect.poll(() => recipientsOf(outside!)).toEqual(['bob@example.net'])
    const [mail] = outside!.taken
    expect(mail!.commands.join('\n')).toContain('RCPT TO:<bob@example.net> ORCPT=rfc822;info@example.com')
    expect(mail!.data.toString()).not.toContain('DKIM-Signature:')
    await expect.poll(() => mailOf('ada@example.com')).toHaveLength(1)
    expect(await readdir(at('mail'))).toEqual(['ada@example.com'])
    const [adas] = await mailOf('ada@example.com')
    expect(adas).toContain('\r\nX-Original-To: info@example.com\r\nDelivered-To: ada@example.com\r\n')

    const own = await clientFrom(trusted, relay)
    expect(await sendTo(own, ['carol@example.net', 'info@example.com'])).toEqual([taken, taken])
    await expect
      .poll(() => recipientsOf(outside!).sort())
      .toEqual(['bob@example.net', 'bob@example.net', 'carol@example.net'])
    await expect.poll(() => relay.log).toMatch(/"recipientCount":3[^\n]*"msg":"accepted"/)
  },
)

test('what sendmail gives to the relay is for aliases, too, and so is what comes back to one', async () => {
  const { servers, port } = await serversAt({
    '127.0.0.2': (line) => (line.startsWith('RCPT TO:<gone@') ? '550 5.1.1 no such user' : undefined),
  })
  await start('root@example.com ada@example.com, bob@example.net\n', '--relay', `127.0.0.2:${port}`)
  const args = ['sendmail', '--queue', at('queue'), '--origin', 'example.com', '-f', 'root']
  expect(await runWaybill([...args, 'root'], { directory, input: 'Subject: cron\n\nx\n' })).toMatchObject({
    exitCode: 0,
    stderr: '',
  })
  await expect.poll(() => recipientsOf(servers[0]!)).toEqual(['bob@example.net'])
  await expect.poll(() => mailOf('ada@example.com')).toHaveLength(1)

  await runWaybill([...args, 'gone@example.net'], { directory, input: 'Subject: back\n\nx\n' })
  await expect.poll(() => recipientsOf(servers[0]!)).toEqual(['bob@example.net', 'bob@example.net'])
  await expect.poll(() => mailOf('ada@example.com')).toHaveLength(2)
  const mails = await mailOf('ada@example.com')
  expect(
    mails.filter((mail) => /^To: root@example\.com\r$/m.test(mail) && /^Action: failed\r$/m.test(mail)),
  ).toHaveLength(1)
  expect(await readdir(at('mail'))).toEqual(['ada@example.com'])
})

test.each([['yes'], ['no']])(
  'a list of 5000 is one message with --alias-limit; a thread: %s',
  async (word) => {
    const many = Array.from({ length: 5000 }, (_, i) => `u${i}@example.net`)
    const table = `list@example.com ${many.join('\n ')}\n`
    // Its outcomes would fill what is kept of the log.
    const ways = ['--relay', '127.0.0.2:9', '--freeze', '--smtp-thread', word, '--alias-limit', '5000']
    const relay = await start(table, ...ways)
    expect(await sendTo(await clientFrom(trusted, relay), ['list@example.com'])).toEqual([taken])
    await expect.poll(() => relay.log).toMatch(/"recipientCount":5000[^\n]*"msg":"accepted"/)
  },
)

test.each([
  [['--alias-limit', '0'], /--alias-limit takes a number of at least 1, not '0'/],
  [['--alias-limit', '100001'], /--alias-limit 100001: a message has at most 100000 recipients/],
  [['--alias-limit', '5'], /list@example\.com stands for more than 5 addresses/],
])('%j is refused', async (args, says) => {
  await writeFile(at('aliases'), `list@example.com ${'abcdef'.replace(/./g, '$&@example.net ')}\n`)
  const options = ['--queue', at('queue'), '--listen', '127.0.0.1:0', '--aliases', at('aliases'), ...args]
  const ended = await runProgram('timeout', ['10', process.execPath, waybillPath, 'serve', ...options], {
    directory,
  })
  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) as string })
})

test('a report names the alias to which its sender wrote', async () => {
  const { port } = await serversAt({
    '127.0.0.2': (line) => (line.startsWith('RCPT TO:<gone@') ? '550 5.1.1 no such user' : undefined),
  })
  const relay = await start('info@example.com gone@example.net\n', '--relay', `127.0.0.2:${port}`)
  expect(await sendTo(await clientFrom(trusted, relay), ['Info@example.com'], 'ada@example.com')).toEqual([
    taken,
  ])
  await expect.poll(() => mailOf('ada@example.com')).toHaveLength(1)
  const [report] = await mailOf('ada@example.com')
  expect(report).toContain(
    'Original-Recipient: rfc822;Info@example.com\r\nFinal-Recipient: rfc822; gone@example.net\r\nAction: failed\r\n',
  )
})

test.each([['yes'], ['no']])(
  'the table is taken up by a reload; one that is wrong changes nothing while mail comes in; a thread: %s',
  async (word) => {
    const { servers, port } = await serversAt({ '127.0.0.2': undefined })
    const relay = await start(
      'info@example.com bob@example.net\n',
      '--relay',
      `127.0.0.2:${port}`,
      '--smtp-thread',
      word,
    )
    const reload = () => runWaybill(['reload', '--queue', at('queue')], { directory })
    const client = await clientFrom(stranger, relay)
    let isOver = false
    const sent = (async () => {
      let count = 0
      for (; !isOver; count++)
        expect(await sendTo(client, ['info@example.com', 'help@example.com'])).toEqual([taken, unknown])
      return count
    })()
    for (const [table, says] of [
      [
        'help@example.com ada@example.com\nhelp@example.com bob@example.net\n',
        /help@example\.com has a line above.*\/aliases, line 2/,
      ],
      [
        'info@example.com help@example.com\nhelp@example.com info@example.com\n',
        /leads back to itself.*\/aliases, line 1/,
      ],
      ['', /there is no alias.*\/aliases\)/],
    ] as const) {
      await writeFile(at('aliases'), table)
      expect(await reload()).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(says) as string })
    }
    isOver = true
    const count = await sent
    expect(count).toBeGreaterThan(0)
    await expect.poll(() => recipientsOf(servers[0]!)).toEqual(Array(count).fill('bob@example.net'))

    await writeFile(at('aliases'), '\ufeffhelp@example.com ada@example.com,\n  carol@example.net\n')
    const told = await reload()
    expect(told).toMatchObject({ exitCode: 0, stderr: '' })
    expect(told.stdout).toContain(`--aliases ${at('aliases')}: 1 alias\n`)
    expect(await sendTo(client, ['help@example.com', 'info@example.com'])).toEqual([taken, unknown])
    await expect.poll(() => recipientsOf(servers[0]!).at(-1)).toBe('carol@example.net')
  },
)

test.each([
  ['info@example.com ada\n', /^waybill serve: ada is no address and no @domain.*\/aliases, line 1\)\n/],
  ['# nothing\n', /there is no alias \(option aliases, path .*\/aliases\)\n/],
  [undefined, /--aliases: ENOENT.*aliases/],
])('a table that is wrong is refused before anything is made: %j', async (text, says) => {
  if (text !== undefined) await writeFile(at('aliases'), text)
  const options = ['--queue', at('queue'), '--listen', '127.0.0.1:0', '--aliases', at('aliases')]
  const args = ['10', process.execPath, waybillPath, 'serve', '--direct', ...options]
  const ended = await runProgram('timeout', args, { directory })
  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})

test('mail that the aliases of two relays send to each other is returned when it has passed too many', async () => {
  const relayTo = (port: number, table: string): string => `${table} :[127.0.0.1]:${port}\n`
  const one = await start('loop@example.com loop@two.example\n', '--relay', '127.0.0.1:9')
  await writeFile(at('two-aliases'), 'loop@two.example loop@example.com\n')
  const next = ['--relay', `127.0.0.1:${one.endpoint.port}`, '--aliases', at('two-aliases')]
  const two = await startedRelay(['--queue', at('two'), '--hostname', 'mail.two.example', ...next])
  await writeFile(at('routes'), `example.com maildir:\n${relayTo(two.endpoint.port, 'two.example')}`)
  expect(await runWaybill(['reload', '--queue', at('queue')], { directory })).toMatchObject({ exitCode: 0 })
  expect(await sendTo(await clientFrom(trusted, one), ['loop@example.com'], 'ada@example.com')).toEqual([
    taken,
  ])
  await expect.poll(() => mailOf('ada@example.com')).toHaveLength(1)
  const [report] = await mailOf('ada@example.com')
  expect(report).toContain('5.4.6')
  expect(report!.match(/^Received: /gm)!.length).toBeGreaterThan(50)
  expect(await readdir(at('mail'))).toEqual(['ada@example.com'])
})
