/** The interface of a bench: a name, a sentence, and a run that prints its result. */
import type { Output } from './output.js'

export interface BenchArguments {
  /** One JSON object a line instead of tables. */
  readonly json: boolean
  readonly output: Output
  /** Where queues and files are made: the disk that is measured. Exists; each bench makes
   * its own below it. */
  readonly directory: string
  /** As short as possible: shows that the bench works; its figures mean nothing. */
  readonly smoke: boolean
  /** How far the bench goes, where it can go further: `--to`. */
  readonly to: number | undefined
  /** How long it goes on, where it can: `--minutes`. */
  readonly minutes: number | undefined
}

export interface Bench {
  /** What it measures, in a line. */
  readonly about: string
  /** Its options besides those of all benches. */
  readonly options?: string
  readonly run: (args: BenchArguments) => Promise<void>
}
