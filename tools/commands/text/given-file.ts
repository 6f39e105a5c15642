/** Reads a file that an option names.
 * Invariant: the read ends soon and with bounded memory, whatever the name is, because the next
 * reload waits for it.
 *    1. a table is replaced by a FIFO without a writer
 *    2. opening it holds a thread of Node's pool for ever
 *    3. so does every reload */
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '../../../src/disk/failure.js'

/** Some hundred thousand lines of a table. */
export const givenBytesMax: number = 16 * 1024 * 1024
/** For a writer that still runs, as in `--relay-auth <(pass show relay)`, milliseconds. */
const waitMsDefault = 30_000
const lookMs = 20

const pieceBytes = 64 * 1024

/** @throws Error of the system, or with the problem */
export async function givenFile(path: string, waitMs: number = waitMsDefault): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const isPipe = (await file.stat()).isFIFO()
    const pieces: Buffer[] = []
    let bytes = 0
    for (const startedAt = performance.now(); performance.now() - startedAt < waitMs;) {
      const piece = await pieceOf(file)
      // A pipe is at its end, too, before a writer begins.
      if (piece === undefined || (isPipe && piece.length + bytes === 0)) {
        await sleep(lookMs)
        continue
      }
      if (piece.length === 0) return Buffer.concat(pieces)
      bytes += piece.length
      if (bytes > givenBytesMax) throw new Error(`${path} is longer than ${givenBytesMax} bytes`)
      pieces.push(piece)
    }
    throw new Error(`${path} has not come to its end within ${waitMs / 1000} s`)
  } finally {
    await file.close()
  }
}

/** @returns undefined if there is nothing yet */
async function pieceOf(file: FileHandle): Promise<Buffer | undefined> {
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes))
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN') return undefined
    throw error
  }
}
