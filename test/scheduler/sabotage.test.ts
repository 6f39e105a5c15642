/** The recorded scenarios and the properties prove something only if a wrong rule fails them: each rule is damaged here, one at
 * a time, in a copy of the source, and must be noticed. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type * as ReplayModule from '../../tools/conformance-replay.js'
import { options, step, take } from './steps.js'
import type * as WorldModule from './world.js'

interface Damage {
  readonly rule: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const copies = mkdtempSync(join(tmpdir(), 'waybill-sabotage-'))
afterAll(() => rmSync(copies, { recursive: true, force: true }))

const tracesIn = join(root, 'test/conformance/nqmgr')
const traces = readdirSync(tracesIn).map(
  (file) => JSON.parse(gunzipSync(readFileSync(join(tracesIn, file))).toString()) as ReplayModule.Trace,
)

function copyOf(name: string): string {
  const copy = join(copies, name)
  for (const part of [
    'src/base',
    'src/scheduler',
    'src/errors.ts',
    'tools/conformance-replay.ts',
    'tools/conformance-sections.ts',
    'test/scheduler/world.ts',
  ])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }')
  return copy
}

function damaged(name: string, { file, find, replace }: Damage): string {
  const copy = copyOf(name)
  const path = join(copy, 'src/scheduler', file)
  const source = readFileSync(path, 'utf8')
  expect(source.split(find), `${file} has the damaged text once`).toHaveLength(2)
  writeFileSync(
    path,
    source.replace(find, () => replace),
  )
  return copy
}

const load = async <T>(copy: string, path: string): Promise<T> =>
  (await import(/* @vite-ignore */ pathToFileURL(join(copy, path)).href)) as T

const fails = (run: () => unknown): boolean => {
  try {
    return run() !== undefined
  } catch {
    return true
  }
}

const rules: readonly Damage[] = [
  {
    rule: 'a preempting job is charged to the job before which it slips in',
    file: 'preemption.ts',
    find: 'current.slotsAvailable -= needed * deliverySlotCost',
    replace: '',
  },
  {
    rule: 'unused slots come back when a job leaves the stack',
    file: 'preemption.ts',
    find: 'parent.slotsAvailable -= job.slotsUsed * transport.settings.deliverySlotCost',
    replace: '',
  },
  {
    rule: 'an adopted child does not change the account of its new parent',
    file: 'preemption.ts',
    find: 'if (job.level === parent.level + 1)',
    replace: 'if (job.level > 0)',
  },
  {
    rule: 'children of a job that leaves are adopted by its parent',
    file: 'preemption.ts',
    find: 'if (parent !== undefined) addChild(parent, child)',
    replace: '',
  },
  {
    rule: 'a job with children is no candidate',
    file: 'preemption.ts',
    find: 'if (job.firstChild !== undefined || job.isBlocker) continue',
    replace: 'if (job.isBlocker) continue',
  },
  {
    rule: 'the loan counts',
    file: 'preemption.ts',
    find: ' + deliverySlotLoan',
    replace: '',
  },
  {
    rule: 'the discount counts',
    file: 'preemption.ts',
    find: '(needed * (100 - deliverySlotDiscount)) / 100',
    replace: 'needed',
  },
  {
    rule: 'small jobs are not preempted',
    file: 'preemption.ts',
    find: 'if (current.entriesMax < minimumDeliverySlots * deliverySlotCost) return current',
    replace: '',
  },
  {
    rule: 'a candidate must fit into the slots that can still be earned',
    file: 'preemption.ts',
    find: 'needed > 0 && needed <= slotsMax',
    replace: 'needed > 0',
  },
  {
    rule: 'a candidate is chosen by age over size',
    file: 'preemption.ts',
    find: 'const score = age / total',
    replace: 'const score = 1 / total',
  },
  {
    rule: 'a candidate found is kept for its second only',
    file: 'preemption.ts',
    find: 'transport.candidateSecond === nowSecond)',
    replace: 'nowSecond >= 0)',
  },
  {
    rule: 'the candidate is looked for anew when another job was selected',
    file: 'preemption.ts',
    find: 'if (job !== job.transport.candidateFor) job.transport.forgetCandidate()',
    replace: '',
  },
  {
    rule: 'peers take turns',
    file: 'peer.ts',
    find: 'job.peers = peer.ringNext\n      return peer',
    replace: 'return peer',
  },
  {
    rule: 'transports take turns',
    file: 'rotation.ts',
    find: 'this.#head = at\n',
    replace: '',
  },
  {
    rule: 'two requests of a transport wait at most',
    file: 'rotation.ts',
    find: 'const pendingMax = 2',
    replace: 'const pendingMax = 3',
  },
  {
    rule: 'an orphan of a deeper level keeps its place in time',
    file: 'job-life.ts',
    find: 'previous.parent !== undefined || ',
    replace: 'previous.level > 0 || ',
  },
  {
    rule: 'a job that comes back is linked by time',
    file: 'job-life.ts',
    find: '(previous.parent !== undefined || previous.message.queuedAtMs > message.queuedAtMs)',
    replace: 'previous.parent !== undefined',
  },
  {
    rule: 'a job leaves the list with its last selection',
    file: 'selection.ts',
    find: 'if (job.waiting === 0 && !job.message.unread) retireJob(job)',
    replace: '',
  },
  {
    rule: 'a blocked job is marked',
    file: 'selection.ts',
    find: 'block(job)\n',
    replace: 'job.blockerTag = 0\n',
  },
  {
    rule: 'blockers are released when a destination has room again',
    file: 'blockers.ts',
    find: 'transport.blockerTag += 2',
    replace: '',
  },
  {
    rule: 'selection begins anew when blockers are released',
    file: 'blockers.ts',
    find: 'transport.currentJob = transport.firstJob',
    replace: '',
  },
  {
    rule: 'positive feedback comes at the end of its cycle',
    file: 'concurrency.ts',
    find: 'while (destination.success + lead >= 1) {',
    replace: 'while (destination.success + lead > 0) {',
  },
  {
    rule: 'negative feedback comes at the start of its cycle',
    file: 'concurrency.ts',
    find: 'while (destination.failure - lead < 0) {',
    replace: 'while (destination.failure - lead <= -1) {',
  },
  {
    rule: 'the shipped rounding is an option of its own',
    file: 'concurrency.ts',
    find: 'const lead = state.parameters.feedbackRounding ? amount / 2 : 0\n    destination.success',
    replace: 'const lead = 0\n    destination.success',
  },
  {
    rule: 'a window does not run away from what is in use',
    file: 'concurrency.ts',
    find: ' && destination.window < destination.busy + initialWindow',
    replace: '',
  },
  {
    rule: 'success forgives failed cohorts',
    file: 'concurrency.ts',
    find: "destination.failCohorts = 0\n  if (destination.state.kind === 'dead') {",
    replace: "if (destination.state.kind === 'dead') {",
  },
  {
    rule: 'a cohort counts by the window',
    file: 'concurrency.ts',
    find: 'destination.failCohorts += 1 / destination.window',
    replace: 'destination.failCohorts += 1',
  },
  {
    rule: 'revival begins with what is under way',
    file: 'concurrency.ts',
    find: 'destination.busy > 0 ? destination.busy : initialWindow',
    replace: 'initialWindow',
  },
  {
    rule: 'a destination without entries is forgotten',
    file: 'completion.ts',
    find: 'removeDestination(destination)\n  state.destinationCount--',
    replace: 'return',
  },
  {
    rule: 'a rate delay suspends',
    file: 'completion.ts',
    find: 'suspend(state, destination, state.nowMs + destinationRateDelay * 1000)',
    replace: 'destination.recount()',
  },
  {
    rule: 'what waits for a dead destination goes to the retry transport',
    file: 'deferral.ts',
    find: 'if (retry === undefined) {',
    replace: 'if (retry === undefined || retry !== undefined) {',
  },
  {
    rule: 'slots go to the first job that can read more',
    file: 'recipient-slots.ts',
    find: 'if (transport.firstUnread !== undefined) takeUnusedSlots(transport.firstUnread)',
    replace: '',
  },
  {
    rule: 'lent slots go back first',
    file: 'recipient-slots.ts',
    find: 'if (lender.level < 0 || !message.unread) giveBackSlots(lender)',
    replace: '',
  },
  {
    rule: 'a preempting job that is not wholly read gets extra slots',
    file: 'preemption.ts',
    find: 'if (job.message.unread) takeExtraSlots(job)',
    replace: '',
  },
  {
    rule: 'a batch is read when enough slots are free',
    file: 'selection.ts',
    find: 'free >= recipientRefillLimit || ',
    replace: '',
  },
  {
    rule: 'a batch is read when the last one is old enough',
    file: 'selection.ts',
    find: ' || (free > 0 && waitedMs >= recipientRefillDelay * 1000)',
    replace: '',
  },
  {
    rule: 'a batch is read when no peer can be selected',
    file: 'selection.ts',
    find: 'readOn(state, message)\n  return job.waiting > 0 ? nextPeer(job) : undefined',
    replace: 'return undefined',
  },
  {
    rule: 'the first batch may use the common limit',
    file: 'intake.ts',
    find: 'Math.max(common, message.recipientLimit)',
    replace: 'message.recipientLimit',
  },
  {
    rule: 'recipients are taken in the order of their destinations',
    file: 'intake.ts',
    find: 'return found.sort(byDestination)',
    replace: 'return found',
  },
  {
    rule: 'recipients of a later batch fill the last entry that waits',
    file: 'intake.ts',
    find: 'last === undefined || (limit',
    replace: 'message.readCount > 0 || last === undefined || (limit',
  },
  {
    rule: 'a transport answers again after any reply',
    file: 'scheduler.ts',
    find: "if (result !== 'crash' && transport.dead !== undefined) this.#reviveTransport(transport)",
    replace: '',
  },
]

test('a copy without damage reproduces the recorded scenarios', async () => {
  const { replay } = await load<typeof ReplayModule>(copyOf('whole'), 'tools/conformance-replay.ts')
  expect(traces.filter((trace) => fails(() => replay(trace)))).toEqual([])
})

describe('the recorded scenarios notice a damaged rule:', () => {
  test.each(rules.map((damage, number) => [damage.rule, damage, number] as const))(
    '%s',
    async (_, damage, number) => {
      const { replay } = await load<typeof ReplayModule>(
        damaged(`rule-${number}`, damage),
        'tools/conformance-replay.ts',
      )
      expect(traces.some((trace) => fails(() => replay(trace)))).toBe(true)
    },
  )
})

/** What is ours: reads that are put off, the hard bound of memory, withdrawal, rate limit. */
const own: readonly Damage[] = [
  {
    rule: 'a promised batch counts as in memory',
    file: 'intake.ts',
    find: 'message.recipientCount += countMax\n  state.recipientCount += countMax',
    replace: '',
  },
  {
    rule: 'a read never exceeds the bound',
    file: 'intake.ts',
    find: 'Math.min(wanted, batchCountMax, state.recipientBound - state.recipientCount)',
    replace: 'Math.min(wanted, batchCountMax)',
  },
  {
    rule: 'a message that waits for room is read when there is room',
    file: 'scheduler.ts',
    find: 'entryDone(state, done)\n    this.#feedStarved()',
    replace: 'entryDone(state, done)',
  },
  {
    rule: 'a job that waits for its batch is tried again when it is there',
    file: 'scheduler.ts',
    find: 'if (job.isBlocker) unblock(job)',
    replace: '',
  },
  {
    rule: 'a resumed destination releases blockers',
    file: 'scheduler.ts',
    find: 'unsuspend(state, destination)\n      releaseBlockers(destination)',
    replace: 'unsuspend(state, destination)',
  },
  {
    rule: 'a withdrawn message is not read on',
    file: 'withdrawal.ts',
    find: 'message.unread = false',
    replace: '',
  },
  {
    rule: 'the window bounds a selection',
    file: 'destination.ts',
    find: 'return this.window > this.busy && this.state === ready',
    replace: 'return this.window >= this.busy && this.state === ready',
  },
  {
    rule: 'the process limit bounds a selection',
    file: 'rotation.ts',
    find: 'transport.busy >= transport.settings.processLimit',
    replace: 'transport.busy > transport.settings.processLimit',
  },
  {
    rule: 'a freed peer is no peer of its job any more',
    file: 'peer.ts',
    find: 'job.peerOf?.delete(peer.destination)',
    replace: '',
  },
]

describe('the properties notice a damaged rule:', () => {
  test.each(own.map((damage, number) => [damage.rule, damage, number] as const))(
    '%s',
    async (_, damage, number) => {
      const { World } = await load<typeof WorldModule>(
        damaged(`own-${number}`, damage),
        'test/scheduler/world.ts',
      )
      const run = fc.check(
        fc.property(options, fc.array(step, { maxLength: 80, size: 'max' }), (chosen, steps) => {
          const world = new World(chosen)
          for (const one of steps) take(world, one)
          world.finish()
        }),
        { numRuns: 3000, seed: 4, endOnFailure: true },
      )
      expect(run.failed).toBe(true)
    },
  )
})
