/** `waybill serve --recipient-delimiter`, as a separate process: addresses with an extension. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, waybillPath, startedRelay } from '../../end-to-end/relay-process.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { greetedClient, sendTo, taken, unknown, denied } from '../../relay/raw-client.js'
import { runProgram, runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('delimiter')
})

const at = (name: string): string => join(directory, name)

/** A stranger writes to all of them. @returns the first nine characters of the reply to each */
async function send({ endpoint }: RelayProcess, recipients: readonly string[]): Promise<string[]> {
  const client = await greetedClient(endpoint.port, endpoint.host, { localAddress: '127.0.0.9' })
  return sendTo(client, recipients, 'boss@example.net')
}

test.each([['yes'], ['no']])(
  'an address with an extension is looked up without it in every table, and for its Maildir; a thread: %s',
  async (word) => {
    const { servers, port } = await serversAt({ '127.0.0.2': undefined, '127.0.0.3': undefined })
    await writeFile(at('aliases'), 'info@example.com ada@example.com, bob@example.net\n')
    await writeFile(at('domains'), 'ada@example.com\n')
    await writeFile(at('routes'), `example.com maildir:\nbob@example.net :[127.0.0.3]:${port}\n`)
    const tables = ['--relay-domains', at('domains'), '--aliases', at('aliases'), '--routes', at('routes')]
    const here = ['--queue', at('queue'), '--hostname', 'mail.example.com', '--trust', '127.0.0.1']
    const ways = ['--maildir', at('mail'), '--relay', `127.0.0.2:${port}`, '--smtp-thread', word]
    const relay = await startedRelay([...here, ...ways, ...tables, '--recipient-delimiter', '+'])
    const recipients = [
      'info+x@example.com',
      'ada+lists@example.com',
      'eve+x@example.com',
      'bob+x@example.net',
    ]
    expect(await send(relay, recipients)).toEqual([taken, taken, unknown, denied])
    await expect
      .poll(() => servers.map((server) => server.taken.map((mail) => mail.recipients)))
      .toEqual([[], [['bob+x@example.net']]])
    await expect.poll(() => readdir(at('mail/ada@example.com/new')).catch(() => [])).toHaveLength(1)
    expect(await readdir(at('mail'))).toEqual(['ada@example.com'])
    const [file] = await readdir(at('mail/ada@example.com/new'))
    // The recipients come one by one, and the second names both.
    const deliveredTo = async (): Promise<string[] | undefined> => {
      const mail = await readFile(join(at('mail/ada@example.com/new'), file!), 'utf8')
      return mail.match(/^Delivered-To: .*/gm)?.sort()
    }
    await expect
      .poll(deliveredTo)
      .toEqual(['Delivered-To: ada+lists@example.com', 'Delivered-To: ada+x@example.com'])

    // A table is read again with it, too.
    await writeFile(at('aliases'), 'ada@example.com ada+more@example.com\n')
    expect(await runWaybill(['reload', '--queue', at('queue')], { directory })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/ada@example\.com leads back to itself.*aliases, line 1/) as string,
    })
    await writeFile(at('aliases'), 'help@example.com ada@example.com\n')
    expect(await runWaybill(['reload', '--queue', at('queue')], { directory })).toMatchObject({ exitCode: 0 })
    expect(await send(relay, ['info+x@example.com', 'help+x@example.com'])).toEqual([unknown, taken])
    await expect.poll(() => readdir(at('mail/ada@example.com/new'))).toHaveLength(2)
  },
)

test.each([
  [['--recipient-delimiter', 'yes'], /^waybill serve: --recipient-delimiter takes some of .*, not 'yes'\n/],
  [['--recipient-delimiter', ''], /--recipient-delimiter takes some of .*, not ''\n/],
  [['--recipient-delimiter', '+', '--recipient-delimiter', '-'], /--recipient-delimiter is given twice/],
  [['--recipient-delimiter=-', '--relay', '127.0.0.1:9'], /--recipient-delimiter is for addresses that are/],
])('%j is refused before anything is made', async (args, says) => {
  const options = ['--queue', at('queue'), '--listen', '127.0.0.1:0', ...args]
  const ended = await runProgram('timeout', ['10', process.execPath, waybillPath, 'serve', ...options], {
    directory,
  })
  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).toEqual([])
})
