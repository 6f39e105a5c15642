/** How many of what, for a reader: `1 message`, `1 234 messages`. Pure. */

/** The noun as it stands behind the count. @param the plural, if it is not the noun with an s */
export const nounText = (count: number, noun: string, more: string = `${noun}s`): string =>
  count === 1 ? noun : more

/** Digits in threes. */
export const digitsText = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ' ')

export const countText = (count: number, noun: string, more?: string): string =>
  `${digitsText(count)} ${nounText(count, noun, more)}`
