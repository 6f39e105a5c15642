/** The console of a day that is played, on this machine alone. */
import { hostname } from 'node:os'
import { basename, resolve } from 'node:path'
import { pino } from 'pino'
import type { Queue } from '../../../src/index.js'
import type { Arguments } from '../cli/command.js'
import { descriptorSink, LogLines } from '../log/log-lines.js'
import { logText } from '../text/log-text.js'
import { consolePages } from '../serve/console-pages.js'
import { httpPlacesOf, loadHttp } from '../serve/http.js'

/** @returns shows it, and says where @throws UsageError */
export async function liveConsole(args: Arguments, path: string): Promise<(queue: Queue) => Promise<void>> {
  const places = await httpPlacesOf(args, 'console')
  if (places.length === 0) return () => Promise.resolve()
  const withHttp = await loadHttp()
  const log = pino({ level: 'warn', base: null }, new LogLines(descriptorSink(2), logText))
  return (queue) =>
    withHttp(queue, {
      directory: path,
      place: { name: basename(resolve(path)) },
      hostname: hostname(),
      tables: () => ({ tokens: undefined, tls: undefined, isOwn: false }),
      facts: () => ({}),
      conversationsOf: () => [],
      door: () => queue,
      log,
    }).answer(places, 'console', consolePages())
}
