/** The process of one contender: opens it, runs a slice whenever it is asked to, and says what came of it. */
import { contenders, type ContenderName } from './by-name.js'
import type { Contender, ContenderOptions, Slice } from './contender.js'

export type Order =
  | { readonly kind: 'open'; readonly name: ContenderName; readonly options: ContenderOptions }
  | { readonly kind: 'slice'; readonly producerCount: number; readonly durationMs: number }
  | { readonly kind: 'close' }

export type Answer = { readonly kind: 'ready' } | { readonly kind: 'slice'; readonly slice: Slice }

const answer = (message: Answer): void => void process.send!(message)

let contender: Contender | undefined

async function obey(order: Order): Promise<void> {
  switch (order.kind) {
    case 'open':
      contender = await contenders[order.name](order.options)
      return answer({ kind: 'ready' })
    case 'slice': {
      const slice = await contender!.slice(order.producerCount, order.durationMs)
      return answer({ kind: 'slice', slice })
    }
    case 'close':
      await contender!.close()
      process.disconnect()
  }
}

process.on('message', (order: Order) => {
  obey(order).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
