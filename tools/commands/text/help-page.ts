/** A page of the package as HTML, for the console. Pure.
 * It knows what our pages use of Markdown: headings, paragraphs, lists, tables, fenced and inline
 * code, emphasis, links.
 * Invariant: the text of a page becomes text and never markup, and a link leads to another page
 * that is served, or away from here by https. */
import { posix } from 'node:path'

/** @param path from the root of the package, `src/relay/SERVE.md` @param served paths of all such
 * pages */
export function helpHtml(path: string, markdown: string, served: readonly string[]): string {
  const lines = markdown.replaceAll('\r', '').split('\n')
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? path
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escaped(title)} – Waybill</title>
    <link rel="icon" href="/console/page/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/console/page/base.css" />
    <link rel="stylesheet" href="/console/page/help.css" />
  </head>
  <body class="help">
    <main>
${new Blocks(new Inline(path, served)).of(lines)}
    </main>
  </body>
</html>
`
}

/** As GitHub makes the anchor of a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)

const fence = /^\x60{3}/
const heading = /^(#{1,6}) +(.*)$/
const item = /^( *)(?:([-*])|(\d+)\.) +(.*)$/
const tableRule = /^\|(?: *:?-+:? *\|)+ *$/

class Blocks {
  readonly #inline: Inline

  constructor(inline: Inline) {
    this.#inline = inline
  }

  of(lines: readonly string[]): string {
    const blocks: string[] = []
    for (let at = 0; at < lines.length;) {
      const line = lines[at]!
      const headed = heading.exec(line)
      if (line.trim() === '') at++
      else if (fence.test(line)) {
        const end = endFrom(lines, at + 1, (next) => fence.test(next))
        blocks.push(`<pre><code>${escaped(lines.slice(at + 1, end).join('\n'))}</code></pre>`)
        at = end + 1
      } else if (headed !== null) {
        const [, { length } = '', text = ''] = headed
        blocks.push(`<h${length} id="${escaped(anchorOf(text))}">${this.#inline.of(text)}</h${length}>`)
        at++
      } else if (line.startsWith('|')) {
        const end = endFrom(lines, at, (next) => !next.startsWith('|'))
        blocks.push(this.#table(lines.slice(at, end)))
        at = end
      } else if (item.test(line)) {
        const end = endFrom(lines, at, (next, index) => isBehindList(lines, next, index))
        blocks.push(this.#list(lines.slice(at, end)))
        at = end
      } else {
        const end = endFrom(lines, at + 1, (next) => next.trim() === '' || beginsBlock(next))
        blocks.push(`<p>${this.#inline.of(lines.slice(at, end).join('\n'))}</p>`)
        at = end
      }
    }
    return blocks.join('\n')
  }

  #table(rows: readonly string[]): string {
    const [head = '', rule = '', ...body] = rows
    const hasHead = tableRule.test(rule)
    const row = (line: string, cell: 'th' | 'td'): string =>
      `<tr>${cellsOf(line)
        .map((text) => `<${cell}>${this.#inline.of(text)}</${cell}>`)
        .join('')}</tr>`
    const rest = (hasHead ? body : rows).map((line) => row(line, 'td')).join('\n')
    return `<table>${hasHead ? `<thead>${row(head, 'th')}</thead>` : ''}<tbody>${rest}</tbody></table>`
  }

  /** Its lines, with those that go on, and the lists within it. */
  #list(lines: readonly string[]): string {
    const indent = item.exec(lines[0]!)![1]!.length
    const starts = lines.flatMap((line, at) => {
      const begun = item.exec(line)
      return begun !== null && begun[1]!.length <= indent ? [at] : []
    })
    const items = starts.map((start, i) => {
      const [, , , , first = ''] = item.exec(lines[start]!)!
      const width = lines[start]!.length - first.length
      const rest = lines.slice(start + 1, starts[i + 1] ?? lines.length)
      const inner = [
        first,
        ...rest.map((line) => (/^ *$/.test(line.slice(0, width)) ? line.slice(width) : line.trimStart())),
      ]
      const html = this.of(inner)
      // A short item is a line, and no paragraph.
      return `<li>${html.replace(/^<p>([^]*?)<\/p>/, '$1')}</li>`
    })
    const isOrdered = item.exec(lines[0]!)![3] !== undefined
    return isOrdered ? `<ol>${items.join('\n')}</ol>` : `<ul>${items.join('\n')}</ul>`
  }
}

const beginsBlock = (line: string): boolean =>
  fence.test(line) || heading.test(line) || line.startsWith('|') || item.test(line)

/** A list goes on over an empty line, if something of it follows. */
function isBehindList(lines: readonly string[], line: string, at: number): boolean {
  if (line.trim() === '') {
    const next = lines[at + 1] ?? ''
    return !/^ +\S/.test(next) && !item.test(next)
  }
  return lines[at - 1]?.trim() === '' && !line.startsWith(' ') && !item.test(line)
}

function endFrom(
  lines: readonly string[],
  from: number,
  isEnd: (line: string, at: number) => boolean,
): number {
  let at = from
  while (at < lines.length && !isEnd(lines[at]!, at)) at++
  return at
}

/** `\|` is no border. */
const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

class Inline {
  readonly #path: string
  readonly #served: readonly string[]

  constructor(path: string, served: readonly string[]) {
    this.#path = path
    this.#served = served
  }

  of(text: string): string {
    let html = ''
    let rest = text
    for (;;) {
      const found =
        /(\x60+)(?!\x60)([^]*?[^\x60])\1(?!\x60)|\[([^\]]+)\]\(([^()\s]+)\)|\*\*([^*]+)\*\*|(?<![\w*])([*_])([^*_\s](?:[^*_]*[^*_\s])?)\6(?![\w*])/.exec(
          rest,
        )
      if (found === null) return html + unescaped(rest)
      const [whole, , code, label, target, strong, , emphasis] = found
      html += unescaped(rest.slice(0, found.index))
      if (code !== undefined) html += `<code>${escaped(code.trim())}</code>`
      else if (target !== undefined) html += this.#link(label ?? '', target)
      else if (strong !== undefined) html += `<strong>${this.of(strong)}</strong>`
      else html += `<em>${this.of(emphasis ?? '')}</em>`
      rest = rest.slice(found.index + whole.length)
    }
  }

  /** A page that is not served is named, because the package has it. */
  #link(label: string, target: string): string {
    const text = this.of(label)
    if (/^https?:\/\//.test(target)) return `<a href="${escaped(target)}">${text}</a>`
    const [file = '', anchor] = target.split('#', 2)
    const page = file === '' ? this.#path : posix.join(posix.dirname(this.#path), file)
    const place = anchor === undefined ? '' : `#${anchor}`
    if (this.#served.includes(page)) return `<a href="/help/${escaped(page + place)}">${text}</a>`
    return label === page || label === file ? text : `${text} (<code>${escaped(page)}</code>)`
  }
}

/** A backslash before punctuation is none of the text. */
const unescaped = (text: string): string => escaped(text.replace(/\\([!-/:-@[-\x60{-~])/g, '$1'))
