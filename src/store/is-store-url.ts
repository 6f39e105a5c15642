/** Tells the URL of a store from a directory, without loading anything of the store. */
export const isStoreUrl = (place: unknown): place is string =>
  typeof place === 'string' && /^postgres(?:ql)?:\/\//.test(place)
