/** A queue of small segments where there is none: a copy of the one that was made before all tests
 * (../small-queue.ts). */
import { cpSync, existsSync } from 'node:fs'
import { inject } from 'vitest'
import type {} from '../small-queue.js'

export function laySmallQueue(directory: string): void {
  if (!existsSync(directory)) cpSync(inject('smallQueue'), directory, { recursive: true })
}
