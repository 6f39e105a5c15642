/** Haraka with its defaults as a relay: a plugin trusts the client and names the sink as the
 * exchanger of every domain. It does not sync its queue files: mail after `250` may be lost with
 * the power, which is in its favour here. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPeers, peerDirectory, peersOf } from '../peers.js'
import { freePort, greeted } from './free-port.js'
import type { Relay, RelayOptions } from './relay.js'
import { started } from './started.js'

/** Why it cannot take part, or undefined. Installs it on the way. */
export const harakaMissing = (): Promise<string | undefined> => installPeers('relays')

const pluginOf = (sinkPort: number): string => `exports.hook_connect = (next, connection) => {
  connection.relaying = true
  next()
}
exports.hook_mail = (next) => next(OK)
exports.hook_rcpt = (next) => next(OK)
exports.hook_get_mx = (next) => next(OK, { priority: 0, exchange: '127.0.0.1', port: ${sinkPort} })
`

export async function haraka({ directory, sinkPort }: RelayOptions): Promise<Relay> {
  const port = await freePort()
  const packagePath = join(peerDirectory('relays'), 'node_modules', 'Haraka')
  cpSync(join(packagePath, 'config'), join(directory, 'config'), { recursive: true })
  for (const name of ['plugins', 'queue']) mkdirSync(join(directory, name))
  const write = (name: string, text: string): void => writeFileSync(join(directory, name), text)
  write('config/smtp.ini', `listen=127.0.0.1:${port}\n`)
  write('config/me', 'bench.example.org\n')
  write('config/plugins', 'to_sink\n')
  write('plugins/to_sink.js', pluginOf(sinkPort))
  const args = [join(packagePath, 'bin', 'haraka'), '-c', directory]
  const program = await started(process.execPath, args, join(directory, 'log'))
  await greeted(port)
  const [{ version } = { version: '' }] = peersOf('relays')
  return { name: 'haraka', version, port, processId: program.processId, stop: () => program.stop() }
}
