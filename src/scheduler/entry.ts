/** Recipients of one message for one destination, delivered at once.
 * Invariant: a waiting entry is in its peer's list and in its destination's; one under way is in
 * neither, only counted. */
import type { Entry } from './interface.js'
import type { Destination } from './destination.js'
import type { Message } from './message.js'
import type { Peer } from './peer.js'

/** Lists of one recipient are shared: most entries have one, and most of those its message's
 * first. */
const singles: readonly (readonly number[])[] = Array.from({ length: 64 }, (_, index) => [index])

/** A list of one recipient index, shared with other entries. */
export const single = (index: number): readonly number[] => singles[index] ?? [index]

export class QueuedEntry implements Entry<object> {
  readonly message: object
  recipients: readonly number[]
  readonly peer: Peer
  readonly destination: Destination
  phase: 'todo' | 'busy' | 'gone' = 'todo'
  hostMark = false
  peerNext: QueuedEntry | undefined = undefined
  todoPrevious: QueuedEntry | undefined = undefined
  todoNext: QueuedEntry | undefined = undefined

  constructor(message: Message, peer: Peer, recipients: readonly number[]) {
    this.message = message.handle
    this.recipients = recipients
    this.peer = peer
    this.destination = peer.destination
  }

  get transport(): string {
    return this.destination.transport.name
  }

  get nexthop(): string {
    return this.destination.nexthop
  }

  get destinationName(): string {
    return this.destination.name
  }
}

/** One more recipient for an entry that waits. */
export function addRecipient(entry: QueuedEntry, index: number): void {
  if (entry.recipients.length === 1) entry.recipients = [entry.recipients[0]!, index]
  else (entry.recipients as number[]).push(index)
}

/** A new entry at the end of its peer's and its destination's list. */
export function enqueue(message: Message, peer: Peer, recipients: readonly number[]): QueuedEntry {
  const entry = new QueuedEntry(message, peer, recipients)
  const destination = peer.destination
  if (peer.lastEntry === undefined) peer.firstEntry = entry
  else peer.lastEntry.peerNext = entry
  peer.lastEntry = entry
  peer.entryCount++
  entry.todoPrevious = destination.lastTodo
  if (destination.lastTodo === undefined) destination.firstTodo = entry
  else destination.lastTodo.todoNext = entry
  destination.lastTodo = entry
  destination.todo++
  message.entryCount++
  peer.job.readEntries++
  destination.recount()
  return entry
}

/** Takes a waiting entry, the first of its peer, out of both lists. The caller recounts
 * the destination. */
export function dequeue(entry: QueuedEntry): void {
  const { peer, destination, todoPrevious, todoNext } = entry
  peer.firstEntry = entry.peerNext
  if (peer.firstEntry === undefined) peer.lastEntry = undefined
  entry.peerNext = undefined
  if (todoPrevious === undefined) destination.firstTodo = todoNext
  else todoPrevious.todoNext = todoNext
  if (todoNext === undefined) destination.lastTodo = todoPrevious
  else todoNext.todoPrevious = todoPrevious
  entry.todoPrevious = entry.todoNext = undefined
  destination.todo--
  peer.job.selectedEntries++
}
