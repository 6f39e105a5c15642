/** The machine and the load of a measurement: printed with every result, because a figure without
 * its machine says nothing. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Row } from './output.js'

/** @param directory on the disk that is measured */
export function machine(directory: string): Row {
  const { device, fileSystem, options } = mountOf(realpathSync(directory))
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    // The load: above the number of cores, absolute figures mean little.
    loadAverage: loadavg()[0] ?? 0,
    memoryMiB: Math.round(totalmem() / 1024 / 1024),
    kernel: `${type()} ${release()}`,
    node: process.version,
    v8: process.versions.v8,
    fileSystem: `${fileSystem} (${options})`,
    disk: diskOf(device),
    packages: listed(packageVersions(packageRoot())),
    peers: listed(['stores', 'relays'].flatMap((group) => peerVersions(group))),
  }
}

const listed = (versions: readonly Version[]): string =>
  versions.map(([name, version]) => `${name} ${version}`).join(', ')

interface Mount {
  readonly device: string
  readonly fileSystem: string
  readonly options: string
}

/** The mount with the longest path that holds the directory. Systems without /proc give no
 * answer. */
function mountOf(directory: string): Mount {
  let best = ''
  let mount: Mount = { device: 'unknown', fileSystem: 'unknown', options: '' }
  for (const line of linesOf('/proc/self/mounts')) {
    const [device, path, fileSystem, options] = line.split(' ')
    if (device === undefined || path === undefined || fileSystem === undefined) continue
    const holds = path === '/' || directory === path || directory.startsWith(`${path}/`)
    if (!holds || path.length < best.length) continue
    best = path
    mount = { device, fileSystem, options: options ?? '' }
  }
  return mount
}

/** The kernel's data of the block device behind a mount. */
function diskOf(device: string): string {
  const name = device.replace(/^\/dev\//, '').replace(/p?\d+$/, '')
  const queue = `/sys/block/${name}/queue`
  const [cache] = linesOf(`${queue}/write_cache`)
  if (cache === undefined) return device
  const [rotational] = linesOf(`${queue}/rotational`)
  const [scheduler] = linesOf(`${queue}/scheduler`)
  const [model] = linesOf(`/sys/block/${name}/device/model`)
  const chosen = /\[(.+)\]/.exec(scheduler ?? '')?.[1] ?? 'none'
  return `${name}${model === undefined ? '' : ` ${model.trim()}`}, ${cache}, rotational ${rotational}, scheduler ${chosen}`
}

type Version = readonly [name: string, version: string]

/** This package and what its package.json names, as installed. */
const packageVersions = (root: string): Version[] => [
  ['waybill', packageAt(root).version],
  ...versionsNamed(root),
]

/** The installed peers. */
const peerVersions = (group: string): Version[] => versionsNamed(join(packageRoot(), 'bench', 'peers', group))

function versionsNamed(root: string): Version[] {
  const { dependencies = {}, devDependencies = {} } = packageAt(root)
  return [...Object.keys(dependencies), ...Object.keys(devDependencies)].sort().map((name): Version => {
    try {
      return [name, packageAt(join(root, 'node_modules', name)).version]
    } catch {
      return [name, 'not installed']
    }
  })
}

interface Package {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const packageAt = (directory: string): Package =>
  JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Package

/** The directory of our package.json, from the sources as from dist/. */
export function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url))
  while (!readdirSync(directory).includes('package.json')) directory = dirname(directory)
  return directory
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}

/** The command, as it is built. */
export const waybillPath = (): string => join(packageRoot(), 'dist', 'tools', 'waybill.js')
