/** Names of the environment variables that the stack sets and the functions read. */
export const ENVIRONMENT = {
  tableName: 'TABLE_NAME',
  bucketName: 'BUCKET_NAME',
  sweepFunction: 'SWEEP_FUNCTION',
  memoryRetention: 'SANDBOX_MEMORY_RETENTION_SEC',
} as const
