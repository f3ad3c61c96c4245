/** Names of the environment variables that the stack sets and the functions read. */
export const ENVIRONMENT = {
  tableName: 'TABLE_NAME',
  bucketName: 'BUCKET_NAME',
  sweepFunction: 'SWEEP_FUNCTION',
  oidcIssuer: 'SANDBOX_OIDC_ISSUER',
  oidcAudience: 'SANDBOX_OIDC_AUDIENCE',
  oidcClientId: 'SANDBOX_OIDC_CLIENT_ID',
  oidcJwksUri: 'SANDBOX_OIDC_JWKS_URI',
  oidcUma: 'SANDBOX_OIDC_UMA',
  oidcProjectsClaim: 'SANDBOX_OIDC_PROJECTS_CLAIM',
  oidcRoles: 'SANDBOX_OIDC_ROLES',
  sandboxRetention: 'SANDBOX_RETENTION_SEC',
  memoryRetention: 'SANDBOX_MEMORY_RETENTION_SEC',
  corsOrigins: 'SANDBOX_CORS_ORIGINS',
  filesBackend: 'SANDBOX_FILES_BACKEND',
  anthropicSecret: 'SANDBOX_ANTHROPIC_SECRET',
  anthropicBaseUrl: 'SANDBOX_ANTHROPIC_BASE_URL',
} as const
