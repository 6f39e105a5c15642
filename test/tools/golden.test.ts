/** What every reading command says of the frozen queue, and of it damaged, byte by byte. The files
 * are made anew, to be looked at and committed, by
 *   WAYBILL_GOLDEN=write npx vitest run --config tools/vitest.config.ts
 *   test/tools/golden.test.ts */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { cat } from '../../tools/commands/look/cat.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import { logAt } from '../../tools/commands/look/log-at.js'
import { logDump } from '../../tools/commands/look/log-dump.js'
import { logHistory } from '../../tools/commands/look/log-history.js'
import { logMap } from '../../tools/commands/look/log-map.js'
import { logRescue } from '../../tools/commands/look/log-rescue.js'
import { logStat } from '../../tools/commands/look/log-stat.js'
import { logTail } from '../../tools/commands/look/log-tail.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { qshape } from '../../tools/commands/look/qshape.js'
import { stat } from '../../tools/commands/look/stat.js'
import { command } from '../inspect/commanded.js'
import { frozenQueue } from '../inspect/frozen-queue.js'
import { MemoryDisk, type Files } from '../inspect/memory-disk.js'

const commands: Readonly<Record<string, InspectCommand>> = {
  mailq,
  qshape,
  cat,
  stat,
  'log stat': logStat,
  'log dump': logDump,
  'log tail': logTail,
  'log history': logHistory,
  'log at': logAt,
  'log verify': logVerify,
  'log map': logMap,
  'log rescue': logRescue,
}

const queues = { frozen: frozenQueue().files, damaged: damagedFiles() }

/** A byte in the data of a deferred message, one in a batch of the journal, and the segment that
 * holds an active one's envelope. */
function damagedFiles(): Files {
  const files = new Map(frozenQueue().files)
  const flip = (path: string, at: number): void => {
    const bytes = Buffer.from(files.get(path)!)
    bytes[at]! ^= 0x10
    files.set(path, bytes)
  }
  flip('lanes/3/data/000000000000.log', 5000)
  flip('journal/000000000003.log', 21_000)
  files.delete('journal/000000000002.log')
  return files
}

/** By the name of the file. */
const calls: Readonly<
  Record<string, readonly [queue: keyof typeof queues, name: string, ...args: string[]]>
> = {
  mailq: ['frozen', 'mailq'],
  'mailq-json': ['frozen', 'mailq', '--json'],
  'mailq-selected': ['frozen', 'mailq', '--lane', 'deferred', '--domain', 'full.example', '--limit', '3'],
  'mailq-none': ['frozen', 'mailq', '--sender', 'nobody@from.example'],
  'mailq-damaged': ['damaged', 'mailq', '--lane', 'active'],
  qshape: ['frozen', 'qshape', 'incoming', 'active', 'deferred', 'hold'],
  'qshape-json': ['frozen', 'qshape', '--json', 'deferred'],
  'qshape-parents': ['frozen', 'qshape', '-p', '-m', '2', 'deferred', 'hold', 'active', 'incoming'],
  'qshape-senders': ['frozen', 'qshape', '-s', '-b', '4', '-t', '1', '-l', 'deferred', 'hold'],
  'cat-deferred': ['frozen', 'cat', '1KE7141Z8VP3VPKJ'],
  'cat-hold-spool': ['frozen', 'cat', '-e', '-h', '1KE70EPC8VP3VPKH'],
  'cat-hold-spool-json': ['frozen', 'cat', '--json', '-e', '1KE70EPC8VP3VPKH'],
  'cat-active': ['frozen', 'cat', '1KE714H3MG41PR09'],
  'cat-damaged': ['damaged', 'cat', '1KE70EHG0VP3VPK4'],
  stat: ['frozen', 'stat'],
  'stat-json': ['frozen', 'stat', '--json'],
  'log-stat': ['frozen', 'log stat'],
  'log-stat-json': ['frozen', 'log stat', '--json'],
  'log-dump': ['frozen', 'log dump', '--log', 'all'],
  'log-dump-json': ['frozen', 'log dump', '--json'],
  'log-dump-lane-json': ['frozen', 'log dump', '--json', '--log', '1/envelopes'],
  'log-tail': ['frozen', 'log tail'],
  'log-tail-json': ['frozen', 'log tail', '--json', '-n', '3'],
  'log-history': ['frozen', 'log history', '1KE714H3MG41PR09'],
  'log-history-deferred': ['frozen', 'log history', '1KE70EHG0VP3VPKD'],
  'log-history-json': ['frozen', 'log history', '--json', '1KE714H3MG41PR09'],
  'log-at': ['frozen', 'log at', '811008'],
  'log-at-json': ['frozen', 'log at', '--json', '811008'],
  'log-at-gone': ['frozen', 'log at', '4096'],
  'log-verify': ['frozen', 'log verify'],
  'log-verify-json': ['frozen', 'log verify', '--json'],
  'log-verify-damaged': ['damaged', 'log verify'],
  'log-verify-damaged-json': ['damaged', 'log verify', '--json'],
  'log-map': ['frozen', 'log map', '-'],
  'log-rescue': ['frozen', 'log rescue', 'QUEUE', '--to', 'NEW'],
  'log-rescue-damaged': ['damaged', 'log rescue', 'QUEUE', '--to', 'NEW'],
  'log-rescue-damaged-json': ['damaged', 'log rescue', '--json', 'QUEUE', '--to', 'NEW'],
}

const folder = fileURLToPath(new URL('golden', import.meta.url))
let scratch: string
const zoneBefore = process.env['TZ']
beforeAll(async () => {
  process.env['TZ'] = 'UTC'
  scratch = await mkdtemp(join(tmpdir(), 'waybill-golden-'))
})
afterAll(async () => {
  if (zoneBefore === undefined) delete process.env['TZ']
  else process.env['TZ'] = zoneBefore
  await rm(scratch, { recursive: true, force: true })
})

async function transcript(name: string): Promise<string> {
  const [queue, commandName, ...args] = calls[name]!
  const { directories, nowMs } = frozenQueue()
  const source = new MemoryDisk(queues[queue], directories)
  const to = join(scratch, name)
  const said = await command(
    commands[commandName]!,
    args.map((arg) => (arg === 'NEW' ? to : arg)),
    (path) => (path === to ? nodeDisk(to) : source),
    nowMs,
  )
  const text = `$ waybill ${commandName} ${args.join(' ')}`.trimEnd()
  const complaints = said.stderr === '' ? '' : `--- standard error\n${said.stderr}`
  return `${text}\n${said.stdout}${complaints}--- exit code ${said.exitCode}\n`.replaceAll(to, 'NEW')
}

test.each(Object.keys(calls))('%s says what its golden file says', async (name) => {
  const path = join(folder, `${name}.txt`)
  const text = await transcript(name)
  if (process.env['WAYBILL_GOLDEN'] === 'write') await writeFile(path, text)
  expect(text).toBe(await readFile(path, 'utf8'))
})

test('there is no golden file without a call', async () => {
  expect((await readdir(folder)).sort()).toEqual(
    Object.keys(calls)
      .map((name) => `${name}.txt`)
      .sort(),
  )
})

test.each([
  ['cat', ['1ke70ehg0vp3vpkd'], ['1KE70EHG0VP3VPKD']],
  ['log history', ['1ke70ehg0vp3vpkd'], ['1KE70EHG0VP3VPKD']],
  ['log dump', ['--log', 'all', '--id', '1ke70ehg0vp3vpkd'], ['--log', 'all', '--id', '1KE70EHG0VP3VPKD']],
])('%s takes an id in small letters too, as hold and delete do', async (name, small, large) => {
  const { files, directories, nowMs } = frozenQueue()
  const said = (args: readonly string[]): ReturnType<typeof command> =>
    command(commands[name]!, args, () => new MemoryDisk(files, directories), nowMs)
  const expected = await said(large)
  expect(expected.stdout).toContain('1KE70EHG0VP3VPKD')
  expect(await said(small)).toEqual(expected)
})

test('log dump shows the records between any two positions, wherever frames begin', async () => {
  const { files, directories, nowMs } = frozenQueue()
  const said = (args: readonly string[]): ReturnType<typeof command> =>
    command(logDump, ['--json', ...args], () => new MemoryDisk(files, directories), nowMs)
  const positionIn = (line: string): number => (JSON.parse(line) as { position: number }).position
  const lines = (await said([])).stdout.trim().split('\n')
  for (const at of [1, Math.floor(lines.length / 2), lines.length - 1]) {
    const within = positionIn(lines[at]!) - 1
    const behind = `${lines.slice(at).join('\n')}\n`
    const before = `${lines.slice(0, at).join('\n')}\n`
    expect(await said(['--from', String(within)])).toEqual({ exitCode: 0, stdout: behind, stderr: '' })
    expect(await said(['--to', String(within)])).toEqual({ exitCode: 0, stdout: before, stderr: '' })
  }
})
