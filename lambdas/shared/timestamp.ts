/** RFC 3339 with milliseconds, of milliseconds since the epoch. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
