/** What commands say to a user that may not read the queue. */
import { expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import type { Disk } from '../../../src/disk/disk.js'
import { WaybillError } from '../../../src/errors.js'
import { stat } from '../../../tools/commands/look/stat.js'
import { command, type Commanded } from '../../inspect/commanded.js'
import { temporaryDirectory } from '../../temporary-directory.js'

async function statWhere(place: { readonly directory: string; readonly errno: string }): Promise<Commanded> {
  const queue = await temporaryDirectory('forbidden')
  const refused = (): never => {
    throw new WaybillError('DISK_FAILED', 'permission denied', {
      path: 'queue.json',
      ...place,
      directory: place.directory === 'the queue' ? queue : place.directory,
    })
  }
  const forbidden: Disk = Object.assign(nodeDisk(queue), { list: refused, open: refused, stat: refused })
  return command(stat, ['--queue', queue], () => forbidden, Date.now())
}

test('a user that may not read the queue hears whose command it is', async () => {
  expect(await statWhere({ directory: 'the queue', errno: 'EACCES' })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("run it as the queue's owner, or as root") as string,
  })
})

test('another failure, or one of another place, has no such advice', async () => {
  const elsewhere = await statWhere({ directory: '/elsewhere', errno: 'EACCES' })
  const broken = await statWhere({ directory: 'the queue', errno: 'EIO' })
  expect(elsewhere.stderr + broken.stderr).not.toContain('owner')
})
