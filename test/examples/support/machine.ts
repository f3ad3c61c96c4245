import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { makeTree } from '../../cli/support/tree.ts'

export const ROOT = join(import.meta.dirname, '../../..')
export const EXAMPLES = join(ROOT, 'examples')

/** A machine on which nothing of Sandkeep was before: folders of its own, and what npm and Docker do there. */
export interface Machine {
  /** Where its programs run. */
  cwd: string
  /** @returns standard output @throws Error with the exit code as `code` and all output as its message */
  execute(program: string, args: string[], env?: Record<string, string>, onStart?: OnStart): Promise<string>
}

/** Told of the process, and of its standard output so far each time there is more. */
export type OnStart = (child: ChildProcess, stdout: string) => void

/** Makes a machine in a folder. `env`: what its programs find as their environment, besides the usual. */
export function makeMachine(folder: string, env: Record<string, string>): Machine {
  const within = (name: string) => join(folder, name)
  const usual = {
    PATH: `${within('bin')}:${process.env.PATH}`,
    HOME: within('home'),
    TMPDIR: within('tmp'),
    // Of all machines beside it: saves time.
    NODE_COMPILE_CACHE: join(folder, '../compiled'),
  }
  makeTree(folder, { home: { dir: true }, tmp: { dir: true }, work: { dir: true }, ...commands(folder) })
  return {
    cwd: within('work'),
    execute: (program, args, more, onStart) =>
      execute(program, args, within('work'), { ...usual, ...env, ...more }, onStart),
  }
}

/** Builds as much of an image as npm brings, here, and runs its entrypoint. */
const DOCKER = `case "$1" in
build) test "$2" = --tag && sed -n 's/^RUN npm/npm/p' "$4/Dockerfile" | sh -e; exit ;;
run) shift ;;
*) exit 64 ;;
esac
while :; do
  case "$1" in
  --rm) shift ;;
  --network | --stop-timeout) shift 2 ;;
  --env) export "$2"; shift 2 ;;
  --env-file) while IFS= read -r line; do export "$line"; done < "$2"; shift 2 ;;
  -*) exit 64 ;;
  *) break ;;
  esac
done
shift
exec "${EXAMPLES}/docker/entrypoint.sh" "$@"`

/** In `bin` what is there from the beginning, in `registry` what `npm install` puts there. */
function commands(folder: string) {
  const script = (text: string) => ({ text: `#!/bin/sh\n${text}\n`, mode: 0o755 })
  return {
    'bin/npx': script(`test "$1" = sandkeep || exit 64\nshift\nexec "${folder}/registry/sandkeep/sandkeep" "$@"`),
    'bin/npm': script(
      `test "$1" = install || exit 64
# What the examples import is there already.
test "$2" = --global || exit 0
shift 2
for name; do cp "${folder}/registry/$name/"* "${folder}/bin/" || exit 1; done`,
    ),
    'bin/docker': script(DOCKER),
    'registry/sandkeep/sandkeep': script(`exec "${process.execPath}" "${ROOT}/cli/main.ts" "$@"`),
    // Stands for an agent: it lists its workspace, writes its prompt down, and waits if it is told to.
    'registry/@anthropic-ai/claude-code/claude': script(
      'case "$1" in -p | --print) ;; *) exit 64 ;; esac\nls; echo "$2" >> prompts\ntest "$2" != wait || { echo waiting; exec sleep 60; }',
    ),
  }
}

function execute(
  program: string,
  args: string[],
  cwd: string,
  env: Record<string, string>,
  onStart?: OnStart,
): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  onStart?.(child, '')
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    stdout += more
    onStart?.(child, stdout)
  })
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    stderr += more
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stdout)
      else reject(Object.assign(new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`), { code, signal }))
    })
  })
}
