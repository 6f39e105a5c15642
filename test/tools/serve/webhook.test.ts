/** `waybill serve --webhook`, with the receiver of tools/examples. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { rawClient, untilData } from '../../relay/raw-client.js'
import { runWaybill } from '../command-process.js'

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const example = fileURLToPath(new URL('../../../tools/examples/webhook-receiver.mjs', import.meta.url))

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-webhook-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'secret')
  writeFileSync(file, `${secret}\n`)
  chmodSync(file, 0o600)
  return directory
}

/** @returns what it has printed, as it grows */
async function receiver(key: string): Promise<{ url: string; lines: () => string[] }> {
  const child = spawn(process.execPath, [example], { env: { ...process.env, WEBHOOK_SECRET: key } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (piece: Buffer) => (printed += piece.toString()))
  await expect.poll(() => printed).toMatch(/^listening on (\S+)\n/)
  const url = /^listening on (\S+)\n/.exec(printed)![1]!
  return { url, lines: () => printed.trim().split('\n').slice(1) }
}

async function served(directory: string, url: string): Promise<RelayProcess> {
  const relay = await startedRelay([
    '--queue',
    join(directory, 'queue'),
    '--maildir',
    join(directory, 'maildir'),
    '--webhook',
    url,
    '--webhook-secret',
    join(directory, 'secret'),
  ])
  return relay
}

async function sent(relay: RelayProcess): Promise<void> {
  const client = await rawClient(relay.endpoint.port)
  await untilData(client)
  await client.say('Subject: x\r\n\r\nx\r\n.')
}

test('the example receiver hears of mail, through a kill of the relay', async () => {
  const directory = newDirectory()
  const { url, lines } = await receiver(secret)
  const relay = await served(directory, url)
  // The first start makes the consumer known.
  await expect.poll(() => runWaybillLog(directory)).toContain('webhook')
  await sent(relay)
  await expect.poll(lines).toHaveLength(3)
  expect(lines().map((line) => line.split(' ')[1])).toEqual(['accepted', 'delivered', 'finished'])
  await relay.kill()
  const next = await served(directory, url)
  await sent(next)
  await expect.poll(lines).toHaveLength(6)
})

const runWaybillLog = async (directory: string): Promise<string> =>
  (await runWaybill(['log', 'dump', '--json', '--queue', join(directory, 'queue')], { directory })).stdout

test('a receiver that does not know the secret refuses, which the log tells without any secret', async () => {
  const directory = newDirectory()
  const { url } = await receiver(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
  const relay = await served(directory, `${url.replace('//', '//user:pw1@')}?key=pw2`)
  await expect.poll(() => runWaybillLog(directory)).toContain('webhook')
  await sent(relay)
  await expect.poll(() => relay.log).toContain('the receiver answered 401')
  for (const word of [secret, 'pw1', 'pw2']) expect(relay.log).not.toContain(word)
})

test('a reload signs the request that waits with the secret that the file has now', async () => {
  const directory = newDirectory()
  const next = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const { url, lines } = await receiver(next)
  const relay = await served(directory, url)
  await expect.poll(() => runWaybillLog(directory)).toContain('webhook')
  await sent(relay)
  await expect.poll(() => relay.log).toContain('the receiver answered 401')
  const reload = (): ReturnType<typeof runWaybill> =>
    runWaybill(['reload', '--queue', join(directory, 'queue')], { directory })
  writeFileSync(join(directory, 'secret'), 'whsec_c2hvcnQ=\n')
  expect((await reload()).stderr).toContain('--webhook-secret: a secret is whsec_ and base64')
  writeFileSync(join(directory, 'secret'), `${secret}\n${next}\n`)
  expect((await reload()).stdout).toContain('secret: 2 secrets\n')
  await expect.poll(lines).toHaveLength(3)
})

test.each([
  [['--webhook', 'http://127.0.0.1/'], '--webhook needs --webhook-secret FILE'],
  [
    ['--webhook-events', 'delivered'],
    '--webhook-secret, --webhook-events and --webhook-tag are for --webhook',
  ],
  [
    ['--webhook', 'ftp://x/', '--webhook-secret', 'secret'],
    '--webhook: a webhook has an http or https address',
  ],
  [
    ['--webhook', 'http://x/', '--webhook-secret', 'secret', '--webhook-events', 'opened'],
    "--webhook-events: 'opened' is none of accepted,",
  ],
])('%j is refused before anything is opened', async (args, message) => {
  const directory = newDirectory()
  const { exitCode, stderr } = await runWaybill(['serve', '--listen', '127.0.0.1:0', ...args], { directory })
  expect(exitCode).toBe(2)
  expect(stderr).toContain(message)
})
