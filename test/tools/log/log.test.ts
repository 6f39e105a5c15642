/** What an operator finds in the relay's log of a message, from a separate process. */
import { writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { rawClient, untilData, type RawClient } from '../../relay/raw-client.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

async function served(
  args: (directory: string) => string[],
): Promise<{ relay: RelayProcess; client: RawClient; directory: string }> {
  const directory = await temporaryDirectory('log')
  const relay = await startedRelay(['--queue', join(directory, 'queue'), ...args(directory)])
  const client = await rawClient(relay.endpoint.port)
  return { relay, client, directory }
}

interface Line {
  readonly msg?: string
}

const allLines = ({ log }: RelayProcess): Line[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)

const linesOf = (relay: RelayProcess, word: string): Line[] =>
  allLines(relay).filter(({ msg }) => msg === word)

const from = { address: '127.0.0.1', helo: 'client.example' }

test.each(['yes', 'no'])(
  'a message has a line when it is accepted, with its client, and one when nothing of it is left; a thread for clients: %s',
  async (word) => {
    const { relay, client, directory } = await served((place) => [
      '--smtp-thread',
      word,
      '--maildir',
      join(place, 'maildir'),
    ])
    await untilData(client)
    const reply = await client.say('Subject: x\r\n\r\nx\r\n.')
    const id = /queued as (\S+)/.exec(reply)?.[1]
    expect(id).toBeDefined()
    await expect.poll(() => linesOf(relay, 'finished')).toMatchObject([{ id }])
    const paths = await readdir(join(directory, 'maildir'), { recursive: true })
    const [arrived] = paths.filter((path) => path.includes('new/'))
    // A mail in a mailbox leads to its log lines.
    expect(await readFile(join(directory, 'maildir', arrived!), 'latin1')).toContain(` with ESMTP id ${id}`)
    expect(linesOf(relay, 'accepted')).toMatchObject([
      {
        id,
        client: { address: '127.0.0.1' },
        session: expect.any(String) as string,
        messageId: expect.stringMatching(/^<.*@.*>$/) as string,
        recipientCount: 1,
        dataBytes: expect.any(Number) as number,
      },
    ])
  },
)

test('mail of `waybill submit` has a line when it is accepted, too', async () => {
  const { relay, directory } = await served((place) => ['--maildir', join(place, 'maildir')])
  await expect.poll(() => linesOf(relay, 'listening').length).toBe(1)
  const file = join(directory, 'mail.jsonl')
  const line = { from: 'a@example.org', to: 'b@example.net', text: 'x' }
  writeFileSync(file, `${JSON.stringify(line)}\n`)
  const words = ['submit', '--queue', join(directory, 'queue'), '--jsonl', file]
  expect(await runWaybill(words, { directory })).toMatchObject({ exitCode: 0 })
  await expect
    .poll(() => linesOf(relay, 'accepted'))
    .toMatchObject([
      { client: { address: 'control' }, recipientCount: 1, dataBytes: expect.any(Number) as number },
    ])
})

test.each([
  ['info', []],
  ['debug', [{ level: 20, recipients: ['one@example.net'], transport: 'smtp', attempt: 1 }]],
] as const)('the level %s tells of each attempt that begins: %o', async (level, expected) => {
  const { relay, client } = await served(() => ['--log-level', level, '--relay', '127.0.0.1:9'])
  await untilData(client)
  await client.say('Subject: x\r\n\r\nx\r\n.')
  await expect.poll(() => linesOf(relay, 'deferred').length).toBeGreaterThan(0)
  const [first] = linesOf(relay, 'attempt')
  expect(first === undefined ? [] : [first]).toMatchObject(expected)
  expect(linesOf(relay, 'the queue is open')).toMatchObject([{ lock: expect.stringMatching(/^flock of /) }])
})

test.each(['yes', 'no'])(
  'a refused recipient stands in the log, with the reply; a thread for clients: %s',
  async (word) => {
    const trust = ['--relay', '127.0.0.1:9', '--trust', '192.0.2.1']
    const { relay, client } = await served(() => ['--smtp-thread', word, ...trust])
    await client.reply()
    await client.say('EHLO client.example')
    await client.say('MAIL FROM:<a@example.org>')
    await client.say('RCPT TO:<b@example.net>')
    const reply = expect.stringContaining('relay access denied') as string
    await expect
      .poll(() => linesOf(relay, 'refused'))
      .toMatchObject([
        {
          client: from,
          sender: 'a@example.org',
          recipient: 'b@example.net',
          reply,
        },
      ])
  },
)

test('what is refused to an operator has one line, and what is done one when it begins and one when it has ended', async () => {
  const { relay, directory } = await served((path) => ['--maildir', join(path, 'maildir')])
  await expect.poll(() => linesOf(relay, 'listening').length).toBe(1)
  const before = allLines(relay).length
  const queue = ['--queue', join(directory, 'queue')]
  expect(
    await runWaybill(['reroute', ...queue, '--all', '--to', 'x', '--transport', 'none'], { directory }),
  ).toMatchObject({ exitCode: 1 })
  expect(await runWaybill(['hold', ...queue, '--all'], { directory })).toMatchObject({ exitCode: 0 })
  await expect.poll(() => linesOf(relay, 'carried out').length).toBe(1)
  expect(allLines(relay).slice(before)).toMatchObject([
    {
      level: 40,
      msg: 'not carried out',
      control: { do: 'reroute' },
      err: { code: 'OPTION_INVALID' },
    },
    { msg: 'asked over the control socket', control: { do: 'hold' } },
    { msg: 'carried out', control: { do: 'hold' } },
  ])
})

test('a reload that is refused to an operator has one line, too', async () => {
  const routes = (path: string): string => join(path, 'routes')
  const { relay, directory } = await served((path) => {
    writeFileSync(routes(path), '')
    return ['--relay', '127.0.0.1:9', '--routes', routes(path)]
  })
  await expect.poll(() => linesOf(relay, 'listening').length).toBe(1)
  const before = allLines(relay).length
  writeFileSync(routes(directory), 'x')
  expect(
    await runWaybill(['reload', '--queue', join(directory, 'queue')], {
      directory,
    }),
  ).toMatchObject({
    exitCode: 1,
  })
  await expect.poll(() => linesOf(relay, 'not reloaded, all is as it was').length).toBe(1)
  expect(allLines(relay).slice(before)).toMatchObject([{ level: 50 }])
})

test('what concurrency feedback comes to is logged when it is asked for, by the name that it has in Postfix', async () => {
  const { relay, client } = await served((directory) => [
    '--maildir',
    join(directory, 'maildir'),
    '-o',
    'destination_concurrency_feedback_debug=yes',
  ])
  await untilData(client)
  await client.say('Subject: x\r\n\r\nx\r\n.')
  await expect
    .poll(() => linesOf(relay, 'feedback'))
    .toMatchObject([
      {
        kind: 'positive',
        transport: 'maildir',
        window: 2,
        success: 0,
        failure: 0,
        failCohorts: 0,
      },
    ])
})
