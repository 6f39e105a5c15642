/** Limits of the process and of the machine are not the disk's fault, and an error says so. */
import { expect, test } from 'vitest'
import { diskFailure } from '../../src/disk/failure.js'

test.each([
  ['EFBIG', 'the file would be larger than this process may write (`ulimit -f`)'],
  ['ENOMEM', 'the system has no memory for it'],
])('%s names what an operator can change', (errno, reason) => {
  expect(diskFailure('write', 'journal/spare-1.fill', errno).message).toContain(reason)
})
