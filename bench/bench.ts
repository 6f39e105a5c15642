/** What every bench is: a name, a sentence, and a run that prints its result. */
import type { Output } from './output.js'

export interface BenchArguments {
  /** One JSON object a line instead of tables. */
  readonly json: boolean
  readonly output: Output
  /** Where queues and files are made: the disk that is measured. Exists; each bench makes its own below it. */
  readonly directory: string
}

export interface Bench {
  /** What it measures, in a line. */
  readonly about: string
  readonly run: (args: BenchArguments) => Promise<void>
}
