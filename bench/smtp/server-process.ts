/** One of the servers in a separate process, so that its use can be measured without its
 * client's. */
import { answering } from '../asked-process.js'
import { servers, type ServerName } from './servers.js'

export interface Order {
  readonly open: ServerName
}

export interface Answer {
  readonly port: number
}

answering(async ({ open }: Order): Promise<Answer> => ({ port: await servers[open]() }))
