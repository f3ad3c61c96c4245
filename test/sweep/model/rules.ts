/** The rules of the protocol: each is kept, or broken. */
export interface Rules {
  /** Nothing of a page goes before the leases that were noted for it have ended. */
  grace: boolean
  /** A page without a note waits for one. */
  noteNeeded: boolean
  /** Leases are noted when the page is written, not before. */
  noteAfterPage: boolean
  /** A lease past its end counts as ended only when it is off its thread. */
  expiredIsTakenOff: boolean
  /** The references that decide are read after the grace; broken: those that were read to condemn decide. */
  referencesAfterGrace: boolean
  /** The first decision about a page is kept on it, and is every sweeper's; broken: each decides for itself. */
  oneDecision: boolean
  /** Deletes name a version; broken: a key, which hides all of its versions. */
  deleteByVersion: boolean
  /** Whoever asks for a key on a page is told that it is missing. */
  askReadsPages: boolean
  /** Pages are read before the bucket is. */
  pagesBeforeBucket: boolean
  /** The upload of a condemned key makes a version of its own; broken: it keeps the one that is there. */
  condemnedIsReplaced: boolean
  /** A fork copies what is condemned. */
  forkReadsPages: boolean
}

export const PROTOCOL: Rules = {
  grace: true,
  noteNeeded: true,
  noteAfterPage: true,
  expiredIsTakenOff: true,
  referencesAfterGrace: true,
  oneDecision: true,
  deleteByVersion: true,
  askReadsPages: true,
  pagesBeforeBucket: true,
  condemnedIsReplaced: true,
  forkReadsPages: true,
}
