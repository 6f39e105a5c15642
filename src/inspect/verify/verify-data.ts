/** Checks the data of each message against its checksum.
 * Lanes keep data in the order of their envelopes, so one moving window is read. */
import { crc32 } from '../../base/checksum.js'
import { frameBytes, kindAt, kinds, payloadAt, verifyFrame } from '../../record/frame.js'
import { isDamage } from '../damage/finding.js'
import type { Located, MessageContent } from '../messages/message-content.js'
import type { LogName } from '../queue/queue-directory.js'

const windowBytes = 1024 * 1024

export class DataVerifier {
  readonly #content: MessageContent
  readonly #window: Buffer = Buffer.allocUnsafe(windowBytes)
  #log: LogName | undefined
  #segment = -1
  #seed = 0
  #offsetBytes = 0
  #length = 0

  constructor(content: MessageContent) {
    this.#content = content
  }

  /** @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED */
  async check(message: Located): Promise<void> {
    // Data that does not verify in the window is read alone, which also shows the error.
    if (!(await this.#holdsInWindow(message))) await this.#content.data(message)
  }

  async #holdsInWindow({ envelope, lane }: Located): Promise<boolean> {
    const { data, dataBytes, checksum } = envelope
    if (data.kind !== 'lane') return false
    const log: LogName = `${lane}/data`
    const { grid } = this.#content.log(log)
    const segment = grid.indexOf(data.position)
    const offsetBytes = grid.offsetOf(data.position)
    const bytes = frameBytes(dataBytes)
    if (bytes > windowBytes) return false
    const isInside =
      this.#log === log &&
      this.#segment === segment &&
      offsetBytes >= this.#offsetBytes &&
      offsetBytes + bytes <= this.#offsetBytes + this.#length
    const seed = isInside ? this.#seed : await this.#read(log, segment, offsetBytes)
    if (seed === undefined) return false
    const at = offsetBytes - this.#offsetBytes
    if (verifyFrame(this.#window, at, this.#length, seed ^ offsetBytes) === 0) return false
    if (kindAt(this.#window, at) !== kinds.data) return false
    const payload = payloadAt(this.#window, at)
    return payload.length === dataBytes && crc32(payload) === checksum
  }

  async #read(log: LogName, segment: number, offsetBytes: number): Promise<number | undefined> {
    this.#log = undefined
    try {
      return await this.#content.log(log).with(segment, async ({ file, seed }) => {
        this.#length = await file.read(this.#window, offsetBytes)
        this.#log = log
        this.#segment = segment
        this.#offsetBytes = offsetBytes
        this.#seed = seed
        return seed
      })
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined
    }
  }
}
