/** One of the servers in a process of its own, so that what it uses can be told from what its client uses. */
import { answering } from '../asked-process.js'
import { servers, type ServerName } from './servers.js'

export interface Order {
  readonly open: ServerName
}

export interface Answer {
  readonly port: number
}

answering(async ({ open }: Order): Promise<Answer> => ({ port: await servers[open]() }))
