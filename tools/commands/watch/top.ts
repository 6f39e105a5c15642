/** `waybill top`: shows a queue at work, once a second. The relay sends samples; only the lanes are
 * read from disk, to count them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../../src/control/client.js'
import type { Sample } from '../../../src/control/protocol.js'
import { StrainWatch, type Strain } from '../../../src/http/figures/strain-watch.js'
import { isWaybillError } from '../../../src/errors.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { shownQueue } from '../cli/shown-queue.js'
import { exits, jsonOption } from '../look/inspection.js'
import { LaneCounter, type LaneCounts } from './lane-counts.js'
import {
  operatingCommand,
  relayOf,
  type Operating,
  type OperatingCommand,
} from '../operate/operating-command.js'
import { Screen } from './screen.js'
import { isSameLife, topFrame, type TopView } from './top-frame.js'
import { topJson } from './top-json.js'
import { parseDurationOption } from '../cli/values.js'

export const top: OperatingCommand = operatingCommand(
  'top',
  {
    synopsis: '[--queue DIR] [--json] [--once] [--interval TIME]',
    options: {
      ...jsonOption,
      once: { help: 'one frame, as text; the same when standard output is no terminal' },
      interval: { value: 'TIME', help: 'between two frames, 100ms to 1m (1s)' },
    },
    notes:
      'q or Ctrl-C ends it. Accepted are messages, delivered, deferred and failed (expired, too) are recipients. Messages of the lanes are counted on\n' +
      'disk now and then; waiting are the bytes of the log that still have to be gone through, marks are messages in it that were\n' +
      'taken out of turn. Destinations: those that are dead first, then those whose mail will take longest at the present rate.\n' +
      'With --json there is one object for each interval, until interrupted.',
  },
  intervalOf,
  show,
)

const intervalMsMin = 100
const intervalMsMax = 60_000

/** @throws UsageError */
function intervalOf(args: Arguments): number {
  const intervalMs = parseDurationOption('interval', args.one('interval') ?? '1s')
  if (intervalMs < intervalMsMin || intervalMs > intervalMsMax)
    throw new UsageError('--interval is from 100ms to 1m')
  return intervalMs
}

async function show(operating: Operating, intervalMs: number): Promise<number> {
  const relay = await relayOf(operating)
  if (relay === undefined) return exits.wrong
  const { args, path, surroundings } = operating
  const ended = new AbortController()
  const counter = new LaneCounter()
  const counting = counter.run(path, surroundings, ended.signal)
  try {
    if (args.isSet('json')) return await asJson(operating, relay, intervalMs, () => counter.latest)
    if (args.isSet('once') || !surroundings.isTerminal)
      return await once(operating, relay, intervalMs, () => counter.latest)
    return await live(path, relay, intervalMs, () => counter.latest)
  } finally {
    ended.abort()
    relay.close()
    await counting
  }
}

/** Ctrl-C comes as a key: the terminal makes no signals of keys while a screen is open. */
const quitKeys = ['q', 'Q', '\x03', '\x04']

type Counted = () => LaneCounts | undefined

/** Two samples, for rates. */
async function once(
  { path, out }: Operating,
  relay: ControlClient,
  intervalMs: number,
  counted: Counted,
): Promise<number> {
  let before: Sample | undefined
  for await (const now of relay.watch(intervalMs)) {
    if (before !== undefined) {
      const view = { queue: path, now, before, counts: counted() }
      for (const { text } of topFrame(view, { columns: Infinity, rows: Infinity })) out.line(text)
      break
    }
    before = now
  }
  return exits.fine
}

async function asJson(
  { args, out, surroundings }: Operating,
  relay: ControlClient,
  intervalMs: number,
  counted: Counted,
): Promise<number> {
  surroundings.stopped.addEventListener('abort', () => relay.close())
  let before: Sample | undefined
  try {
    for await (const now of relay.watch(intervalMs)) {
      if (before !== undefined) {
        out.json(topJson({ now, before, counts: counted() }))
        await out.flush()
        if (args.isSet('once')) break
      }
      before = now
    }
  } catch (error) {
    if (!surroundings.stopped.aborted) throw error
  }
  return exits.fine
}

/** Until a key ends it. When the relay goes away, the screen waits for the next one. */
async function live(
  path: string,
  first: ControlClient,
  intervalMs: number,
  counted: Counted,
): Promise<number> {
  const left = new AbortController()
  const screen = new Screen(process.stdin, process.stdout)
  let view: TopView | undefined
  const watch = new StrainWatch()
  const draw = (): void => {
    if (view !== undefined) screen.draw(topFrame(view, screen.size))
  }
  const onKey = (keys: string): void => {
    if (quitKeys.some((key) => keys.includes(key))) left.abort()
  }
  screen.open(onKey, draw)
  try {
    for (let relay: ControlClient | undefined = first; !left.signal.aborted;) {
      if (relay !== undefined) {
        for await (const now of samplesUntil(relay, intervalMs, left.signal)) {
          const before = view !== undefined && isSameLife(view.now, now) ? view.now : undefined
          view = { queue: path, now, before, counts: counted(), strain: strainOf(watch, now) }
          draw()
        }
        view = undefined
      }
      if (left.signal.aborted) break
      screen.draw([{ text: `no relay runs on the queue at ${shownQueue(path)}; waiting`, style: 'trouble' }])
      await sleep(intervalMs, undefined, { signal: left.signal }).catch(() => undefined)
      relay = await ControlClient.connect(path).catch(() => undefined)
    }
  } finally {
    screen.close()
  }
  return exits.fine
}

/** A sample does not tell when a delivery was put off, so no site is said to be silent. */
const strainOf = (watch: StrainWatch, { statistics, destinations, atMs }: Sample): Strain =>
  watch.look({ ...statistics, destinations }, atMs, () => atMs)

/** Ends with the relay, or on request. */
async function* samplesUntil(
  relay: ControlClient,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<Sample> {
  const close = (): void => relay.close()
  signal.addEventListener('abort', close, { once: true })
  try {
    yield* relay.watch(intervalMs)
  } catch (error) {
    if (!isWaybillError(error)) throw error
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}
