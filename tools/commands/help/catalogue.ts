/** All commands, in the order of the help. One is loaded when it is called, so that a command costs
 * only itself.
 * Invariant: help, completion and man page are made of this table and of the commands' tables; no
 * other file has the names. */
import type { Command } from '../cli/command.js'

export interface Entry {
  /** Its line in the list of commands. */
  readonly summary: string
  readonly load: () => Promise<Command>
}

export interface CommandGroup {
  readonly title: string
  readonly commands: Readonly<Record<string, Entry>>
}

export const commandGroups: readonly CommandGroup[] = [
  {
    title: 'Mail comes and goes',
    commands: {
      serve: {
        summary:
          'takes mail by SMTP, keeps it through any crash, delivers it to a relay, to every domain, or to Maildirs',
        load: async () => (await import('../serve/serve.js')).serve,
      },
      sendmail: {
        summary: 'submits a message from standard input',
        load: async () => (await import('../sendmail/sendmail.js')).sendmail,
      },
      submit: {
        summary: 'submits a message for each line of a JSON file, resumable by keys',
        load: async () => (await import('../submit/submit.js')).submit,
      },
      password: {
        summary: 'makes the line of a user for `serve --auth`',
        load: async () => (await import('../secrets/password.js')).password,
      },
      token: {
        summary: 'makes a token for the HTTP API, and its line for `serve --http-tokens`',
        load: async () => (await import('../secrets/token.js')).token,
      },
      'dkim-key': {
        summary: 'makes a key for `serve --dkim`, and its DNS record',
        load: async () => (await import('../secrets/dkim-key.js')).dkimKey,
      },
    },
  },
  {
    title: 'Looking into a queue, live, dead or damaged',
    commands: {
      mailq: {
        summary: 'lists the queue',
        load: async () => (await import('../look/mailq.js')).mailq,
      },
      qshape: {
        summary: 'shows how old the mail is, by domain',
        load: async () => (await import('../look/qshape.js')).qshape,
      },
      stat: {
        summary: 'counts the queue: messages by lane, their age, when they are due',
        load: async () => (await import('../look/stat.js')).stat,
      },
      history: {
        summary: 'shows what became of messages that have ended, as `serve --history` keeps it',
        load: async () => (await import('../look/history.js')).history,
      },
      cat: {
        summary: 'shows one message: envelope, attempts, header and body',
        load: async () => (await import('../look/cat.js')).cat,
      },
      top: {
        summary: 'shows a queue at work: rates, lanes, destinations, syncs; a live screen on a terminal',
        load: async () => (await import('../watch/top.js')).top,
      },
      destinations: {
        summary: 'shows destinations now: windows, waiting mail, which are dead and until when',
        load: async () => (await import('../watch/destinations.js')).destinations,
      },
    },
  },
  {
    title: 'Operating a queue',
    commands: {
      hold: {
        summary: 'holds messages: no attempts until they are released',
        load: async () => (await import('../operate/hold.js')).hold,
      },
      release: {
        summary: 'releases held messages: they are due now',
        load: async () => (await import('../operate/release.js')).release,
      },
      requeue: {
        summary: 'treats messages as new: due now, no attempts, lifetime from now',
        load: async () => (await import('../operate/requeue.js')).requeue,
      },
      flush: {
        summary: 'attempts deferred messages now, at a limited rate',
        load: async () => (await import('../operate/flush.js')).flush,
      },
      reroute: {
        summary: 'gives messages another route; they are due now',
        load: async () => (await import('../operate/reroute.js')).reroute,
      },
      expire: {
        summary: 'returns messages to their senders as if they were too old',
        load: async () => (await import('../operate/expire.js')).expire,
      },
      delete: {
        summary: 'deletes messages without reports',
        load: async () => (await import('../operate/delete.js')).deleteMessages,
      },
      backup: {
        summary: 'copies the queue as it is at one moment, while its relay runs or while none does',
        load: async () => (await import('../operate/backup.js')).backup,
      },
      restore: {
        summary: 'makes a queue of a backup, and says first what it will send',
        load: async () => (await import('../operate/restore.js')).restore,
      },
      suspend: {
        summary: 'lets no delivery to a destination begin, until it is resumed or for a time',
        load: async () => (await import('../operate/suspend.js')).suspend,
      },
      slow: {
        summary: 'lets fewer deliveries to a destination begin, for a time',
        load: async () => (await import('../operate/slow.js')).slow,
      },
      resume: {
        summary: 'revives dead destinations, and ends suspensions and what is slowed',
        load: async () => (await import('../operate/resume.js')).resume,
      },
      reload: {
        summary:
          'has the relay read its files again: certificate, users, domains, aliases, routes, keys, TLS policy, its own password',
        load: async () => (await import('../operate/reload.js')).reload,
      },
    },
  },
  {
    title: 'Reading the logs',
    commands: {
      'log stat': {
        summary: 'shows the contents of the logs: live, garbage, records, restart positions',
        load: async () => (await import('../look/log-stat.js')).logStat,
      },
      'log dump': {
        summary: 'shows the records of a log',
        load: async () => (await import('../look/log-dump.js')).logDump,
      },
      'log tail': {
        summary: 'shows the end of the journal, and follows it',
        load: async () => (await import('../look/log-tail.js')).logTail,
      },
      'log history': {
        summary: 'shows all records of a message that are still on disk',
        load: async () => (await import('../look/log-history.js')).logHistory,
      },
      'log at': {
        summary: 'lists the queue at an earlier position of the journal',
        load: async () => (await import('../look/log-at.js')).logAt,
      },
      'log verify': {
        summary: 'checks every checksum, link and promise that can be checked offline',
        load: async () => (await import('../look/log-verify.js')).logVerify,
      },
      'log map': {
        summary: 'draws the segments: live, pinned, garbage, and the restart positions',
        load: async () => (await import('../look/log-map.js')).logMap,
      },
      'log rescue': {
        summary: 'copies all readable mail into a new queue',
        load: async () => (await import('../look/log-rescue.js')).logRescue,
      },
    },
  },
  {
    title: "ZMailer's scheduler configuration",
    commands: {
      'policy check': {
        summary: 'checks a ZMailer scheduler configuration; errors have line and column',
        load: async () => (await import('../policy/policy-check.js')).policyCheck,
      },
      'policy explain': {
        summary: 'shows the settings of a destination, and their lines',
        load: async () => (await import('../policy/policy-explain.js')).policyExplain,
      },
    },
  },
  {
    title: 'More than one machine',
    commands: {
      'store drain': {
        summary: 'a node takes no mail any more, and delivers what it has',
        load: async () => (await import('../store/store-drain.js')).storeDrain,
      },
      'store init': {
        summary: 'makes the tables of a store in PostgreSQL, and a queue in it',
        load: async () => (await import('../store/store-init.js')).storeInit,
      },
      'store patroni': {
        summary: 'prints settings for Patroni with which a commit is on two machines',
        load: async () => (await import('../store/store-patroni.js')).storePatroni,
      },
      'store remove': {
        summary: 'takes an empty queue out of a store, for good',
        load: async () => (await import('../store/store-remove.js')).storeRemove,
      },
      'store status': {
        summary: 'shows the queues of a store, their owners, and whether commits are safe',
        load: async () => (await import('../store/store-status.js')).storeStatus,
      },
    },
  },
  {
    title: 'Besides',
    commands: {
      fill: {
        summary: 'makes a new queue full of generated mail, for benches and demonstrations',
        load: async () => (await import('../fill/fill.js')).fill,
      },
      help: {
        summary: 'lists the commands, or explains one',
        load: async () => (await import('./help.js')).help,
      },
      completion: {
        summary: 'prints the completion script of a shell',
        load: async () => (await import('./completion.js')).completion,
      },
    },
  },
]

const commands: ReadonlyMap<string, Entry> = new Map(
  commandGroups.flatMap((group) => Object.entries(group.commands)),
)

export const commandNames: readonly string[] = [...commands.keys()]

/** The command's name at the beginning of the words, if there is one: `log dump` is one
 * name of two words. */
export function commandNameIn(words: readonly string[]): string | undefined {
  const pair = words.slice(0, 2).join(' ')
  return commands.has(pair) ? pair : commands.has(words[0] ?? '') ? words[0] : undefined
}

export interface NamedCommand {
  readonly name: string
  readonly summary: string
  readonly command: Command
}

/** @returns undefined when there is none of this name */
export async function loadCommand(name: string): Promise<NamedCommand | undefined> {
  const entry = commands.get(name)
  return entry && { name, summary: entry.summary, command: await entry.load() }
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
        Object.entries(commands).map(async ([name, { summary, load }]) => ({
          name,
          summary,
          command: await load(),
        })),
      ),
    })),
  )
