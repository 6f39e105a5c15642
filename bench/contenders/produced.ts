/** Producers: each submits a message, waits until it is durable, and submits the next.
 * Invariant: a slice ends when everything begun in it is durable, so unfinished work
 * does not count. */
import type { Contender, Slice, Store } from './contender.js'
import { deviceBytes } from './device-bytes.js'

/** Latencies kept of one slice; more are counted and not kept. */
const latencyCountMax = 1_000_000

/** @param directory on the disk whose bytes are counted */
export function produced(store: Store, directory: string): Contender {
  const latencies = new Float64Array(latencyCountMax)
  return {
    slice: async (producerCount, durationMs, messageCountMax = Infinity) => {
      const before = await deviceBytes(directory)
      const measured = await slice(store, latencies, { producerCount, durationMs, messageCountMax })
      return { ...measured, deviceBytes: (await deviceBytes(directory)) - before }
    },
    close: () => store.close(),
  }
}

async function slice(
  store: Store,
  latencies: Float64Array,
  {
    producerCount,
    durationMs,
    messageCountMax,
  }: { readonly producerCount: number; readonly durationMs: number; readonly messageCountMax: number },
): Promise<Omit<Slice, 'deviceBytes'>> {
  let messageCount = 0
  let begunCount = 0
  const syncsBefore = store.syncs()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const until = startedAt + durationMs
  const produce = async (): Promise<void> => {
    for (let now = performance.now(); now < until && begunCount < messageCountMax;) {
      begunCount++
      await store.submit()
      const durableAt = performance.now()
      if (messageCount < latencyCountMax) latencies[messageCount] = durableAt - now
      messageCount++
      now = durableAt
    }
  }
  await Promise.all(Array.from({ length: producerCount }, produce))
  await store.drained()
  const endedAt = performance.now()
  const cpu = process.cpuUsage(cpuBefore)
  const syncs = store.syncs()
  const kept = latencies.subarray(0, Math.min(messageCount, latencyCountMax)).slice().sort()
  return {
    messageCount,
    durationMs: endedAt - startedAt,
    cpuMs: (cpu.user + cpu.system) / 1000,
    syncCount: syncs.syncCount - syncsBefore.syncCount,
    writtenBytes: syncs.writtenBytes - syncsBefore.writtenBytes,
    p50Ms: kept[kept.length >> 1] ?? 0,
    p99Ms: kept[Math.floor(kept.length * 0.99)] ?? 0,
  }
}
