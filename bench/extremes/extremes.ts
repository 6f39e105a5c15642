/** Unusual mail, measured one part after the other in one process. */
import type { BenchArguments } from '../bench.js'
import * as dots from './dots.js'
import * as recipients from './recipients.js'

export async function run(args: BenchArguments): Promise<void> {
  await recipients.run(args)
  await dots.run(args)
}
