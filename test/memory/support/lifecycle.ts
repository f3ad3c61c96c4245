import type { Template } from 'aws-cdk-lib/assertions'
import { only } from '../../stack/synth.ts'

/** What a lifecycle rule of a template says, as far as it is evaluated here. */
export interface Rule {
  Prefix?: string
  ExpirationInDays?: number
  NoncurrentVersionExpiration?: { NoncurrentDays: number }
  AbortIncompleteMultipartUpload?: { DaysAfterInitiation: number }
  ExpiredObjectDeleteMarker?: boolean
  Id: string
  Status: string
}

const known = new Set([
  'Id',
  'Status',
  'Prefix',
  'ExpirationInDays',
  'NoncurrentVersionExpiration',
  'AbortIncompleteMultipartUpload',
  'ExpiredObjectDeleteMarker',
])

export function rulesOf(template: Template): Rule[] {
  const rules = only(template, 'AWS::S3::Bucket').Properties.LifecycleConfiguration.Rules as Rule[]
  for (const rule of rules) {
    for (const name of Object.keys(rule))
      if (!known.has(name)) throw new Error(`No such part of a rule is known: ${name}`)
  }
  return rules
}

export interface Version {
  key: string
  versionId: string
  isCurrent: boolean
  /** When it was written, and since when another has hidden it: milliseconds of the simulated time. */
  writtenAt: number
  hiddenAt?: number
}

const DAY_MS = 86_400_000

/** Which versions S3 removes at a time: a current one by its age, a hidden one by how long it has been hidden. */
export function expired(rules: readonly Rule[], versions: readonly Version[], now: number): Version[] {
  return versions.filter(({ key, isCurrent, writtenAt, hiddenAt = writtenAt }) =>
    rules
      .filter(({ Status, Prefix = '' }) => Status === 'Enabled' && key.startsWith(Prefix))
      .some(({ ExpirationInDays, NoncurrentVersionExpiration }) =>
        isCurrent
          ? ExpirationInDays !== undefined && now - writtenAt >= ExpirationInDays * DAY_MS
          : NoncurrentVersionExpiration !== undefined &&
            now - hiddenAt >= NoncurrentVersionExpiration.NoncurrentDays * DAY_MS,
      ),
  )
}
