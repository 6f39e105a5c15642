/** The processor time of a message in the thread of a queue, by the part of the source: workload R
 * at 100 producers. The profile counts what a function does itself, calls into the runtime
 * included; it takes time, too, so shares say more than times. */
import { Session, type Profiler } from 'node:inspector/promises'
import type { BenchArguments } from '../bench.js'
import { contenders } from '../contenders/by-name.js'
import { domainCount } from '../contenders/payloads.js'
import type { Row } from '../output.js'

const producerCount = 100
const samplingMicroseconds = 200

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const engine = await contenders.engine({
    directory,
    messageBytes: 1024,
    recipientCount: 1,
    workload: 'R',
    domainCount,
    deferredOneIn: 0,
    backlogCount: 0,
  })
  const durationMs = smoke ? 50 : 4000
  await engine.slice(producerCount, durationMs)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: samplingMicroseconds })
  await session.post('Profiler.start')
  const { messageCount } = await engine.slice(producerCount, durationMs)
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  await engine.close()
  output.table('processor time of the thread, by the part of the source', rowsOf(profile, messageCount))
}

function rowsOf(profile: Profiler.Profile, messageCount: number): Row[] {
  const spent = microsecondsByPart(profile)
  const idle = spent.get(idlePart) ?? 0
  spent.delete(idlePart)
  const busy = [...spent.values()].reduce((sum, one) => sum + one, 0)
  const rows = [...spent].sort(([, a], [, b]) => b - a)
  return [
    ...rows.map(([part, us]) => ({ part, 'of all %': (us / busy) * 100, 'µs/message': us / messageCount })),
    { part: 'waits for the disk', 'of all %': null, 'µs/message': idle / messageCount },
  ]
}

function microsecondsByPart({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Map<string, number> {
  const partOfNode = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]))
  const spent = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const part = partOfNode.get(id)!
    spent.set(part, (spent.get(part) ?? 0) + timeDeltas[i]!)
  }
  return spent
}

const idlePart = '(idle)'

/** Of the sources, by their rooms; of the engine, by its rooms. */
function partOf({ functionName, url }: Profiler.Profile['nodes'][number]['callFrame']): string {
  if (functionName === idlePart) return idlePart
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (functionName === 'crc32' || url.endsWith('base/checksum.js')) return 'checksums'
  if (url.includes('/dist/bench/')) return 'the bench: producers and transport'
  const [, room] = /\/dist\/src\/(engine\/[^/]+|[^/]+)/.exec(url) ?? []
  return room === undefined ? 'Node and V8' : `src/${room.replace(/\.js$/, '')}`
}
