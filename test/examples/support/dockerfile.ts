export interface Instruction {
  /** In capitals. */
  name: string
  text: string
}

/** The instructions of a Dockerfile. @throws Error for a line that is none */
export function readDockerfile(text: string): Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  return lines.map((line) => {
    const [, name, rest] = /^(FROM|RUN|COPY|USER|WORKDIR|ENV|ARG|LABEL|EXPOSE|ENTRYPOINT|CMD) +(\S.*)$/.exec(line) ?? []
    if (name === undefined || rest === undefined) throw new Error(`No instruction: ${line}`)
    return { name, text: rest }
  })
}

/** What is against good practice, a line each. */
export function lintDockerfile(instructions: readonly Instruction[]): string[] {
  const of = (name: string) => instructions.filter((instruction) => instruction.name === name).map(({ text }) => text)
  const findings: string[] = []
  if (instructions[0]?.name !== 'FROM') findings.push('It begins with FROM.')
  for (const image of of('FROM')) {
    if (!/^[\w./-]+:[\w.-]+( AS \w+)?$/.test(image) || image.includes(':latest')) findings.push(`${image} has no tag.`)
  }
  for (const command of of('RUN').filter((text) => text.includes('apt-get install'))) {
    for (const part of ['apt-get update && ', '--yes', '--no-install-recommends', 'rm -rf /var/lib/apt/lists/*']) {
      if (!command.includes(part)) findings.push(`An installation of packages lacks ${part}`)
    }
  }
  const user = of('USER').at(-1)
  if (user === undefined || user === 'root' || user === '0') findings.push('It runs as root.')
  if (of('ENTRYPOINT').length + of('CMD').length === 0) findings.push('It runs nothing.')
  for (const command of [...of('ENTRYPOINT'), ...of('CMD')]) {
    if (!/^\[".*"\]$/.test(command)) findings.push(`${command} runs in a shell, which keeps signals from it.`)
  }
  return findings
}
