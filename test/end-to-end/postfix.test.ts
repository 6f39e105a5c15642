/** Debian's smtp-source and smtp-sink (package postfix) as client and server that
 * nobody here wrote. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../free-port.js'
import { argsOf, RelayProcess } from './relay-process.js'

const source = '/usr/sbin/smtp-source'
const sink = '/usr/sbin/smtp-sink'
const isInstalled = existsSync(source) && existsSync(sink)
if (!isInstalled)
  process.stdout.write(`skipped: ${source} and ${sink} are not there (Debian package postfix)\n`)

let directory: string
let sinkProcess: ChildProcess
let relay: RelayProcess

const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code)))

beforeAll(async () => {
  if (!isInstalled) return
  directory = await mkdtemp(join(tmpdir(), 'waybill-postfix-'))
  await chmod(directory, 0o777)
  // smtp-sink cannot choose one.
  const port = await freePort()
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  // One file for each message that it takes.
  sinkProcess = spawn(sink, [...asUser, '-d', `${directory}/%M.`, `127.0.0.1:${port}`, '1000'], {
    stdio: 'ignore',
  })
  const options = { queue: join(directory, 'queue'), relay: `127.0.0.1:${port}`, retry: '1s' }
  relay = new RelayProcess(argsOf({ ...options, 'log-level': 'warn' }))
  await relay.start()
})

afterAll(async () => {
  if (!isInstalled) return
  await relay.kill()
  sinkProcess.kill()
  await rm(directory, { recursive: true, force: true })
})

test.skipIf(!isInstalled).each([
  ['one message for each session', ['-s', '20', '-m', '400', '-l', '1024']],
  ['many messages for each session', ['-d', '-s', '20', '-m', '400', '-l', '10240']],
])('all messages of smtp-source reach smtp-sink once, %s', async (_name, args) => {
  const before = await messageIds()
  const { host, port } = relay.endpoint
  const child = spawn(
    source,
    [...args, '-f', 'from@example.org', '-t', 'to@example.net', `${host}:${port}`],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  expect(await exitOf(child)).toBe(0)
  await expect.poll(async () => (await messageIds()).length - before.length, { interval: 100 }).toBe(400)
  const ids = await messageIds()
  expect(new Set(ids).size).toBe(ids.length)
})

async function messageIds(): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name !== 'queue')
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'latin1')))
  return texts.map((text) => /^Message-Id: (\S+)/im.exec(text)?.[1] ?? 'none')
}
