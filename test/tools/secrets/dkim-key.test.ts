import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { keyOfRecord } from '../../relay/dkim/dkim-verifier.js'
import { runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('dkim-key')
})

const dkimKey = (...args: string[]): Promise<Ended> => runWaybill(['dkim-key', ...args], { directory })

test.each<[string, string[], object]>([
  ['RSA of 2048 bits', [], { asymmetricKeyType: 'rsa', asymmetricKeyDetails: { modulusLength: 2048 } }],
  ['Ed25519, when asked for', ['--ed25519'], { asymmetricKeyType: 'ed25519' }],
])('it makes a key for %s, and prints its record and its line', async (_, args, kind) => {
  const { exitCode, stdout, stderr } = await dkimKey(...args, 'Example.org.', 's1', 'my key.pem')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  const path = join(directory, 'my key.pem')
  const privateKey = createPrivateKey(await readFile(path))
  expect(privateKey).toMatchObject(kind)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(stdout.split('\n')).toContain(`example.org s1 ${path}`)
  const [, strings] = /^s1\._domainkey\.example\.org\. IN TXT \( ("[^()]*") \)$/m.exec(stdout)!
  const texts = strings!.split(/\s+(?=")/).map((text) => text.slice(1, -1))
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(255)
  expect(keyOfRecord(texts.join('')).equals(createPublicKey(privateKey))).toBe(true)
})

test('a file that is there is not touched', async () => {
  await writeFile(join(directory, 'key.pem'), 'precious')
  const ended = await dkimKey('example.org', 's1', 'key.pem')
  expect(ended).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/EEXIST.*key\.pem/) as string,
  })
  expect(await readFile(join(directory, 'key.pem'), 'utf8')).toBe('precious')
})

test.each([
  ['nothing', [], /DOMAIN, SELECTOR and FILE/],
  ['no file', ['example.org', 's1'], /DOMAIN, SELECTOR and FILE/],
  ['more than that', ['example.org', 's1', 'a', 'b'], /DOMAIN, SELECTOR and FILE/],
  ['no domain', ['example', 's1', 'a'], /"example" is no domain/],
  ['no selector', ['example.org', 's_1', 'a'], /"s_1" is no selector/],
])('%s is a usage error, and makes nothing', async (_, args, says) => {
  const ended = await dkimKey(...args)
  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).toEqual([])
})
