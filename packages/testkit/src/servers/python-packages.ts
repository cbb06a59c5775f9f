import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalError } from '../local-error.js';
import { findPython } from '../python.js';
import { withInstallLock } from '../install-lock.js';

export interface InstallOptions {
  /** Folder that installations of any version are kept in; made if absent. */
  directory: string;
  /** The interpreter; else the first on PATH that is new enough. */
  python?: string;
  /** Called with one short line when there is something to wait for. */
  onProgress?: (line: string) => void;
}

/** An installed program: which interpreter runs it and where its packages are. */
export interface PythonInstallation {
  python: string;
  packages: string;
}

/** What is installed. */
export interface PythonProgram {
  /** As people call it. */
  title: string;
  /** What its folders begin with. */
  name: string;
  size: string;
  /** Files of requirements, all of them with hashes. */
  requirements: readonly string[];
}

const PYTHON_MINIMUM = [3, 11] as const;

/**
 * Installs pinned packages below `directory`, unless they are there already. Every package is checked
 * against its hash, and a folder of its own is used, so the machine's Python stays as it was.
 * Safe to call from several processes at once: one installs, the others wait.
 *
 * @throws LocalError without a fitting Python, or when the packages cannot be had.
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

/** Changes with anything that makes an existing installation the wrong one. */
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

/** The folder appears under its name only when it is complete, so its being there is the proof. */
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
    return `the package index cannot be reached; check the network. pip said: ${lastLine(output)}`;
  }
  return `pip said: ${lastLine(output)}`;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

/** Both outputs together, and the exit code; a program that does not start counts as exit code 127. */
function run(command: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    // A user's `user = true` in pip's settings cannot go with `--target`.
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
