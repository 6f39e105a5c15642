/** Paths of the parts of a queue in its directory; header.ts and log/journal.ts name the rest. */

export const lanesDirectory = 'lanes'
/** @param name of a directory in `lanes`
 * @returns undefined for one that no life has made */
export const laneNumberOf = (name: string): number | undefined =>
  /^(?:0|[1-9][0-9]{0,14})$/.test(name) ? Number(name) : undefined

export const laneDirectory = (lane: number): string => `${lanesDirectory}/${lane}`
export const envelopesDirectory = (lane: number): string => `${laneDirectory(lane)}/envelopes`
export const dataDirectory = (lane: number): string => `${laneDirectory(lane)}/data`

/** Logs beside the journal and the lanes. Each has the directory of its name. */
export const sideLogNames = ['keys', 'outcomes'] as const
export type SideLogName = (typeof sideLogNames)[number]

export const isSideLog = (name: string): name is SideLogName =>
  (sideLogNames as readonly string[]).includes(name)

export const spoolDirectory = 'spool'
export const spoolPath = (number: number): string =>
  `${spoolDirectory}/${number.toString(16).padStart(12, '0')}.mail`

const spoolNamePattern = /^([0-9a-f]{12,14})\.mail$/

/** No life reaches this number, and later ones are still exact: a file above it is
 * another program's. */
const spoolNumberMax = 2 ** 52

/** @param name of a file in the spool directory @returns undefined for one that no life has made */
export function spoolNumberOf(name: string): number | undefined {
  const digits = spoolNamePattern.exec(name)?.[1]
  const number = digits === undefined ? Infinity : Number.parseInt(digits, 16)
  return number <= spoolNumberMax ? number : undefined
}
