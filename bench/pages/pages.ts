/** The cost of ten open pages of the console for a relay at full load. Mail goes from smtp-source
 * through the relay to smtp-sink, in turns with and without the pages. A page is what its browser
 * asks for: the live stream, and the destinations every five seconds. */
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'
import { cpuOf, flow, flowMissing, rateOf, Sink, type FlowSlice, type Load } from '../relays/mail-flow.js'
import type { Relay } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'

const pageCount = 10
const renewMs = 5000
const load: Load = { messageBytes: 1024, sessionCount: 20, isReused: true }
const warmUpCount = 6000

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const trouble = flowMissing()
  if (trouble !== undefined) throw new Error(trouble)
  chmodSync(directory, 0o711)
  const sink = await Sink.start()
  let relay: Relay | undefined
  try {
    relay = await waybill({ directory, sinkPort: sink.port, more: ['--console', '127.0.0.1:0'] })
    const messageCount = smoke ? 200 : 20_000
    await flow(relay, sink, load, smoke ? 100 : warmUpCount)
    const slices = { none: [] as FlowSlice[], open: [] as FlowSlice[] }
    for (let round = 0; round < (smoke ? 1 : 9); round++)
      for (const way of round % 2 === 0 ? (['none', 'open'] as const) : (['open', 'none'] as const)) {
        const pages = way === 'open' ? new Pages(directory) : undefined
        slices[way].push(await flow(relay, sink, load, messageCount))
        await pages?.close()
      }
    output.table(pagesTitle, [rowOf(0, slices.none, slices.none), rowOf(pageCount, slices.open, slices.none)])
  } finally {
    await relay?.stop()
    await sink.stop()
  }
}

const pagesTitle = 'the relay at full load while pages of the console are open'

/** @param without slices of the same rounds without pages */
const rowOf = (pages: number, slices: readonly FlowSlice[], without: readonly FlowSlice[]): Row => ({
  pages,
  'messages/s': spreadOf(slices.map(rateOf)),
  'CPU µs/message': spreadOf(slices.map(cpuOf)),
  'CPU of no page': spreadOf(slices.map((slice, i) => cpuOf(slice) / cpuOf(without[i]!))),
})

/** Open pages, as the relay sees them. */
class Pages {
  readonly #stop = new AbortController()
  readonly #ended: Promise<unknown>

  constructor(directory: string) {
    const [, origin = ''] = /^console on (\S+)\/$/m.exec(readFileSync(join(directory, 'log'), 'utf8')) ?? []
    const token = readFileSync(join(directory, 'queue', 'http-token'), 'utf8').trim()
    const { signal } = this.#stop
    const ask = (path: string): Promise<Response> =>
      fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` }, signal })
    const pages = Array.from({ length: pageCount }, () => [this.#watch(ask), this.#renew(ask)]).flat()
    this.#ended = Promise.all(pages)
  }

  /** @throws Error of a page that was not answered */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  async #watch(ask: (path: string) => Promise<Response>): Promise<void> {
    await this.#untilClosed(async () => {
      const { ok, status, body } = await ask('/v1/queue/stream?destinations=100')
      if (!ok || body === null) throw new Error(`a page is answered with ${status}`)
      for await (const _ of body) continue
    })
  }

  async #renew(ask: (path: string) => Promise<Response>): Promise<void> {
    await this.#untilClosed(async () => {
      while (!this.#stop.signal.aborted) {
        await (await ask('/v1/destinations?limit=1000')).arrayBuffer()
        await sleep(renewMs, undefined, { signal: this.#stop.signal })
      }
    })
  }

  async #untilClosed(body: () => Promise<void>): Promise<void> {
    try {
      await body()
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error
    }
  }
}
