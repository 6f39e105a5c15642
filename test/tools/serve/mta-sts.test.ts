/** `waybill serve --mta-sts`. The DNS of a relay that runs is this machine's, so that none is
 * started here with mail. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { MtaSts } from '../../../src/relay/tls/mta-sts.js'
import { parseArguments, type Arguments } from '../../../tools/commands/cli/command.js'
import { mtaStsOf, transportOf } from '../../../tools/commands/serve/delivery.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { requestOf, someData } from '../../relay/request.js'
import { zone } from '../../relay/zone.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('mta-sts')
})

const argumentsOf = (...args: string[]): Arguments => parseArguments(serve, ['--direct', ...args])

test('domains are asked with the option, and not by default', () => {
  expect(mtaStsOf(argumentsOf('--mta-sts', 'yes')).mtaSts).toBeInstanceOf(MtaSts)
  for (const args of [[], ['--mta-sts', 'no']]) expect(mtaStsOf(argumentsOf(...args))).toEqual({})
})

test('transports that follow each other at reloads ask together', async () => {
  const dns = zone({ '_mta-sts.example.net': { txt: 'silent' } })
  const surroundings = {
    relay: undefined,
    direct: true,
    places: [],
    hostname: 'relay.example.org',
    processLimit: 100,
    mtaSts: new MtaSts({ resolver: dns }),
  }
  for (const round of [1, 2]) {
    const transport = await transportOf(argumentsOf(), surroundings, undefined)
    const controller = new AbortController()
    const result = transport.deliver(requestOf(someData), controller.signal)
    await expect.poll(() => dns.questions).toEqual(['TXT _mta-sts.example.net'])
    controller.abort()
    expect(await result, `round ${round}`).toMatchObject({ kind: 'site' })
  }
  surroundings.mtaSts.close()
})

test.each([
  [['--relay', 'a', '--mta-sts', 'yes'], /--mta-sts is for mail that goes to the servers of each domain/],
  [['--mta-sts', 'no'], /--mta-sts is for mail that goes to the servers of each domain/],
  [['--direct', '--mta-sts', 'enforce'], /--mta-sts takes yes or no, not 'enforce'/],
])('wrong options are refused before anything is opened: %j', async (args, says) => {
  const ended = await runWaybill(['serve', '--queue', join(directory, 'queue'), ...args], { directory })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})
