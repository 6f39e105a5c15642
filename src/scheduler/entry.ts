/** Recipients of one message for one destination, delivered at once.
 * Invariant: a waiting entry is in its peer's list and in its destination's; one under way is in neither, only counted. */
import type { Entry } from './face.js'
import type { Destination } from './destination.js'
import type { Message } from './message.js'
import type { Peer } from './peer.js'

export class QueuedEntry implements Entry<object> {
  readonly message: object
  readonly transport: string
  readonly nexthop: string
  recipients: number[]
  readonly of: Message
  readonly peer: Peer
  readonly destination: Destination
  phase: 'todo' | 'busy' | 'gone' = 'todo'
  peerNext: QueuedEntry | undefined = undefined
  todoPrevious: QueuedEntry | undefined = undefined
  todoNext: QueuedEntry | undefined = undefined

  constructor(message: Message, peer: Peer, recipients: number[]) {
    const destination = peer.destination
    this.message = message.handle
    this.transport = destination.transport.name
    this.nexthop = destination.nexthop
    this.recipients = recipients
    this.of = message
    this.peer = peer
    this.destination = destination
  }
}

/** A new entry at the end of its peer's and its destination's list. */
export function enqueue(message: Message, peer: Peer, recipients: number[]): QueuedEntry {
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

/** Takes a waiting entry, the first of its peer, out of both lists. The caller recounts the destination. */
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
