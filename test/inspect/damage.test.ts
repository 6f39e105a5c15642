/** Damage under every reading command: thousands of queues, each with one thing wrong, each from
 * one number. damage-class.ts predicts the findings. The suite takes some, each under verify and a
 * quarter of the other commands;
 *   WAYBILL_DAMAGES=10000 npx vitest run --config tools/vitest.config.ts
 *   test/inspect/damage.test.ts
 * takes so many of each queue, under all commands, and WAYBILL_SEED=4711 WAYBILL_DAMAGES=1 one
 * of them again. */
import { expect, test } from 'vitest'
import { cat } from '../../tools/commands/look/cat.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import { logAt } from '../../tools/commands/look/log-at.js'
import { logDump } from '../../tools/commands/look/log-dump.js'
import { logHistory } from '../../tools/commands/look/log-history.js'
import { logMap } from '../../tools/commands/look/log-map.js'
import { logStat } from '../../tools/commands/look/log-stat.js'
import { logTail } from '../../tools/commands/look/log-tail.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { qshape } from '../../tools/commands/look/qshape.js'
import { stat } from '../../tools/commands/look/stat.js'
import { Anatomy } from './anatomy.js'
import { command, damagesIn, type Commanded, type Told } from './commanded.js'
import { damage, type Damaged } from './damage.js'
import { BytesThatCount, type Changed, type DamageClass } from './damage-class.js'
import { fixtureQueue, type Fixture } from './fixture-queue.js'
import { frozenQueue } from './frozen-queue.js'
import { MemoryDisk, type Files } from './memory-disk.js'

const isSuite = process.env['WAYBILL_DAMAGES'] === undefined
const damageCount = Number(process.env['WAYBILL_DAMAGES'] ?? 1000)
const firstSeed = Number(process.env['WAYBILL_SEED'] ?? 1)

interface Call {
  readonly inspect: InspectCommand
  readonly args: readonly string[]
  /** Of the queue, or what lies in these logs, garbage too. */
  readonly shows: 'queue' | 'journal' | 'logs'
}

const verify: Call = { inspect: logVerify, args: ['--json'], shows: 'logs' }

/** @param held an id on hold, @param at a position of the journal that can still be told */
const callsOf = (waiting: string, held: string, at: number): readonly Call[] => [
  { inspect: mailq, args: [], shows: 'queue' },
  { inspect: mailq, args: ['--json', '--lane', 'deferred', '--domain', 'later.example'], shows: 'queue' },
  { inspect: qshape, args: ['incoming', 'active', 'deferred', 'hold'], shows: 'queue' },
  { inspect: qshape, args: ['-s', '--json', 'hold'], shows: 'queue' },
  { inspect: stat, args: [], shows: 'queue' },
  { inspect: cat, args: [waiting], shows: 'queue' },
  { inspect: cat, args: ['--json', held], shows: 'queue' },
  { inspect: logStat, args: [], shows: 'logs' },
  { inspect: logStat, args: ['--quick', '--json'], shows: 'logs' },
  { inspect: logDump, args: ['--log', 'all'], shows: 'logs' },
  { inspect: logDump, args: ['--json', '--kind', 'envelope'], shows: 'journal' },
  { inspect: logTail, args: ['-n', '30'], shows: 'journal' },
  { inspect: logHistory, args: [waiting], shows: 'logs' },
  { inspect: logAt, args: [String(at)], shows: 'logs' },
  { inspect: logMap, args: ['-'], shows: 'logs' },
]

interface Subject {
  readonly sound: Fixture
  readonly bytesThatCount: BytesThatCount
  readonly calls: readonly Call[]
  /** What was said of it undamaged, and of it without its last batches. */
  readonly said: Map<string, Promise<Commanded>>
}

function subject(sound: Fixture): Subject {
  const anatomy = new Anatomy(sound.files)
  const idIn = (wanted: number): string =>
    anatomy.messages.find(({ lane, isActive }) => lane === wanted && !isActive)!.envelope.id
  const at = anatomy.newest * anatomy.segmentBytes + anatomy.batches(anatomy.newest).at(-2)![1]
  const calls = callsOf(idIn(0), idIn(1), at)
  return { sound, bytesThatCount: new BytesThatCount(anatomy), calls, said: new Map() }
}

const subjects = {
  lanes: subject(frozenQueue()),
  'one log': subject(await fixtureQueue('single')),
}

async function run({ sound }: Subject, { inspect, args }: Call, files: Files): Promise<Commanded> {
  const disk = new MemoryDisk(files, sound.directories)
  const commanded = await command(inspect, args, () => disk, sound.nowMs)
  if (disk.writeCount > 0) throw new Error('it asked to write')
  if (![0, 1, 3].includes(commanded.exitCode)) throw new Error(`it ends with ${commanded.exitCode}`)
  return commanded
}

function expected(of: Subject, call: Call, damageClass: DamageClass): Promise<Commanded> {
  const isTorn = damageClass.kind === 'torn'
  const key = `${isTorn ? damageClass.batch : 'sound'} ${of.calls.indexOf(call)}`
  const before = of.said.get(key) ?? run(of, call, isTorn ? damageClass.files : of.sound.files)
  of.said.set(key, before)
  return before
}

/** What must be named. Where the journal is damaged, nothing may be left that leads to a lane or a
 * spool file; without its envelope nothing leads to a spool file. */
function nameable(changed: readonly Changed[]): readonly Changed[] {
  const ofJournal = changed.filter(({ log, isPinned }) => log === 'journal' && !isPinned)
  const ofLogs = changed.filter(({ segment }) => segment !== undefined)
  return [ofJournal, ofLogs].find((those) => those.length > 0) ?? changed
}

/** Is each place of what changed among those that were named? Of a message in what is garbage
 * otherwise, any of its places will do. */
function isNamed(told: readonly Told[], { log, segment, offsetsBytes, isPinned }: Changed): boolean {
  const isIn = (changed: number): boolean =>
    told.some(
      ({ offset = 0, bytes, ...place }) =>
        place.log === log &&
        place.segment === segment &&
        offset <= changed &&
        (bytes === 0 || changed < offset + bytes),
    )
  return isPinned ? offsetsBytes.some(isIn) : offsetsBytes.every(isIn)
}

/** Batches that are called bad, though of their segment nothing has changed in them or
 * before the batches. */
function accused(before: Files, now: Files, told: readonly Told[]): string[] {
  const anatomy = new Anatomy(before)
  return told.flatMap(({ log, segment = 0, offset = 0, bytes, reason }) => {
    if (log !== 'journal' || !/^(a batch|[0-9]+ batches)( or more)? do/.test(reason)) return []
    const path = anatomy.path(0, segment)
    const isSame = (from: number, to: number): boolean =>
      before.get(path)!.subarray(from, to).equals(now.get(path)!.subarray(from, to))
    const batches = anatomy.batches(segment).filter(([from, to]) => from >= offset && to <= offset + bytes)
    return isSame(0, 44)
      ? batches.filter((batch) => isSame(...batch)).map(([from]) => `${path} at ${from}`)
      : []
  })
}

/** Does the command read what changed? Before the floors of the logs it shows what is left. */
const isRead = ({ shows }: Call, { log, segment, isPinned }: Changed): boolean =>
  shows === 'queue' || (!isPinned && segment !== undefined && (shows === 'logs' || log === 'journal'))

/** What is wrong with what is said of a damaged queue. */
async function violationsOf(of: Subject, damaged: Damaged, asked: readonly Call[]): Promise<string[]> {
  const { files } = damaged
  const damageClass = of.bytesThatCount.classOf(damaged)
  const violations: string[] = []
  const verdict = await run(of, verify, files)
  switch (damageClass.kind) {
    case 'idle':
      if (verdict.exitCode !== 0)
        violations.push(`log verify: damage, where no byte counts\n${verdict.stdout}`)
      break
    case 'torn':
      if (verdict.exitCode !== (await expected(of, verify, damageClass)).exitCode)
        violations.push('log verify: a torn tail is told otherwise than when it is cut off')
      break
    case 'counts':
      if (verdict.exitCode === 0) violations.push('log verify: a damaged queue is called sound')
      else
        for (const changed of nameable(damageClass.changed))
          if (!isNamed(damagesIn(verdict), changed))
            violations.push(`log verify: does not name ${JSON.stringify(changed)}\n${verdict.stdout}`)
      for (const batch of accused(of.sound.files, files, damagesIn(verdict)))
        violations.push(`log verify: calls a batch bad that is whole: ${batch}\n${verdict.stdout}`)
  }
  for (const call of asked) {
    const name = `${call.inspect.synopsis} (${call.args.join(' ')})`
    const said = await run(of, call, files).catch((error: unknown) => error as Error)
    const should = await expected(of, call, damageClass)
    if (said instanceof Error) violations.push(`${name}: ${said.stack}`)
    else if (damageClass.kind === 'counts') {
      const isSilent = said.exitCode === 0 && said.stdout !== should.stdout
      if (isSilent && damageClass.changed.some((changed) => isRead(call, changed)))
        violations.push(`${name}: shows something else and says nothing`)
    } else if (call.shows === 'queue' && (said.exitCode !== should.exitCode || said.stdout !== should.stdout))
      violations.push(`${name}: sees another queue, where nothing that counts has changed`)
  }
  return violations
}

test.each(Object.entries(subjects))(
  '%s: undamaged it is sound, and every command ends well on it',
  async (_, of) => {
    const { files } = of.sound
    const verdict = await run(of, verify, files)
    expect([verdict.exitCode, JSON.parse(verdict.stdout)]).toMatchObject([0, { sound: true, messages: 37 }])
    for (const call of of.calls)
      expect([call.args, (await run(of, call, files)).exitCode]).toEqual([call.args, 0])
  },
)

test.each(Object.entries(subjects))(
  `%s: no command crashes, hangs, writes, or calls a damaged queue sound`,
  async (_, of) => {
    const violations: string[] = []
    for (let seed = firstSeed; seed < firstSeed + damageCount; seed++) {
      const damaged = damage(of.sound.files, seed)
      const asked = of.calls.filter((_call, i) => !isSuite || i % 4 === seed % 4)
      const found = await violationsOf(of, damaged, asked).catch((error: unknown) => [
        `log verify: ${(error as Error).stack}`,
      ])
      for (const violation of found) violations.push(`${damaged.what}: ${violation}`)
    }
    expect(violations.slice(0, 20)).toEqual([])
  },
  120_000 + damageCount * 100,
)

test.each(Object.entries(subjects))('%s: damages of each class are among them', (_, of) => {
  const counts = { idle: 0, torn: 0, counts: 0 }
  for (let seed = 1; seed <= 1000; seed++)
    counts[of.bytesThatCount.classOf(damage(of.sound.files, seed)).kind]++
  expect(Math.min(counts.idle, counts.torn, counts.counts)).toBeGreaterThanOrEqual(5)
})
