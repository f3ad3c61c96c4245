import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDescription } from './openapi/document.ts'

// Writes the description of the API anew, formatted as all files are.
const file = path.resolve(import.meta.dirname, '../docs/openapi.json')
writeFileSync(file, JSON.stringify(createDescription()))
const biome = fileURLToPath(import.meta.resolve('@biomejs/biome/bin/biome'))
execFileSync(process.execPath, [biome, 'format', '--write', file], { stdio: 'inherit' })
