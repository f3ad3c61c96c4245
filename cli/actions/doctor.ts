import { createHash, randomBytes } from 'node:crypto'
import type { Role } from '../../src/keys/types.ts'
import type { Client } from '../context.ts'
import { describeFailure, EXIT, type Failure } from '../exit.ts'
import { withLease } from '../lease.ts'
import { awaitReport } from '../sweep-report.ts'

/** One thing that was tried on a deployment. */
export interface Finding {
  check: string
  ok: boolean
  /** What was seen, or what is wrong and what to do about it. */
  detail: string
}

/** Its checkpoints are deleted again; the thread itself stays, so it is always the same one. */
const THREAD = 'sandkeep-doctor'

interface Check {
  name: string
  /** The least that the key or the token has to have. */
  role: Role
  run(): Promise<string>
}

/**
 * Uses a deployment as a push, a pull and a sweep do, one step after the other, and cleans up behind itself. A step
 * that fails ends it: what comes after rests on it. Returns what it came to, and the failure if there was one.
 */
export async function examine(
  client: Client,
  signal: AbortSignal,
): Promise<{ findings: Finding[]; failure: Failure | undefined }> {
  const findings: Finding[] = []
  let failure: Failure | undefined
  const attempt = async ({ name, role, run }: Check): Promise<boolean> => {
    try {
      findings.push({ check: name, ok: true, detail: await run() })
    } catch (error) {
      signal.throwIfAborted()
      failure = describeFailure(error)
      const needs = failure.exitCode === EXIT.auth ? [`It takes the role ${role}.`] : []
      findings.push({ check: name, ok: false, detail: [failure.message, ...failure.details, ...needs].join(' ') })
    }
    return failure === undefined
  }
  const reached = await attempt({
    name: 'read',
    role: 'viewer',
    run: async () => {
      await client.checkpoints.getHead(THREAD)
      return 'the API answers, and takes the key for this tenant and project'
    },
  })
  if (reached && (await attempt({ name: 'write', role: 'writer', run: () => write(client, signal) }))) {
    await attempt({ name: 'sweep', role: 'project_admin', run: () => drySweep(client, signal) })
  }
  return { findings, failure }
}

/** A blob, a checkpoint of it, both read back, and the checkpoint deleted. */
async function write({ checkpoints, blobs }: Client, signal: AbortSignal): Promise<string> {
  const bytes = randomBytes(64)
  const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  await withLease(checkpoints, THREAD, signal, async (writer) => {
    const expectedHeadId = writer.headId ?? null
    await blobs.put(blobKey, bytes)
    const checkpoint = {
      id: `${THREAD}-${randomBytes(8).toString('hex')}`,
      threadId: THREAD,
      parentCheckpointId: expectedHeadId,
      reason: 'automatic' as const,
      createdAt: Date.now(),
      conversation: [],
      files: [{ kind: 'file' as const, path: 'doctor', blobKey, size: bytes.length }],
      artifacts: [],
    }
    await checkpoints.append({ checkpoint, expectedHeadId, writer })
    try {
      const kept = await checkpoints.get(checkpoint.id)
      const [file] = kept?.files ?? []
      const read = file?.kind === 'file' ? await blobs.get(file.blobKey) : null
      if (read && bytes.equals(Buffer.from(await read.arrayBuffer()))) return
      throw new Error('What was written did not come back as it was. Please report it, with the logs of the functions.')
    } finally {
      await checkpoints.deleteHead({ threadId: THREAD, checkpointId: checkpoint.id, writer })
    }
  })
  return 'a checkpoint and its file were written, came back byte for byte, and were deleted'
}

async function drySweep({ sweeps }: Client, signal: AbortSignal): Promise<string> {
  const { sweepId } = await sweeps.start({ dryRun: true })
  const report = await awaitReport({ sweeps, sweepId, signal, onProgress: () => undefined })
  if (report.state === 'failed') throw new Error(`The sweep ${sweepId} failed: see the log of the sweep function.`)
  return `a dry run listed ${report.listed} objects and would condemn ${report.condemned}`
}
