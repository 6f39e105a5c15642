import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { diskContract } from './contract.js'

diskContract("Node's disk", async () => {
  const parent = await mkdtemp(join(tmpdir(), 'waybill-disk-'))
  const root = join(parent, 'queue')
  const disk = nodeDisk(root)
  return {
    disk,
    reopen: () => nodeDisk(root),
    settle: (promise) => promise,
    remove: () => {
      disk.abandon()
      return rm(parent, { recursive: true, force: true })
    },
  }
})
