import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openQueue, type OpenOptions } from '../../../src/index.js'

const usual: OpenOptions = {
  transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
  route: () => ({ transport: 'none', nexthop: 'none' }),
}

test.each<[string, unknown]>([
  ['no options', undefined],
  ['null', null],
  ['a limit that is null', { ...usual, limits: [null] }],
  ['an author that is a name', { ...usual, reportAuthor: 'MAILER-DAEMON' }],
  ['an author in letters', { ...usual, reportAuthor: 'ü@example.org' }],
  ['shaping by nothing', { ...usual, shaping: [undefined] }],
])('openQueue refuses %s with a code', async (_, options) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await expect(openQueue(directory, options as OpenOptions)).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  })
})
