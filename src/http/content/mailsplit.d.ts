/** As much of mailsplit, which has no types, as mime-parts.ts uses. */
declare module 'mailsplit' {
  import type { Transform } from 'node:stream'

  export interface MimeNode {
    readonly type: 'node'
    readonly root: boolean
    readonly parentNode: MimeNode | false
    /** `alternative`, of `multipart/alternative`. */
    readonly multipart: string | false
    readonly contentType: string | false
    readonly charset: string | false
    readonly encoding: string
    readonly disposition: string | false
    readonly filename: string | false
    readonly headers: {
      getList(): { readonly key: string; readonly line: string }[]
    }
    getDecoder(): Transform
    readonly libmime: { decodeWords(words: string): string }
  }

  export type MimePiece =
    MimeNode | { readonly type: 'body' | 'data'; readonly node: MimeNode; readonly value: Buffer }

  export const Splitter: new (options: {
    readonly ignoreEmbedded: boolean
    readonly maxHeadSize: number
    readonly maxChildNodes: number
  }) => Transform
}
