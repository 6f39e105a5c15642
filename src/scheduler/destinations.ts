/** The destinations of one transport, by name and in the order of creation. */
import { LinkedList } from '../base/linked-list.js'
import { NameTable } from '../base/name-table.js'
import type { Destination } from './destination.js'

export class Destinations {
  readonly #inOrder = new LinkedList<Destination>()
  readonly #byName = new NameTable<Destination>()

  get first(): Destination | undefined {
    return this.#inOrder.first
  }

  /** @param name `Destination.name` */
  get(name: string): Destination | undefined {
    return this.#byName.get(name)
  }

  /** @param destination none of that name is here */
  add(destination: Destination): void {
    this.#inOrder.add(destination)
    this.#byName.add(destination)
  }

  remove(destination: Destination): void {
    this.#inOrder.remove(destination)
    this.#byName.remove(destination)
  }

  /** In the order of creation. The one that was given last may leave meanwhile. */
  [Symbol.iterator](): Iterator<Destination> {
    return this.#inOrder[Symbol.iterator]()
  }
}
