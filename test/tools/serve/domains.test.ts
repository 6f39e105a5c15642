/** `waybill serve --relay-domains`, as a separate process: the mail host of domains, with
 * strangers as clients. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, waybillPath, startedRelay } from '../../end-to-end/relay-process.js'
import { rsaKey } from '../../relay/dkim/dkim-fixture.js'
import { recipientsOf, type ForeignServer } from '../../relay/foreign-server.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { greetedClient, sendTo, type RawClient, taken, unknown, denied } from '../../relay/raw-client.js'
import { runProgram, runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('domains')
})

const at = (name: string): string => join(directory, name)

/** A client at 127.0.0.1 is trusted. */
async function start(domains: string, ...args: string[]): Promise<RelayProcess> {
  await writeFile(at('domains'), domains)
  const strict = ['--trust', '127.0.0.1', '--relay-domains', at('domains'), '--hostname', 'mail.example.com']
  return startedRelay(['--queue', at('queue'), ...strict, ...args])
}

/** Behind EHLO. */
const clientFrom = (localAddress: string, { endpoint }: RelayProcess): Promise<RawClient> =>
  greetedClient(endpoint.port, endpoint.host, { localAddress })

const stranger = '127.0.0.9'
const trusted = '127.0.0.1'

const areSigned = ({ taken: mails }: ForeignServer): boolean[] =>
  mails.map(({ data }) => data.toString().startsWith('DKIM-Signature:'))

test.each([['yes'], ['no']])(
  'mail of strangers for our domains goes where their routes say, unsigned, and no other; a thread: %s',
  async (word) => {
    const { servers, port } = await serversAt({ '127.0.0.2': undefined, '127.0.0.3': undefined })
    const [smarthost, inside] = servers
    const to = `:[127.0.0.3]:${port}`
    await writeFile(at('routes'), `example.com ${to}\nsmall.example ${to}\nmail.example.com ${to}\n`)
    await writeFile(at('key.pem'), rsaKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(at('dkim'), 'example.com mail key.pem\n')
    const places = ['--relay', `127.0.0.2:${port}`, '--routes', at('routes')]
    const placesAndKeys = [...places, '--dkim', at('dkim'), '--smtp-thread', word]
    const relay = await start('example.com\nada@small.example\n', ...placesAndKeys)
    const client = await clientFrom(stranger, relay)
    const recipients = ['any@example.com', 'ada@small.example', 'eve@small.example', 'any@example.net']
    expect(await sendTo(client, recipients)).toEqual([taken, taken, unknown, denied])
    expect(await sendTo(client, ['postmaster'])).toEqual([taken])
    await expect
      .poll(() => recipientsOf(inside!).sort())
      .toEqual(['ada@small.example', 'any@example.com', 'postmaster@mail.example.com'])
    expect(areSigned(inside!)).not.toContain(true)

    const own = await clientFrom(trusted, relay)
    expect(await sendTo(own, ['any@example.net', 'eve@small.example'])).toEqual([taken, unknown])
    await expect.poll(() => recipientsOf(smarthost!)).toEqual(['any@example.net'])
    expect(areSigned(smarthost!)).toEqual([true])
    expect(relay.log).toMatch(
      /"recipient":"eve@small\.example"[^\n]*5\.1\.1 unknown user[^\n]*"msg":"refused"/,
    )
  },
)

test.each([['yes'], ['no']])(
  'the table is taken up by a reload, with the others; a thread: %s',
  async (word) => {
    const relay = await start('example.com\n', '--relay', '127.0.0.1:9', '--smtp-thread', word)
    const client = await clientFrom(stranger, relay)
    const reload = () => runWaybill(['reload', '--queue', at('queue')], { directory })
    const both = ['any@example.com', 'any@example.net']
    expect(await sendTo(client, both)).toEqual([taken, denied])
    await writeFile(at('domains'), 'example.net\nexample.com example.org\n')
    expect(await reload()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/no domain and no address.*\/domains, line 2/) as string,
    })
    expect(await sendTo(client, both)).toEqual([taken, denied])
    await writeFile(at('domains'), 'example.net\nada@example.com\n')
    expect(await reload()).toMatchObject({
      exitCode: 0,
      stdout: `--relay-domains ${at('domains')}: 2 domains and addresses\n`,
    })
    expect(await sendTo(client, both)).toEqual([unknown, taken])
  },
)

test('before Maildirs it is the same: strangers reach those of the table, who is trusted everyone', async () => {
  const relay = await start('example.com\n', '--maildir', at('mail'))
  const recipients = ['ada@example.com', 'ada@example.net']
  expect(await sendTo(await clientFrom(stranger, relay), recipients)).toEqual([taken, denied])
  await expect.poll(() => readdir(at('mail')).catch(() => [])).toEqual(['ada@example.com'])
  expect(await sendTo(await clientFrom(trusted, relay), recipients)).toEqual([taken, taken])
  await expect.poll(() => readdir(at('mail'))).toHaveLength(2)
})

test.each([
  ['example.com\n*\n', /^waybill serve: \* is no domain and no address.*\/domains, line 2\)\n/],
  ['# nothing\n', /there is no domain \(option relay-domains, path .*\/domains\)\n/],
  [undefined, /--relay-domains: ENOENT.*domains/],
])('a table that is wrong is refused before anything is made: %j', async (text, says) => {
  if (text !== undefined) await writeFile(at('domains'), text)
  const options = ['--queue', at('queue'), '--listen', '127.0.0.1:0', '--relay-domains', at('domains')]
  const args = ['10', process.execPath, waybillPath, 'serve', '--direct', ...options]
  const ended = await runProgram('timeout', args, { directory })
  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})

test('mail of some domains stays in Maildirs while the rest goes out, and a reload changes which', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const routed = async (table: string): Promise<void> => {
    await writeFile(at('routes'), table)
    const reloaded = await runWaybill(['reload', '--queue', at('queue')], { directory })
    expect(reloaded).toMatchObject({ exitCode: 0, stderr: '' })
  }
  await writeFile(at('routes'), '# nothing yet\n')
  const ways = ['--relay', `127.0.0.2:${port}`, '--maildir', at('mail'), '--routes', at('routes')]
  const relay = await start('ada@example.com\n', ...ways, '-o', 'maildir_destination_rate_delay=60s')
  await routed('example.com maildir:\n')
  expect(await sendTo(await clientFrom(stranger, relay), ['ada@example.com', 'eve@example.com'])).toEqual([
    taken,
    unknown,
  ])
  await expect.poll(() => readdir(join(at('mail'), 'ada@example.com', 'new')).catch(() => [])).toHaveLength(1)
  const { stdout } = await runWaybill(['destinations', '--queue', at('queue')], { directory })
  expect(stdout).toMatch(/^maildir +ada@example\.com /m)

  const own = await clientFrom(trusted, relay)
  expect(await sendTo(own, ['any@example.net', 'any@example.org'])).toEqual([taken, taken])
  await expect.poll(() => recipientsOf(servers[0]!).sort()).toEqual(['any@example.net', 'any@example.org'])
  await routed('example.org maildir:\n')
  expect(await sendTo(own, ['any@example.org', 'ada@example.com'])).toEqual([taken, taken])
  await expect.poll(() => recipientsOf(servers[0]!)).toHaveLength(3)
  await expect
    .poll(async () => (await readdir(at('mail'))).sort())
    .toEqual(['ada@example.com', 'any@example.org'])
})
