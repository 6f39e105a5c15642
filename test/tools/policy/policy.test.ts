import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseArguments, type Command } from '../../../tools/commands/cli/command.js'
import { check, policyCheck } from '../../../tools/commands/policy/policy-check.js'
import { explain, policyExplain } from '../../../tools/commands/policy/policy-explain.js'

let directory: string
let path: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-policy-'))
  path = join(directory, 'scheduler.conf')
})
afterEach(() => rm(directory, { recursive: true }))

async function said(
  command: Command,
  run: typeof explain,
  words: readonly string[],
): Promise<{ readonly exitCode: number; readonly out: string; readonly complaints: string }> {
  let out = ''
  let complaints = ''
  const exitCode = await run(parseArguments(command, words), {
    write: async (text) => void (out += text),
    complain: (text) => void (complaints += text),
  })
  return { exitCode, out, complaints }
}

const manual = `# Default values
*/*     interval=1m expiry=3d retries="1 1 2 3 5 8 13 21 34"
        maxring=0 maxta=0 skew=5 user=root group=daemon
smtp/*.toronto.edu
smtp/*.utoronto.ca maxchannel=10 maxring=2
        command="smtp -srl /var/log/smtp"
`

test('check names every problem as a place that editors take, and ends with 1', async () => {
  await writeFile(path, 'smtp/* maxta=z maxhost=3\n  interval=soon\n')
  const { exitCode, out } = await said(policyCheck, check, [path])
  expect(exitCode).toBe(1)
  expect(out.trimEnd().split('\n')).toEqual([
    `${path}:1:14: expected a whole number from 0 to 999999999 for maxta`,
    expect.stringMatching(`^${path}:1:16: expected one of interval, .*, not maxhost$`) as string,
    `${path}:2:12: expected a time of at least a second, like 1h5m20s for interval`,
  ])
  const json = await said(policyCheck, check, ['--json', path])
  expect((JSON.parse(json.out) as { problems: unknown[] }).problems).toHaveLength(3)
})

test('check counts clauses and intervals of a file that is right', async () => {
  await writeFile(path, manual)
  expect(await said(policyCheck, check, [path])).toMatchObject({
    exitCode: 0,
    out: `${path}: 3 clauses, 8 intervals between attempts\n`,
  })
})

test('explain says what applies to a destination, and from which lines', async () => {
  await writeFile(path, manual)
  const { exitCode, out } = await said(policyExplain, explain, [path, 'smtp/cs.toronto.edu'])
  expect(exitCode).toBe(0)
  expect(out).toBe(`smtp/cs.toronto.edu
  line 2  */*
  line 4  smtp/*.toronto.edu, with the contents of line 5; the search ends here

  setting     value                    from
  interval    1m                       line 2
  idlemax     3m                       default
  expiry      3d                       line 2
  retries     1 1 2 3 5 8 13 21 34     line 2
  maxta       0 (1000)                 line 3
  maxchannel  10                       line 5
  maxring     2                        line 5
  skew        5                        line 3
  user        root                     line 3
  group       daemon                   line 3
  command     smtp -srl /var/log/smtp  line 6
  bychannel   no                       default
  queueonly   no                       default
  overfeed    0                        default
  ageorder    no                       default

After each attempt it waits 1m, 1m, 2m, 3m, 5m, 8m, 13m, 21m, 34m; then it enters this list again.
At once: 2 of its ring (line 4), 10 of smtp, 1000 in all.
`)
})

test('explain as JSON has milliseconds, and the line of each setting', async () => {
  await writeFile(path, `${manual}dial/* queueonly expiry=4d\n`)
  const { out } = await said(policyExplain, explain, ['--json', path, 'dial/example.org'])
  expect(JSON.parse(out)).toMatchObject({
    transport: 'dial',
    nexthop: 'example.org',
    clauses: [{ line: 2 }, { line: 7, pattern: 'dial/*' }],
    lines: { queueonly: 7, intervalMs: 2 },
    limits: { queueonly: true },
    delaysMs: [345_600_000],
  })
  const { out: text } = await said(policyExplain, explain, [path, 'dial/example.org'])
  expect(text).toContain('attempted on request only')
})

test('explain of a file that is wrong says where, and explains nothing', async () => {
  await writeFile(path, 'smtp/* maxta=z\n')
  const { exitCode, out, complaints } = await said(policyExplain, explain, [path, 'smtp/x'])
  expect([exitCode, out]).toEqual([1, ''])
  expect(complaints).toContain(`${path}:1:14: expected a whole number`)
})

test.each([[[]], [['a', 'b', 'c']], [['FILE', 'smtp']]])('%j is no call of explain', async (words) => {
  await expect(said(policyExplain, explain, words)).rejects.toThrow(/expected/)
})

test('a file that is no text, or is not there, is refused', async () => {
  await writeFile(path, Buffer.from([0x73, 0xff]))
  await expect(said(policyCheck, check, [path])).rejects.toThrow(`${path} is not UTF-8`)
  await expect(said(policyCheck, check, [join(directory, 'none')])).rejects.toThrow(/ENOENT/)
})
