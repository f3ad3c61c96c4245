/** A way to keep a workspace. All times are in milliseconds, those of its processes included. */
export interface Contender {
  who: string
  /** What all that it stores has in its keys. */
  prefixes: readonly string[]
  /** Saves a workspace for the first time. */
  first(workspace: string): Promise<number>
  /** Saves it after some changes. */
  again(workspace: string): Promise<number>
  /** Restores the second save into a folder that is not there, without the caches of the machine that saved it. */
  restore(target: string): Promise<number>
  /** Deletes the first save, with all that only it uses. */
  remove?(): Promise<number>
  /** Waits for what goes on in the background. */
  settled?(): Promise<void>
  stop?(): void
}
