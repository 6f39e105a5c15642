/** All commands, in the order of the help. One is loaded when it is called, so that a command costs
 * only itself.
 * Invariant: help, completion and man page are made of this table and of the commands' own; nothing
 * else knows their names. */
import type { Command } from '../cli/command.js'

type Load = () => Promise<Command>

export interface CommandGroup {
  readonly title: string
  readonly commands: Readonly<Record<string, Load>>
}

export const commandGroups: readonly CommandGroup[] = [
  {
    title: 'Mail comes and goes',
    commands: {
      serve: async () => (await import('../serve/serve.js')).serve,
      sendmail: async () => (await import('../sendmail/sendmail.js')).sendmail,
      password: async () => (await import('../secrets/password.js')).password,
      token: async () => (await import('../secrets/token.js')).token,
      'dkim-key': async () => (await import('../secrets/dkim-key.js')).dkimKey,
    },
  },
  {
    title: 'Looking into a queue, live, dead or damaged',
    commands: {
      mailq: async () => (await import('../look/mailq.js')).mailq,
      qshape: async () => (await import('../look/qshape.js')).qshape,
      stat: async () => (await import('../look/stat.js')).stat,
      cat: async () => (await import('../look/cat.js')).cat,
      top: async () => (await import('../watch/top.js')).top,
      destinations: async () => (await import('../watch/destinations.js')).destinations,
    },
  },
  {
    title: 'Operating a queue',
    commands: {
      hold: async () => (await import('../operate/hold.js')).hold,
      release: async () => (await import('../operate/release.js')).release,
      requeue: async () => (await import('../operate/requeue.js')).requeue,
      flush: async () => (await import('../operate/flush.js')).flush,
      reroute: async () => (await import('../operate/reroute.js')).reroute,
      expire: async () => (await import('../operate/expire.js')).expire,
      delete: async () => (await import('../operate/delete.js')).deleteMessages,
      resume: async () => (await import('../operate/resume.js')).resume,
      reload: async () => (await import('../operate/reload.js')).reload,
    },
  },
  {
    title: 'Reading the logs',
    commands: {
      'log stat': async () => (await import('../look/log-stat.js')).logStat,
      'log dump': async () => (await import('../look/log-dump.js')).logDump,
      'log tail': async () => (await import('../look/log-tail.js')).logTail,
      'log history': async () => (await import('../look/log-history.js')).logHistory,
      'log at': async () => (await import('../look/log-at.js')).logAt,
      'log verify': async () => (await import('../look/log-verify.js')).logVerify,
      'log map': async () => (await import('../look/log-map.js')).logMap,
      'log rescue': async () => (await import('../look/log-rescue.js')).logRescue,
    },
  },
  {
    title: "ZMailer's scheduler configuration",
    commands: {
      'policy check': async () => (await import('../policy/policy-check.js')).policyCheck,
      'policy explain': async () => (await import('../policy/policy-explain.js')).policyExplain,
    },
  },
  {
    title: 'More than one machine',
    commands: {
      'store init': async () => (await import('../store/store-init.js')).storeInit,
      'store status': async () => (await import('../store/store-status.js')).storeStatus,
    },
  },
  {
    title: 'Besides',
    commands: {
      fill: async () => (await import('../fill/fill.js')).fill,
      help: async () => (await import('./help.js')).help,
      completion: async () => (await import('./completion.js')).completion,
    },
  },
]

const commands: ReadonlyMap<string, Load> = new Map(
  commandGroups.flatMap((group) => Object.entries(group.commands)),
)

export const commandNames: readonly string[] = [...commands.keys()]

/** The command's name at the beginning of the words, if there is one: `log dump` is one
 * name of two words. */
export function commandNameIn(words: readonly string[]): string | undefined {
  const pair = words.slice(0, 2).join(' ')
  return commands.has(pair) ? pair : commands.has(words[0] ?? '') ? words[0] : undefined
}

/** @returns undefined when there is none of this name */
export const loadCommand = (name: string): Promise<Command> | undefined => commands.get(name)?.()

export interface NamedCommand {
  readonly name: string
  readonly command: Command
}

export interface LoadedGroup {
  readonly title: string
  readonly commands: readonly NamedCommand[]
}

export const loadAll = (): Promise<LoadedGroup[]> =>
  Promise.all(
    commandGroups.map(async ({ title, commands }) => ({
      title,
      commands: await Promise.all(
        Object.entries(commands).map(async ([name, load]) => ({ name, command: await load() })),
      ),
    })),
  )
