/** Agents as processes: those of the examples, and those that go wrong. */
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { DeliveryRequest, DeliveryResult, Transport } from '../../../src/delivery/transport.js'
import { accountOf } from '../../../src/relay/agents/agent-account.js'
import { AgentPools } from '../../../src/relay/agents/agent-pools.js'
import { AgentProcess } from '../../../src/relay/agents/agent-process.js'
import { pipeTransport, type PipeOptions } from '../../../src/relay/agents/pipe-transport.js'
import { root } from '../../project.js'
import { requestOf, someData } from '../request.js'

let directory: string
let transports: Transport[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-agents-'))
  await chmod(directory, 0o777)
  transports = []
})
afterEach(async () => {
  for (const transport of transports) transport.close?.()
  await rm(directory, { recursive: true, force: true })
})

const example = (name: string): string => join(root, 'tools/examples', name)

function piped(options: PipeOptions): Transport {
  // Where the tests run as root, nobody may not read the tree.
  const transport = pipeTransport({ allowsRoot: true, user: 'root', ...options })
  transports.push(transport)
  return transport
}

const shell = (script: string, more: Partial<PipeOptions> = {}): Transport =>
  piped({ command: ['/bin/sh', '-c', script, directory], ...more })

const deliver = (
  transport: Transport,
  more: Partial<DeliveryRequest> = {},
  data: Buffer = someData,
  signal: AbortSignal = new AbortController().signal,
): Promise<DeliveryResult> => Promise.resolve(transport.deliver(requestOf(data, more), signal))

/** Reads requests, and does this with each of them. */
const each = (words: string): string => `while IFS=' ' read -r name value; do case $name in
  size) size=$value;; to) tags="$tags \${value%% *}";; message) id=$value;;
  '') head -c "$size" >/dev/null; ${words}; tags='';; esac; done`
const report = 'for tag in $tags; do echo "$tag delivered $$"; done'

const idOf = (result: DeliveryResult): string =>
  String((result as readonly { response?: string }[])[0]?.response)

async function isGone(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return state === undefined || / Z /.test(state)
}

test('the agent in shell stores each message whole, and is used again', async () => {
  const transport = piped({ command: [example('agent.sh'), directory] })
  const data = Buffer.from('Subject: x\r\n\r\n\u00fcber\r\n'.repeat(20_000))
  const recipients = ['one@example.net', 'two@example.net']
  const first = await deliver(transport, { recipients }, data)
  const pid = /q1\.(\d+)\.1$/.exec(idOf(first))?.[1]
  expect(first).toEqual([
    { kind: 'delivered', response: `2.0.0 stored as q1.${pid}.1` },
    { kind: 'delivered', response: `2.0.0 stored as q1.${pid}.2` },
  ])
  expect(await deliver(transport, { id: 'q2' })).toEqual([
    { kind: 'delivered', response: `2.0.0 stored as q2.${pid}.3` },
  ])
  expect(await readFile(join(directory, `q1.${pid}.2`))).toEqual(data)
  expect(await readFile(join(directory, `q2.${pid}.3`))).toEqual(someData)
  const names = [`q1.${pid}.1`, `q1.${pid}.2`, `q2.${pid}.3`]
  expect((await readdir(directory)).sort()).toEqual(names)
})

test('the agent in Python reports each recipient by itself', async () => {
  const path = join(directory, 'mbox')
  const transport = piped({
    command: `python3 ${example('agent.py')} '${path}'`,
    environment: { PATH: process.env['PATH'] ?? '' },
  })
  const recipients = ['nobody@example.net', 'ada@example.net']
  expect(await deliver(transport, { recipients })).toEqual([
    { kind: 'failed', status: '5.1.1', reason: 'nobody has no mailbox here' },
    { kind: 'delivered', response: '2.0.0 appended for ada@example.net' },
  ])
  expect(await readFile(path, 'utf8')).toBe('From sender@example.org\nSubject: a test\n\nHello.\n\n')
})

/** Outside the group that is killed, so that they come when the agent has gone. */
const lastWords = 'setsid sh -c "sleep 0.4; echo on fire >&2" >&- & sleep 0.2;'

test.each([
  ['dies', 'echo "1 delivered"; echo "disk on fire" >&2; exit 3', /ended with status 3: disk on fire/],
  ['dies before its last words', `echo "1 delivered"; ${lastWords} exit 3`, /ended with status 3: on fire/],
  ['dies by a signal', 'echo "1 delivered"; kill -9 $$', /ended by SIGKILL/],
  ['babbles', 'echo "1 delivered"; echo hello; sleep 60', /what is no report: hello/],
  ['reports another number', 'echo "1 delivered"; echo "9 delivered"; sleep 60', /no report: 9 delivered/],
  ['hangs', 'echo "1 delivered"; sleep 60', /reported nothing for 0.5 s/],
  ['floods', 'echo "1 delivered"; yes "# and on"; sleep 60', /writes without end/],
  ['writes one long line', 'echo "1 delivered"; yes | tr -d "\\n"', /a line over 4096 characters/],
  ['floods its errors', 'echo "1 delivered"; yes >&2', /writes without end/],
])('an agent that %s defers what it has not reported, and nothing else', async (what, script, reason) => {
  const transport = shell(script, { timeoutMs: what === 'hangs' ? 500 : 30_000 })
  const other = shell(each(report))
  const recipients = ['one@example.net', 'two@example.net']
  const [broken, whole] = await Promise.all([deliver(transport, { recipients }), deliver(other)])
  expect(broken).toEqual([
    { kind: 'delivered', response: '' },
    { kind: 'deferred', status: '4.3.0', reason: expect.stringMatching(reason) as string },
  ])
  expect(whole).toMatchObject([{ kind: 'delivered' }])
})

test('a program that is not there defers mail, with the reason', async () => {
  const result = await deliver(piped({ command: join(directory, 'none') }))
  expect(result).toMatchObject([
    { kind: 'deferred', reason: expect.stringMatching(/not found|No such file/) as string },
  ])
})

test('an agent that takes one request and ends is started again for the next, and no mail is put off', async () => {
  const once = `while IFS=' ' read -r name value; do case $name in
    size) size=$value;; to) tag=\${value%% *};; '') head -c "$size" >/dev/null; echo "$tag delivered $$"; exit;;
    esac; done`
  const transport = shell(once, { agentCountMax: 1, overfeed: 3, startsPerSecondMax: 1000 })
  const results = await Promise.all(Array.from({ length: 6 }, () => deliver(transport)))
  expect(results.map((result) => (result as readonly { kind: string }[])[0]?.kind)).toEqual(
    Array.from({ length: 6 }, () => 'delivered'),
  )
  expect(new Set(results.map(idOf)).size).toBe(6)
})

test('at most so many agents work at once, and what waits goes to the one that is free', async () => {
  const transport = shell(each(`sleep 0.1; ${report}`), { agentCountMax: 2, startsPerSecondMax: 1000 })
  const results = await Promise.all(Array.from({ length: 6 }, () => deliver(transport)))
  expect(new Set(results.map(idOf)).size).toBe(2)
})

/** Agents that report each message, and a way to give them one on these terms. */
function reportingPool() {
  const pools = new AgentPools({ startsPerSecondMax: 1000 })
  onTestFinished(() => pools.close())
  const words = ['/bin/sh', '-c', each(report)]
  const program = { words, account: undefined, fileCountMax: undefined, directory, timeoutMs: 20_000 }
  const started = () => ({ ...program, environment: { PATH: '/usr/bin:/bin' } })
  const work = { request: requestOf(someData), channel: 'pipe', signal: new AbortController().signal }
  return (terms: Parameters<AgentPools['deliver']>[2]) => pools.deliver('', started, terms, work)
}

test('what waits for an agent is looked at as often as there is work, not for each that waits', async () => {
  let lookCount = 0
  const terms = {
    bounds: { all: 1 },
    idleMs: 1000,
    get overfeed() {
      lookCount++
      return 0
    },
  }
  const deliverOn = reportingPool()
  const all = Array.from({ length: 100 }, () => deliverOn(terms))
  await Promise.all(all)
  expect(lookCount).toBeLessThan(10 * all.length)
})

/**    1. a thousand destinations have separate rings, and one command
 *    2. each that waits is compared with each agent, whenever one more comes or is done
 *    3. the relay does nothing else for many seconds */
test('what waits under separate rings is compared with agents as often as there is work', async () => {
  const deliverOn = reportingPool()
  const compared = vi.spyOn(AgentProcess.prototype, 'isOf')
  onTestFinished(() => compared.mockRestore())
  const termsOf = (ring: number) => ({ bounds: { [`ring ${ring}`]: 1, all: 2 }, overfeed: 0, idleMs: 1000 })
  const all = Array.from({ length: 100 }, (_, at) => deliverOn(termsOf(at)))
  const outcomes = (await Promise.all(all)).flat()
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['delivered']))
  expect(compared.mock.calls.length).toBeLessThan(50 * all.length)
})

test('no more agents are started in a second than may be: what waits goes to the one that there is', async () => {
  const transport = shell(each(report), { agentCountMax: 5, startsPerSecondMax: 1 })
  const results = await Promise.all([deliver(transport), deliver(transport)])
  expect(new Set(results.map(idOf)).size).toBe(1)
})

test('with overfeed an agent has further requests before it has reported', async () => {
  const late = `reports=''; count=0
    while IFS=' ' read -r name value; do case $name in size) size=$value;; to) reports="$reports \${value%% *}";;
    '') head -c "$size" >/dev/null; count=$((count + 1));
    if [ $count = 3 ]; then for tag in $reports; do echo "$tag delivered"; done; fi;; esac; done`
  const transport = shell(late, { agentCountMax: 1, overfeed: 2, timeoutMs: 20_000 })
  const results = await Promise.all([deliver(transport), deliver(transport), deliver(transport)])
  expect(results).toMatchObject([[{ kind: 'delivered' }], [{ kind: 'delivered' }], [{ kind: 'delivered' }]])
})

test('an idle agent is ended after its time', async () => {
  const transport = shell(each(report), { idleMs: 200 })
  const pid = Number(idOf(await deliver(transport)))
  expect(await isGone(pid)).toBe(false)
  await expect.poll(() => isGone(pid)).toBe(true)
  expect(idOf(await deliver(transport))).not.toBe(String(pid))
})

test('an aborted attempt kills nothing by the number of an agent that had it and has ended', async () => {
  // Meanwhile, the system may have given the number to another group.
  const once = `if mkdir "$0/first" 2>/dev/null; then
    while IFS=' ' read -r name value; do case $name in
    size) size=$value;; to) tag=\${value%% *};; '') head -c "$size" >/dev/null; echo "$tag delivered $$"; exit;;
    esac; done; else echo $$ > "$0/second"; exec sleep 300; fi`
  const abort = new AbortController()
  const transport = shell(once, { agentCountMax: 1, overfeed: 1, startsPerSecondMax: 1000 })
  const results = [deliver(transport), deliver(transport, {}, someData, abort.signal)]
  const first = Number(idOf(await results[0]!))
  const second = async (): Promise<string> => readFile(join(directory, 'second'), 'utf8').catch(() => '')
  await expect.poll(second).toMatch(/^\d+\n$/)
  const kill = vi.spyOn(process, 'kill')
  onTestFinished(() => kill.mockRestore())
  abort.abort()
  expect(await results[1]).toMatchObject([{ kind: 'deferred' }])
  const killed = kill.mock.calls.map(([pid]) => -pid)
  expect(killed).toContain(Number(await second()))
  expect(killed).not.toContain(first)
})

test('an aborted attempt kills the agent that has it, with all that it has started', async () => {
  const abort = new AbortController()
  const transport = shell('sleep 300 & echo $! > "$0/child"; wait')
  const result = deliver(transport, {}, someData, abort.signal)
  const child = async (): Promise<string> => readFile(join(directory, 'child'), 'utf8').catch(() => '')
  await expect.poll(child).toMatch(/^\d+\n$/)
  abort.abort()
  const reason: unknown = expect.stringContaining('the attempt was ended')
  expect(await result).toMatchObject([{ kind: 'deferred', reason }])
  await expect.poll(async () => isGone(Number(await child()))).toBe(true)
})

test('an agent has no more descriptors than it is given, and an environment of its own', async () => {
  const transport = shell(each('for tag in $tags; do echo "$tag delivered $(ulimit -n) $HOME-$PATH"; done'), {
    fileCountMax: 37,
  })
  expect(idOf(await deliver(transport))).toBe('37 -/usr/local/bin:/usr/bin:/bin')
})

test('SIGKILL of the relay leaves no agent behind, not even one that hangs', async () => {
  const program = `
    import { pipeTransport } from ${JSON.stringify(join(root, 'dist/src/relay/agents/pipe-transport.js'))}
    const command = ['/bin/sh', '-c', 'trap "" HUP TERM INT PIPE; sleep 300 & echo $$ $! > "$0/pids"; wait; sleep 300', ${JSON.stringify(directory)}]
    const transport = pipeTransport({ command, allowsRoot: true, user: 'root' })
    const data = Buffer.from('x')
    await transport.deliver({ id: 'q', attempts: 0, sender: '', recipients: ['a@b'], nexthop: 'b', acceptedAt: 0, dataBytes: 1,
      smtputf8: false, data: async () => data, stream: () => {} }, new AbortController().signal)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
  const pids = async (): Promise<string> => readFile(join(directory, 'pids'), 'utf8').catch(() => '')
  await expect.poll(pids).toMatch(/^\d+ \d+\n$/)
  const [agent = 0, grandchild = 0] = (await pids()).trim().split(' ').map(Number)
  expect(await isGone(agent)).toBe(false)
  child.kill('SIGKILL')
  await expect.poll(() => isGone(agent)).toBe(true)
  await expect.poll(() => isGone(grandchild)).toBe(true)
})

test('agents are never root by default, and other users only where the relay is root', async () => {
  const wish = { user: '', group: '', allowsRoot: false }
  expect(await accountOf(wish, 0)).toEqual({ uid: 65_534, gid: 65_534 })
  expect(await accountOf({ ...wish, user: 'root', group: 'daemon' }, 0)).toEqual({ uid: 65_534, gid: 65_534 })
  expect(await accountOf({ ...wish, user: 'root', allowsRoot: true }, 0)).toBeUndefined()
  await expect(accountOf({ ...wish, user: 'no-such-user-here' }, 0)).rejects.toThrow(/there is no such user/)
  await expect(accountOf({ ...wish, user: '0', group: 'daemon' }, 0)).resolves.toEqual({
    uid: 65_534,
    gid: 65_534,
  })
  await expect(accountOf({ ...wish, user: '1234', group: '0' }, 0)).rejects.toThrow(/root's group/)
  expect(await accountOf(wish, 1000)).toBeUndefined()
  expect(await accountOf({ ...wish, user: '1000' }, 1000)).toBeUndefined()
  await expect(accountOf({ ...wish, user: '1001' }, 1000)).rejects.toThrow(/only a relay that runs as root/)
})

test('the group of agents is obeyed or refused, with each user', async () => {
  const wish = { user: '', group: '1234', allowsRoot: false }
  expect(await accountOf(wish, 0)).toEqual({ uid: 65_534, gid: 1234 })
  expect(await accountOf({ ...wish, user: 'root' }, 0)).toEqual({ uid: 65_534, gid: 1234 })
  expect(await accountOf({ ...wish, user: 'root', allowsRoot: true }, 0)).toEqual({ uid: 0, gid: 1234 })
  await expect(accountOf({ ...wish, group: '0' }, 0)).rejects.toThrow(/root's group/)
  await expect(accountOf({ ...wish, group: 'no-such-group-here' }, 0)).rejects.toThrow(/no such group/)
  expect(await accountOf(wish, 1000, 1234)).toBeUndefined()
  await expect(accountOf(wish, 1000, 1000)).rejects.toThrow(/group=1234: only a relay that runs as root/)
  await expect(accountOf({ ...wish, user: '1000' }, 1000, 1000)).rejects.toThrow(/group=1234/)
})

test.skipIf(process.getuid?.() !== 0)('where this process is root, an agent is nobody', async () => {
  const transport = pipeTransport({
    command: ['/bin/sh', '-c', each('echo "1 delivered $(id -u) $(id -g) $(id -G)"')],
  })
  transports.push(transport)
  expect(idOf(await deliver(transport))).toBe('65534 65534 65534')
})

test.each([
  [{ command: '' }, 'command'],
  [{ command: 'a "b' }, 'command'],
  [{ command: 'a', agentCountMax: 0 }, 'agentCountMax'],
  [{ command: 'a', overfed: 1 }, 'overfed'],
])('%j are no options', (options, option) => {
  expect(() => pipeTransport(options as PipeOptions)).toThrow(new RegExp(`option ${option}`))
})
