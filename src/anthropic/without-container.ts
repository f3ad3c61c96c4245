import { type JsonMember, jsonMembers } from '../json/source.ts'

/** The text of a request without the id of its container; all else of it stays as it is. */
export function withoutContainer(text: string): string {
  const members = jsonMembers(text)
  const container = members.find(({ name }) => name === 'container')
  if (!container) return text
  const inner = jsonMembers(text, container.value.start)
  const id = inner.find(({ name }) => name === 'id')
  // Skills stand beside the id, and stay.
  return id && inner.length > 1 ? without(text, inner, id) : without(text, members, container)
}

/** The text without one member of an object, and without the comma that would be one too many. */
function without(text: string, members: readonly JsonMember[], member: JsonMember): string {
  const index = members.indexOf(member)
  const before = members[index - 1]
  const after = members[index + 1]
  const start = before ? before.value.end : member.key.start
  const end = before ? member.value.end : (after?.key.start ?? member.value.end)
  return text.slice(0, start) + text.slice(end)
}
