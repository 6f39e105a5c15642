/** What a life says of what it met on the disk: a warning, the error that ended it, or the bytes of a torn batch that it cut. */
export type Notice =
  | { readonly kind: 'warning'; readonly code: string; readonly text: string; readonly message?: string }
  | { readonly kind: 'ended'; readonly code: string; readonly text: string }
  | { readonly kind: 'cut'; readonly bytes: number }
