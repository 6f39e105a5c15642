/** Completion for bash 4 and later, without the package bash-completion. Pure. */
import type { CompletedCommand, Values } from './completion-words.js'

export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion of waybill for bash: eval "$(waybill completion bash)"
_waybill() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]} options='' first=2
  COMPREPLY=()
  # --option=value comes in three words.
  if [[ $cur == '=' ]]; then cur=''
  elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '${firstWords(commands).join(' ')} --help --version' -- "$cur")
    return
  fi
  case $name in
${pairs(commands)
  .map(
    ([first, seconds]) => `    ${first})
      if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W '${seconds.join(' ')}' -- "$cur")
        return
      fi
      name="${first} \${COMP_WORDS[2]}" first=3 ;;`,
  )
  .join('\n')}
  esac
  if ((COMP_CWORD == 3)); then
    case "$name $prev" in
${pairs(commands)
  .map(
    ([first, seconds]) =>
      `    'help ${first}') mapfile -t COMPREPLY < <(compgen -W '${seconds.join(' ')}' -- "$cur"); return ;;`,
  )
  .join('\n')}
    esac
  fi
  case "$name $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case $name in
${commands
  .map(
    ({ name, options, arguments: values }) =>
      `    ${quoted(name)})
      options='${options.flatMap(({ flags }) => flags).join(' ')}'
      [[ $cur == -* ]] || { ${replyOf(values)}; return; } ;;`,
  )
  .join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}
complete -F _waybill waybill
`
}

const firstWords = (commands: readonly CompletedCommand[]): string[] => [
  ...new Set(commands.map(({ name }) => name.split(' ')[0]!)),
]

/** Names of two words, by the first: `log` → `stat dump …`. */
export function pairs(commands: readonly CompletedCommand[]): [first: string, seconds: string[]][] {
  const found = new Map<string, string[]>()
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ')
    if (second !== undefined) found.set(first, [...(found.get(first) ?? []), second])
  }
  return [...found]
}

const valueCases = ({ name, options }: CompletedCommand): string[] =>
  options.flatMap(({ flags, values }) =>
    values === undefined
      ? []
      : [`    ${flags.map((flag) => quoted(`${name} ${flag}`)).join(' | ')}) ${replyOf(values)}; return ;;`],
  )

function replyOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `mapfile -t COMPREPLY < <(compgen -W '${values.words.join(' ')}' -- "$cur")`
    case 'directory':
      return 'compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur")'
    case 'file':
      return 'compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur")'
    case 'unknown':
      return 'COMPREPLY=()'
  }
}

const quoted = (text: string): string => `'${text}'`
