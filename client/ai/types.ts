/** Where Sandkeep answers and who calls: from `process.env`, from the bindings of a worker, or made by hand. */
export interface SandkeepAIEnv {
  /** Where the API answers, such as `https://….execute-api.eu-west-1.amazonaws.com/api`. Required. */
  readonly SANDBOX_GATEWAY_URL?: string | undefined
  /** Required. */
  readonly SANDBOX_TENANT?: string | undefined
  /** Required. */
  readonly SANDBOX_PROJECT?: string | undefined
  /** An API key. Alone it acts for the app's owner. */
  readonly SANDBOX_API_KEY?: string | undefined
  /** A token of the app's owner, used where no `authToken` is given. */
  readonly APP_OWNER_JWT?: string | undefined
}

/** The same, under the name that code written for DeepSpace imports. */
export type DeepSpaceAIEnv = SandkeepAIEnv

/** Who may see a file or use a container: the user who made it, or everybody in the app. */
export type SandboxScope = 'user' | 'app'

/** Who calls. */
export interface CallerOptions {
  /** The JWT of the caller, who is the user. Default: `env.APP_OWNER_JWT`. */
  authToken?: string | undefined
  /** The user that the API key acts for, which takes a key with that right. Default: none. */
  userId?: string | undefined
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

export interface SandkeepAIOptions extends CallerOptions {
  /** The scope of new containers and their files, and the one that known ones must have. Default `user`. */
  sandboxScope?: SandboxScope | undefined
}

export interface SandboxFilesOptions extends CallerOptions {
  /** The scope of new uploads. Default `user`. */
  scope?: SandboxScope | undefined
  /** Ends all requests of the client; they reject with its reason. */
  signal?: AbortSignal | undefined
}

export interface SandboxFile {
  type: 'file'
  id: string
  filename: string
  mime_type: string
  size_bytes: number
  /** RFC 3339. */
  created_at: string
  downloadable?: boolean
  /** RFC 3339; null: does not expire. */
  expires_at?: string | null
}

export interface SandboxFileList {
  /** The newest first. */
  data: SandboxFile[]
  /** Give it as `page` for what follows; null: that is all. */
  next_page: string | null
}

/** How far an upload is, in bytes of the file. */
export interface SandboxUploadProgress {
  loaded: number
  total: number
}

export interface SandboxUploadOptions {
  /** Default: the name of the `File`. Only what stands after the last slash or backslash is kept. */
  filename?: string | undefined
  /** From 3,600 to 7,776,000. Default 2,592,000: 30 days. */
  expiresInSeconds?: number | undefined
  /** For a sandbox that hands over what it made, with an API key that has that right: the file may be downloaded. */
  origin?: 'sandbox' | undefined
  /** Called at the start, as the bytes go where the runtime can tell, and at the end. */
  onProgress?: ((progress: SandboxUploadProgress) => void) | undefined
}

export interface SandboxFilesClient {
  /**
   * Uploads a file of at most 32 MiB.
   * @throws SandboxFileError with status 400 or 413 before any request; else with the status of the refusal
   */
  upload(file: Blob, options?: SandboxUploadOptions): Promise<SandboxFile>
  /** @throws SandboxFileError; status 404 for a file that is unknown or not the caller's */
  get(fileId: string): Promise<SandboxFile>
  /**
   * The bytes as a stream, with `content-type` and `content-disposition`. Only what a sandbox made can be downloaded.
   * @throws SandboxFileError; status 404 as `get`, 409 for an upload
   */
  download(fileId: string): Promise<Response>
  /** One page of the files that the caller can see; `limit` from 1 to 100, default 20. @throws SandboxFileError */
  list(options?: { limit?: number | undefined; page?: string | undefined }): Promise<SandboxFileList>
  /** @throws SandboxFileError; status 404 as `get` */
  delete(fileId: string): Promise<void>
}
