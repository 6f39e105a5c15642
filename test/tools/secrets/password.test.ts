import { spawnSync } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isPassword } from '../../../src/relay/tables/password-hash.js'
import { usersIn } from '../../../src/relay/tables/users.js'
import { waybillPath } from '../../end-to-end/relay-process.js'
import { runProgram, runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

const password = (args: readonly string[], input: string | Buffer): Promise<Ended> =>
  runWaybill(['password', ...args], { directory: tmpdir(), input })

test.each([
  ['with its end', ' p:w d \n', ' p:w d '],
  ['without one', 'secret', 'secret'],
  ['with that of Windows', 's\u00e9cret\r\n', 's\u00e9cret'],
  ['of 1024 bytes', `${'x'.repeat(1024)}\n`, 'x'.repeat(1024)],
])('a password on standard input, a line %s, becomes a line that serve takes', async (_, input, said) => {
  const { exitCode, stdout, stderr } = await password(['ada'], input)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toMatch(/^ada:\S+\n$/)
  expect(await isPassword(said, usersIn(stdout, 'users').get('ada')!)).toBe(true)
})

test.each([
  ['nothing', [], 'x', 2, /one NAME/],
  ['the password as an argument', ['ada', 'secret'], '', 2, /one NAME/],
  ['a name with a colon', ['a:b'], 'x', 2, /is no NAME/],
  ['no password', ['ada'], '\n', 1, /not empty/],
  ['two lines', ['ada'], 'x\ny\n', 1, /one line/],
  ['octets that are no UTF-8', ['ada'], Buffer.from([0xe9]), 1, /UTF-8/],
  ['1025 bytes', ['ada'], 'x'.repeat(1025), 1, /at most 1024 bytes/],
  ['more than is read', ['ada'], 'x'.repeat(1_000_000), 1, /at most 1024 bytes/],
])('%s is refused', async (_, args, input, exitCode, says) => {
  const ended = await password(args, input)
  expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringMatching(says) as string })
})

test('--file keeps the users of a file, one line each, where nobody else can read them', async () => {
  const directory = await temporaryDirectory('password')
  const file = join(directory, 'users')
  for (const [name, secret] of [
    ['ada', 'one'],
    ['grace', 'two'],
    ['ada', 'three'],
  ])
    expect(await password(['--file', file, name!], `${secret}\n`)).toMatchObject({ exitCode: 0, stdout: '' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const users = usersIn(await readFile(file, 'utf8'), 'users')
  expect([...users.keys()].sort()).toEqual(['ada', 'grace'])
  expect(await isPassword('three', users.get('ada')!)).toBe(true)
  expect(await readdir(directory)).toEqual(['users'])
})

const hasTerminals = spawnSync('script', ['--version']).error === undefined

/** On a separate terminal, each answer typed when it is asked for. */
function typed(...answers: string[]): Promise<Ended> {
  let questionCount = 0
  return runProgram('script', ['-qec', `"${process.execPath}" "${waybillPath}" password ada`, '/dev/null'], {
    directory: tmpdir(),
    keepsInput: true,
    onOutput: (child, stdout) => {
      for (; questionCount < (stdout.match(/: \r?$|: \r?\n/gm)?.length ?? 0); questionCount++)
        child.stdin?.write(answers[questionCount] ?? '')
    },
  })
}

test.runIf(hasTerminals)('on a terminal it is asked for twice, and not shown', async () => {
  const { exitCode, stdout } = await typed('seccret\x7f\x7f\x7f\x7fret\r', 'secret\r')
  expect(exitCode).toBe(0)
  const [, line] = /^Password: \r\nAgain: \r\n(ada:\S+)\r\n$/.exec(stdout) ?? []
  expect(await isPassword('secret', usersIn(line!, 'users').get('ada')!)).toBe(true)
})

test.runIf(hasTerminals)(
  'Ctrl-Z on a terminal is not heard: what is typed behind it is not shown',
  async () => {
    const { exitCode, stdout } = await typed('sec\x1aret\r', 'secret\r')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^Password: \r\nAgain: \r\nada:\S+\r\n$/)
  },
)

test.runIf(hasTerminals).each([
  ['two that differ', ['secret\r', 'other\r'], /these are two passwords/],
  ['an interrupt', ['sec\x03'], /there is no password/],
])('%s on a terminal makes no line', async (_, answers, says) => {
  const { exitCode, stdout } = await typed(...answers)
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(says)
  expect(stdout).not.toMatch(/scrypt|sec/)
})
