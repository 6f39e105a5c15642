import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tokensIn } from '../../../src/http/wire/tokens.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('a token goes to the terminal, and its hash into the file, one line for each name', async () => {
  const directory = await temporaryDirectory('token')
  const file = join(directory, 'tokens')
  const make = (...args: string[]): ReturnType<typeof runWaybill> =>
    runWaybill(['token', '--file', file, ...args], { directory })
  await make('shop')
  const { stdout, exitCode } = await make('--scopes', 'submit,read', '--for', '90d', 'shop')
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^wbt_[\w-]{43}\n$/)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(/^shop submit,read sha256:[0-9a-f]{64} until=\S+Z\n$/)
  const token = tokensIn(text, file).tokenIn(`Bearer ${stdout.trim()}`, Date.now())
  expect(token).toMatchObject({ name: 'shop', scopes: ['submit', 'read'] })
  const wrong = await make('--scopes', 'all', 'shop')
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("'all' is no scope") as string })
})
