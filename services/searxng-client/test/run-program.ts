import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const folder = join(import.meta.dirname, '..');
const hooks = pathToFileURL(join(import.meta.dirname, 'from-source.mjs')).href;

/** Starts `src/<program>` as a separate process with only this environment. */
export function startProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): ChildProcessWithoutNullStreams {
  const node = ['--conditions=uswarm-source', '--disable-warning=ExperimentalWarning', '--import', hooks];
  return spawn(process.execPath, [...node, join(folder, 'src', program), ...args], { env });
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `src/<program>` and waits for its exit. */
export async function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished> {
  const child = startProgram(program, args, env);
  child.stdin.end();
  const code = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}
