/** The names in a directory as the kernel and the device see them.
 * Invariant: `list` returns `names`; the device certainly holds `durable`; `pending` holds their
 * differences, in order. A name and the content it names are durable independently. A rename
 * within a directory is one change; between two it is two, of which the removal never happens
 * without the new name. */
import type { SimFile } from './sim-file.js'

export type SimNode = SimFile | SimDirectory

export interface NameChange {
  readonly seq: number
  /** The name that is set, with what it names; or removed, if that is undefined. */
  readonly name: string
  readonly node: SimNode | undefined
  /** The other name of a rename within this directory, removed in the same change. */
  readonly removes: string | undefined
  /** The directory whose change of the same `seq` must be durable before this one is: the
   * target of a rename. */
  readonly after: SimDirectory | undefined
  /** The kernel believes that the device has it. */
  readonly clean: boolean
}

export class SimDirectory {
  readonly kind = 'directory'
  names: Map<string, SimNode> = new Map()
  durable: Map<string, SimNode> = new Map()
  pending: NameChange[] = []

  set(name: string, node: SimNode, seq: number): void {
    this.#change({ seq, name, node, removes: undefined, after: undefined, clean: false })
  }

  remove(name: string, seq: number, after?: SimDirectory): void {
    this.#change({ seq, name, node: undefined, removes: undefined, after, clean: false })
  }

  rename(from: string, to: string, node: SimNode, seq: number): void {
    this.#change({ seq, name: to, node, removes: from, after: undefined, clean: false })
  }

  /** Makes durable all changes up to `seq` that the kernel does not call clean, and those called
   * clean whose names changed again since: the device gets the present name, and the older one
   * cannot return. */
  sync(seq: number): void {
    const names = this.#dirtyNames(seq)
    const rest: NameChange[] = []
    for (const change of this.pending) {
      if (change.seq > seq || (change.clean && !touches(change, names))) {
        rest.push(change)
        continue
      }
      change.after?.sync(change.seq)
      applyChange(this.durable, change)
    }
    this.pending = rest
  }

  /** The sync failed: its changes are called clean. */
  failSync(seq: number): void {
    this.pending = this.pending.map((change) => (change.seq <= seq ? { ...change, clean: true } : change))
  }

  /** Names of changes that are to be written, and those that an earlier change ties to them. */
  #dirtyNames(seq: number): ReadonlySet<string> {
    const names = new Set<string>()
    for (let i = this.pending.length - 1; i >= 0; i--) {
      const change = this.pending[i]!
      if (change.seq > seq || (change.clean && !touches(change, names))) continue
      names.add(change.name)
      if (change.removes !== undefined) names.add(change.removes)
    }
    return names
  }

  #change(change: NameChange): void {
    applyChange(this.names, change)
    this.pending.push(change)
  }
}

export function applyChange(names: Map<string, SimNode>, change: NameChange): void {
  if (change.removes !== undefined) names.delete(change.removes)
  if (change.node === undefined) names.delete(change.name)
  else names.set(change.name, change.node)
}

const touches = (change: NameChange, names: ReadonlySet<string>): boolean =>
  names.has(change.name) || (change.removes !== undefined && names.has(change.removes))
