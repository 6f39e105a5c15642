/** The password that the file of PGPASSFILE, or ~/.pgpass, has for a connection, as PostgreSQL's
 * own clients read it (libpq, "The Password File"). `pg` leaves that to the package pgpass, which
 * takes the last line that fits, not the first; it warns of it each time, and from its release 9 on
 * reads no file. */
import { open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { WaybillError } from '../../errors.js'

/** What a line of the file is about. */
export interface Login {
  readonly host: string
  readonly port: number
  readonly database?: string | undefined
  readonly user?: string | undefined
}

const forOthers = 0o077

/** Of a server's socket, by default: for those a line says `localhost`. */
const socketDirectories: ReadonlySet<string> = new Set(['/var/run/postgresql', '/run/postgresql', '/tmp'])

/** @returns undefined: there is no file, or no line that fits
 * @throws WaybillError OPTION_INVALID: others may read the file */
export async function filedPassword(login: Login): Promise<string | undefined> {
  const path = process.env['PGPASSFILE'] ?? join(homedir(), '.pgpass')
  // As for libpq: what cannot be opened is not there.
  const file = await open(path).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const stat = await file.stat()
    if (!stat.isFile()) return undefined
    if ((stat.mode & forOthers) !== 0)
      throw new WaybillError('OPTION_INVALID', `others may read the password file ${path}: chmod 600 it`, {
        option: 'store',
        path,
      })
    return passwordIn(await file.readFile('utf8'), login)
  } finally {
    await file.close()
  }
}

/** Lines HOST:PORT:DATABASE:USER:PASSWORD; `*` is any, `\` takes the meaning from a colon or from
 * itself, and the first line that fits is the one. */
export function passwordIn(text: string, { host, port, database, user }: Login): string | undefined {
  const asked = [host, String(port), database, user]
  const isLocal = (field: string, i: number): boolean =>
    i === 0 && field === 'localhost' && socketDirectories.has(host)
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = line.match(/(?:^|:)(?:\\.|[^:\\])*/g) ?? []
    const [password, ...rest] = fields.splice(4).map(fieldOf)
    const fits = fields
      .map(fieldOf)
      .every((field, i) => field === '*' || field === asked[i] || isLocal(field, i))
    if (fits && password !== undefined && password !== '') return [password, ...rest].join(':')
  }
  return undefined
}

const fieldOf = (text: string): string => text.replace(/^:/, '').replace(/\\(.)/g, '$1')
