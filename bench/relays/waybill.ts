/** `waybill serve` with its defaults, run by `node` as `npm start` does, its log in a file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../machine.js'
import { greeted } from './free-port.js'
import type { Relay, RelayOptions } from './relay.js'
import { listeningPort, started } from './started.js'

/** @param more arguments of `serve`
 * @param isDirect it looks up where mail goes, and there is no port of a sink */
export async function waybill({
  directory,
  sinkPort,
  more = [],
  isDirect = false,
}: RelayOptions & { readonly more?: readonly string[]; readonly isDirect?: boolean }): Promise<Relay> {
  const log = join(directory, 'log')
  const command = 'dist/bundle/waybill.js'
  const args = ['--queue', join(directory, 'queue'), '--listen', '127.0.0.1:0']
  const { version, scripts } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    readonly version: string
    readonly scripts: { readonly start: string }
  }
  const switches = / node (.*) dist\/bundle\/waybill\.js/.exec(scripts.start)?.[1]
  if (switches === undefined) throw new Error(`npm start does not run ${command}: ${scripts.start}`)
  const program = await started(
    process.execPath,
    [
      ...switches.split(' '),
      join(packageRoot(), command),
      'serve',
      ...args,
      ...(isDirect ? ['--direct'] : ['--relay', `127.0.0.1:${sinkPort}`]),
      ...more,
    ],
    log,
  )
  const port = await listeningPort(log)
  await greeted(port)
  return { name: 'waybill', version, port, processId: program.processId, stop: () => program.stop() }
}
