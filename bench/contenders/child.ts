/** The process of one contender: opens it, runs slices on request, and reports results. */
import { answering } from '../asked-process.js'
import { contenders, type ContenderName } from './by-name.js'
import type { Contender, ContenderOptions, Slice } from './contender.js'

export type Order =
  | { readonly kind: 'open'; readonly name: ContenderName; readonly options: ContenderOptions }
  | {
      readonly kind: 'slice'
      readonly producerCount: number
      readonly durationMs: number
      readonly messageCountMax?: number | undefined
    }
  | { readonly kind: 'close' }

export type Answer = { readonly kind: 'ready' | 'closed' } | { readonly kind: 'slice'; readonly slice: Slice }

let contender: Contender | undefined

async function obey(order: Order): Promise<Answer> {
  switch (order.kind) {
    case 'open':
      contender = await contenders[order.name](order.options)
      return { kind: 'ready' }
    case 'slice':
      return {
        kind: 'slice',
        slice: await contender!.slice(order.producerCount, order.durationMs, order.messageCountMax),
      }
    case 'close':
      await contender!.close()
      return { kind: 'closed' }
  }
}

answering(obey)
