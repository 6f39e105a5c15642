/** Completion for zsh. Pure. */
import { pairs } from './completion-bash.js'
import type { CompletedCommand, CompletedOption, Values } from './completion-words.js'

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const inPairs = pairs(commands)
  const firsts = [
    ...commands
      .filter(({ name }) => !name.includes(' '))
      .map(({ name, summary }) => described(name, summary)),
    ...inPairs.map(([first]) => described(first, `waybill ${first} …`)),
  ]
  return `#compdef waybill
# Completion of waybill for zsh: in a file _waybill of $fpath, or eval "$(waybill completion zsh)"
_waybill() {
  local -a names
  if ((CURRENT == 2)); then
    names=(${firsts.join(' ')})
    _describe -t commands 'command of waybill' names
    return
  fi
  shift words
  ((CURRENT--))
  local name=$words[1]
  case $name in
${inPairs
  .map(
    ([first]) => `    ${first})
      if ((CURRENT == 2)); then
        names=(${commands
          .filter(({ name }) => name.startsWith(`${first} `))
          .map(({ name, summary }) => described(name.slice(first.length + 1), summary))
          .join(' ')})
        _describe -t commands 'command of waybill ${first}' names
        return
      fi
      shift words
      ((CURRENT--))
      name="${first} $words[1]" ;;`,
  )
  .join('\n')}
  esac
  case $name:$CURRENT:$words[2] in
${inPairs
  .map(
    ([first, seconds]) => `    help:3:${first})
      compadd -- ${seconds.join(' ')}
      return ;;`,
  )
  .join('\n')}
  esac
  case $name in
${commands
  .map(
    ({ name, options, arguments: values }) => `    ${quoted(name)})
      _arguments -S ${[...options.flatMap(specsOf), quoted(`*:argument:${actionOf(values)}`)].join(' \\\n        ')} ;;`,
  )
  .join('\n')}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _waybill "$@"
else
  compdef _waybill waybill
fi
`
}

const specsOf = ({ flags, values, placeholder, isRepeatable, help }: CompletedOption): string[] =>
  flags.map((flag) => {
    const exclusive = isRepeatable ? '*' : `(${flags.join(' ')})`
    const value = values === undefined ? '' : `:${inSpec(placeholder)}:${actionOf(values)}`
    return quoted(`${exclusive}${flag}[${inSpec(help)}]${value}`)
  })

function actionOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `(${values.words.join(' ')})`
    case 'directory':
      return '_directories'
    case 'file':
      return '_files'
    case 'unknown':
      return ' '
  }
}

const described = (name: string, summary: string): string => quoted(`${name}:${summary}`)
const inSpec = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&')
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
