/** What every bench is: a name, a sentence, and a run that prints its result. */
import type { Output } from './output.js'

export interface BenchArguments {
  /** One JSON object a line instead of tables. */
  readonly json: boolean
  readonly output: Output
  /** Where queues and files are made: the disk that is measured. Exists; each bench makes its own below it. */
  readonly directory: string
  /** As short as it can be: it shows that the bench works, and its figures say nothing. */
  readonly smoke: boolean
  /** How far the bench goes, where it can go further: `--to`. */
  readonly to: number | undefined
  /** How long it goes on, where it can: `--minutes`. */
  readonly minutes: number | undefined
}

export interface Bench {
  /** What it measures, in a line. */
  readonly about: string
  /** What it can be told beside what all can. */
  readonly options?: string
  readonly run: (args: BenchArguments) => Promise<void>
}
