/** A notice of damage: a warning, the error that ended a life, or the bytes of a torn batch. */
export type Notice =
  | { readonly kind: 'warning'; readonly code: string; readonly text: string; readonly message?: string }
  | { readonly kind: 'ended'; readonly code: string; readonly text: string }
  | { readonly kind: 'cut'; readonly bytes: number }
