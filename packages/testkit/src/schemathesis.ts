import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPythonProgram } from '@uswarm/dev-servers';

/** The pinned requirements and the launcher; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', 'schemathesis');

const SCHEMATHESIS = {
  title: 'schemathesis',
  name: 'schemathesis',
  size: '70 MB',
  requirements: [join(assets, 'requirements.txt')],
};

export interface SchemathesisRun {
  /** Installation folder. */
  directory: string;
  /** Arguments of `schemathesis run`. */
  arguments: readonly string[];
  timeoutMs: number;
}

export interface SchemathesisResult {
  /** 0: no findings; 1: findings; higher: the run failed. */
  code: number;
  /** Standard output and standard error. */
  output: string;
}

/** Runs schemathesis, a fuzzer of HTTP APIs; installs it first if needed. @throws LocalError if that fails */
export async function runSchemathesis(options: SchemathesisRun): Promise<SchemathesisResult> {
  const { python, packages } = await installPythonProgram(SCHEMATHESIS, { directory: options.directory });
  // schemathesis reads and writes files in its working directory.
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-schemathesis-'));
  try {
    return await run(python, ['-I', join(assets, 'launch.py'), packages, 'run', ...options.arguments], folder, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(
  python: string,
  args: readonly string[],
  cwd: string,
  { timeoutMs }: Pick<SchemathesisRun, 'timeoutMs'>,
): Promise<SchemathesisResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(python, args, {
      cwd,
      env: { PATH: process.env['PATH'], HOME: cwd, NO_COLOR: '1', COLUMNS: '200' },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.timeout(timeoutMs),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
