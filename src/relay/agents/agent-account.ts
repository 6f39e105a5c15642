/** The user and the group that agents run as.
 * Invariant: no agent runs as root except where root was asked for by its option; the chapter's
 * default, `user=root group=daemon`, asks for nothing.
 *   1. The relay runs as root, because its ports are below 1024.
 *   2. A configuration in use has no `user`, and root is ZMailer's default.
 *   3. A message makes the agent do what its sender wants, as root. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WaybillError } from '../../errors.js'

export interface AgentAccount {
  readonly uid: number
  readonly gid: number
}

/** The account of agents by default, if the relay is root. */
const nobody: AgentAccount = { uid: 65_534, gid: 65_534 }

export interface AccountWish {
  /** A name or a number; '' and `root`: nobody in particular. */
  readonly user: string
  readonly group: string
  /** Agents may be root. */
  readonly allowsRoot: boolean
}

/** @returns undefined: that of this process
 * @throws WaybillError OPTION_INVALID when the system does not know it, or only root could be it */
export async function accountOf(
  wish: AccountWish,
  ownUid: number = process.geteuid?.() ?? -1,
  ownGid: number = process.getegid?.() ?? -1,
): Promise<AgentAccount | undefined> {
  const { user, group, allowsRoot } = wish
  const wantsRoot = user === 'root' || user === '0'
  // The chapter's default is the group of a daemon that is root.
  const namesGroup = group !== '' && group !== 'daemon'
  if (ownUid !== 0) {
    if (user !== '' && !wantsRoot && (await idOf('-u', user)) !== ownUid)
      throw invalid(`user=${user}: only a relay that runs as root starts agents as another user`)
    if (namesGroup && (await groupOf(group)) !== ownGid)
      throw invalid(`group=${group}: only a relay that runs as root starts agents with another group`)
    return undefined
  }
  if (wantsRoot && allowsRoot) return namesGroup ? { uid: 0, gid: await groupOf(group) } : undefined
  const isNobody = user === '' || wantsRoot
  const uid = isNobody ? nobody.uid : await idOf('-u', user)
  if (uid === 0 && !allowsRoot) throw invalid(`user=${user}: agents do not run as root`)
  const ownGroup = isNobody ? nobody.gid : idOf('-g', user)
  const gid = await (namesGroup ? groupOf(group) : ownGroup)
  if (gid === 0 && !allowsRoot) throw invalid(`group=${group}: agents do not run with root's group`)
  return { uid, gid }
}

const run = promisify(execFile)

async function idOf(flag: '-u' | '-g', user: string): Promise<number> {
  if (flag === '-u' && /^\d+$/.test(user)) return Number(user)
  try {
    return Number((await run('id', [flag, '--', user])).stdout)
  } catch (error) {
    if (/^\d+$/.test(user)) return Number(user)
    throw invalid(`user=${user}: there is no such user`, error)
  }
}

async function groupOf(group: string): Promise<number> {
  if (/^\d+$/.test(group)) return Number(group)
  try {
    return Number((await run('getent', ['group', group])).stdout.split(':')[2])
  } catch (error) {
    throw invalid(`group=${group}: there is no such group`, error)
  }
}

const invalid = (reason: string, cause?: unknown): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, {}, cause)
