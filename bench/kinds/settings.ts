/** The settings that a kind of mail needs at the two relays. */
export interface Settings {
  /** Arguments of `serve`. */
  readonly waybill: readonly string[]
  /** Lines of main.cf; undefined: it takes no part, and a note says why. */
  readonly postfix: readonly string[] | undefined
  /** In the directory of its configuration. */
  readonly postfixFiles?: Readonly<Record<string, string>>
  /** Processes beside Postfix whose work is its work. */
  readonly helperIds?: readonly number[]
  /** Ends them. */
  readonly stop?: () => Promise<void>
}
