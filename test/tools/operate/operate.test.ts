/** The verbs as an operator calls them: through a relay that runs, and without one under the
 * lock. */
import { spawn } from 'node:child_process'
import { mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fixedRetry, openQueue, serveControl, WaybillError, type Outcome } from '../../../src/index.js'
import { RelayProcess, waybillPath } from '../../end-to-end/relay-process.js'
import { submissionOf, numberedMail } from '../../end-to-end/mail.js'
import { openSink, type Sink } from '../../end-to-end/sink.js'
import { rawClient, untilData } from '../../relay/raw-client.js'
import { runWaybill, type Ended, type Surroundings } from '../command-process.js'

let directory: string
let relays: RelayProcess[] = []
let sinks: Sink[] = []
let sockets: Socket[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-operate-'))
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await Promise.all(relays.map((relay) => relay.kill()))
  for (const sink of sinks) sink.close()
  relays = []
  sinks = []
  sockets = []
  await rm(directory, { recursive: true, force: true })
})

const queue = (): string => join(directory, 'queue')

/** A subcommand on the queue. */
const waybill = (
  command: string,
  args: readonly string[] = [],
  more: Partial<Surroundings> = {},
): Promise<Ended> => runWaybill([...command.split(' '), '--queue', queue(), ...args], { directory, ...more })

async function sunk(): Promise<Sink> {
  const sink = await openSink()
  sinks.push(sink)
  return sink
}

async function relayTo(relay: string, more: readonly string[] = []): Promise<RelayProcess> {
  const started = new RelayProcess(['--queue', queue(), '--relay', relay, '--retry', '1h', ...more])
  relays.push(started)
  await started.start()
  return started
}

const addressOf = ({ host, port }: Sink): string => `${host}:${port}`

/** A numbered message, taken by the relay. @returns its id */
async function sent(relay: RelayProcess, number: number, recipient: string): Promise<string> {
  const { sender, recipients, data } = numberedMail(1, number, [recipient])
  const client = await rawClient(relay.endpoint.port)
  await untilData(client, recipients, `MAIL FROM:<${sender}>`)
  client.send(Buffer.from(data.toString('latin1').replace(/^\./gm, '..'), 'latin1'))
  const reply = await client.say('.')
  client.destroy()
  return /queued as (\S+)/.exec(reply)?.[1] ?? reply
}

const acceptOnly = {
  deliver: false,
  transports: {},
  route: () => ({ transport: 'x', nexthop: 'x' }),
  segmentBytes: 2 ** 20,
}

/** Numbered messages in a queue that nobody has open. @returns their ids */
async function laid(...recipients: readonly string[]): Promise<string[]> {
  const own = await openQueue(queue(), acceptOnly)
  const ids: string[] = []
  for (const [i, recipient] of recipients.entries())
    ids.push((await own.submit(submissionOf(numberedMail(1, i + 1, [recipient])))).id)
  own.crash()
  return ids
}

interface Listed {
  readonly queue_id: string
  readonly queue_name: string
  readonly sender: string
}

const objects = <T>({ stdout }: Ended): T[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)

const listed = async (): Promise<Listed[]> => objects(await waybill('mailq', ['--json']))

const named = async (queueName: string): Promise<string[]> =>
  (await listed())
    .filter((one) => one.queue_name === queueName)
    .map((one) => one.queue_id)
    .sort()

async function becomes(queueName: string, ids: readonly string[]): Promise<void> {
  await expect.poll(() => named(queueName)).toEqual([...ids].sort())
}

const told = (stdout: string, more: Partial<Ended> = {}): Ended => ({
  exitCode: 0,
  stderr: '',
  stdout,
  ...more,
})

test('without a relay the verbs work under the lock, with exact counts', async () => {
  const [first = ''] = await laid('ok-1', 'ok-2')
  expect(await waybill('hold', ['--sender', 's1@sender.example'])).toEqual(
    told('1 message held (1 recipient)\n'),
  )
  expect(await named('hold')).toEqual([first])
  expect(await waybill('hold', ['--all', '--json'])).toEqual(
    told('{"verb":"hold","messages":1,"recipients":1,"missed":0,"failed":0,"stopped":false,"by":"lock"}\n'),
  )
  expect(await waybill('release', [first.toLowerCase()])).toEqual(told(`${first} released (1 recipient)\n`))
  expect(await waybill('delete', ['--lane', 'incoming', '--dry-run'])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      new RegExp(
        `^${first} +incoming +\\d+ .*s1@sender\\.example → ok-1\\.1@example\\.net\n1 message selected\n$`,
      ),
    ) as string,
  })
  expect(await waybill('delete', ['--nexthop', 'example.net'])).toEqual(
    told('2 messages deleted (2 recipients)\n'),
  )
  expect(await listed()).toEqual([])
  expect(await waybill('expire', ['--all'])).toEqual(told('0 messages expired (0 recipients)\n'))
})

test('an id that is not there is told by the exit code, one that is as it should be is fine', async () => {
  const [id = ''] = await laid('ok-1')
  const other = '0123456789ABCDEF'
  expect(await waybill('hold', [id, other])).toEqual(
    told(`${id} held (1 recipient)\n`, {
      exitCode: 1,
      stderr: `waybill hold: ${other}: there is no such message, or the other options exclude it\n`,
    }),
  )
  expect(await waybill('hold', [id])).toEqual(
    told('', { stderr: `waybill hold: ${id}: it is on hold already\n` }),
  )
  expect(await waybill('hold', [id, '--sender', 'someone@else.example'])).toMatchObject({ exitCode: 1 })
})

test.each([
  [['hold'], 2, /no message is selected; --all selects every one/],
  [['delete', '--all', '--lane', 'hold'], 2, /not both/],
  [['hold', 'nonsense'], 2, /no message id/],
  [['hold', '--all', '--fast'], 2, /unknown option '--fast'/],
  [['flush', '--all', '--rate', '0'], 2, /--rate takes a number of at least 1/],
  [['flush', '--all', '--rate', '1', '--at-once'], 2, /not both/],
  [['reroute', '--all'], 2, /--to NEXTHOP is required/],
  [['reroute', '--all', '--to', 'mx.example.net', '--transport', ''], 2, /--transport has an empty value/],
  [['resume'], 2, /no destination is given/],
  [['resume', '--all', '--transport', ''], 2, /--transport has an empty value/],
  [['suspend'], 2, /no destination is given/],
  [['suspend', 'a.example', '--for', 'ever'], 2, /--for/],
  [['slow', 'a.example'], 2, /--to is a rate/],
  [['slow', '--to', '5/fortnight', 'a.example'], 2, /--to is a rate/],
  [['slow', '--to', '5/second'], 2, /no destination is given/],
  [['destinations', 'now'], 2, /unexpected argument 'now'/],
  [['top', '--interval', '1ms'], 2, /--interval is from/],
  [['completion', 'csh'], 2, /expected one shell/],
  [['cat'], 2, /expected one message id/],
  [['cat', 'a', 'b'], 2, /expected one message id/],
  [['log', 'history'], 2, /expected one message id/],
  [['history'], 2, /expected one of --id/],
  [['history', '--id', 'a', '--limit', '0'], 2, /--limit takes a number of at least 1/],
  [['log', 'at', 'x'], 2, /'x' is no position/],
  [['log', 'dump', '--from', 'x'], 2, /--from takes a position/],
  [['log', 'dump', '--kind', 'x'], 2, /--kind takes/],
  [['log', 'tail', '-n', 'x'], 2, /-n takes a number/],
  [['log', 'map'], 2, /expected one FILE/],
  [['log', 'rescue', 'nowhere'], 2, /--to DIR is required/],
  [['qshape', 'x'], 2, /'x' is no lane/],
  [['mailq', '--limit', '0'], 2, /--limit takes a number of at least 1/],
  [['policy', 'check', 'nowhere'], 2, /ENOENT/],
  [['restore', '--from', 'nowhere', '--to', 'new'], 2, /no such file or directory/],
  [['help', 'fly'], 2, /no command 'fly'/],
  [['log'], 2, /expected one of log stat, log dump/],
  [['hold', '--all'], 3, /no queue at .\/var\/queue/],
  [['top'], 3, /no queue/],
  [['resume', '--all', '--queue', 'file'], 3, /this is no directory/],
])('waybill %j ends with %d and says why', async (args, exitCode, reason) => {
  await writeFile(join(directory, 'file'), '')
  const ended = await runWaybill(args, { directory })
  expect(ended.stderr).toMatch(reason)
  expect(ended).toMatchObject({ exitCode, stdout: '' })
  await expect(stat(join(directory, 'var'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('what only a relay knows is refused without one', async () => {
  await laid('ok-1')
  for (const args of [['destinations'], ['top']] as const)
    expect(await waybill(args[0], args.slice(1))).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('no relay runs') as string,
    })
})

test('through the relay: held mail stays, released mail arrives', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const id = await sent(relay, 1, 'defer1-1')
  await becomes('deferred', [id])
  expect((await stat(join(queue(), 'control'))).mode & 0o777).toBe(0o600)
  expect(await waybill('hold', ['--json', '--last-status', '4.2'])).toEqual(
    told('{"verb":"hold","messages":1,"recipients":1,"missed":0,"failed":0,"stopped":false,"by":"relay"}\n'),
  )
  expect(await named('hold')).toEqual([id])
  expect(await waybill('flush', ['--all'])).toEqual(told('0 messages flushed (0 recipients)\n'))
  expect(sink.takenCount()).toBe(0)
  expect(await waybill('release', ['--id', id])).toEqual(told(`${id} released (1 recipient)\n`))
  await expect.poll(() => sink.takenCount()).toBe(1)
})

test('through the relay: flushed mail is attempted now, expired mail is returned, deleted mail is gone', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const flushed = await sent(relay, 1, 'defer1-1')
  const expired = await sent(relay, 2, 'defer9-2')
  const deleted = await sent(relay, 3, 'defer9-3')
  await becomes('deferred', [flushed, expired, deleted])
  expect(await waybill('flush', [flushed, '--rate', '10'])).toEqual(
    told(`${flushed} flushed (1 recipient)\n`),
  )
  await expect.poll(() => [...sink.deliveries().keys()]).toEqual(['1 defer1-1.1@example.net'])
  expect(await waybill('expire', ['--sender', 's2@sender.example'])).toEqual(
    told('1 message expired (1 recipient)\n'),
  )
  await expect
    .poll(() => sink.reports())
    .toMatchObject([{ number: 2, recipients: ['defer9-2.2@example.net'] }])
  expect(await waybill('delete', ['--recipient', 'defer9-3.3@example.net'])).toEqual(
    told('1 message deleted (1 recipient)\n'),
  )
  await expect.poll(listed).toEqual([])
  expect(sink.reports()).toHaveLength(1)
  await expect.poll(() => relay.log).toContain('"control":{"do":"delete","selector":{"recipient":')
})

test('a dead destination is shown and resumed, and mail that is rerouted goes elsewhere', async () => {
  const sink = await sunk()
  const closed = await sunk()
  closed.close()
  // A destination is given up on when several deliveries at once fail.
  const ids = await laid(...Array.from({ length: 20 }, () => 'ok-1'))
  await relayTo(addressOf(closed))
  await becomes('deferred', ids)
  const dead = { transport: 'smtp', destination: addressOf(closed), state: 'dead', window: 0 }
  expect(objects(await waybill('destinations', ['--json', '--dead']))).toMatchObject([dead])
  expect((await waybill('destinations')).stdout).toMatch(/^smtp +127\.0\.0\.1:\d+ +dead, \d.* 4\.4\.1 /m)
  expect(await waybill('resume', ['nowhere.example'])).toMatchObject({ exitCode: 1 })
  expect(await waybill('resume', [addressOf(closed)])).toEqual(told('1 destination resumed\n'))
  expect(objects(await waybill('destinations', ['--json', '--dead']))).toEqual([])
  const [first = ''] = ids
  expect(await waybill('reroute', [first, '--to', addressOf(sink)])).toEqual(
    told(`${first} rerouted (1 recipient)\n`),
  )
  await expect.poll(() => [...sink.deliveries().keys()]).toEqual(['1 ok-1.1@example.net'])
  expect(await waybill('reroute', ['--all', '--to', 'x', '--transport', 'none'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("there is no transport 'none'") as string,
  })
})

test('a suspended destination gets no mail, with a relay and without one, until it is resumed', async () => {
  const sink = await sunk()
  const to = addressOf(sink)
  const [first = ''] = await laid('ok-0')
  expect(await waybill('suspend', [to])).toEqual(told(`${to} suspended until resumed\n`))
  expect((await waybill('stat', [])).stdout).toContain(`suspended: ${to}, until resumed`)
  const relay = await relayTo(to)
  const id = await sent(relay, 1, 'ok-1')
  await becomes('deferred', [first, id])
  expect(sink.takenCount()).toBe(0)
  expect(await waybill('suspend', ['--transport', 'smtp', '--for', '2h'])).toEqual(
    told('all deliveries by smtp suspended for 2h\n'),
  )
  expect(objects(await waybill('destinations', ['--json', '--dead']))).toMatchObject([
    { destination: to, state: 'suspended', by: 'operator' },
    { transport: 'smtp', destination: '*', state: 'suspended', by: 'operator' },
  ])
  expect(await waybill('resume', [to])).toMatchObject({ stdout: '1 destination resumed\n' })
  expect(await waybill('suspend', ['--transport', 'none', to])).toMatchObject({ exitCode: 1 })
  expect(await waybill('resume', ['--transport', 'smtp'])).toEqual(told('1 destination resumed\n'))
  expect(await waybill('resume', ['--transport', 'smtp'])).toMatchObject({ exitCode: 1 })
  await waybill('flush', ['--all'])
  await expect.poll(() => sink.takenCount()).toBe(2)
})

test('a destination is slowed by a relay alone, and shown, until it is resumed', async () => {
  const sink = await sunk()
  const to = addressOf(sink)
  await laid('ok-0')
  const slowed = ['--to', '1/hour', '--for', '2h', to]
  expect(await waybill('slow', slowed)).toMatchObject({ exitCode: 1, stderr: /no relay runs/ as never })
  const relay = await relayTo(to)
  await expect.poll(() => sink.takenCount()).toBe(1)
  expect(await waybill('slow', slowed)).toEqual(told(`${to} slowed to 1 in 1h for 2h\n`))
  for (const n of [1, 2]) await sent(relay, n, `ok-${n}`)
  await expect.poll(() => sink.takenCount()).toBe(2)
  expect(objects(await waybill('destinations', ['--json', '--dead']))).toMatchObject([
    { destination: to, limit: { kind: 'order', count: 1, per_seconds: 3600 } },
  ])
  expect(await waybill('resume', [to])).toMatchObject({ stdout: '1 destination resumed\n' })
  await waybill('flush', ['--all'])
  await expect.poll(() => sink.takenCount()).toBe(3)
})

test('requeue makes a message new', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const id = await sent(relay, 1, 'defer1-1')
  await becomes('deferred', [id])
  expect(await waybill('requeue', ['--older-than', '0s'])).toEqual(told('1 message requeued (1 recipient)\n'))
  await expect.poll(() => sink.takenCount()).toBe(1)
})

test('a socket that a killed relay left is no relay, and disturbs nobody', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const id = await sent(relay, 1, 'defer1-1')
  await becomes('deferred', [id])
  await relay.kill()
  expect((await stat(join(queue(), 'control'))).isSocket()).toBe(true)
  for (const command of ['mailq', 'stat', 'log stat', 'log verify', 'log tail'])
    expect(await waybill(command)).toMatchObject({ exitCode: 0, stderr: '' })
  const rescued = join(directory, 'rescued')
  expect(await runWaybill(['log', 'rescue', queue(), '--to', rescued], { directory })).toMatchObject({
    exitCode: 0,
  })
  expect(await waybill('hold', ['--all', '--json'])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('"by":"lock"') as string,
  })
  await relay.start()
  expect(await waybill('release', ['--all', '--json'])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('"by":"relay"') as string,
  })
  await expect.poll(() => sink.takenCount()).toBe(1)
})

test('clients that hang, one that says nothing and one that reads nothing, hinder nobody', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const id = await sent(relay, 1, 'defer1-1')
  await becomes('deferred', [id])
  const hanging = (text: string): void => {
    const socket = createConnection(join(queue(), 'control'))
    sockets.push(socket)
    socket.pause()
    socket.write(text)
  }
  hanging('')
  hanging('{"waybill":1,"do":"watch","intervalMs":100}\n')
  hanging('{"waybill":1,"do":"list","sel')
  expect(await waybill('hold', ['--all'])).toEqual(told('1 message held (1 recipient)\n'))
  expect(await waybill('release', ['--all'])).toEqual(told('1 message released (1 recipient)\n'))
  await expect.poll(() => sink.takenCount()).toBe(1)
})

/** A queue full of deferred mail for a relay that takes nothing. */
async function filled(count: number, level = 'warn'): Promise<RelayProcess> {
  expect(await waybill('fill', ['--count', String(count), '--size', '100'])).toMatchObject({ exitCode: 0 })
  const closed = await sunk()
  closed.close()
  return relayTo(addressOf(closed), ['--lifetime', '90d', '--log-level', level])
}

/** A verb that was asked for is at work: of so many messages the client has been told. Wants the
 * log level `info`. */
async function isFlushing(relay: RelayProcess): Promise<void> {
  const attempted = (): number => {
    const [, ...behind] = relay.log.split('asked over the control socket')
    return behind.join('').split('"msg":"deferred"').length - 1
  }
  await expect.poll(attempted).toBeGreaterThan(20)
}

test('two verbs at once: what is deleted is gone, and every message is counted once by it', async () => {
  await filled(3000)
  const [held, deleted] = await Promise.all([
    waybill('hold', ['--all', '--json']),
    waybill('delete', ['--older-than', '6h', '--json']),
  ])
  const [counts] = objects<{ messages: number; missed: number }>(deleted)
  expect(counts?.messages).toBeGreaterThan(100)
  const left = await listed()
  expect(left.length).toBe(3000 - (counts?.messages ?? 0))
  expect(objects<{ messages: number }>(held)[0]?.messages).toBeGreaterThan(0)
})

test('a relay that is killed in the middle of a verb: the client says so, and how much it knows', async () => {
  const relay = await filled(2000, 'info')
  const flushed = waybill('flush', ['--all', '--rate', '50'])
  await isFlushing(relay)
  await relay.kill()
  const ended = await flushed
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' })
  expect(ended.stderr).toMatch(
    /^waybill flush: QUEUE_CRASHED: the relay has gone away; [1-9]\d* messages known to be flushed until then\n$/,
  )
})

test('Ctrl-C stops a verb, which says how far it came; the relay goes on', async () => {
  const relay = await filled(2000, 'info')
  const child = spawn(process.execPath, [waybillPath, 'flush', '--queue', queue(), '--all', '--rate', '50'])
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  await isFlushing(relay)
  child.kill('SIGINT')
  expect(await ended).toBe(1)
  expect(stdout).toMatch(/^stopped: [1-9]\d* messages flushed \(\d+ recipients\); the rest is as it was\n$/)
  expect(await waybill('destinations')).toMatchObject({ exitCode: 0 })
})

test('a queue that somebody has open without a control socket is waited for, and then refused', async () => {
  const [id = ''] = await laid('ok-1')
  const own = await openQueue(queue(), acceptOnly)
  const waiting = waybill('hold', ['--all'])
  await sleep(1000)
  own.crash()
  expect(await waiting).toEqual(told('1 message held (1 recipient)\n'))
  const other = await openQueue(queue(), acceptOnly)
  expect(await waybill('release', [id])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('QUEUE_LOCKED') as string,
  })
  other.crash()
})

test('a list that ends with an error shows what was found before it, in one line and as objects', async () => {
  const own = await openQueue(queue(), acceptOnly)
  const { id } = await own.submit(submissionOf(numberedMail(1, 1, ['ok'])))
  const cut = new Proxy(own, {
    get: (target, name) => {
      if (name === 'list')
        return async function* () {
          yield* target.list()
          throw new WaybillError('LIST_INCOMPLETE', 'not listed: the rest', { log: 'lane 2 envelopes' })
        }
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  const server = await serveControl(cut, queue())
  const stderr = 'waybill hold: LIST_INCOMPLETE: not listed: the rest (log lane 2 envelopes)\n'
  for (const more of [[], ['--json']]) {
    const ended = await waybill('hold', ['--all', '--dry-run', ...more])
    expect(ended).toMatchObject({ exitCode: 1, stderr, stdout: expect.stringContaining(id) as string })
    expect(ended.stdout.split('\n')).toHaveLength(2)
  }
  server.close()
  own.crash()
})

test('top shows one frame where there is no terminal, and objects for programs', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const id = await sent(relay, 1, 'defer1-1')
  await becomes('deferred', [id])
  // A frame does not wait for what is counted on disk meanwhile.
  const frame = await waybill('top', ['--interval', '2s'])
  expect(frame).toMatchObject({ exitCode: 0, stderr: '' })
  expect(frame.stdout).toMatch(/^waybill top {2}.*\nAll is well\naccepted +0\.0\/s +delivered +0\.0\/s/)
  expect(frame.stdout).toMatch(/^deferred, 1h +\d+ +in \d+m\d+s +1 /m)
  const [object] = objects(await waybill('top', ['--json', '--once', '--interval', '300ms']))
  expect(object).toMatchObject({ accepted_rate: 0, active: 0, recovering: false })
})

test('top on a terminal draws a screen, follows the relay, and q gives the terminal back', async () => {
  const sink = await sunk()
  const relay = await relayTo(addressOf(sink))
  const line = `stty rows 20 cols 80; stty -g; '${process.execPath}' '${waybillPath}' top --queue '${queue()}' --interval 200ms; echo ended $?; stty -g`
  const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: directory })
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  await expect.poll(() => screen).toMatch(/accepted +0\.0\/s/)
  expect(screen).toContain('\x1b[?1049h')
  await relay.kill()
  await expect.poll(() => screen).toContain('no relay runs on the queue')
  screen = screen.slice(0, screen.indexOf('\r\n'))
  await relay.start()
  await expect.poll(() => screen).toMatch(/accepted +0\.0\/s/)
  child.stdin.write('q')
  await ended
  expect(screen).toContain('\x1b[?25h\x1b[?1049l')
  const modes = screen.match(/^[0-9a-f]+:[0-9a-f:]+/gm)
  expect(modes?.[0]).toBeDefined()
  expect(screen).toMatch(/ended 0/)
  expect(modes?.at(-1)).toBe(modes?.[0])
})

/** Writes over some bytes of a file of the queue. */
async function damage(path: string, offsetBytes: number): Promise<void> {
  const file = await open(join(queue(), path), 'r+')
  await file.write(Buffer.alloc(64, 7), 0, 64, offsetBytes)
  await file.close()
}

test('a verb that meets damage names the way out, when the queue does not open and when a lane does not read', async () => {
  await laid('a', 'b')
  expect(await waybill('hold', ['--all'])).toMatchObject({ exitCode: 0 })
  await damage('lanes/1/envelopes/000000000000.log', 4200)
  const wayOut = `waybill: \`waybill log verify --queue ${queue()}\` shows the damage, \`waybill log rescue ${queue()} --to NEW\` copies what is whole to a new queue\n`
  for (const [says, ...args] of [
    [/^waybill release: LOG_CORRUPT: .*\n/m, '--all'],
    [/^damage: lane 1 envelopes, segment 0, .*; lost: mail that waits in lane 1\n/m, '--dry-run', '--all'],
  ] as const) {
    const { exitCode, stderr } = await waybill('release', args)
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(says)
    expect(stderr.endsWith(wayOut)).toBe(true)
  }
  const segments = (await readdir(join(queue(), 'journal'))).filter((name) => name.endsWith('.log'))
  for (const name of segments) await damage(`journal/${name}`, 4200)
  const { exitCode, stderr } = await waybill('delete', ['--all'])
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^waybill delete: LOG_CORRUPT: .*\n/m)
  expect(stderr.endsWith(wayOut)).toBe(true)
})

/** One message that is being attempted again when its life ends, and whose envelope in the
 * lane rots then. */
async function rottenAtWork(): Promise<void> {
  const retry = fixedRetry([100, 3_600_000])
  const outcomes: (Outcome | Promise<Outcome>)[] = [
    { kind: 'deferred', status: '4.2.2', reason: 'full' },
    new Promise(() => {}),
  ]
  const deliver = async (): Promise<Outcome> => outcomes.shift()!
  const route = () => ({ transport: 'x', nexthop: 'x' })
  const options = { retry, transports: { x: { deliver } }, route, segmentBytes: 2 ** 20 }
  const own = await openQueue(queue(), options)
  await own.submit(submissionOf(numberedMail(1, 1, ['a'])))
  await expect.poll(() => outcomes.length).toBe(0)
  // Durable is what was done before a verb.
  await own.release({ all: true })
  own.crash()
  await damage('lanes/2/envelopes/000000000000.log', 4160)
}

test('a message that no verb reaches is told of by mailq, and by the verb that means every message', async () => {
  await rottenAtWork()
  const listed = await waybill('mailq')
  expect(listed).toMatchObject({
    exitCode: 1,
    stdout: 'Mail queue is empty, except for damaged mail\n',
  })
  expect(listed.stderr).toMatch(/^damage: lane 2 envelopes, .*; lost: an active message\n/)
  const { exitCode, stdout, stderr } = await waybill('delete', ['--all'])
  expect(exitCode).toBe(1)
  expect(stdout).toBe('0 messages deleted (0 recipients)\n')
  expect(stderr).toMatch(
    /^waybill delete: 1 message could not be read\nwaybill: `waybill log verify .*`waybill log rescue /m,
  )
})
