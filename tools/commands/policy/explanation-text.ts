/** Explains the settings of a destination, for people. Pure. */
import { formatDuration } from '../../../src/policy/duration.js'
import type { ZmailerExplanation } from '../../../src/index.js'
import { table } from '../text/shown-text.js'

type Settings = ZmailerExplanation['settings']
type Shown = readonly [word: string, name: keyof Settings, text: (settings: Settings) => string]

const count = (value: number): string => (value === 0 ? '0 (1000)' : String(value))
const flag = (isSet: boolean): string => (isSet ? 'yes' : 'no')

/** In the chapter's order, with its words. */
const shown: readonly Shown[] = [
  ['interval', 'intervalMs', ({ intervalMs }) => formatDuration(intervalMs)],
  ['idlemax', 'idlemaxMs', ({ idlemaxMs }) => formatDuration(idlemaxMs)],
  ['expiry', 'expiryMs', ({ expiryMs }) => (expiryMs === 0 ? 'never' : formatDuration(expiryMs))],
  ['retries', 'retries', ({ retries }) => retries.join(' ')],
  ['maxta', 'maxta', ({ maxta }) => count(maxta)],
  ['maxchannel', 'maxchannel', ({ maxchannel }) => count(maxchannel)],
  ['maxring', 'maxring', ({ maxring }) => count(maxring)],
  ['skew', 'skew', ({ skew }) => String(skew)],
  ['user', 'user', ({ user }) => user],
  ['group', 'group', ({ group }) => group],
  ['command', 'command', ({ command }) => (command === '' ? 'none' : command)],
  ['bychannel', 'bychannel', ({ bychannel }) => flag(bychannel)],
  ['queueonly', 'queueonly', ({ queueonly }) => flag(queueonly)],
  ['overfeed', 'overfeed', ({ overfeed }) => String(overfeed)],
  ['ageorder', 'ageorder', ({ ageorder }) => flag(ageorder)],
]

export function explanationText(explained: ZmailerExplanation): string {
  const { transport, nexthop, clauses, settings, lines, limits, delaysMs } = explained
  const matching = clauses.map(({ line, contentsLine, pattern }, i) => {
    const contents = contentsLine === line ? '' : `, with the contents of line ${contentsLine}`
    return `  line ${line}  ${pattern}${contents}${i === clauses.length - 1 ? '; the search ends here' : ''}`
  })
  const rows = shown.map(([word, name, text]) => {
    const line = lines[name]
    return [`  ${word}`, text(settings), line === undefined ? 'default' : `line ${line}`]
  })
  return [
    `${transport}/${nexthop}`,
    ...(matching.length === 0 ? ['  no clause matches'] : matching),
    '',
    table(['  setting', 'value', 'from'], rows),
    '',
    limits.queueonly
      ? 'It is attempted on request only: `waybill flush --nexthop`.'
      : `After each attempt it waits ${delaysMs.map(formatDuration).join(', ')}; then it enters this list again.`,
    `At once: ${limits.ringDeliveryCountMax} of its ring (${limits.ring}), ` +
      `${limits.transportDeliveryCountMax} of ${transport}, ${limits.deliveryCountMax} in all.`,
    '',
  ].join('\n')
}
