export type {
  CodeErrorReason,
  CodeFile,
  CodeRequest,
  CodeResult,
  CodeRunner,
  Language,
  WrittenFile,
} from './code-runner.js';
export { type CodeRunnerOptions, createCodeRunner } from './create-code-runner.js';
export type { CodeCrash, RunLimits } from './run-process.js';
