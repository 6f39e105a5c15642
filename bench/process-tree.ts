/** Processor time and memory of a process and its descendants, ended ones too, from
 * /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/** A tick of the counters in /proc/PID/stat, milliseconds: USER_HZ is 100 on Linux. */
const tickMs = 10
const pageBytes = 4096

export interface TreeUsage {
  /** Processor time, user and system, milliseconds, to 10 ms a process. */
  readonly cpuMs: number
  /** Of that, the first thread of the first process; in Waybill the thread of the queue. */
  readonly firstThreadCpuMs: number
  readonly rssBytes: number
  readonly processCount: number
}

interface Stat {
  readonly parent: number
  readonly cpuTicks: number
  readonly endedChildrenTicks: number
  readonly rssPages: number
}

export function treeUsage(rootId: number): TreeUsage {
  const stats = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(name) : undefined
    if (stat !== undefined) stats.set(Number(name), stat)
  }
  let ticks = 0
  let pages = 0
  let processCount = 0
  for (const [id, stat] of stats) {
    if (!descends(id, rootId, stats)) continue
    ticks += stat.cpuTicks + stat.endedChildrenTicks
    pages += stat.rssPages
    processCount++
  }
  if (processCount === 0) throw new Error(`process ${rootId} is gone`)
  const first = statOf(`${rootId}/task/${rootId}`)
  return {
    cpuMs: ticks * tickMs,
    firstThreadCpuMs: (first?.cpuTicks ?? 0) * tickMs,
    rssBytes: pages * pageBytes,
    processCount,
  }
}

function descends(id: number, rootId: number, stats: ReadonlyMap<number, Stat>): boolean {
  for (let at: number | undefined = id; at !== undefined && at > 0; at = stats.get(at)?.parent)
    if (at === rootId) return true
  return false
}

/** @returns undefined when the process has ended */
function statOf(name: string): Stat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${name}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The command may hold blanks and parentheses; what follows its last one is fields 3 and on.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return {
    parent: field(4),
    cpuTicks: field(14) + field(15),
    endedChildrenTicks: field(16) + field(17),
    rssPages: field(24),
  }
}
