/** `serve --direct` where names, ports and servers are real: in a separate network, with dnsmasq
 * for its DNS and smtp-sink on port 25. */
import { spawn, spawnSync, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waybillPath } from './relay-process.js'

const dnsmasq = '/usr/sbin/dnsmasq'
const sink = '/usr/sbin/smtp-sink'
const missing = [dnsmasq, sink, '/usr/bin/unshare', '/usr/bin/nsenter', '/usr/sbin/ip'].find(
  (path) => !existsSync(path),
)
const mayUnshare = (): boolean => spawnSync('unshare', ['--mount', '--net', 'true']).status === 0
const lack = missing ?? (mayUnshare() ? undefined : 'the right to make a network (root)')
if (lack !== undefined)
  process.stdout.write(
    `skipped: delivery in a network of its own needs ${lack} (Debian packages dnsmasq-base, postfix, iproute2)\n`,
  )

/** `one.test` has a mail host that does not answer and one that does, `a.test` an address
 * alone, `null.test` a null MX, and `loop.test` this relay; nobody knows anything of what is
 * not below `test`. */
const zone = [
  '--local=/test/',
  '--mx-host=one.test,mx1.one.test,10',
  '--mx-host=one.test,mx2.one.test,20',
  '--host-record=mx1.one.test,127.0.0.11',
  '--host-record=mx2.one.test,127.0.0.12',
  '--host-record=a.test,127.0.0.13',
  '--dns-rr=null.test,15,000000',
  '--mx-host=loop.test,relay.test,10',
  '--host-record=relay.test,127.0.0.1',
]

let directory: string
let network: ChildProcess
const inside: ChildProcess[] = []

/** A process in the network. */
function run(command: string, args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(
    'nsenter',
    ['--target', String(network.pid), '--mount', '--net', '--', command, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  inside.push(child)
  return child
}

const ended = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once('exit', resolve))

/** Settles when it has written this. */
const written = (output: Readable, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    let all = ''
    output.on('data', (chunk: Buffer) => {
      all += chunk.toString()
      if (all.includes(text)) resolve()
    })
    output.once('end', () => reject(new Error(`it ended without '${text}': ${all}`)))
  })

let nameServer: ChildProcess
/** The lines of the relay's log, of outcomes: `you@one.test` → `delivered  mx2.one.test…`. */
const outcomes = new Map<string, string>()

beforeAll(async () => {
  if (lack !== undefined) return
  directory = await mkdtemp(join(tmpdir(), 'waybill-direct-'))
  const resolvers = join(directory, 'resolv.conf')
  await writeFile(resolvers, 'nameserver 127.0.0.1\n')
  const script =
    'mount --bind "$1" /etc/resolv.conf && ip link set lo up && echo ready && exec sleep infinity'
  const made = spawn('unshare', ['--mount', '--net', '--', 'sh', '-c', script, 'sh', resolvers], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  network = made
  await written(made.stdout, 'ready')

  const usual = ['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--user=root']
  const names = run(dnsmasq, [
    ...usual,
    '--log-facility=-',
    '--pid-file=',
    '--listen-address=127.0.0.1',
    ...zone,
  ])
  nameServer = names
  await written(names.stderr, 'started')
  for (const address of ['127.0.0.12', '127.0.0.13']) run(sink, ['-u', 'nobody', `${address}:25`, '100'])

  const queue = join(directory, 'queue')
  const serving = ['serve', '--direct', '--queue', queue, '--hostname', 'relay.test', '--retry', '500ms']
  const relay = run(process.execPath, [waybillPath, ...serving, '--listen', '127.0.0.1:25'])
  let line = ''
  relay.stderr.on('data', (chunk: Buffer) => {
    const lines = (line + chunk.toString()).split('\n')
    line = lines.pop() ?? ''
    for (const text of lines) note(JSON.parse(text) as LogLine)
  })
  await written(relay.stdout, 'listening on')
})

interface LogLine {
  readonly msg: string
  readonly recipients?: readonly string[]
  readonly status?: string
  readonly text?: string
  readonly remote?: string
}

function note({ msg, recipients = [], status = '', text = '', remote }: LogLine): void {
  for (const recipient of recipients)
    outcomes.set(recipient, `${msg} ${status} ${remote === undefined ? '' : `${remote}: `}${text}`)
}

afterAll(async () => {
  if (lack !== undefined) return
  for (const child of inside) child.kill('SIGKILL')
  network.kill('SIGKILL')
  await Promise.all([...inside, network].map(ended))
  await rm(directory, { recursive: true, force: true })
})

async function send(recipients: readonly string[]): Promise<void> {
  const queue = join(directory, 'queue')
  const data = join(directory, 'mail')
  await writeFile(data, 'Subject: hello\n\nHello.\n')
  const command = `exec "$0" "${waybillPath}" sendmail --queue "${queue}" -f me@a.test "$@" < "${data}"`
  const child = run('sh', ['-c', command, process.execPath, ...recipients])
  await ended(child)
  expect(child.exitCode).toBe(0)
}

const outcomeOf = (recipient: string): string => outcomes.get(recipient) ?? 'none'

test.skipIf(lack !== undefined)(
  'each domain’s mail goes where the DNS says, or comes back for what it says',
  async () => {
    const expected: Readonly<Record<string, RegExp>> = {
      'you@one.test': /^delivered {2}mx2\.one\.test\[127\.0\.0\.12\]:25: 250 /,
      'upper@ONE.test': /^delivered {2}mx2\.one\.test\[127\.0\.0\.12\]:25: 250 /,
      'you@a.test': /^delivered {2}a\.test\[127\.0\.0\.13\]:25: 250 /,
      'you@[127.0.0.13]': /^delivered {2}\[127\.0\.0\.13\]:25: 250 /,
      'you@null.test': /^failed 5\.1\.10 /,
      'you@nowhere.test': /^failed 5\.1\.2 /,
      'you@loop.test': /^failed 5\.4\.6 /,
      'you@elsewhere.example': /^deferred 4\.4\.3 MX of elsewhere\.example: EREFUSED/,
    }
    await send(Object.keys(expected))
    for (const [recipient, outcome] of Object.entries(expected))
      await expect.poll(() => outcomeOf(recipient), { interval: 50 }).toMatch(outcome)
    await expect
      .poll(() => outcomeOf('me@a.test'), { interval: 50 })
      .toMatch(/^delivered {2}a\.test\[127\.0\.0\.13\]:25: 250 /)
  },
)

test.skipIf(lack !== undefined)('while the DNS is down all mail waits', async () => {
  nameServer.kill('SIGKILL')
  await ended(nameServer)
  const recipients = ['two@one.test', 'two@null.test', 'two@nowhere.test', 'two@loop.test']
  await send(recipients)
  for (const recipient of recipients)
    await expect
      .poll(() => outcomeOf(recipient), { interval: 50 })
      .toMatch(/^deferred 4\.4\.3 MX of .*: ECONNREFUSED/)
})
