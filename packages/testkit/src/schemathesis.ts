import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPythonProgram } from './servers/python-packages.js';

/** Hash-pinned requirements and the launcher; beside `src` and `dist` alike. */
const assets = join(import.meta.dirname, '..', 'schemathesis');

const SCHEMATHESIS = {
  title: 'schemathesis',
  name: 'schemathesis',
  size: '70 MB',
  requirements: [join(assets, 'requirements.txt')],
};

export interface SchemathesisRun {
  /** The folder for its installation. */
  directory: string;
  /** Of `schemathesis run`. */
  arguments: readonly string[];
  /** Milliseconds that a run may take. */
  timeoutMs: number;
}

export interface SchemathesisResult {
  /** 0: everything was as documented. 1: something was not. Above: it could not be run. */
  code: number;
  /** What it printed for people. */
  output: string;
}

/** Runs the fuzzer of HTTP interfaces, installing it first if need be. @throws LocalError when it cannot be had */
export async function runSchemathesis(options: SchemathesisRun): Promise<SchemathesisResult> {
  const { python, packages } = await installPythonProgram(SCHEMATHESIS, { directory: options.directory });
  // It looks for settings in the folder where it runs, and leaves its own there.
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
