/** The address of a problem's help: the relay answers with pages of its package. Pure. */

const pages: Readonly<Record<string, string>> = {
  'src/directory/README.md': 'The directory of a queue',
  'src/relay/SERVE.md': 'The relay',
  'tools/commands/OPERATING.md': 'Operating a queue',
}

/** @param help `src/relay/SERVE.md#ports-and-tls` */
export function helpOf(help: string): { readonly href: string; readonly title: string } {
  const [page = '', heading = ''] = help.split('#', 2)
  const title = pages[page] ?? page
  if (heading === '') return { href: `/help/${page}`, title }
  return { href: `/help/${help}`, title: `${title}, \u201c${heading.replaceAll('-', ' ')}\u201d` }
}
