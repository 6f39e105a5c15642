/** The processor time of this process: the same on a busy machine as on a quiet one. */

/** @returns milliseconds of a processor, not those in which it waits for one */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
