import { createClosableWork, createTaskQueue, QueueFull } from '@uswarm/service-kit';
import type { CodeRequest, CodeResult, CodeRunner } from './code-runner.js';
import { type CodeCrash, type RunLimits, runProcess } from './run-process.js';

export interface CodeRunnerOptions {
  /** The program that runs code. By default `program.js` beside this module; a bundle must name its own. */
  program?: URL;
  /** Requests that run at the same time, each in a separate process. Default 1. */
  processes?: number;
  /** Requests that wait for a process; more are refused as `busy`. Default 16. */
  queue?: number;
  limits?: Partial<RunLimits>;
  /** For logs: a process ended without a result. */
  onCrash?: (crash: CodeCrash) => void;
}

/** Sources have no program. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../dist/program.js' : './program.js', import.meta.url);

const MIB = 1024 * 1024;

const DEFAULTS: RunLimits = {
  codeBytes: 256 * 1024,
  inputBytes: 32 * MIB,
  memoryBytes: 512 * MIB,
  timeMs: 60_000,
  processorMs: 20_000,
  outputBytes: 64 * 1024,
  maxFiles: 20,
  maxFileBytes: 20 * MIB,
};

/** A runner that starts a process for each request, so that no code can harm the next one. */
export function createCodeRunner(options: CodeRunnerOptions = {}): CodeRunner {
  const { program = PROGRAM, processes = 1, queue = 16 } = options;
  const { onCrash = () => undefined } = options;
  const limits = { ...DEFAULTS, ...options.limits };
  const slots = createTaskQueue({ concurrent: processes, maxWaiting: queue });
  const work = createClosableWork('The runner of code is closed.');

  async function run(request: CodeRequest, signal: AbortSignal): Promise<CodeResult> {
    const tooLarge = refusal(request, limits);
    if (tooLarge !== undefined) return tooLarge;
    try {
      const start = () => runProcess({ program, request, limits, signal, onCrash });
      return await slots.run(start, { key: request.owner, signal });
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error;
      return refused('busy', 'Too many programs wait to run. Try again in a minute.');
    }
  }

  return {
    run: (request) => work.run(request.signal, (signal) => run(request, signal)),
    close: work.close,
  };
}

const refused = (reason: 'busy' | 'files' | 'exception', message: string): CodeResult => ({
  output: '',
  error: { reason, message },
  files: [],
  durationMs: 0,
});

function refusal({ code, files = [] }: CodeRequest, { codeBytes, inputBytes }: RunLimits): CodeResult | undefined {
  if (Buffer.byteLength(code) > codeBytes)
    return refused('exception', `The code has more than ${codeBytes / 1024} KiB.`);
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > inputBytes)
    return refused('files', `The files for the code have more than ${Math.floor(inputBytes / MIB)} MiB.`);
  return undefined;
}
