/** Help, manual and completion are made of the commands' own tables: nothing is missing
 * in any of them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  commandGroups,
  commandNameIn,
  commandNames,
  loadAll,
  type NamedCommand,
} from '../../../tools/commands/help/catalogue.js'
import { bashCompletion } from '../../../tools/commands/help/completion-bash.js'
import { fishCompletion } from '../../../tools/commands/help/completion-fish.js'
import { completedCommands } from '../../../tools/commands/help/completion-words.js'
import { zshCompletion } from '../../../tools/commands/help/completion-zsh.js'
import { columnCount, helpOf, overviewOf } from '../../../tools/commands/help/help-text.js'
import { manPageOf } from '../../../tools/commands/help/man-page.js'

const groups = await loadAll()
const all = groups.flatMap(({ commands }) => commands)
const completed = completedCommands(groups)
const page = manPageOf(groups, '1.2.3')
const scripts = {
  bash: bashCompletion(completed),
  zsh: zshCompletion(completed),
  fish: fishCompletion(completed),
}

const flagsOf = ({ command }: NamedCommand): string[] =>
  Object.entries(command.options).flatMap(([long, { short }]) => [
    ...(long.length === 1 ? [`-${long}`] : [`--${long}`]),
    ...(short === undefined ? [] : [`-${short}`]),
  ])

test('the table has the commands that there are', () => {
  expect(commandNames.length).toBeGreaterThan(25)
  expect(all.map(({ name }) => name)).toEqual(commandNames)
})

test('a command is found by one word or two', () => {
  expect(commandNameIn(['log', 'dump', '--json'])).toBe('log dump')
  expect(commandNameIn(['hold', 'log'])).toBe('hold')
  expect(commandNameIn(['log'])).toBeUndefined()
  expect(commandNameIn(['toString'])).toBeUndefined()
  expect(commandNameIn([])).toBeUndefined()
})

test('the overview has every command with its summary', () => {
  const overview = overviewOf(commandGroups)
  const entries = overview.replace(/\n {4,}/g, ' ').split('\n')
  const lines = entries.map((line) => line.replace(/ +/g, ' '))
  for (const { name, summary } of all) expect(lines).toContain(` ${name} ${summary}`)
  expect(overview.split('\n').filter(({ length }) => length > columnCount)).toEqual([])
})

test.each(all.map((named) => [named.name, named] as const))(
  'the help of %s has its options',
  (name, named) => {
    const text = helpOf(named)
    const usage = text.slice(0, text.indexOf('\n\n')).replace(/\s+/g, ' ')
    const forms = named.command.synopsis.split('\n')
    expect(usage).toBe(`usage: waybill ${name} ${forms.join(` waybill ${name} `)}`)
    for (const flag of flagsOf(named)) expect(text).toMatch(new RegExp(`^ .*${flag}\\b`, 'm'))
  },
)

test('a synopsis names every option, or says that it leaves some out', () => {
  const unnamed = all.flatMap(({ name, command: { synopsis, options } }) =>
    Object.entries(options)
      .filter(([long, { short, help }]) => {
        if (/(?:OPTION|SELECTOR|SELECTION) …/.test(synopsis) || help.startsWith('the same as ')) return false
        const forms = [`-{1,2}${long}`, ...(short === undefined ? [] : [`-${short}`])]
        return !forms.some((form) => new RegExp(`(?<![\\w-])${form}(?![\\w-])`).test(synopsis))
      })
      .map(([long]) => `${name} ${long}`),
  )
  expect(unnamed).toEqual([])
})

test.each(all.map((named) => [named.name, named] as const))(
  'the help of %s has no gap, and no line that is too wide for a terminal of 80 columns',
  (_, named) => {
    const text = helpOf(named)
    expect(text).not.toContain('\n\n\n')
    expect(text.split('\n').filter(({ length }) => length > columnCount)).toEqual([])
  },
)

test.each(all.map((named) => [named.name, named] as const))(
  'the manual has %s and its options',
  (name, named) => {
    const escaped = (text: string): string => text.replaceAll('-', '\\-')
    const start = page.indexOf(`.SS "waybill ${escaped(name)} `)
    expect(start).toBeGreaterThan(0)
    const section = page.slice(start, page.indexOf('\n.S', start + 4))
    for (const flag of flagsOf(named)) expect(section).toContain(`\\fB${escaped(flag)}\\fR`)
  },
)

test.each(Object.entries(scripts))('the completion of %s has every command and option', (shell, script) => {
  for (const { name, options } of completed)
    for (const { flags } of options)
      for (const flag of flags) {
        const lines = script.split('\n').filter((line) => line.includes(flag))
        const fish = flag.startsWith('--') ? ` -l ${flag.slice(2)} ` : ` -s ${flag.slice(1)} `
        const isThere =
          shell === 'fish'
            ? script.split('\n').some((line) => line.includes(`__waybill_is ${name}'`) && line.includes(fish))
            : lines.length > 0
        expect(isThere, `${name} ${flag}`).toBe(true)
      }
})

test('the options of completion are those of the commands, and --help', () => {
  for (const named of all) {
    const found = completed.find(({ name }) => name === named.name)
    expect(new Set(found?.options.flatMap(({ flags }) => flags))).toEqual(
      new Set([...flagsOf(named), '--help']),
    )
  }
})

/** Runs a program that may not be installed. */
function runs(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

test.runIf(runs('groff'))('groff has nothing to say about the manual', () => {
  const { stderr, stdout } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z'], { input: page })
  expect(stderr.toString() + stdout.toString()).toBe('')
})

test.runIf(runs('man') && runs('groff'))('the manual reads as a manual', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-man-'))
  try {
    const path = join(directory, 'waybill.1')
    writeFileSync(path, page)
    const { stderr, stdout } = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', path], {
      env: { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '100' },
    })
    expect(stderr.toString()).toBe('')
    const text = stdout.toString()
    expect(text).toMatch(/waybill - a log-structured, crash-only mail queue/)
    expect(text).toMatch(/--older-than TIME\n +accepted more than so long ago, 90m or 2d/)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

/** What bash offers for the last word, in a directory with `inner/`, `file.svg`. */
function bashOffers(line: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-bash-'))
  try {
    writeFileSync(join(directory, 'completion'), scripts.bash)
    writeFileSync(join(directory, 'file.svg'), '')
    const program = `
      mkdir inner 'two words'
      source ./completion
      [[ $(complete -p waybill) == 'complete -F _waybill waybill' ]] || exit 9
      # As readline does it: = is a word of its own.
      read -ra parts <<< "$(sed 's/=/ = /g' <<< "$1")"
      [[ $1 == *' ' || $1 == *= ]] && parts+=('')
      COMP_WORDS=("\${parts[@]}") COMP_CWORD=$((\${#parts[@]} - 1))
      _waybill
      ((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"`
    const output = execFileSync('bash', ['--norc', '-c', program, 'bash', line], {
      cwd: directory,
      stdio: 'pipe',
    })
    return output.toString().split('\n').slice(0, -1)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test.each<[string, readonly string[]]>([
  ['waybill qs', ['qshape']],
  ['waybill re', ['release', 'reload', 'requeue', 'reroute', 'restore', 'resume']],
  ['waybill log ', ['stat', 'dump', 'tail', 'history', 'at', 'verify', 'map', 'rescue']],
  ['waybill log v', ['verify']],
  ['waybill hold --la', ['--lane', '--last-status']],
  ['waybill hold --lane d', ['deferred']],
  ['waybill hold --lane ', ['incoming', 'active', 'deferred', 'hold']],
  ['waybill hold --lane=h', ['hold']],
  ['waybill hold --lane=', ['incoming', 'active', 'deferred', 'hold']],
  ['waybill flush --queue ', ['inner', 'two words']],
  ['waybill flush --queue i', ['inner']],
  ['waybill flush --sender ', []],
  ['waybill hold 01', []],
  ['waybill serve --log-level d', ['debug']],
  ['waybill serve --received ', ['yes', 'no']],
  ['waybill sendmail -R f', ['full']],
  ['waybill log dump --kind chec', ['checkpoint']],
  ['waybill log map f', ['file.svg']],
  ['waybill log rescue in', ['inner']],
  ['waybill log rescue --to in', ['inner']],
  ['waybill completion ', ['bash', 'zsh', 'fish']],
  ['waybill help log', ['log']],
  ['waybill help log ', ['stat', 'dump', 'tail', 'history', 'at', 'verify', 'map', 'rescue']],
  ['waybill help log v', ['verify']],
  ['waybill help policy ', ['check', 'explain']],
  ['waybill qshape hol', ['hold']],
  ['waybill nothing ', []],
])('bash completes "%s"', (line, offers) => {
  expect(bashOffers(line).sort()).toEqual([...offers].sort())
})

test.runIf(runs('zsh'))('zsh completes, with what the options are for', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-zsh-'))
  try {
    writeFileSync(join(directory, '_waybill'), scripts.zsh)
    execFileSync('zsh', ['-n', join(directory, '_waybill')])
    // A shell on a separate terminal is asked as by a person.
    const program = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      ask() {
        zpty -w shell "$1"
        local line output=''
        repeat 600; do sleep 0.05; while zpty -rt shell line; do output+=$line; done; [[ $output == *$2* ]] && break; done
        print -r -- "$output"
      }
      ask 'autoload -U compinit; compinit -u -D; eval "$(<_waybill)"; print rea''dy' ready
      ask $'waybill hold --la\\t\\t' last-status
      ask $'\\x15waybill log v\\t' verify
    `
    const output = execFileSync('zsh', ['-f', '-c', program], {
      cwd: directory,
      env: { ...process.env, HOME: directory, TERM: 'dumb', LC_ALL: 'C.UTF-8' },
      timeout: 120_000,
    }).toString()
    expect(output).toContain('--last-status')
    expect(output).toContain('why it waits')
    expect(output).toContain('waybill log verify')
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test.runIf(runs('fish'))('fish completes, with what the options are for', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-fish-'))
  const offers = (line: string): string[] =>
    execFileSync('fish', ['--no-config', '-c', `source completion.fish; complete -C '${line}'`], {
      cwd: directory,
      env: { ...process.env, HOME: directory },
    })
      .toString()
      .split('\n')
      .slice(0, -1)
  try {
    writeFileSync(join(directory, 'completion.fish'), scripts.fish)
    expect(offers('waybill qs')).toEqual(['qshape\tshows how old the mail is, by domain'])
    expect(offers('waybill log ver')).toEqual([
      'verify\tchecks every checksum, link and promise that can be checked offline',
    ])
    expect(offers('waybill hold --last')).toEqual(['--last-status\twhy it waits: 4.4 or 4.4.1'])
    expect(offers('waybill hold --lane de').map((line) => line.split('\t')[0])).toEqual(['deferred'])
    expect(offers('waybill log stat --qu').map((line) => line.split('\t')[0])).toEqual(['--queue', '--quick'])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test.runIf(runs('groff'))('no word of the manual is broken at the end of a line, however narrow', () => {
  const { stdout } = spawnSync('groff', ['-man', '-Tutf8', '-rLL=60n'], { input: page })
  expect(stdout.toString()).toContain('--direct')
  expect(stdout.toString()).not.toContain('\u2010\n')
})
