/** What the tools of the project say to arguments that there are not. */
import { expect, test } from 'vitest'
import { join } from 'node:path'
import { root } from '../project.js'
import { runProgram } from './command-process.js'

test.each(['crash', 'crash-real', 'crash-store'])(
  '%s says how it is used, and what it does not know',
  async (tool) => {
    const program = join(root, 'dist/tools', `${tool}.js`)
    const ended = await runProgram(process.execPath, [program, '--seds', '5'], { directory: root })
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^Unknown option '--seds'[^]*npm run crash/)
    expect(ended.stderr).not.toMatch(/^ {4}at /m)
  },
)
