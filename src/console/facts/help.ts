/** Where a problem's help stands: at the relay, which answers with the pages of its package as
 * plain text. Pure. */

/** @param help `src/relay/SERVE.md#ports-and-tls` */
export function helpOf(help: string): { readonly href: string; readonly title: string } {
  const [page = '', heading = ''] = help.split('#', 2)
  const title = heading === '' ? page : `${page}, \u201c${heading.replaceAll('-', ' ')}\u201d`
  return { href: `/help/${page}`, title }
}
