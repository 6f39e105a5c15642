#!/usr/bin/env node
/** The command: `waybill COMMAND …`. A command is loaded when it is called, so that help costs nothing. */
import { readFileSync } from 'node:fs'
import { isWaybillError } from '../src/errors.js'
import { helpOf, lineOf, parseArguments, UsageError, type Command } from './commands/command.js'

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.js')).serve,
  sendmail: async () => (await import('./commands/sendmail.js')).sendmail,
  mailq: async () => (await import('./commands/mailq.js')).mailq,
  qshape: async () => (await import('./commands/qshape.js')).qshape,
  stat: async () => (await import('./commands/stat.js')).stat,
  cat: async () => (await import('./commands/cat.js')).cat,
  'log stat': async () => (await import('./commands/log-stat.js')).logStat,
  'log dump': async () => (await import('./commands/log-dump.js')).logDump,
  'log tail': async () => (await import('./commands/log-tail.js')).logTail,
  'log history': async () => (await import('./commands/log-history.js')).logHistory,
  'log at': async () => (await import('./commands/log-at.js')).logAt,
  'log verify': async () => (await import('./commands/log-verify.js')).logVerify,
  'log map': async () => (await import('./commands/log-map.js')).logMap,
  'log rescue': async () => (await import('./commands/log-rescue.js')).logRescue,
  fill: async () => (await import('./commands/fill.js')).fill,
}

async function help(): Promise<string> {
  const lines: string[] = []
  for (const [name, load] of Object.entries(commands)) {
    lines.push(`  ${name.padEnd(13)}${(await load()).summary}`)
  }
  return [
    'usage: waybill COMMAND [OPTION …]',
    '',
    ...lines,
    '',
    '`waybill COMMAND --help` tells more; `waybill --version` which one this is.',
    '',
  ].join('\n')
}

function version(): string {
  // Two folders up from dist/tools.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

async function main(args: readonly string[]): Promise<number | undefined> {
  const [first] = args
  let rest = args.slice(1)
  if (first === '--version' || first === '-V') {
    process.stdout.write(`waybill ${version()}\n`)
    return 0
  }
  const asksHelp = first === 'help' || first === '--help' || first === '-h'
  const words = asksHelp ? rest : args
  // `log dump` is one name of two words.
  const pair = `${words[0] ?? ''} ${words[1] ?? ''}`
  const name = Object.hasOwn(commands, pair) ? pair : words[0]
  if (name === pair) rest = words.slice(2)
  if (name === undefined) {
    const text = await help()
    if (asksHelp) process.stdout.write(text)
    else process.stderr.write(text)
    return asksHelp ? 0 : 2
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load === undefined) {
    process.stderr.write(`waybill: no command '${name}'; \`waybill help\` lists them\n`)
    return 2
  }
  const command = await load()
  const upToEnd = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  if (asksHelp || upToEnd.includes('--help')) {
    process.stdout.write(helpOf(name, command))
    return 0
  }
  try {
    return await command.run(parseArguments(command, rest))
  } catch (error) {
    if (!(error instanceof UsageError || isWaybillError(error, 'OPTION_INVALID'))) throw error
    process.stderr.write(
      `waybill ${name}: ${error.message}\nusage: waybill ${name} ${command.synopsis}\n` +
        `\`waybill ${name} --help\` tells more\n`,
    )
    return command.usageExitCode ?? 2
  }
}

main(process.argv.slice(2)).then(
  (exitCode) => {
    if (exitCode !== undefined) process.exitCode = exitCode
  },
  (error: unknown) => {
    process.stderr.write(`waybill: ${lineOf(error)}\n`)
    process.exitCode = 1
  },
)
