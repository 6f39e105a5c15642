/** Priorities of lines on a standard error that is systemd's journal.
 * Invariant: nothing changes where standard error is something else. Without a priority the journal
 * takes each line for `info`, and `journalctl -p warning` shows none of ours.
 * @see sd-daemon(3), systemd.exec(5): JOURNAL_STREAM */
import { fstatSync } from 'node:fs'

/** @param stream device and inode of the journal's socket, as systemd tells them to a unit */
export function isJournal(
  descriptor = 2,
  stream: string | undefined = process.env['JOURNAL_STREAM'],
): boolean {
  if (stream === undefined) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return stream === `${dev}:${ino}`
}

/** Levels of the log, and priorities of syslog(3): crit, err, warning, debug. */
const priorities: Readonly<Record<string, string>> = { 60: '<2>', 50: '<3>', 40: '<4>', 20: '<7>', 10: '<7>' }

/** @param shown formats a line of JSON that begins with its level, without its end */
export const withPriority =
  (shown: (json: string) => string) =>
  (json: string): string =>
    (priorities[/^\{"level":(\d+)/.exec(json)?.[1] ?? ''] ?? '') + shown(json)

/** @param text for standard error, which says why a command ends */
export const asError = (text: string, isOurJournal: boolean = isJournal()): string =>
  isOurJournal ? text.replace(/^(?=.)/gm, '<3>') : text
