export { callableFromSandbox, codeExecutionTool } from './code-execution.ts'
export { forwardSandboxContainer, reuseSandbox, type SandboxContainerOptions, type SandboxStep } from './container.ts'
export { SandboxFileError } from './error.ts'
export { sandboxFiles } from './files.ts'
export { sandboxOutputs, sandboxUpload } from './outputs.ts'
export { createSandkeepAI } from './provider.ts'
export type {
  CallerOptions,
  DeepSpaceAIEnv,
  SandboxFile,
  SandboxFileList,
  SandboxFilesClient,
  SandboxFilesOptions,
  SandboxScope,
  SandboxUploadOptions,
  SandboxUploadProgress,
  SandkeepAIEnv,
  SandkeepAIOptions,
} from './types.ts'
