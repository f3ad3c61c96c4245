import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'

interface Answer {
  output: object
}

const NAME = 'recordedAnswers'

/**
 * Has SDK clients answer at once, without a request, what they answered to the same calls before. The calls must come in
 * the same order again.
 */
export class RecordedAnswers {
  readonly #clients: ReadonlyArray<DynamoDBClient | S3Client>
  #recording = true
  #answers: Answer[] = []
  #next = 0

  constructor(clients: ReadonlyArray<DynamoDBClient | S3Client>) {
    this.#clients = clients
    // The outermost place: nothing of the SDK but the call itself is run on a replay.
    for (const { middlewareStack } of clients as ReadonlyArray<DynamoDBClient>) {
      middlewareStack.add(
        (next) => async (args) => {
          if (this.#recording) return this.#keep(await next(args))
          const answer = this.#answers[this.#next]
          if (!answer) throw new Error('There is a call that was not recorded.')
          this.#next += 1
          return answer as Awaited<ReturnType<typeof next>>
        },
        { step: 'initialize', priority: 'high', name: NAME },
      )
    }
  }

  /** Forgets all answers; what is answered from now on is kept. */
  record(): void {
    this.#recording = true
    this.#answers = []
  }

  /** Ends the recording. @returns how many calls were recorded */
  replay(): number {
    this.#recording = false
    this.#next = 0
    return this.#answers.length
  }

  /** The next call is the first one again. */
  rewind(): void {
    this.#next = 0
  }

  /** Lets the clients send requests again. */
  remove(): void {
    for (const { middlewareStack } of this.#clients) middlewareStack.remove(NAME)
  }

  async #keep<Kept extends Answer>(answer: Kept): Promise<Kept> {
    const output = answer.output as { Body?: { transformToByteArray(): Promise<Uint8Array> } }
    if (output.Body) {
      // The body of an object can be read once only.
      const bytes = await output.Body.transformToByteArray()
      output.Body = { transformToByteArray: async () => bytes }
    }
    this.#answers.push(answer)
    return answer
  }
}
