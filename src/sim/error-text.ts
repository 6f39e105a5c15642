/** An error in one line, with the one behind it. */
export const textOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}: ${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`
    : JSON.stringify(error)
