/** Packages that only benches need: bench/peers/stores and bench/peers/relays, each with its lock
 * file.
 * Invariant: a peer takes part in the version of that package.json, or is reported as missing.
 * Nothing is installed where a user of the package would find it. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from './machine.js'

export type PeerGroup = 'stores' | 'relays'

const argumentsOf: Readonly<Record<PeerGroup, readonly string[]>> = {
  stores: [],
  // Haraka's plugins: none of them takes part.
  relays: ['--omit=optional'],
}

export const peerDirectory = (group: PeerGroup): string => join(packageRoot(), 'bench', 'peers', group)

interface Package {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const packageAt = (directory: string): Package =>
  JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Package

/** The packages of a group and whether each is there, in its version. */
export function peersOf(group: PeerGroup): { name: string; version: string; isInstalled: boolean }[] {
  const directory = peerDirectory(group)
  return Object.entries(packageAt(directory).dependencies ?? {}).map(([name, version]) => {
    const own = join(directory, 'node_modules', name)
    const isInstalled = existsSync(join(own, 'package.json')) && packageAt(own).version === version
    return { name, version, isInstalled }
  })
}

/** Installs what is missing.
 * @returns a sentence about what could not be installed, or undefined */
export async function installPeers(group: PeerGroup): Promise<string | undefined> {
  if (peersOf(group).every(({ isInstalled }) => isInstalled)) return undefined
  console.error(`installing bench/peers/${group} …`)
  try {
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', ...argumentsOf[group]], {
      cwd: peerDirectory(group),
      env: { ...process.env, ...headersOfThisNode() },
    })
    return undefined
  } catch (error) {
    const said = (error as { readonly stderr?: string }).stderr ?? String(error)
    const [reason = said] = /npm error .*/.exec(said) ?? []
    return `bench/peers/${group} could not be installed: ${reason}`
  }
}

/** Compilers use the headers beside this node, if there are any, and fetch none. */
function headersOfThisNode(): NodeJS.ProcessEnv {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include', 'node', 'node.h')) ? { npm_config_nodedir: prefix } : {}
}
