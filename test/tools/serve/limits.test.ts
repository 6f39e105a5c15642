/** `waybill serve --limits --shaping`, as a separate process. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { foreignServer } from '../../relay/foreign-server.js'
import { greetedClient, type RawClient, sendTo, taken } from '../../relay/raw-client.js'
import { runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('limits')
})

const at = (name: string): string => join(directory, name)
const waybill = (...words: string[]): Promise<Ended> => runWaybill(words, { directory })
const onQueue = (...words: string[]): Promise<Ended> => waybill(...words, '--queue', at('queue'))

interface Started {
  readonly relay: RelayProcess
  readonly client: RawClient
}

const started = (...args: string[]): Promise<Started> => startedFor(['--maildir', at('mail'), ...args])

async function startedFor(args: readonly string[]): Promise<Started> {
  const relay = await startedRelay(['--queue', at('queue'), ...args])
  const client = await greetedClient(relay.endpoint.port)
  return { relay, client }
}

async function send(client: RawClient, recipient: string): Promise<void> {
  expect(await sendTo(client, [recipient])).toEqual([taken])
}

const mailboxes = async (): Promise<string[]> => (await readdir(at('mail')).catch((): string[] => [])).sort()

test('more than a limit waits and is shown, a wrong table changes nothing, and a reload lets it go', async () => {
  await writeFile(at('limits'), 'nexthop slow.example 1/day\n')
  const { relay, client } = await started('--limits', at('limits'))
  await send(client, 'ada@slow.example')
  await expect.poll(mailboxes).toEqual(['ada@slow.example'])
  await send(client, 'grace@slow.example')
  await send(client, 'ada@fast.example')
  const before = ['ada@fast.example', 'ada@slow.example']
  await expect.poll(mailboxes).toEqual(before)
  const shown = async (): Promise<string> => (await onQueue('destinations')).stdout
  await expect.poll(shown).toMatch(/slow\.example +ready .*mail waits for 1 in 1d of nexthop slow\.example/)
  await expect.poll(() => relay.log).toMatch(/"name":"slow\.example"[^\n]*mail waits for a limit/)

  await writeFile(at('limits'), '# one\nnexthop slow.example 5/fortnight\n')
  const refused = await onQueue('reload')
  expect(refused.exitCode).not.toBe(0)
  expect(refused.stderr).toMatch(/'5\/fortnight' is no rate: [^]*path [^]*limits, line 2\)/)
  expect(await mailboxes()).toEqual(before)

  await writeFile(at('limits'), '')
  expect((await onQueue('reload')).stdout).toMatch(/limits/)
  await onQueue('flush', '--nexthop', 'slow.example')
  await expect.poll(mailboxes).toEqual([...before, 'grace@slow.example'])
  await expect.poll(() => relay.log).toMatch(/a limit delays no mail any more/)
})

test('mail that leaves from an address counts for its limit', async () => {
  const server = await foreignServer(() => undefined)
  onTestFinished(() => server.close())
  await writeFile(at('limits'), 'source 127.0.0.1 1/day\n')
  const from = ['--limits', at('limits'), '--source-address', '127.0.0.1']
  const { client } = await startedFor(['--relay', `${server.host}:${server.port}`, ...from])
  for (const name of ['ada', 'grace']) await send(client, `${name}@far.example`)
  await expect
    .poll(async () => (await onQueue('destinations')).stdout)
    .toMatch(/mail waits for 1 in 1d of source 127\.0\.0\.1/)
})

test.each([
  ['limits', 'source 127.0.0.1 1/day\n', /a limit by source needs --source-address[^]*limits, line 1\)/],
  ['limits', 'tag x\n', /expected nexthop, tag, sender, source, [^]*limits, line 1\)/],
  ['shaping', '\n421 to 5\n', /expected words of a reply, [^]*shaping, line 2\)/],
])('with a wrong table of --%s no relay starts', async (option, text, words) => {
  await writeFile(at(option), text)
  const ended = await waybill(
    'serve',
    '--queue',
    at('queue'),
    '--listen',
    '127.0.0.1:0',
    `--${option}`,
    at(option),
  )
  expect(ended.exitCode).toBe(2)
  expect(ended.stderr).toMatch(words)
})

test('the table that operators copy is the one that serve has', async () => {
  const { shapingDefault } = await import('../../../src/relay/tables/limit-table.js')
  const { readFile } = await import('node:fs/promises')
  expect(await readFile(new URL('../../../tools/deploy/shaping', import.meta.url), 'utf8')).toBe(
    shapingDefault,
  )
})

test('without --shaping a common reply slows its site, and the log says so', async () => {
  const server = await foreignServer((line) =>
    line.startsWith('RCPT TO:<ada@') ? '421 4.7.28 our system has detected an unusual rate' : undefined,
  )
  onTestFinished(() => server.close())
  const relay = await startedRelay(['--queue', at('queue'), '--relay', `${server.host}:${server.port}`])
  const client = await greetedClient(relay.endpoint.port)
  await send(client, 'ada@one.example')
  await expect
    .poll(() => relay.log)
    .toMatch(/"count":10,"perMs":60000[^\n]*4\.7\.28[^\n]*a site is sent to more slowly/)
  for (let n = 0; n < 3; n++) await send(client, `bob${n}@one.example`)
  await expect
    .poll(async () => (await onQueue('destinations')).stdout)
    .toMatch(/slowed by its reply to 10 in 1m/)
})
