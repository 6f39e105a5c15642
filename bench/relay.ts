/** The relay end to end, beside Postfix, Haraka, and a process that only passes bytes on and writes
 * them: smtp-source → relay → smtp-sink.
 * All run on one machine and one disk with their default durability. One relay works at a time, in
 * turn; the others are up and idle. With reuse the source keeps its connections; without, it opens
 * one for each message. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { spreadOf, type Row } from './output.js'
import { haraka, harakaMissing } from './relays/haraka.js'
import { cpuOf, flow, flowMissing, rateOf, Sink, type FlowSlice, type Load } from './relays/mail-flow.js'
import { passage } from './relays/passage.js'
import { postfix, postfixMissing } from './relays/postfix.js'
import { placed, type Relay, type RelayName, type RelayOptions } from './relays/relay.js'
import { waybill } from './relays/waybill.js'

interface Entrant {
  readonly name: RelayName
  readonly start: (options: RelayOptions) => Promise<Relay>
  readonly missing: () => Promise<string | undefined> | string | undefined
}

const entrants: readonly Entrant[] = [
  { name: 'waybill', start: waybill, missing: () => undefined },
  { name: 'postfix', start: postfix, missing: postfixMissing },
  { name: 'haraka', start: haraka, missing: harakaMissing },
  { name: 'passage', start: passage, missing: () => undefined },
]

interface Pace {
  readonly rounds: number
  /** Aimed length of a turn, milliseconds. */
  readonly sliceMs: number
  /** Messages before the first turn, with connections reused and without: compilers in the relays
   * have then done their work. */
  readonly warmUpCount: number
  /** Messages of the turn that shows how many that are; fewer where they are large. */
  readonly probeCount: number
  readonly loads: readonly Load[]
}

const loadsOf = (sizes: readonly number[], sessions: readonly number[]): Load[] =>
  sizes.flatMap((messageBytes) =>
    sessions.flatMap((sessionCount) =>
      [true, false].map((isReused) => ({ messageBytes, sessionCount, isReused })),
    ),
  )

const full: Pace = {
  rounds: 7,
  sliceMs: 3000,
  warmUpCount: 6000,
  probeCount: 2000,
  loads: [...loadsOf([1024, 10_240], [20, 100]), { messageBytes: 2 ** 20, sessionCount: 20, isReused: true }],
}
/** Of a message; of larger ones fewer are sent to see how fast they go. */
const probedBytes = 32_768

const short: Pace = {
  rounds: 1,
  sliceMs: 300,
  warmUpCount: 100,
  probeCount: 200,
  loads: loadsOf([1024], [20]),
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const trouble = flowMissing()
  if (trouble !== undefined) throw new Error(trouble)
  chmodSync(directory, 0o711)
  const sink = await Sink.start()
  const relays: Relay[] = []
  try {
    for (const { name, start, missing } of entrants) {
      const reason = await missing()
      if (reason !== undefined) {
        output.note(`${reason}; it was not measured.`)
        continue
      }
      relays.push(await start(placed(join(directory, name), sink.port)))
    }
    const pace = smoke ? short : full
    for (const load of pace.loads.slice(0, 2))
      for (const relay of relays) await flow(relay, sink, load, pace.warmUpCount)
    for (const load of pace.loads) output.table(titleOf(load), await measured(relays, sink, load, pace))
    output.note('Median (least–most) of the rounds; ratios are taken within a round.')
  } finally {
    for (const relay of relays) await relay.stop()
    await sink.stop()
  }
}

const sizeText = (bytes: number): string =>
  bytes < 2 ** 20 ? `${bytes / 1024} KiB` : `${bytes / 2 ** 20} MiB`

const titleOf = ({ messageBytes, sessionCount, isReused }: Load): string =>
  `${sizeText(messageBytes)}, ${sessionCount} sessions, ${isReused ? 'connections reused' : 'a connection for each message'}`

async function measured(relays: readonly Relay[], sink: Sink, load: Load, pace: Pace): Promise<Row[]> {
  const counts = new Map<Relay, number>()
  for (const relay of relays) {
    const probeCount = Math.ceil(pace.probeCount / Math.max(1, load.messageBytes / probedBytes))
    const { durationMs } = await flow(relay, sink, load, probeCount)
    counts.set(relay, Math.ceil((probeCount * pace.sliceMs) / durationMs))
  }
  const slices = new Map(relays.map((relay) => [relay, [] as FlowSlice[]]))
  for (let round = 0; round < pace.rounds; round++)
    for (let i = 0; i < relays.length; i++) {
      const relay = relays[(round + i) % relays.length]!
      slices.get(relay)!.push(await flow(relay, sink, load, counts.get(relay)!))
    }
  const [own = []] = slices.values()
  return relays.map((relay) => rowOf(relay, slices.get(relay)!, own, load))
}

/** @param first slices of the first relay, ours, of the same rounds */
function rowOf(
  { name, version }: Relay,
  slices: readonly FlowSlice[],
  first: readonly FlowSlice[],
  load: Load,
): Row {
  const of = (quantity: (slice: FlowSlice, round: number) => number): ReturnType<typeof spreadOf> =>
    spreadOf(slices.map(quantity))
  return {
    relay: name,
    version,
    ...load,
    'messages/s': of(rateOf),
    'waybill is × as fast': of((slice, round) => rateOf(first[round]!) / rateOf(slice)),
    'CPU µs/message': of(cpuOf),
    'waybill needs 1/× of the CPU': of((slice, round) => cpuOf(slice) / cpuOf(first[round]!)),
    ...(name === 'waybill' && {
      'queue thread CPU µs/message': of(
        ({ firstThreadCpuMs, messageCount }) => (firstThreadCpuMs * 1000) / messageCount,
      ),
    }),
    'RSS MiB': of(({ rssBytes }) => rssBytes / 1024 / 1024),
  }
}
