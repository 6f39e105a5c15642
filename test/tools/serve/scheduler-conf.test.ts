/** `waybill serve --scheduler-conf`, as a separate process. */
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { greetedClient, type RawClient, sendTo, taken } from '../../relay/raw-client.js'
import { runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('clauses')
})

const at = (name: string): string => join(directory, name)
const clauses = (text: string): Promise<void> => writeFile(at('scheduler.conf'), text)
const waybill = (...words: string[]): Promise<Ended> => runWaybill(words, { directory })

async function started(...args: string[]): Promise<{ relay: RelayProcess; client: RawClient }> {
  const places = ['--queue', at('queue'), '--maildir', at('mail'), '--scheduler-conf', at('scheduler.conf')]
  const relay = await startedRelay([...places, ...args])
  const client = await greetedClient(relay.endpoint.port)
  return { relay, client }
}

async function send(client: RawClient, recipient: string): Promise<void> {
  expect(await sendTo(client, [recipient])).toEqual([taken])
}

const mailboxes = async (): Promise<string[]> => (await readdir(at('mail')).catch((): string[] => [])).sort()

test('queue-only mail waits for a flush of its host, a reload applies other clauses, and a wrong file nothing', async () => {
  await clauses('maildir/slow.example queueonly\nuucp/* maxchannel=3\n')
  const { relay, client } = await started()
  await send(client, 'ada@slow.example')
  await send(client, 'ada@fast.example')
  await expect.poll(mailboxes).toEqual(['ada@fast.example'])
  expect(relay.log).toMatch(/"lines":\[2\][^\n]*apply to no transport/)
  await expect.poll(async () => (await waybill('mailq', '--queue', at('queue'))).stdout).toMatch(/queueonly/)
  await waybill('flush', '--queue', at('queue'), '--nexthop', 'slow.example')
  await expect.poll(mailboxes).toEqual(['ada@fast.example', 'ada@slow.example'])

  await clauses('maildir/* maxta=x\n maxhost=1\n')
  const refused = await waybill('reload', '--queue', at('queue'))
  expect(refused.exitCode).not.toBe(0)
  expect(refused.stderr).toMatch(/scheduler\.conf:1:17: expected a whole number[^]*:2:2: expected one of/)
  await clauses('maildir/* maxta=5 interval=7m\n')
  expect(await waybill('reload', '--queue', at('queue'))).toMatchObject({ exitCode: 0 })
  await expect.poll(() => relay.log).toMatch(/"delays":\["7m"[^\n]*rounded to others/)
  await send(client, 'grace@slow.example')
  await expect.poll(mailboxes).toEqual(['ada@fast.example', 'ada@slow.example', 'grace@slow.example'])
})

test('what has no effect is named, at the start and at a reload', async () => {
  await clauses('maildir/a.example\nmaildir/b.example\n  command=mailbox\n')
  const { relay } = await started()
  await expect.poll(() => relay.log).toMatch(/"lines":\[3\][^\n]*start nothing without --agents/)
  await clauses('*/* interval=1m\nuucp/*\n  command=mailbox\n')
  expect(await waybill('reload', '--queue', at('queue'))).toMatchObject({ exitCode: 0 })
  await expect.poll(() => relay.log).toMatch(/"lines":\[2\][^\n]*apply to no transport/)
  expect(relay.log.match(/start nothing/g)).toHaveLength(1)
})

test('a frozen relay takes mail, and the next one delivers it', async () => {
  await clauses('*/* interval=1m\n')
  const { relay, client } = await started('--freeze')
  await send(client, 'ada@fast.example')
  await expect.poll(() => relay.log).toMatch(/--freeze: nothing is delivered/)
  expect((await waybill('mailq', '--queue', at('queue'))).stdout).toMatch(/ada@fast\.example/)
  const top = await waybill('top', '--queue', at('queue'), '--once', '--interval', '100ms')
  expect(top.stdout.split('\n')[1]).toMatch(/^The relay was started with --freeze/)
  expect(await mailboxes()).toEqual([])
  await relay.kill()
  await started()
  await expect.poll(mailboxes).toEqual(['ada@fast.example'])
})

test.each([
  [['--retry', '1s'], /--scheduler-conf or --retry, not both/],
  [['--lifetime', '1d'], /--scheduler-conf or --lifetime, not both/],
  [['-o', 'maximal_backoff_time=1h'], /--scheduler-conf or -o maximal_backoff_time=1h, not both/],
])('%j beside the clauses is refused', async (args, words) => {
  await clauses('*/* interval=1m\n')
  const ended = await waybill(
    'serve',
    '--queue',
    at('queue'),
    '--scheduler-conf',
    at('scheduler.conf'),
    ...args,
  )
  expect(ended.exitCode).toBe(2)
  expect(ended.stderr).toMatch(words)
})

test('with --agents a clause has its command deliver, a line pipe: another, and SIGKILL leaves none behind', async () => {
  const agent =
    '#!/bin/sh\n' +
    "while IFS=' ' read -r name value; do case $name in size) size=$value;; to) tag=${value%% *};;\n" +
    '\'\') head -c "$size" >/dev/null; echo "$tag delivered by $1 of $$";; esac; done\nsleep 300\n'
  await writeFile(at('agent'), agent, { mode: 0o755 })
  await chmod(directory, 0o755)
  await clauses('maildir/agent.example command="agent $host"\n')
  await writeFile(at('routes'), `piped.example pipe:${at('agent')} pipe\n* maildir:\n`)
  const ways = ['--routes', at('routes'), '--relay', '127.0.0.1:9']
  const { relay, client } = await started('--agents', directory, ...ways)
  await send(client, 'ada@agent.example')
  await send(client, 'ada@piped.example')
  await send(client, 'ada@fast.example')
  await expect.poll(mailboxes).toEqual(['ada@fast.example'])
  const pids = (): number[] =>
    [...relay.log.matchAll(/"by (?:agent\.example|pipe) of (\d+)"/g)].map(([, pid]) => Number(pid))
  await expect.poll(() => pids().length).toBe(2)
  const isGone = async (pid: number): Promise<boolean> =>
    / Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ' Z '))
  await relay.kill()
  for (const pid of pids()) await expect.poll(() => isGone(pid)).toBe(true)
})

test('a program that is not there is refused at the start, with its line', async () => {
  await clauses('*/* interval=1m\nuucp/* command=none\n')
  const places = ['--queue', at('queue'), '--scheduler-conf', at('scheduler.conf'), '--agents', directory]
  const ended = await waybill('serve', ...places)
  expect(ended.exitCode).toBe(2)
  expect(ended.stderr).toMatch(/scheduler\.conf.*none.*line 2/)
})
