/** Mail to a thousand domains, whose mail hosts are looked up. Resolver, hosts and relays are in a
 * separate network, and in a process tree that ends with the bench: port 53 and 25 are free
 * there, and nothing of it is left behind. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Row } from '../output.js'

const programs = ['/usr/sbin/dnsmasq', '/usr/bin/unshare', '/usr/sbin/ip', '/usr/sbin/postfix']
const outputBytesMax = 16 * 1024 * 1024

function lack(): string | undefined {
  const missing = programs.find((path) => !existsSync(path))
  if (missing !== undefined)
    return `${missing} is not there (Debian: dnsmasq-base, util-linux, iproute2, postfix)`
  return spawnSync('unshare', ['--mount', '--net', 'true']).status === 0
    ? undefined
    : 'only root may make a network'
}

/** @param note called with the reason when nothing is measured
 * @returns a row for each relay */
export async function toDomains(
  directory: string,
  note: (text: string) => void,
  isSmoke: boolean,
): Promise<readonly Row[]> {
  const reason = lack()
  if (reason !== undefined) {
    note(`${reason}: mail to a thousand domains was not measured.`)
    return []
  }
  const own = join(directory, 'domains')
  mkdirSync(own)
  const resolvers = join(own, 'resolv.conf')
  writeFileSync(resolvers, 'nameserver 127.0.0.1\n')
  // The shell stays, as the first process: it takes leave of daemons that end.
  const script = 'mount --bind "$1" /etc/resolv.conf && ip link set lo up && "$2" "$3" "$4" "$5" && true'
  const child = fileURLToPath(new URL('domains-child.js', import.meta.url))
  const words = [resolvers, process.execPath, child, own, isSmoke ? 'smoke' : 'full']
  const apart = '--mount --net --pid --fork --kill-child --mount-proc --'.split(' ')
  const { stdout } = await promisify(execFile)('unshare', [...apart, 'sh', '-c', script, 'sh', ...words], {
    maxBuffer: outputBytesMax,
  })
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n[') + 1)) as Row[]
}
