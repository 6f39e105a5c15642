/** A separate Postfix with the machine's programs and the bench's configuration, queue and port.
 * All defaults stay: syncs, limits, connection cache, `in_flow_delay`. It writes no log, which is
 * in its favour. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, greeted } from './free-port.js'
import type { Relay, RelayOptions } from './relay.js'

const execute = promisify(execFile)
const endMsMax = 15_000

/** Services of the usual master.cf, none in a chroot: name, type, private, unprivileged, chroot,
 * wakeup, processes, command. */
const services = [
  'pickup unix n - n 60 1 pickup',
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 300 1 qmgr',
  'tlsmgr unix - - n 1000? 1 tlsmgr',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'verify unix - - n - 1 verify',
  'flush unix n - n 1000? 0 flush',
  'proxymap unix - - n - - proxymap',
  'smtp unix - - n - - smtp',
  'relay unix - - n - - smtp',
  'showq unix n - n - - showq',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
]

/** Why it cannot take part, or undefined. */
export function postfixMissing(): string | undefined {
  if (!existsSync('/usr/sbin/postfix')) return 'Postfix is not installed (/usr/sbin/postfix)'
  return process.getuid?.() === 0 ? undefined : 'Postfix has to be started by root'
}

/** @param more settings, `NAME = VALUE`
 * @param files in the directory of its configuration, with their texts */
export async function postfix({
  directory,
  sinkPort,
  more = [],
  files = {},
}: RelayOptions & {
  readonly more?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
}): Promise<Relay> {
  const config = join(directory, 'config')
  const queue = join(directory, 'queue')
  const port = await freePort()
  for (const path of [config, queue, join(directory, 'data')]) mkdirSync(path)
  // Its daemons are another user, which must be able to read this.
  chmodSync(directory, 0o711)
  const { stdout } = await execute('postconf', ['-d', 'daemon_directory', 'command_directory'])
  const settings = [
    stdout.trim(),
    'compatibility_level = 3.6',
    `queue_directory = ${queue}`,
    `data_directory = ${join(directory, 'data')}`,
    'syslog_name = waybill-bench-postfix',
    'myhostname = bench.example.org',
    'mydestination =',
    'alias_maps =',
    'alias_database =',
    'inet_interfaces = 127.0.0.1',
    'inet_protocols = ipv4',
    'mynetworks = 127.0.0.0/8',
    `relayhost = [127.0.0.1]:${sinkPort}`,
    ...more,
  ]
  writeFileSync(join(config, 'main.cf'), `${settings.join('\n')}\n`)
  const listener = `127.0.0.1:${port} inet n - n - - smtpd`
  writeFileSync(join(config, 'master.cf'), `${[listener, ...services].join('\n')}\n`)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(config, name)), { recursive: true })
    writeFileSync(join(config, name), text)
  }
  await execute('chown', ['postfix', join(directory, 'data')])
  await execute('postfix', ['-c', config, 'start'])
  await greeted(port)
  const processId = Number(readFileSync(join(queue, 'pid', 'master.pid'), 'utf8'))
  const { stdout: version } = await execute('postconf', ['-h', 'mail_version'])
  return { name: 'postfix', version: version.trim(), port, processId, stop: () => stop(config, processId) }
}

async function stop(config: string, processId: number): Promise<void> {
  await execute('postfix', ['-c', config, 'stop']).catch(() => undefined)
  const until = performance.now() + endMsMax
  while (existsSync(`/proc/${processId}`)) {
    if (performance.now() > until) throw new Error(`Postfix does not end: process ${processId}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
