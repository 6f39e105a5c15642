/** PostgreSQL servers on loopback, for tests: one primary and its standbys, in a temporary
 * directory.
 * Invariant: they are started, killed and removed here and by nothing else; the system's own
 * cluster is not touched. Run by root they run as the user `postgres`, which refuses to be root. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Where the newest server's programs are; undefined: there is none. */
function postgresPrograms(): string | undefined {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return undefined
  const versions = readdirSync(root).map(Number).filter(Number.isInteger)
  const newest = Math.max(...versions)
  const programs = join(root, String(newest), 'bin')
  return newest >= 15 && existsSync(join(programs, 'initdb')) ? programs : undefined
}

/** A sentence for a test that is skipped; undefined: the servers can be run. */
export const postgresMissing = (): string | undefined =>
  postgresPrograms() === undefined
    ? 'PostgreSQL 15 or later is not installed (Debian: postgresql)'
    : undefined

/** What PostgreSQL runs as. */
function identity(): { uid?: number; gid?: number } {
  if (process.geteuid?.() !== 0) return {}
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export interface Server {
  readonly name: string
  readonly port: number
  readonly directory: string
}

export class Servers {
  readonly root: string
  readonly servers: Server[] = []
  readonly #programs: string
  readonly #identity = identity()

  private constructor(root: string, programs: string) {
    this.root = root
    this.#programs = programs
  }

  /** A primary `n1` and standbys `n2`, `n3`…; a commit waits for one of them, if there are any. */
  static async start(standbyCount: number): Promise<Servers> {
    const programs = postgresPrograms()
    if (programs === undefined) throw new Error(postgresMissing())
    const root = await mkdtemp(join(tmpdir(), 'waybill-postgres-'))
    const servers = new Servers(root, programs)
    const { uid, gid } = servers.#identity
    if (uid !== undefined && gid !== undefined) chownSync(root, uid, gid)
    try {
      await servers.#begin(standbyCount)
    } catch (error) {
      await servers.remove()
      throw error
    }
    return servers
  }

  async #begin(standbyCount: number): Promise<void> {
    const primary = await this.#make('n1')
    await this.#program('initdb', ['-D', primary.directory, '-A', 'trust', '-U', 'postgres', '-N'])
    const names = Array.from({ length: standbyCount + 1 }, (_, i) => `n${i + 1}`)
    const wait = standbyCount === 0 ? '' : `ANY 1 (${names.join(', ')})`
    await appendFile(join(primary.directory, 'postgresql.conf'), settings(wait))
    await this.launch(primary)
    for (const name of names.slice(1)) await this.addStandby(primary, name)
  }

  async #make(name: string): Promise<Server> {
    const server = { name, port: await freePort(), directory: join(this.root, name) }
    this.servers.push(server)
    return server
  }

  /** A copy of the primary that follows it. */
  async addStandby(primary: Server, name: string): Promise<Server> {
    const server = this.server(name) ?? (await this.#make(name))
    await rm(server.directory, { recursive: true, force: true })
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    const slot = `to_${name}`
    await this.ask(
      primary,
      `SELECT pg_create_physical_replication_slot('${slot}') WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '${slot}')`,
    )
    await this.#program('pg_basebackup', [
      ...from,
      '-D',
      server.directory,
      '-c',
      'fast',
      '-X',
      'stream',
      '-R',
    ])
    await this.follow(server, primary)
    await this.launch(server)
    return server
  }

  /** Written before the standby starts, or told to one that runs. */
  async follow(server: Server, primary: Server): Promise<void> {
    const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${server.name}`
    const text = `primary_conninfo = '${conninfo}'\nprimary_slot_name = 'to_${server.name}'\n`
    await writeFile(join(server.directory, 'postgresql.auto.conf'), text)
  }

  server(name: string): Server | undefined {
    return this.servers.find((server) => server.name === name)
  }

  /** Starts a server, and settles when it answers. */
  async launch(server: Server): Promise<void> {
    const { directory, port } = server
    const options = [
      ['-D', directory],
      ['-p', String(port)],
      ['-c', `cluster_name=${server.name}`],
    ].flat()
    const log = join(this.root, `${server.name}.log`)
    const command = `exec "$0" "$@" >>"${log}" 2>&1`
    const words = ['-c', command, join(this.#programs, 'postgres'), ...options]
    const child = spawn('/bin/sh', words, {
      ...this.#identity,
      cwd: this.root,
      stdio: 'ignore',
      detached: true,
    })
    child.unref()
    for (let tries = 0; tries < 600; tries++) {
      if (await this.#isReady(server)) return
      await sleep(50)
    }
    throw new Error(`${server.name} does not start: ${readFileSync(log, 'utf8').slice(-2000)}`)
  }

  async #isReady({ port }: Server): Promise<boolean> {
    const words = ['-h', '127.0.0.1', '-p', String(port), '-q', '-d', 'postgres', '-U', 'postgres']
    return run(join(this.#programs, 'pg_isready'), words).then(
      () => true,
      () => false,
    )
  }

  /** The process that has the server's directory; undefined: it does not run. */
  pidOf({ directory }: Server): number | undefined {
    try {
      const [pid = ''] = readFileSync(join(directory, 'postmaster.pid'), 'latin1').split('\n')
      process.kill(Number(pid), 0)
      return Number(pid)
    } catch {
      // No file, or no process: the same.
      return undefined
    }
  }

  /** A signal to the server and all its processes. */
  signal(server: Server, signal: NodeJS.Signals): void {
    const pid = this.pidOf(server)
    if (pid === undefined) return
    const all = [pid, ...childrenOf(pid)]
    // The first one first, so that it starts no other.
    for (const each of all)
      try {
        process.kill(each, signal)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }

  /** As a machine dies: nothing of it is left that could answer. */
  async kill(server: Server): Promise<void> {
    const pid = this.pidOf(server)
    this.signal(server, 'SIGKILL')
    while (pid !== undefined && isThere(pid)) await sleep(10)
    await rm(join(server.directory, 'postmaster.pid'), { force: true })
  }

  async promote(server: Server): Promise<void> {
    await this.ask(server, 'SELECT pg_promote(true, 30)')
  }

  /** Has the server read its settings again. */
  async reload(server: Server): Promise<void> {
    await this.ask(server, 'SELECT pg_reload_conf()')
  }

  /** @returns the first column of the first row */
  async ask({ port }: Server, text: string): Promise<string> {
    const words = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-d', 'postgres', '-Atqc', text]
    const { stdout } = await run('psql', words, { cwd: '/' })
    return stdout.trim()
  }

  /** All of them, in the order in which they were made. */
  get url(): string {
    const hosts = this.servers.map(({ port }) => `127.0.0.1:${port}`)
    return `postgres://postgres@${hosts.join(',')}/postgres`
  }

  async remove(): Promise<void> {
    for (const server of this.servers) await this.kill(server)
    await rm(this.root, { recursive: true, force: true })
  }

  async #program(name: string, words: readonly string[]): Promise<void> {
    await run(join(this.#programs, name), [...words], { ...this.#identity, cwd: this.root })
  }
}

const settings = (wait: string): string => `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
synchronous_standby_names = '${wait}'
hot_standby = on
max_connections = 60
max_wal_senders = 8
max_replication_slots = 8
max_slot_wal_keep_size = '2GB'
wal_keep_size = '256MB'
shared_buffers = '64MB'
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
log_min_messages = warning
`

function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`
  return existsSync(path) ? readFileSync(path, 'latin1').split(' ').filter(Boolean).map(Number) : []
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // No such process.
    return false
  }
}
