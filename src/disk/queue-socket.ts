/** A Unix socket's place in a queue's directory.
 * Invariant: a user without permission can connect at no moment. The socket is made in a directory
 * of mode 0700, gets its mode there, and then its name, which replaces the one of a dead process.
 * It is never removed: a name without a listener refuses connections, so a client learns that the
 * process has ended.
 * Why not a port: only the queue's owner can make names in the directory, while any process can
 * listen on a port after the relay. */
import { chmod, lstat, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { createConnection, type Server, type Socket } from 'node:net'
import { basename, join, resolve } from 'node:path'
import { WaybillError } from '../errors.js'
import { diskFailure, errnoOf } from './failure.js'

export interface QueueSocket {
  readonly name: 'control' | 'listening' | 'mailq'
  /** 0666: for all users that may look into the directory. */
  readonly mode: number
}

/** For verbs: users that may open the queue's files may operate it. */
export const controlSocket: QueueSocket = { name: 'control', mode: 0o600 }
/** For mail: an SMTP session, for all users that may look into the directory. */
export const listeningSocket: QueueSocket = { name: 'listening', mode: 0o666 }
/** For listings: for all users that may look into the directory. */
export const mailqSocket: QueueSocket = { name: 'mailq', mode: 0o666 }

/** The size of `sun_path`, with its final NUL. */
const pathBytesMax = 107

/** The caller holds the queue's lock. @throws WaybillError DISK_FAILED, DISK_FULL */
export async function bindQueueSocket(
  server: Server,
  given: string,
  { name, mode }: QueueSocket,
): Promise<void> {
  const directory = resolve(given)
  const path = join(directory, name)
  // A directory in which a socket was made and not yet given its name.
  const unfinished = new RegExp(`^${name}\\.[A-Za-z0-9]{6}$`)
  try {
    for (const other of await readdir(directory))
      if (unfinished.test(other)) await rm(join(directory, other), { recursive: true, force: true })
    const place = await mkdtemp(join(directory, `${name}.`))
    await within(directory, `${basename(place)}/socket`, (reachable) => listen(server, reachable))
    await chmod(join(place, 'socket'), mode)
    await rename(join(place, 'socket'), path)
    await rm(place, { recursive: true })
  } catch (error) {
    server.close()
    throw diskFailure('listen', path, errnoOf(error), error)
  }
}

/** @returns undefined without a listener
 * @throws WaybillError QUEUE_LOCKED when the relay has too many clients, DISK_FAILED when the
 * system refuses, by its mode too */
export async function connectQueueSocket(
  directory: string,
  { name }: QueueSocket,
): Promise<Socket | undefined> {
  const refusal = await refusedSocket(directory, name)
  if (refusal !== undefined) throw refusal
  try {
    return await within(directory, name, connect)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT' || errno === 'ECONNREFUSED') return undefined
    const path = join(directory, name)
    if (errno === 'EAGAIN')
      throw new WaybillError('QUEUE_LOCKED', 'the relay does not take more clients there now', { path })
    throw diskFailure('connect', path, errno, error)
  }
}

/** Behind a link, another relay would be asked, with the rights of the caller. */
async function refusedSocket(directory: string, name: string): Promise<WaybillError | undefined> {
  const path = join(directory, name)
  const [own, there] = await Promise.all([lstat(path), stat(directory)]).catch(() => [])
  if (own === undefined || there === undefined) return undefined
  if (own.isSymbolicLink()) return diskFailure('connect', path, 'ELOOP', new Error('a symbolic link'))
  if (own.uid === there.uid || there.uid === 0 || own.uid === 0) return undefined
  return diskFailure('connect', path, 'EPERM', new Error('another user’s'))
}

/** A path that fits: through a descriptor of the directory when it is too long itself. */
async function within<T>(
  directory: string,
  name: string,
  use: (reachable: string) => Promise<T>,
): Promise<T> {
  const path = join(directory, name)
  if (Buffer.byteLength(path) <= pathBytesMax) return use(path)
  const handle = await open(directory, 'r')
  try {
    return await use(`/proc/self/fd/${handle.fd}/${name}`)
  } finally {
    await handle.close()
  }
}

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })

const connect = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createConnection(path)
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
