/** What one work takes. */
export interface Takes {
  seconds: number
  /** Sent and received. */
  bytes: number
  dollars: number
}

/** Where Sandkeep is ahead of a peer and where behind, and how many times as much the one takes of what the other does. */
export function marks(ours: Takes, peer: Takes): string {
  const ratios = Object.entries({
    time: peer.seconds / ours.seconds,
    bytes: peer.bytes / ours.bytes,
    $: peer.dollars / ours.dollars,
  })
  const list = (side: Array<[string, number]>) => side.map(([name, ratio]) => name + times(ratio)).join(', ')
  const ahead = list(ratios.filter(([, ratio]) => ratio >= 1.05))
  const behind = list(ratios.filter(([, ratio]) => ratio <= 0.95).map(([name, ratio]) => [name, 1 / ratio]))
  return [ahead && `ahead: ${ahead}`, behind && `behind: ${behind}`].filter(Boolean).join('; ') || 'equal'
}

/** No number where one of the two takes nothing. */
function times(ratio: number): string {
  if (ratio === Number.POSITIVE_INFINITY) return ''
  return ` ${ratio < 10 ? ratio.toFixed(1) : ratio.toFixed(0)}x`
}
