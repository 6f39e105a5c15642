/** Files that options name, whatever they are. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { givenBytesMax, givenFile } from '../../../tools/commands/text/given-file.js'
import { runProgram } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('given')
})

const at = (name: string): string => join(directory, name)

async function fifo(): Promise<string> {
  await runProgram('mkfifo', ['pipe'], { directory })
  return at('pipe')
}

test('a file is read to its end, and of nothing there is nothing', async () => {
  const text = 'x'.repeat(100_000)
  await writeFile(at('file'), text)
  expect((await givenFile(at('file'))).toString()).toBe(text)
  expect(await givenFile('/dev/null')).toEqual(Buffer.alloc(0))
})

test('a pipe is read when somebody writes it', async () => {
  const read = givenFile(await fifo())
  await writeFile(at('pipe'), 'me:secret\n')
  expect((await read).toString()).toBe('me:secret\n')
})

test('a pipe that nobody writes is waited for, and not for ever', async () => {
  await expect(givenFile(await fifo(), 100)).rejects.toThrow(/pipe has not come to its end within 0\.1 s$/)
})

test('a file without an end, or with a far one, is not read to it', async () => {
  await expect(givenFile('/dev/zero')).rejects.toThrow(`/dev/zero is longer than ${givenBytesMax} bytes`)
  await writeFile(at('file'), Buffer.alloc(givenBytesMax))
  expect(await givenFile(at('file'))).toHaveLength(givenBytesMax)
})

test('what is no file is named as the system names it', async () => {
  await expect(givenFile(directory)).rejects.toThrow('EISDIR')
  await expect(givenFile(at('nothing'))).rejects.toThrow(/ENOENT.*nothing/)
})
