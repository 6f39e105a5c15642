/** Where the parts of a queue lie in its directory; queue-header.ts and log/journal.ts name the header and the journal. */

export const lanesDirectory = 'lanes'
export const laneDirectory = (lane: number): string => `${lanesDirectory}/${lane}`
export const envelopesDirectory = (lane: number): string => `${laneDirectory(lane)}/envelopes`
export const dataDirectory = (lane: number): string => `${laneDirectory(lane)}/data`

export const spoolDirectory = 'spool'
export const spoolPath = (number: number): string =>
  `${spoolDirectory}/${number.toString(16).padStart(12, '0')}.mail`

const spoolNamePattern = /^([0-9a-f]{12,14})\.mail$/

/** @param name of a file in the spool directory */
export function spoolNumberOf(name: string): number | undefined {
  const digits = spoolNamePattern.exec(name)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}
