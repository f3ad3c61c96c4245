/** The day on which the prices were looked up. */
export const PRICES_OF = '2026-11-30'

/**
 * AWS's public prices in us-east-1, in dollars, without free tiers and without the discounts of large amounts. A unit
 * stands in each name: a request, a gigabyte (GB), a month. Deletes, and bytes that go in or stay in the Region, are
 * free.
 */
export const PRICES = {
  /** Of a REST API. */
  apiRequest: 3.5e-6,
  functionRequest: 0.2e-6,
  /** On arm64. */
  functionGbSecond: 13.3334e-6,
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  tableGbMonth: 0.25,
  /** Point-in-time recovery, by the size of the table. */
  recoveryGbMonth: 0.2,
  /** PUT, COPY, POST and LIST. */
  s3Write: 5e-6,
  /** GET and HEAD. */
  s3Read: 0.4e-6,
  s3GbMonth: 0.023,
  /** To the internet. */
  outGb: 0.09,
  logGb: 0.5,
  /** Of compressed logs. */
  logGbMonth: 0.03,
  /** For each metric that an alarm looks at. */
  alarmMetricMonth: 0.1,
  dashboardMonth: 3,
  /** By the hours in which something is written to it. */
  customMetricMonth: 0.3,
  keyMonth: 1,
  keyRequest: 3e-6,
  trace: 5e-6,
} as const
