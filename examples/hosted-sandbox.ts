import { isStepCount, streamText } from 'ai'
import {
  codeExecutionTool,
  createSandkeepAI,
  forwardSandboxContainer,
  reuseSandbox,
  type SandkeepAIEnv,
  sandboxFiles,
  sandboxOutputs,
  sandboxUpload,
} from 'sandkeep/ai'

/**
 * One turn of a conversation: Claude works on a file in its sandbox, in the same one as in the turn before if its id was
 * kept. Returns what to keep for the next turn, and the files that were made.
 */
export async function workOn(
  env: SandkeepAIEnv,
  { prompt, file, saved, authToken }: { prompt: string; file?: File; saved?: string | null; authToken?: string },
) {
  const files = sandboxFiles(env, { authToken })
  const model = createSandkeepAI(env, { authToken })('claude-sonnet-4-5')
  const uploaded = file && (await files.upload(file))
  const container = reuseSandbox(saved)

  const result = streamText({
    model,
    messages: [
      { role: 'user', content: [{ type: 'text', text: prompt }, ...(uploaded ? [sandboxUpload(uploaded)] : [])] },
    ],
    tools: { code_execution: codeExecutionTool() },
    prepareStep: forwardSandboxContainer,
    stopWhen: isStepCount(10),
    ...(container && { providerOptions: container }),
    onError: ({ error }) => console.error(error),
  })
  await result.consumeStream()

  const { containerId, fileIds } = sandboxOutputs(await result.steps)
  const made: { name: string; bytes: ArrayBuffer }[] = []
  for (const id of fileIds) {
    const { filename } = await files.get(id)
    made.push({ name: filename, bytes: await (await files.download(id)).arrayBuffer() })
    // What a sandbox made stays until it is deleted.
    await files.delete(id)
  }
  return { text: await result.text, saved: containerId ?? saved, made }
}
