/** `serve --config FILE`: options that stand in a file. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { parseArguments, type Arguments } from '../../../tools/commands/cli/command.js'
import { withConfig } from '../../../tools/commands/serve/config.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { rawClient, sendOne } from '../../relay/raw-client.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('config')
})

const at = (name: string): string => join(directory, name)

async function read(lines: string, ...words: string[]): Promise<Arguments> {
  await writeFile(at('waybill.conf'), lines)
  return withConfig(serve, parseArguments(serve, ['--config', at('waybill.conf'), ...words]))
}

test('without a file the command line is all there is', async () => {
  const args = await withConfig(serve, parseArguments(serve, ['--direct']))
  expect([args.isSet('direct'), args.isSet('relay'), args.one('listen')]).toEqual([true, false, undefined])
})

test('a line says what the option says, with blanks or = behind its name, and comments say nothing', async () => {
  const args = await read(
    '# ports\r\nlisten 0.0.0.0:25\n  listen = [::]:25  \nretry=1m,2m\n\ndirect\nlifetime\t3d\n',
  )
  expect(args.all('listen')).toEqual(['0.0.0.0:25', '[::]:25'])
  expect(args.isSet('direct')).toBe(true)
  expect([args.one('retry'), args.one('lifetime'), args.one('relay')]).toEqual(['1m,2m', '3d', undefined])
})

test('a parameter of the scheduler stands by its own name', async () => {
  const args = await read(
    'default_destination_rate_delay = 1s\no slow_process_limit=2\nslow_initial_destination_concurrency=1\n',
  )
  expect(args.all('o')).toEqual([
    'default_destination_rate_delay=1s',
    'slow_process_limit=2',
    'slow_initial_destination_concurrency=1',
  ])
})

test('the command line goes before the lines of the same option, and leaves the others', async () => {
  const args = await read(
    'listen 127.0.0.1:1\nlisten 127.0.0.1:2\ntrust 10.0.0.0/8\n',
    '--listen',
    '127.0.0.1:3',
  )
  expect(args.all('listen')).toEqual(['127.0.0.1:3'])
  expect(args.all('trust')).toEqual(['10.0.0.0/8'])
})

test('paths are looked for from where the file is, those of the command line from here', async () => {
  const args = await read('queue queue\nroutes ../routes\ntls-cert /etc/cert.pem\n', '--maildir', 'mail')
  expect(args.one('queue')).toBe(at('queue'))
  expect(args.one('routes')).toBe(join(directory, '..', 'routes'))
  expect([args.one('tls-cert'), args.one('maildir')]).toEqual(['/etc/cert.pem', 'mail'])
})

test.each([
  ['smtp-port 25', "there is no option 'smtp-port'"],
  ['--direct', "there is no option '--direct'"],
  ['toString x', "there is no option 'toString'"],
  ['myhostname = mail.example.org', "there is no option 'myhostname': here it is --hostname"],
  ['direct yes', '--direct takes no value'],
  ['listen', '--listen takes HOST:PORT'],
  ['relay a:25\nrelay b:25', '--relay is given twice'],
  ['config other', 'a file of options names no other'],
])('a line %j is an error with its place', async (lines, reason) => {
  const place = { option: 'config', path: at('waybill.conf'), line: 1 + lines.split('\n').length }
  await expect(read(`# first\n${lines}\n`)).rejects.toMatchObject({ code: 'OPTION_INVALID', place })
  await expect(read(`# first\n${lines}\n`)).rejects.toThrow(reason)
})

test('a relay starts from its file alone, and a wrong one makes nothing', async () => {
  await mkdir(at('here'))
  await writeFile(at('wrong.conf'), 'queue queue\nmaildir\n')
  const wrong = await runWaybill(['serve', '--config', at('wrong.conf')], { directory: at('here') })
  expect(wrong).toMatchObject({ exitCode: 2, stdout: '' })
  expect(wrong.stderr).toContain(`--maildir takes DIR (option config, path ${at('wrong.conf')}, line 2)`)
  const missing = await runWaybill(['serve', '--config', at('none.conf')], { directory: at('here') })
  expect(missing).toMatchObject({ exitCode: 2, stdout: '' })
  expect(missing.stderr).toMatch(/^waybill serve: --config: ENOENT: .*none\.conf'\n/)
  expect(await readdir(at('here'))).toEqual([])

  await writeFile(at('right.conf'), 'queue queue\nmaildir mail\nhostname mx.example.net\n')
  const relay = await startedRelay(['--config', at('right.conf')])
  const client = await rawClient(relay.endpoint.port, relay.endpoint.host)
  expect(await client.reply()).toMatch(/^220 mx\.example\.net /)
  await client.say('EHLO client.example')
  expect(await sendOne(client)).toMatch(/^250 /)
  await expect.poll(() => readdir(at('mail')).catch(() => [])).toHaveLength(1)
  const reload = await runWaybill(['reload', '--queue', at('queue')], { directory })
  expect(reload).toMatchObject({ exitCode: 0 })
  expect(reload.stdout).toContain(`--config ${at('right.conf')}: 0 parameters; other options, as they were`)
})

test('what is wrong with a value of the file is told with its line, and one of the command line as ever', async () => {
  await writeFile(
    at('values.conf'),
    '# values\nmaildir mail\nlisten 127.0.0.1:0\nlisten nowhere:x\nretry 5x\ntrust 300.1.1.1\nnosuch_limit=3\n',
  )
  const words = ['serve', '--queue', at('queue'), '--config', at('values.conf')]
  const said = async (...more: string[]): Promise<string> => {
    const { exitCode, stderr } = await runWaybill([...words, ...more], { directory })
    expect(exitCode).toBe(2)
    return stderr.split('\n')[0]!
  }
  const line = (number: number): string => `(${at('values.conf')}, line ${number})`
  const good = ['--listen', '127.0.0.1:0', '--retry', '5m', '--trust', '127.0.0.1']
  expect(await said()).toContain(line(4))
  expect(await said(...good)).toContain(line(7))
  expect(await said(...good.slice(0, 4), '-o', 'default_process_limit=5')).toContain(line(6))
  expect(await said(...good.slice(0, 2), '-o', 'default_process_limit=5')).toContain(line(5))
  const own = await said(...good.slice(0, 2), '--retry', '6x', '-o', 'default_process_limit=5')
  expect(own).toContain("'6x'")
  expect(own).not.toContain('values.conf')
})
