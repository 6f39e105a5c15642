import { mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { laySmallQueue } from '../end-to-end/laid-queue.js'
import { RelayProcess, waybillPath } from '../end-to-end/relay-process.js'
import { openSink } from '../end-to-end/sink.js'
import { rawClient, untilData } from '../relay/raw-client.js'
import { runProgram, runWaybill, type Ended } from './command-process.js'

let directory: string
let relays: RelayProcess[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-tools-'))
})
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.kill()))
  relays = []
  await rm(directory, { recursive: true, force: true })
})

const waybill = (args: readonly string[], input = ''): Promise<Ended> =>
  runWaybill(args, { directory, input })

async function served(args: readonly string[]): Promise<RelayProcess> {
  const relay = new RelayProcess(args)
  relays.push(relay)
  await relay.start()
  return relay
}

const queue = (): string => join(directory, 'queue')
const maildir = (): string => join(directory, 'maildir')
const local = (): Promise<RelayProcess> => served(['--queue', queue(), '--maildir', maildir()])

/** What stands in a mailbox's `new`, once there is something. */
async function arrived(mailbox: string): Promise<string> {
  const path = join(maildir(), mailbox, 'new')
  await expect.poll(() => readdir(path).catch(() => [])).not.toEqual([])
  const [name = ''] = await readdir(path)
  return readFile(join(path, name), 'latin1')
}

test('help and version are written to standard output', async () => {
  expect(await waybill(['--version'])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^waybill \d/) as string,
  })
  const help = await waybill(['help'])
  expect(help).toMatchObject({ exitCode: 0, stderr: '' })
  expect(help.stdout).toMatch(/serve[^]*sendmail/)
  expect((await waybill(['serve', '--help'])).stdout).toMatch(/--relay HOST:PORT/)
  expect((await waybill(['help', 'sendmail'])).stdout).toMatch(/--smtp HOST:PORT/)
  expect(await waybill(['mailq', '-h'])).toEqual(await waybill(['help', 'mailq']))
  const log = await waybill(['help', 'log'])
  expect(log.stdout).toMatch(/log dump[^]*log rescue/)
  expect(log.stdout).not.toContain('sendmail')
  expect(await waybill(['log', '--help'])).toEqual(log)
})

test.each([
  [[], 2, /usage: waybill COMMAND/],
  [['fly'], 2, /no command 'fly'/],
  [['HOLD'], 2, /no command 'HOLD'; is it hold\?/],
  [['log', 'verfy'], 2, /no command 'log verfy'; is it log verify\?/],
  [['log', 'x'], 2, /no command 'log x': expected one of log stat, log dump/],
  [['toString'], 2, /no command 'toString'/],
  [['serve', '--fast'], 2, /unknown option '--fast'/],
  [['serve', 'now'], 2, /unexpected argument 'now'/],
  [['log', 'verify', 'there'], 2, /unexpected argument 'there'/],
  [['destinations', 'there'], 2, /unexpected argument 'there'/],
  [['serve', '--size-limit', '0'], 2, /--size-limit is from 1/],
  [['serve', '--size-limit', '3G'], 2, /--size-limit is from 1/],
  [['serve', '--relay', 'mx.example.net:0'], 2, /--relay needs a port/],
  [['serve', '--idle-timeout', '0s'], 2, /--idle-timeout is longer than 0/],
  [['serve', '--relay-tls', 'none'], 2, /--relay-tls is for/],
  [['delete', '--sender', ''], 2, /--sender has an empty value/],
  [['serve', '--listen', 'nowhere:port'], 2, /--listen takes HOST:PORT/],
  [['serve', '--relay', 'a:1', '--maildir', 'b'], 2, /--relay or --maildir, or both with --routes/],
  [['serve', '--relay', 'a:1', '--direct'], 2, /--relay or --direct, not both/],
  [['serve', '--direct', '--maildir', 'b'], 2, /--direct or --maildir, or both with --routes/],
  [['serve', '--direct', '--relay-tls', 'required'], 2, /--relay-tls takes none or opportunistic/],
  [['serve', '--direct', '--relay-auth', 'b'], 2, /--relay-auth is for a server that --relay names/],
  [['serve', '--retry', '1x'], 2, /--retry takes a duration/],
  [['serve', '--trust', '10.0.0.0/99'], 2, /not an address or network/],
  [['serve', '--proxy-protocol', 'haproxy'], 2, /not an address or network.*proxy-protocol/],
  [['serve', '--queue', 'a', '--queue', 'b'], 2, /--queue is given twice/],
  [['sendmail', '--fast'], 64, /unknown option/],
  [['sendmail', '--queue', 'a', '--smtp', 'b:25'], 64, /not both/],
  [['sendmail', '--queue', 'queue'], 64, /no recipients/],
  [['sendmail', 'a@example.net'], 78, /no queue at .\/var\/queue; .*WAYBILL_QUEUE names another/],
  [['sendmail', '-bs', '--queue', 'queu'], 78, /no queue at queu; /],
  [['sendmail', '-bp', '--queue', 'queu'], 78, /no queue at queu$/m],
  [['sendmail', '-q', '--queue', 'queu'], 78, /no queue at queu$/m],
  [['sendmail', '-q15m', '--queue', 'queu'], 64, /the daemon is `waybill serve`/],
  [['sendmail', '-bd', '--queue', 'queu'], 64, /-b takes m or s/],
  [['sendmail', '-bp', '--smtp', 'a:25'], 64, /not over --smtp/],
  [['sendmail', '--create', '--queue', 'queue', 'two@at@signs'], 69, /501 5\.1\.3 bad address syntax/],
  [['sendmail', '--size-limit', '3', '--queue', 'queue', 'a@example.net'], 65, /longer than 3 bytes/],
  [['sendmail', '--smtp', '127.0.0.1:1', 'a@example.net'], 75, /4\.4\.1/],
])('waybill %j exits with %d and says why', async (args, exitCode, reason) => {
  const ended = await waybill(args, 'Subject: x\n\nbody\n')
  expect(ended.stderr).toMatch(reason)
  expect(ended).toMatchObject({ exitCode, stdout: '' })
})

test('a wrong option of serve leaves no directory behind', async () => {
  await waybill(['serve', '--queue', queue(), '--sessions', '0'])
  await expect(stat(queue())).rejects.toMatchObject({ code: 'ENOENT' })
})

test('serve sets no switch of V8 that this Node does not know', async () => {
  const { stderr } = await waybill(['serve', '--sessions', '0'])
  expect(stderr).toMatch(/^waybill serve: --sessions/)
})

test.each(['help', 'mailq --queue queue --json', 'mailq --help', '--version'])(
  '%s fails when its output does not fit on the disk, and does not when its reader goes away',
  async (args) => {
    laySmallQueue(queue())
    await waybill(['sendmail', '--queue', 'queue', 'a@example.org'], 'x\n')
    const run = (to: string): Promise<Ended> =>
      runProgram('bash', ['-c', `"${process.execPath}" "${waybillPath}" ${args} ${to}; exit $PIPESTATUS`], {
        directory,
      })
    expect(await run('> /dev/full')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^waybill: ENOSPC.*\n$/) as string,
    })
    expect(await run('| true')).toMatchObject({ exitCode: 0, stderr: '' })
  },
)

test('mail for a local recipient is delivered to its Maildir', async () => {
  const relay = await local()
  const client = await rawClient(relay.endpoint.port)
  await untilData(client, ['Bob@example.net'])
  expect(await client.say('Subject: x\r\n\r\nhello\r\n.')).toMatch(/^250 2\.0\.0 queued as \S+$/)
  client.destroy()
  expect(await arrived('bob@example.net')).toMatch(
    /^Return-Path: <sender@example\.org>\r\nDelivered-To: Bob@example\.net\r\nReceived: [^]*\r\n(?:Date|Message-ID): [^]*\r\nSubject: x\r\n\r\nhello\r\n$/,
  )
})

test.each(['yes', 'no'])(
  'the size limit of serve is what clients are told, a thread for them: %s',
  async (word) => {
    const served10K = ['--queue', queue(), '--maildir', maildir(), '--size-limit', '10K']
    const relay = await served([...served10K, '--smtp-thread', word])
    const client = await rawClient(relay.endpoint.port)
    await client.reply()
    expect(await client.say('EHLO c')).toContain('SIZE 10240')
    client.destroy()
  },
)

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it at once, with a session open', async (signal) => {
  const relay = await local()
  const client = await rawClient(relay.endpoint.port)
  await untilData(client)
  const startedAt = performance.now()
  await relay.kill(signal)
  expect(await relay.exit()).toBe(0)
  expect(performance.now() - startedAt).toBeLessThan(4000)
})

test('a directory that another process owns is refused with a code', async () => {
  await local()
  expect(await waybill(['serve', '--queue', queue(), '--listen', '127.0.0.1:0'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('QUEUE_LOCKED') as string,
  })
})

test('a queue that is damaged is not opened, and the way out is named', async () => {
  const relay = await local()
  await waybill(['sendmail', '--queue', queue(), 'ada@example.org'], 'Subject: x\n\nx\n')
  await relay.kill()
  const journal = join(queue(), 'journal')
  const segments = (await readdir(journal)).filter((name) => !name.startsWith('spare'))
  for (const name of segments) {
    // The first frame of each batch: batches begin on a multiple of 4096.
    const file = await open(join(journal, name), 'r+')
    for (let block = 1; block < 32; block++) await file.write(Buffer.alloc(16, 0xff), 0, 16, block * 4096)
    await file.close()
  }
  const { exitCode, stderr } = await waybill(['serve', '--queue', queue(), '--listen', '127.0.0.1:0'])
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^waybill: LOG_CORRUPT: /)
  expect(stderr).toContain('`waybill log verify --queue DIR`')
  expect(stderr).toContain('`waybill log rescue DIR --to NEW`')
  expect((await waybill(['log', 'verify', '--queue', queue()])).stdout).toContain('damage: ')
})

test('a port that is taken is refused, and the queue is free again', async () => {
  const relay = await local()
  const other = join(directory, 'other')
  const listen = `127.0.0.1:${relay.endpoint.port}`
  const refused = await waybill(['serve', '--queue', other, '--listen', listen])
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('EADDRINUSE') as string })
  expect(refused.stderr).not.toContain('a client')
  await served(['--queue', other, '--maildir', maildir()])
})

test('sendmail gives a message to the relay that has the directory open', async () => {
  await local()
  const ended = await waybill(
    ['sendmail', '-f', 'me@example.org', '-i', '--queue', queue(), 'carol@example.net'],
    'Subject: x\n\n.\nend\n',
  )
  expect(ended).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  expect(await arrived('carol@example.net')).toMatch(/Subject: x\r\n\r\n\.\r\nend\r\n$/)
})

test('sendmail leaves messages in a directory that nobody has open, and the relay delivers them later', async () => {
  for (let i = 0; i < 3; i++) {
    const ended = await waybill(
      ['sendmail', '--create', '-t', '--queue', queue()],
      `To: dave${i}@example.net\nBcc: eve${i}@example.net\n\nlater\n`,
    )
    expect(ended).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  }
  await local()
  for (let i = 0; i < 3; i++) {
    expect(await arrived(`dave${i}@example.net`)).toMatch(/later\r\n$/)
    expect(await arrived(`eve${i}@example.net`)).not.toContain('Bcc')
  }
})

test('two sendmails at once wait for each other', async () => {
  // Each waits for five seconds, and no longer: of more of them a busy machine has one wait in
  // vain.
  const all = await Promise.all(
    Array.from({ length: 3 }, (_, i) =>
      waybill(['sendmail', '--create', '--queue', queue(), `fay${i}@example.net`], 'x\n'),
    ),
  )
  expect(all.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
  await local()
  for (let i = 0; i < 3; i++) await arrived(`fay${i}@example.net`)
})

test('sendmail over SMTP names what the server refused', async () => {
  const sink = await openSink()
  const to = ['--smtp', `${sink.host}:${sink.port}`]
  expect(await waybill(['sendmail', ...to, 'ok-1@example.net', 'fail-1@example.net'], 'x\n')).toMatchObject({
    exitCode: 69,
    stderr: expect.stringContaining('5.1.1') as string,
  })
  expect(await waybill(['sendmail', ...to, 'defer9-1@example.net'], 'x\n')).toMatchObject({ exitCode: 75 })
  expect(await waybill(['sendmail', ...to, 'ok-2@example.net'], 'x\n')).toMatchObject({ exitCode: 0 })
  sink.close()
})
