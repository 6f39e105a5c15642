/** A bare passage: a process of Node that passes bytes on and writes them to the disk. It shows
 * what is left for a relay to lose or win. */
import { join } from 'node:path'
import { packageRoot } from '../machine.js'
import { greeted } from './free-port.js'
import type { Relay, RelayOptions } from './relay.js'
import { listeningPort, started } from './started.js'

export async function passage({ directory, sinkPort }: RelayOptions): Promise<Relay> {
  const log = join(directory, 'log')
  const child = join(packageRoot(), 'dist/bench/relays/passage-child.js')
  const program = await started(process.execPath, [child, `${sinkPort}`, join(directory, 'data')], log)
  const port = await listeningPort(log)
  await greeted(port)
  return {
    name: 'passage',
    version: process.version,
    port,
    processId: program.processId,
    stop: () => program.stop(),
  }
}
