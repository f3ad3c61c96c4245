import { EXCHANGE_LIMIT } from '../limits.ts'

/** What one operation asks of the services that are paid for by use. */
export interface Use {
  /** Each is one run of the authorizer and one of a service's function. */
  apiRequests: number
  readUnits: number
  writeUnits: number
  /** PUT, COPY, POST and LIST. */
  s3Writes: number
  /** GET and HEAD. */
  s3Reads: number
  /** GB-seconds of functions that no request waits for. */
  backgroundGbSeconds: number
}

export interface Workspace {
  files: number
  /** Of a file, in the mean. */
  fileBytes: number
  /** How many blobs the project has, this workspace's among them. */
  projectBlobs: number
}

/** The most files whose names and hashes fit into the item of a checkpoint; of more they are an object of S3. */
export const MOST_INLINE_FILES = 100
/** The bytes of that object for each file: 32 of its hash, the others of its path, size and mode. */
export const BODY_BYTES_OF_FILE = 60
/** Bytes in the table: of a checkpoint, by whether it holds those itself, and of a turn. */
export const TABLE_BYTES = { inline: 5_000, other: 1_000, turn: 3_000 } as const

const LIST_PAGE = 1_000
/** Fewer keys are looked up one by one: see `src/blobs/look-up.ts`. */
const WORTH_A_PAGE = 16
const BUNDLE_BYTES = 8_388_608
/** So many blobs at most are outside of bundles, and are downloaded, and counted by their function, one by one. */
export const MOST_UNBUNDLED = 32

const isInline = (files: number) => files <= MOST_INLINE_FILES
const exchanges = (keys: number) => Math.ceil(keys / EXCHANGE_LIMIT)

/** `sandkeep push` of a folder as the first checkpoint of a thread. */
export function firstPush({ files, projectBlobs }: Workspace): Use {
  const uploads = lookUps(files, projectBlobs - files)
  return {
    apiRequests: 3 + exchanges(files),
    readUnits: 4 + exchanges(files),
    writeUnits: isInline(files) ? 16 : 10,
    s3Writes: files + bodies(files) + uploads.lists,
    s3Reads: uploads.heads,
    backgroundGbSeconds: 0,
  }
}

/** `sandkeep push` after `changed` files have changed. */
export function laterPush({ files, projectBlobs }: Workspace, changed: number): Use {
  const uploads = lookUps(changed, projectBlobs)
  return {
    apiRequests: 4 + exchanges(changed),
    readUnits: 8 + exchanges(changed),
    writeUnits: isInline(files) ? 16 : 8,
    s3Writes: changed + bodies(files) + uploads.lists,
    s3Reads: bodies(files) + uploads.heads,
    backgroundGbSeconds: 0,
  }
}

/** `sandkeep pull` into an empty folder. */
export function pull({ files, projectBlobs }: Workspace): Use {
  const downloads = lookUps(files, projectBlobs)
  return {
    apiRequests: 2 + exchanges(files),
    readUnits: (isInline(files) ? 7 : 6) + exchanges(files),
    writeUnits: 0,
    s3Writes: downloads.lists,
    s3Reads: files + bodies(files) + downloads.heads,
    backgroundGbSeconds: 0,
  }
}

/**
 * `sandkeep run` of a task that has a workspace, on a machine that has nothing of it: restored from bundles, `changed`
 * files saved, the turn written, the bundles looked after.
 */
export function run({ files, fileBytes, projectBlobs }: Workspace, changed: number): Use {
  const uploads = lookUps(changed, projectBlobs)
  return {
    apiRequests: 10 + exchanges(changed),
    readUnits: isInline(files) ? 53 : 49,
    writeUnits: isInline(files) ? 47 : 39,
    s3Writes: changed + 2 + bodies(files) + uploads.lists,
    s3Reads: Math.ceil((files * fileBytes) / BUNDLE_BYTES) + 3 + 4 * bodies(files) + 2 * MOST_UNBUNDLED + uploads.heads,
    // Two runs of a second with 1,769 MB.
    backgroundGbSeconds: 3.5,
  }
}

/** A turn of the project memory, with a summary of up to 2 KB. */
export const TURN: Use = {
  ...{ apiRequests: 1, readUnits: 4, writeUnits: 6, s3Writes: 0, s3Reads: 0, backgroundGbSeconds: 0 },
}

/** `project.md`, of so many tasks, with half a kilobyte of the newest summary of each. */
export function projectMd(tasks: number): Use {
  const units = Math.ceil((tasks * 1_000) / 4_096)
  return { apiRequests: 1, readUnits: 2 + units, writeUnits: 0, s3Writes: 0, s3Reads: 0, backgroundGbSeconds: 0 }
}

/** A sweep of one project in which something is to be deleted. */
export function sweep({ files, projectBlobs }: Workspace, checkpoints: number): Use {
  const itemBytes = isInline(files) ? TABLE_BYTES.inline : TABLE_BYTES.other
  return {
    apiRequests: 0,
    readUnits: 30 + Math.ceil((2 * checkpoints * itemBytes) / 4_096),
    writeUnits: 11,
    s3Writes: 6 + Math.floor(projectBlobs / LIST_PAGE),
    s3Reads: 2 * checkpoints * bodies(files),
    // A second for each 1,000 checkpoints and 10,000 blobs, with 1,024 MB.
    backgroundGbSeconds: 2 + checkpoints / 1_000 + projectBlobs / 10_000,
  }
}

function bodies(files: number): number {
  return isInline(files) ? 0 : 1
}

/** How many requests it takes to see which of so many keys are there, in a project of so many blobs. */
export function lookUps(keys: number, projectBlobs: number): { lists: number; heads: number } {
  let [lists, heads] = [0, 0]
  for (let rest = keys; rest > 0; rest -= EXCHANGE_LIMIT) {
    let [wanted, ahead] = [Math.min(rest, EXCHANGE_LIMIT), projectBlobs]
    for (let covered = wanted; wanted >= WORTH_A_PAGE && covered >= WORTH_A_PAGE; ahead -= LIST_PAGE) {
      covered = ahead <= LIST_PAGE ? wanted : Math.floor((wanted * LIST_PAGE) / ahead)
      wanted -= covered
      lists += 1
    }
    heads += wanted
  }
  return { lists, heads }
}
