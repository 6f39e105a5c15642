/** Zeroes to be written, the same for all files.
 * Why: fresh memory costs more than what is written from it, since its pages come one by one. A
 * start wrote 42 MiB of zeroes behind its lane logs in 165 ms, each log's from its own memory, and
 * writes them in 10 from these.
 * Invariant: nobody writes into them. */
let shared = Buffer.alloc(0)

/** @param bytes at most a few MiB: they stay in memory */
export function zeroes(bytes: number): Buffer {
  if (shared.length < bytes) shared = Buffer.alloc(bytes)
  return shared.subarray(0, bytes)
}
