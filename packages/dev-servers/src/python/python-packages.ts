import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalError } from '../local-error.js';
import { findPython } from './python.js';
import { withInstallLock } from '../install-lock.js';

export interface InstallOptions {
  /** The folder of all installations; created if it does not exist. */
  directory: string;
  /** Default: the first sufficient interpreter on PATH. */
  python?: string;
  /** Receives a line of text before a long step. */
  onProgress?: (line: string) => void;
}

/** An installed program: its interpreter and the folder of its packages. */
export interface PythonInstallation {
  python: string;
  packages: string;
}

export interface PythonProgram {
  /** The name for messages. */
  title: string;
  /** The prefix of its folders. */
  name: string;
  size: string;
  /** Requirements files; each package has hashes. */
  requirements: readonly string[];
}

const PYTHON_MINIMUM = [3, 11] as const;

/**
 * Installs pinned packages in a separate folder below `directory`, unless they are installed. pip verifies the hash of each
 * package. The packages of the machine's Python do not change. Concurrent processes wait for each other.
 *
 * @throws LocalError without a sufficient Python, or if the installation fails
 */
export async function installPythonProgram(
  program: PythonProgram,
  { directory, python = findPython(PYTHON_MINIMUM)?.command, onProgress = () => undefined }: InstallOptions,
): Promise<PythonInstallation> {
  if (python === undefined) {
    throw new LocalError(
      `${program.title} needs Python ${PYTHON_MINIMUM.join('.')} or newer with pip; install python3 and python3-pip.`,
    );
  }
  const packages = join(directory, `${program.name}-${await fingerprint(program, python)}`);
  await mkdir(directory, { recursive: true });
  await withInstallLock(join(directory, 'install.lock'), async () => {
    if (await exists(packages)) return;
    onProgress(`Installing ${program.title} (about ${program.size}, once)`);
    await installInto(packages, program, python);
  });
  return { python, packages };
}

/** Changes with the interpreter, the platform and the requirements. */
async function fingerprint({ title, requirements }: PythonProgram, python: string): Promise<string> {
  const script = 'import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_platform())';
  const version = await run(python, ['-c', script]);
  if (version.code !== 0) throw new LocalError(`${python} does not run as Python: ${lastLine(version.output)}`);
  const [major = 0, minor = 0] = version.output.split(' ').map(Number);
  if (major < PYTHON_MINIMUM[0] || (major === PYTHON_MINIMUM[0] && minor < PYTHON_MINIMUM[1])) {
    throw new LocalError(`${title} needs Python ${PYTHON_MINIMUM.join('.')} or newer; ${python} is ${major}.${minor}.`);
  }
  const hash = createHash('sha256').update(version.output);
  for (const file of requirements) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}

/** Installs into a temporary folder and renames it, so an existing folder is complete. */
async function installInto(packages: string, { title, requirements }: PythonProgram, python: string): Promise<void> {
  const partial = `${packages}.partial`;
  await rm(partial, { recursive: true, force: true });
  const checked = ['--require-hashes', '--only-binary', ':all:', '--no-deps'];
  const quiet = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-warn-script-location'];
  const files = requirements.flatMap((file) => ['-r', file]);
  const args = ['-m', 'pip', 'install', '--target', partial, ...checked, ...quiet, ...files];
  const { code, output } = await run(python, args);
  if (code !== 0) {
    await rm(partial, { recursive: true, force: true });
    throw new LocalError(`${title} could not be installed: ${explainPip(output)}`);
  }
  await rename(partial, packages);
}

function explainPip(output: string): string {
  if (output.includes('No module named pip')) return 'this Python has no pip; install python3-pip.';
  if (/Failed to establish|Temporary failure|Connection|ProxyError|timed out/i.test(output)) {
    return `the package index cannot be reached; check the network. pip reports: ${lastLine(output)}`;
  }
  return `pip reports: ${lastLine(output)}`;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

/** @returns the exit code, or 127 if the program does not start, and the combined output */
function run(command: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    // `user = true` in the user's pip settings conflicts with `--target`.
    const child = spawn(command, args, { env: { ...process.env, PIP_USER: '0' }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', (error) => resolve({ code: 127, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
