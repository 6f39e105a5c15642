/** A relay that cannot start: it says why, and leaves nothing behind. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { RelayProcess, waybillPath, startedRelay } from '../../end-to-end/relay-process.js'
import { freePort, hasIpv6 } from '../../free-port.js'
import { project } from '../../project.js'
import { greetedClient, rawClient, untilData } from '../../relay/raw-client.js'
import { madeMailboxDirectory, withAddresses } from '../../../tools/commands/serve/places.js'
import { runProgram, runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('start')
})

/** Of another process. @returns `HOST:PORT` */
async function takenPort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  [
    '--listen',
    ['--listen', 'TAKEN'],
    'EADDRINUSE: another process listens there, or this relay does by an earlier option',
  ],
  [
    '--metrics',
    ['--metrics', 'TAKEN', '--listen', '127.0.0.1:0'],
    'EADDRINUSE: another process listens there',
  ],
  ['--listen', ['--listen', '192.0.2.1:2525'], 'EADDRNOTAVAIL: this machine does not have that address'],
  ['--listen', ['--listen', 'nowhere.invalid:2525'], 'no such host'],
  [
    '--source-address',
    ['--direct', '--source-address', '192.0.2.1', '--listen', '127.0.0.1:0'],
    'EADDRNOTAVAIL: this machine does not have that address',
  ],
])('a port for %s that cannot be had is named, and nothing was made: %s', async (option, words, reason) => {
  const taken = await takenPort()
  const args = words.map((word) => (word === 'TAKEN' ? taken : word))
  const place = args[args.indexOf(option) + 1]!
  const { exitCode, stdout, stderr } = await runWaybill(['serve', ...args], { directory })
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^waybill: [^\n]*\n$/)
  expect(stderr).toContain(`${option} ${place}: `)
  expect(stderr).toContain(reason)
  expect(await readdir(directory)).toEqual([])
})

/** Too few for its modules, for what they import, and for the thread of the sessions. */
test.each([24, 32, 48])('with %i file descriptors it says so, without a trace', async (count) => {
  const command = `ulimit -n ${count}; exec "$0" "$@"`
  const words = [process.execPath, waybillPath, 'serve', '--listen', '127.0.0.1:0', '--smtp-thread', 'yes']
  const { exitCode, stderr } = await runProgram('sh', ['-c', command, ...words], { directory })
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^waybill: .*EMFILE/m)
  expect(stderr).not.toMatch(/^ +at /m)
})

/** Clients without a descriptor are accepted and closed, in silence. */
test.each([
  [['--sessions', '500'], [{ limit: 600, needed: 1500 }]],
  [['--sessions', '20'], []],
])('with 600 file descriptors and %s it warns of %j', async (options, warned) => {
  // It ends as soon as it answers: nobody reads what it prints.
  const preload = `process.stdout.write = () => setImmediate(() => process.exit())`
  const preloadUrl = `data:text/javascript,${encodeURIComponent(preload)}`
  const words = [process.execPath, '--import', preloadUrl, waybillPath, 'serve', '--listen', '127.0.0.1:0']
  const command = 'ulimit -n 600; exec "$0" "$@"'
  const { stderr } = await runProgram('sh', ['-c', command, ...words, ...options], { directory })
  const lines = stderr.trim().split('\n')
  const found = lines.map((line) => JSON.parse(line) as { limit?: number; needed?: number })
  const limits = found.filter(({ needed }) => needed !== undefined)
  expect(limits.map(({ limit, needed }) => ({ limit, needed }))).toEqual(warned)
})

test('SIGHUP is listened to before anything is loaded', async () => {
  // From then on no file can be opened.
  const preload = `import { openSync } from 'node:fs'
    process.on('newListener', (name) => {
      if (name !== 'SIGHUP') return
      process.stderr.write('heard\\n')
      try { for (;;) openSync('/dev/null') } catch {}
    })`
  const preloadUrl = `data:text/javascript,${encodeURIComponent(preload)}`
  const words = [process.execPath, '--import', preloadUrl, waybillPath, 'serve']
  const command = 'ulimit -n 64; exec "$0" "$@"'
  const { stderr } = await runProgram('sh', ['-c', command, ...words], { directory })
  expect(stderr).toMatch(/^heard\nwaybill: it cannot be loaded: EMFILE/)
})

test('with a release of nodemailer that it cannot use, it does not start', async () => {
  const breaking = join(project(), 'breaking.mjs')
  await writeFile(
    breaking,
    `import Client from 'nodemailer/lib/smtp-connection'; delete Client.prototype._upgradeConnection`,
  )
  const args = ['serve', '--direct', '--listen', '127.0.0.1:0']
  const environment = { NODE_OPTIONS: `--import ${breaking}` }
  expect(await runWaybill(args, { directory, environment })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      'waybill: this release of nodemailer has no _upgradeConnection: install the one of package-lock.json\n',
  })
  expect(await readdir(directory)).toEqual([])
})

test('a name is listened on at all of its addresses, each once and in the order that the system has them', async () => {
  const places = [
    { host: '192.0.2.9', port: 25 },
    { host: 'mail.test', port: 25 },
    { host: 'mail.test', port: 465, implicitTls: true },
  ]
  const addressesOf = async (name: string): Promise<string[]> =>
    name === 'mail.test' ? ['192.0.2.1', '2001:db8::1', '192.0.2.1'] : []
  expect(await withAddresses(places, addressesOf)).toEqual([
    { host: '192.0.2.9', port: 25 },
    { host: '192.0.2.1', port: 25 },
    { host: '2001:db8::1', port: 25 },
    { host: '192.0.2.1', port: 465, implicitTls: true },
    { host: '2001:db8::1', port: 465, implicitTls: true },
  ])
})

test.runIf(hasIpv6).each([
  [['0.0.0.0', '[::]'], 'yes'],
  [['[::0]', '0.0.0.0'], 'no'],
])(
  '%j at one port are all addresses, on a thread: %s (where this machine has IPv6)',
  async (hosts, thread) => {
    const port = await freePort()
    const lines = hosts.map((host) => `listen ${host}:${port}\n`).join('')
    await writeFile(join(directory, 'conf'), `queue queue\nmaildir mail\nsmtp-thread ${thread}\n${lines}`)
    const relay = await startedRelay(['--config', join(directory, 'conf')], {}, { listens: false })
    expect(relay.log).not.toContain('EADDRINUSE')
    await expect.poll(() => relay.output.match(/listening on/g)).toHaveLength(2)
    for (const host of ['127.0.0.1', '::1']) {
      const client = await greetedClient(port, host)
      expect(await client.say('NOOP')).toMatch(/^250 /)
      client.destroy()
    }
  },
)

test('[::] is all of IPv4, too, where only one address of IPv4 stands beside it', async () => {
  const all = { host: '::', port: 25 }
  expect(await withAddresses([all, { host: '0.0.0.0', port: 2525 }])).toEqual([
    all,
    { host: '0.0.0.0', port: 2525 },
  ])
  expect(await withAddresses([all, { host: '192.0.2.1', port: 25 }])).toContainEqual(all)
})

test('localhost is what this machine has of it, and the relay answers there', async () => {
  const relay = new RelayProcess([
    '--queue',
    join(directory, 'queue'),
    '--maildir',
    join(directory, 'maildir'),
  ])
  relay.endpoint = { host: 'localhost', port: 0 }
  onTestFinished(() => relay.kill())
  await relay.start()
  expect(['127.0.0.1', '::1']).toContain(relay.endpoint.host)
})

test('one port for mail and for numbers is taken when it is asked for twice', async () => {
  const port = await freePort()
  const args = ['serve', '--listen', `127.0.0.1:${port}`, '--metrics', `127.0.0.1:${port}`]
  expect(await runWaybill(args, { directory })).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining(`--metrics 127.0.0.1:${port}: EADDRINUSE`) as string,
  })
  expect(await readdir(directory)).toEqual([])
})

test.each([
  [['--hostname', 'a b'], "--hostname takes a host name or an address literal, not 'a b'"],
  [['--relay', ''], "--relay takes HOST:PORT, not ''"],
  [['--listen', ''], "--listen takes HOST:PORT, not ''"],
  [['--greet-delay', '2h'], '--greet-delay is at most 10m'],
  [['--idle-timeout', '2d'], '--idle-timeout is longer than 0 and at most 1d'],
  [['--proof', '0s'], '--proof is from 1ms to 1d'],
  [['--maildir', 'file'], '--maildir: file is no directory'],
])('%j is a usage error, and nothing was made', async (args, reason) => {
  await writeFile(join(directory, 'file'), '')
  // Whatever it does listen on, nobody else does.
  const listen = args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
  const ended = await runProgram(
    'timeout',
    ['10', process.execPath, waybillPath, 'serve', ...listen, ...args],
    {
      directory,
    },
  )
  expect(ended).toMatchObject({ exitCode: 2, stdout: '' })
  expect(ended.stderr).toContain(reason)
  expect(await readdir(directory)).toEqual(['file'])
})

test('a directory that cannot be made is told at once, with the reason', async () => {
  const args = [waybillPath, 'serve', '--listen', '127.0.0.1:0', '--queue', '/proc/none/queue']
  expect(await runProgram('timeout', ['10', process.execPath, ...args], { directory })).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^waybill: ENOENT: [^\n]*'\/proc\/none'\n$/) as string,
  })
})

test.each([
  ['file/mail', 'ENOTDIR'],
  ['/proc/none/mail', 'ENOENT'],
])('a directory of mailboxes that cannot be made is told at once: %s', async (maildir, code) => {
  await writeFile(join(directory, 'file'), '')
  const args = [waybillPath, 'serve', '--listen', '127.0.0.1:0', '--maildir', maildir]
  const ended = await runProgram('timeout', ['10', process.execPath, ...args], { directory })
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' })
  expect(ended.stderr).toMatch(new RegExp(`^waybill: --maildir ${maildir}: ${code}: [^\n]*\n$`))
  expect(await readdir(directory)).toEqual(['file'])
})

test('the directory of mailboxes that is made is the one that is looked at, however it is written', async () => {
  await expect(madeMailboxDirectory(`${directory}/none/../mail`)).resolves.toBeUndefined()
  expect(await readdir(directory)).toEqual(['mail'])
})

const isRoot = process.getuid?.() === 0

/** @returns a separate file system */
async function smallDisk(size: string): Promise<string> {
  const path = join(directory, 'disk')
  await mkdir(path)
  const mounted = await runProgram('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], {
    directory,
  })
  expect(mounted).toMatchObject({ exitCode: 0 })
  onTestFinished(async () => void (await runProgram('umount', ['--lazy', path], { directory })))
  return path
}

test.skipIf(!isRoot)('a disk without room for a queue: it says how much it takes', async () => {
  const args = ['serve', '--listen', '127.0.0.1:0', '--queue', join(await smallDisk('12M'), 'queue')]
  const { exitCode, stderr } = await runWaybill(args, { directory })
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^waybill: DISK_FULL: .*\n?$/m)
  expect(stderr).toContain('a queue takes 64 MiB')
})

test.skipIf(!isRoot)(
  'a disk on which no mail can be taken is warned of, at the start and at each refusal',
  async () => {
    const queue = join(await smallDisk('100M'), 'queue')
    const maildir = join(directory, 'maildir')
    const args = ['--queue', queue, '--maildir', maildir, '--log-level', 'warn']
    const relay = await startedRelay(args, {}, { makesQueue: true })
    await expect.poll(() => relay.log).toContain('short of room')
    const client = await rawClient(relay.endpoint.port)
    await untilData(client)
    expect(await client.say('x\r\n.')).toMatch(/^452 4\.3\.1 /)
    await expect.poll(() => relay.log).toContain('insufficient system storage')
    expect(relay.log.split('short of room')).toHaveLength(2)
  },
)
