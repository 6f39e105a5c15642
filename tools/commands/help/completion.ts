/** `waybill completion`: prints the completion script of a shell. */
import { loadAll } from './catalogue.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { bashCompletion } from './completion-bash.js'
import { fishCompletion } from './completion-fish.js'
import { completedCommands, type CompletedCommand } from './completion-words.js'
import { zshCompletion } from './completion-zsh.js'
import { print } from '../text/output.js'

const shells: ReadonlyMap<string, (commands: readonly CompletedCommand[]) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
])

export const completion: Command = {
  synopsis: 'bash|zsh|fish',
  operands: true,
  options: {},
  notes:
    'bash: `eval "$(waybill completion bash)"` in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, behind compinit;\n' +
    'fish: `waybill completion fish | source` in ~/.config/fish/config.fish.',
  run: async ({ rest }: Arguments) => {
    const [shell, ...more] = rest
    const script = shells.get(shell ?? '')
    if (script === undefined || more.length > 0)
      throw new UsageError(`expected one shell: ${[...shells.keys()].join(', ')}`)
    return print(script(completedCommands(await loadAll())))
  },
}
