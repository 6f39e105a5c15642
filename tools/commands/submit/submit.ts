/** `waybill submit --jsonl FILE`: a campaign, a message a line.
 * Invariant: what it counts is durable, or refused with the line's number. A line with a key is
 * never in the queue twice, so a run that was cut short is repeated as a whole. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { thrownText } from '../../../src/base/realms.js'
import { countText, utf8Text } from '../../../src/base/text.js'
import { isWaybillError, WaybillError } from '../../../src/errors.js'
import { lineOf, UsageError, wayOutOf, type Arguments } from '../cli/command.js'
import { exits, jsonOption } from '../look/inspection.js'
import { operatingCommand, type Operating, type OperatingCommand } from '../operate/operating-command.js'
import { openOperator, type Operator } from '../operate/operator.js'
import { Progress } from '../text/progress.js'
import { byteLines } from './byte-lines.js'
import { checkedKey, submissionOf } from './mail-line.js'

/** Submissions under way at a time. */
const underWayMax = 200
/** Of a line, and of the lines of all that are under way. */
const lineBytesMax = 64 * 1024 * 1024
/** Refusals that are shown; the others are counted. */
const shownMax = 100

/** They end the run: the next line would meet them, too. */
const endings: ReadonlySet<string> = new Set([
  'DISK_FULL',
  'DISK_FAILED',
  'QUEUE_CRASHED',
  'QUEUE_DRAINING',
  'QUEUE_LOCKED',
])

interface Asked {
  readonly file: string
  readonly key: string | undefined
}

export const submit: OperatingCommand = operatingCommand(
  'submit',
  {
    synopsis: '[--queue DIR] [--json] [--key NAME] --jsonl FILE',
    options: {
      ...jsonOption,
      jsonl: { value: 'FILE', help: 'a JSON object a line; - is standard input' },
      key: { value: 'NAME', help: 'gives each line without an idempotencyKey the key NAME:LINE' },
    },
    notes:
      'A line has from, to, cc, bcc, subject, text, html, headers, attachments …, which become a message, or raw;\n' +
      'envelope { from, to } where it differs; and tags, notBefore, expiresAt, warnAt (ISO 8601), priority, hold and\n' +
      'idempotencyKey. No file and no URL is read. A relay that runs takes the mail; without one it is put into the queue\n' +
      'for the next one. A line is UTF-8, of at most 64 MiB. A refused line is named by its number, and the others go on.\n' +
      'Counts are of durable messages. With keys the same command continues a run that was cut short.',
  },
  (args: Arguments): Asked => {
    const file = args.one('jsonl')
    if (file === undefined || file === '')
      throw new UsageError('--jsonl FILE is required; - is standard input')
    return { file, key: checkedKey(args.one('key')) }
  },
  (operating, asked) => run(operating, asked),
)

async function run(operating: Operating, asked: Asked): Promise<number> {
  const { surroundings, path, args, out, complain } = operating
  const allBytes = asked.file === '-' ? 0 : await sizeOf(asked.file)
  const operator = await openOperator(path, surroundings)
  const course = new Course(operator, asked, operating)
  try {
    await course.run(allBytes)
  } finally {
    operator.close()
  }
  const { submittedCount, knownCount, refusedCount, failure } = course
  const isStopped = surroundings.stopped.aborted
  if (args.isSet('json'))
    out.json({ submitted: submittedCount, known: knownCount, refused: refusedCount, stopped: isStopped })
  else {
    const known = knownCount === 0 ? '' : `, ${knownCount} had been before`
    const refused = refusedCount === 0 ? '' : `, ${countText(refusedCount, 'line')} refused`
    out.line(
      `${isStopped ? 'stopped: ' : ''}${countText(submittedCount, 'message')} submitted${known}${refused}`,
    )
  }
  if (refusedCount > shownMax) complain(`${refusedCount - shownMax} more refusals are not shown`)
  if (failure !== undefined) {
    complain(`${lineOf(failure)}; what was under way may be in the queue`)
    surroundings.complain(wayOutOf(failure, path))
  }
  return refusedCount > 0 || failure !== undefined || isStopped ? exits.wrong : exits.fine
}

/** @throws UsageError */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch (error) {
    throw new UsageError(`--jsonl: ${thrownText(error)}`)
  }
}

/** One pass over the lines. */
class Course {
  readonly #operator: Operator
  readonly #asked: Asked
  readonly #operating: Operating
  readonly #progress: Progress
  readonly #underWay = new Set<Promise<void>>()
  #underWayBytes = 0
  submittedCount = 0
  knownCount = 0
  refusedCount = 0
  failure: unknown

  constructor(operator: Operator, asked: Asked, operating: Operating) {
    this.#operator = operator
    this.#asked = asked
    this.#operating = operating
    this.#progress = new Progress(operating.surroundings)
  }

  /** @param allBytes of the file; 0: nobody knows */
  async run(allBytes: number): Promise<void> {
    const { stopped } = this.#operating.surroundings
    const input = this.#asked.file === '-' ? process.stdin : createReadStream(this.#asked.file)
    const stop = (): void => void input.destroy()
    stopped.addEventListener('abort', stop)
    let number = 0
    let bytes = 0
    try {
      for await (const line of byteLines(input, lineBytesMax)) {
        if (stopped.aborted || this.failure !== undefined) break
        bytes += (line?.length ?? lineBytesMax) + 1
        await this.#begin(line, ++number)
        this.#progress.show(bytes, allBytes)
      }
    } catch (error) {
      // Stopped, the stream ends before its end.
      if (!stopped.aborted) this.failure ??= error
    } finally {
      stopped.removeEventListener('abort', stop)
      input.destroy()
    }
    await Promise.all(this.#underWay)
    this.#progress.end()
  }

  /** Settles when another line may follow. */
  async #begin(line: Buffer | undefined, number: number): Promise<void> {
    const bytes = line?.length ?? 0
    while (this.#underWay.size > 0 && this.#underWayBytes + bytes > lineBytesMax)
      await Promise.race(this.#underWay)
    this.#underWayBytes += bytes
    const submitted: Promise<void> = this.#submit(line, number).finally(() => {
      this.#underWay.delete(submitted)
      this.#underWayBytes -= bytes
    })
    this.#underWay.add(submitted)
    if (this.#underWay.size >= underWayMax) await Promise.race(this.#underWay)
  }

  /** @param line undefined: it is too long */
  async #submit(line: Buffer | undefined, number: number): Promise<void> {
    const { key } = this.#asked
    try {
      const text = textOf(line)
      if (text.trim() === '') return
      const submission = await submissionOf(text, key === undefined ? undefined : `${key}:${number}`)
      const { isDuplicate } = await this.#operator.submit(submission)
      if (isDuplicate === true) this.knownCount++
      else this.submittedCount++
    } catch (error) {
      if (!isWaybillError(error)) throw error
      if (endings.has(error.code)) this.failure ??= error
      else if (++this.refusedCount <= shownMax) this.#operating.complain(`line ${number}: ${lineOf(error)}`)
    }
  }
}

/** @throws WaybillError MESSAGE_TOO_LARGE, OPTION_INVALID */
function textOf(line: Buffer | undefined): string {
  if (line === undefined)
    throw new WaybillError('MESSAGE_TOO_LARGE', `a line has at most ${lineBytesMax / 2 ** 20} MiB`)
  const text = utf8Text(line)
  if (text === undefined) throw new WaybillError('OPTION_INVALID', 'the line is not UTF-8')
  return text
}
