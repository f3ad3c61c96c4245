import { generateText, streamText } from 'ai'

type Options = Parameters<typeof generateText>[0]

/** Both ways to run a turn, with the same result: its steps, after all of it. */
export const ways = {
  generateText: async (options: Options) => (await generateText(options)).steps,
  streamText: async (options: Options) => {
    const errors: unknown[] = []
    const result = streamText({
      ...(options as Parameters<typeof streamText>[0]),
      onError: ({ error }) => void errors.push(error),
    })
    await result.consumeStream()
    if (errors.length > 0) throw errors[0]
    return result.steps
  },
}
