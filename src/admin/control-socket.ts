/** The control socket's place in the file system: `control` in the queue's directory, for its owner alone.
 * Invariant: there is no moment at which somebody else could connect. The socket is made within a directory of mode 0700, gets mode
 * 0600 there, and only then its name, which replaces whatever a dead process left under it. It is never removed: a name that
 * nobody listens behind refuses connections, and that is how a client learns that no relay runs. */
import { chmod, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { createConnection, type Server, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import { WaybillError } from '../errors.js'
import { diskFailure, errnoOf } from '../disk/failure.js'

export const controlName = 'control'
/** Of a directory in which a socket was made and not yet given its name. */
const unfinished: RegExp = /^control\.[A-Za-z0-9]{6}$/
/** What fits `sun_path`, with its final NUL. */
const pathBytesMax = 107

/** The caller holds the queue's lock. @throws WaybillError DISK_FAILED, DISK_FULL */
export async function bindControl(server: Server, directory: string): Promise<void> {
  const path = join(directory, controlName)
  try {
    for (const name of await readdir(directory))
      if (unfinished.test(name)) await rm(join(directory, name), { recursive: true, force: true })
    const place = await mkdtemp(join(directory, 'control.'))
    await within(directory, `${basename(place)}/socket`, (reachable) => listen(server, reachable))
    await chmod(join(place, 'socket'), 0o600)
    await rename(join(place, 'socket'), path)
    await rm(place, { recursive: true })
  } catch (error) {
    server.close()
    throw diskFailure('listen', path, errnoOf(error), error)
  }
}

/** @returns undefined when no relay listens there
 * @throws WaybillError QUEUE_LOCKED when the relay has too many clients, DISK_FAILED when the system refuses (mode 0600) */
export async function connectControl(directory: string): Promise<Socket | undefined> {
  try {
    return await within(directory, controlName, connect)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT' || errno === 'ECONNREFUSED') return undefined
    const path = join(directory, controlName)
    if (errno === 'EAGAIN')
      throw new WaybillError('QUEUE_LOCKED', 'the relay does not take more control clients now', { path })
    throw diskFailure('connect', path, errno, error)
  }
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
