/** The bytes of a file, in pages that are never changed once written.
 * Invariant: a write makes new pages, and changes none that another content holds. So a copy costs
 * an array of references, and a thousand states after a crash share their common pages. A page that
 * was never written takes no room; a written page of zeroes does. */

export const pageBytes = 4096
const zeroPage = Buffer.alloc(pageBytes)

export class Content {
  lengthBytes = 0
  #pages: (Buffer | undefined)[] = []
  #allocatedPages = 0
  #shared = false

  get allocatedBytes(): number {
    return this.#allocatedPages * pageBytes
  }

  /** The same bytes for a second holder; from now on a change makes a copy. */
  share(): this {
    this.#shared = true
    return this
  }

  /** Puts `bytes` at `position` and leaves the length alone. `bytes` must never change afterwards.
   * @returns the content that has them: this one, or a copy when this one is shared */
  patch(bytes: Buffer, position: number): Content {
    const target = this.#own()
    let done = 0
    while (done < bytes.length) {
      const at = position + done
      const page = Math.floor(at / pageBytes)
      const from = at % pageBytes
      const count = Math.min(pageBytes - from, bytes.length - done)
      const part = bytes.subarray(done, done + count)
      target.#setPage(page, count === pageBytes ? compact(part) : merge(target.#pages[page], part, from))
      done += count
    }
    return target
  }

  /** Cuts, or extends with zeroes. @returns like `patch` */
  resize(lengthBytes: number): Content {
    const target = this.#own()
    const pageCount = Math.ceil(lengthBytes / pageBytes)
    for (let page = pageCount; page < target.#pages.length; page++) {
      if (target.#pages[page] !== undefined) target.#allocatedPages--
    }
    if (target.#pages.length > pageCount) target.#pages.length = pageCount
    const tail = lengthBytes % pageBytes
    const last = target.#pages[pageCount - 1]
    if (tail > 0 && last !== undefined) {
      target.#pages[pageCount - 1] = merge(last, zeroPage.subarray(tail), tail)
    }
    target.lengthBytes = lengthBytes
    return target
  }

  /** Fills `into` from `position`, up to the end. @returns bytes read */
  read(into: Buffer, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.lengthBytes - position))
    let done = 0
    while (done < count) {
      const at = position + done
      const from = at % pageBytes
      const part = Math.min(pageBytes - from, count - done)
      const page = this.#pages[Math.floor(at / pageBytes)]
      if (page === undefined) into.fill(0, done, done + part)
      else page.copy(into, done, from, from + part)
      done += part
    }
    return count
  }

  /** Its pages and holes. @param digestOf bytes that never change */
  parts(digestOf: (page: Buffer) => string): unknown {
    return [this.lengthBytes, this.#pages.map((page) => page && digestOf(page))]
  }

  /** How many bytes a write there would allocate. */
  missingBytes(lengthBytes: number, position: number): number {
    let missing = 0
    for (let page = Math.floor(position / pageBytes); page * pageBytes < position + lengthBytes; page++) {
      if (this.#pages[page] === undefined) missing += pageBytes
    }
    return missing
  }

  #own(): Content {
    if (!this.#shared) return this
    const copy = new Content()
    copy.#pages = this.#pages.slice()
    copy.#allocatedPages = this.#allocatedPages
    copy.lengthBytes = this.lengthBytes
    return copy
  }

  #setPage(page: number, bytes: Buffer): void {
    // A hole before it stays a hole; a sparse array would be slow.
    while (this.#pages.length < page) this.#pages.push(undefined)
    if (this.#pages[page] === undefined) this.#allocatedPages++
    this.#pages[page] = bytes
  }
}

const compact = (page: Buffer): Buffer => (page.equals(zeroPage) ? zeroPage : page)

function merge(page: Buffer | undefined, part: Buffer, from: number): Buffer {
  const merged = room(pageBytes)
  if (page === undefined) merged.fill(0)
  else page.copy(merged)
  part.copy(merged, from)
  return merged
}

/** Memory for bytes that never change again: an ArrayBuffer for every page would cost more than the
 * rest of a simulated write. */
const slabBytes = 1 << 18
let slab = Buffer.allocUnsafeSlow(slabBytes)
let used = 0

/** Room for `lengthBytes`; the caller fills it at once and then leaves it alone. */
export function room(lengthBytes: number): Buffer {
  if (lengthBytes > slabBytes >>> 2) return Buffer.allocUnsafeSlow(lengthBytes)
  if (used + lengthBytes > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes)
    used = 0
  }
  const part = slab.subarray(used, used + lengthBytes)
  used += lengthBytes
  return part
}

/** A copy that later changes of `bytes` do not reach. */
export function ownCopy(bytes: Buffer): Buffer {
  const copy = room(bytes.length)
  bytes.copy(copy)
  return copy
}
