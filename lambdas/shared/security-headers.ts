import httpSecurityHeaders from '@middy/http-security-headers'

/** What the middleware sets, for answers that it does not come to: those of the gateway itself and to preflights. */
export const SECURITY_HEADERS = {
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
} as const

/** The security headers that matter to an API; those for pages that a browser shows are left out. */
export function securityHeaders() {
  return httpSecurityHeaders({
    strictTransportSecurity: { maxAge: 63_072_000, includeSubDomains: true, preload: false },
    contentTypeOptions: { action: 'nosniff' },
    referrerPolicy: { policy: 'no-referrer' },
    contentSecurityPolicy: false,
    crossOriginEmbedderPolicy: false,
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
    dnsPrefetchControl: false,
    downloadOptions: false,
    frameOptions: false,
    originAgentCluster: false,
    permissionsPolicy: false,
    permittedCrossDomainPolicies: false,
    poweredBy: false,
    reportTo: false,
    reportingEndpoints: false,
    xssProtection: false,
  })
}
