/** The disk's own limit: a loop that writes the bytes of as many messages as there are
 * producers with one synced write, and again. No frame, no checksum, no promise, no state:
 * this is the upper bound. */
import fs from 'node:fs'
import { join } from 'node:path'
import type { Contender, ContenderOptions, Slice } from './contender.js'
import { deviceBytes } from './device-bytes.js'
import { roundUp, zeroedFile } from './zeroed-file.js'

const fileBytes = 64 * 1024 * 1024

export async function bare({ directory, messageBytes }: ContenderOptions): Promise<Contender> {
  const descriptor = await zeroedFile(join(directory, 'bare'), fileBytes)
  let offset = 0
  return {
    slice: async (producerCount, durationMs) => {
      const batch = Buffer.alloc(roundUp(producerCount * messageBytes), 'waybill ')
      const cpuBefore = process.cpuUsage()
      const deviceBefore = await deviceBytes(directory)
      const startedAt = performance.now()
      let syncCount = 0
      const slice = await new Promise<Omit<Slice, 'deviceBytes'>>((resolve, reject) => {
        const durations: number[] = []
        const write = (): void => {
          if (offset + batch.length > fileBytes) offset = 0
          const at = performance.now()
          fs.write(descriptor, batch, 0, batch.length, offset, (error, count) => {
            if (error !== null || count !== batch.length) return reject(error ?? new Error('short write'))
            const now = performance.now()
            durations.push(now - at)
            offset += batch.length
            syncCount++
            if (now - startedAt < durationMs) return write()
            const cpu = process.cpuUsage(cpuBefore)
            durations.sort((a, b) => a - b)
            resolve({
              messageCount: syncCount * producerCount,
              durationMs: now - startedAt,
              cpuMs: (cpu.user + cpu.system) / 1000,
              syncCount,
              writtenBytes: syncCount * batch.length,
              p50Ms: durations[durations.length >> 1] ?? 0,
              p99Ms: durations[Math.floor(durations.length * 0.99)] ?? 0,
            })
          })
        }
        write()
      })
      return { ...slice, deviceBytes: (await deviceBytes(directory)) - deviceBefore }
    },
    close: async () => fs.closeSync(descriptor),
  }
}
