/** SVG as a string. Pure.
 * Invariant: a drawing's last lines say where its figures were measured. */

export const widthPx = 860
export const marginPx = 20
export const textColor = '#1f2933'
export const mutedColor = '#61707f'
export const gridColor = '#e1e6eb'
export const oursColor = '#0b62c4'
const groundColor = '#ffffff'

/** Colours on a dark page. */
const darkColors: Readonly<Record<string, string>> = {
  [groundColor]: '#0d1117',
  [textColor]: '#e6edf3',
  [mutedColor]: '#9aa7b4',
  [gridColor]: '#30363d',
  [oursColor]: '#58a6ff',
}

/** Style rules go before colour attributes. */
const darkStyle = `<style>@media (prefers-color-scheme: dark) {${Object.entries(darkColors)
  .map(([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`)
  .join('')}}</style>`

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** To a tenth of a pixel. */
const px = (value: number): string => String(Math.round(value * 10) / 10)

export interface TextStyle {
  readonly sizePx?: number
  readonly color?: string
  readonly bold?: boolean
  readonly anchor?: 'start' | 'middle' | 'end'
}

/** @param y of its base line */
export function text(x: number, y: number, content: string, style: TextStyle = {}): string {
  const { sizePx = 12, color = textColor, bold = false, anchor = 'start' } = style
  const weight = bold ? ' font-weight="600"' : ''
  return `<text x="${px(x)}" y="${px(y)}" font-size="${sizePx}" fill="${color}" text-anchor="${anchor}"${weight}>${escaped(content)}</text>`
}

export const rectangle = (x: number, y: number, width: number, height: number, color: string): string =>
  `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${color}"/>`

export const line = (x1: number, y1: number, x2: number, y2: number, color: string, strokePx = 1): string =>
  `<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" stroke="${color}" stroke-width="${strokePx}"/>`

export const circle = (x: number, y: number, radius: number, color: string): string =>
  `<circle cx="${px(x)}" cy="${px(y)}" r="${radius}" fill="${color}"/>`

export const path = (points: readonly (readonly [x: number, y: number])[], color: string): string =>
  `<polyline points="${points.map(([x, y]) => `${px(x)},${px(y)}`).join(' ')}" fill="none" stroke="${color}" stroke-width="2" stroke-linejoin="round"/>`

/** @param body drawn below the title, from `bodyTopPx` on
 * @param source where the figures come from, a line each */
export function drawing(
  title: string,
  bodyHeightPx: number,
  body: readonly string[],
  source: readonly string[],
): string {
  const height = bodyTopPx + bodyHeightPx + source.length * 15 + 16
  const notes = source.map((sentence, i) =>
    text(marginPx, bodyTopPx + bodyHeightPx + 14 + i * 15, sentence, { sizePx: 11, color: mutedColor }),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${widthPx}" height="${height}" viewBox="0 0 ${widthPx} ${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" role="img">`,
    `<title>${escaped(title)}</title>`,
    darkStyle,
    rectangle(0, 0, widthPx, height, groundColor),
    text(marginPx, 30, title, { sizePx: 16, bold: true }),
    ...body,
    ...notes,
    '</svg>',
    '',
  ].join('\n')
}

export const bodyTopPx = 46
