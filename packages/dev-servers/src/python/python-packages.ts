import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withInstallLock } from '../install-lock.js';
import { LocalError } from '../local-error.js';
import { searchPython } from './python.js';

export interface InstallOptions {
  /** The folder of all installations; created if it does not exist. */
  directory: string;
  /** Default: the first sufficient interpreter on PATH. */
  python?: string;
  /** Receives a line of text before and during a long step. */
  onProgress?: (line: string) => void;
  /** Ends the installation, which leaves nothing behind. */
  signal?: AbortSignal;
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
const PROGRESS_MS = 15_000;
/** Milliseconds until an interrupted pip is killed. */
const STOP_GRACE_MS = 3_000;
/** The path is the same from `src` and `dist`. */
const RUN_PIP = join(import.meta.dirname, '..', '..', 'python', 'run-pip.py');

/**
 * Installs pinned packages in a separate folder below `directory`, unless they are installed. pip verifies each
 * package's hash. The machine's own Python packages do not change. Concurrent processes wait for each other.
 *
 * @throws LocalError without a sufficient Python, or if the installation fails; the signal's reason
 */
export async function installPythonProgram(
  program: PythonProgram,
  options: InstallOptions,
): Promise<PythonInstallation> {
  const { directory, signal, onProgress = () => undefined } = options;
  const python = options.python ?? (await requirePython(program));
  const packages = join(directory, `${program.name}-${await fingerprint(program, python)}`);
  try {
    await mkdir(directory, { recursive: true });
    await withInstallLock(
      join(directory, 'install.lock'),
      async () => {
        signal?.throwIfAborted();
        if (await exists(packages)) return;
        onProgress(`Installing ${program.title} (about ${program.size}, once)`);
        await installInto(packages, program, { python, onProgress, signal });
      },
      {
        signal,
        onWait: ({ pid }) => {
          if (pid !== process.pid) onProgress(`Waiting for another installation of ${program.title} (pid ${pid})`);
        },
      },
    );
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : explained(error, program, directory);
  }
  return { python, packages };
}

/** The command for a sufficient Python. @throws LocalError if there is none */
export async function requirePython({ title }: Pick<PythonProgram, 'title'>): Promise<string> {
  const { python, found } = await searchPython(PYTHON_MINIMUM);
  if (python !== undefined) return python.command;
  const minimum = PYTHON_MINIMUM.join('.');
  const seen = found === '' ? '' : ` (${found})`;
  throw new LocalError(`${title} needs Python ${minimum} or newer with pip${seen}; install python3 and python3-pip.`);
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

interface Installing {
  python: string;
  onProgress: (line: string) => void;
  signal: AbortSignal | undefined;
}

/** Installs into a temporary folder and renames it, so an existing folder is complete. */
async function installInto(
  packages: string,
  { title, requirements }: PythonProgram,
  { python, onProgress, signal }: Installing,
): Promise<void> {
  await removePartial(packages);
  const partial = `${packages}.partial-${randomUUID()}`;
  const [target, temporary] = [join(partial, 'packages'), join(partial, 'tmp')];
  const started = performance.now();
  const ticker = setInterval(() => {
    onProgress(`Installing ${title}: ${Math.round((performance.now() - started) / 1_000)} s so far`);
  }, PROGRESS_MS);
  try {
    await mkdir(temporary, { recursive: true });
    const checked = ['--require-hashes', '--only-binary', ':all:', '--no-deps'];
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-warn-script-location'];
    const impatient = ['--retries', '2', '--timeout', '10'];
    const files = requirements.flatMap((file) => ['-r', file]);
    const args = [RUN_PIP, 'install', '--target', target, ...checked, ...quiet, ...impatient, ...files];
    const { code, output } = await run(python, args, { signal, variables: { TMPDIR: temporary } });
    signal?.throwIfAborted();
    if (code !== 0) throw new LocalError(`${title} could not be installed: ${explainPip(output)}`);
    await rename(target, packages);
  } finally {
    clearInterval(ticker);
    await rm(partial, { recursive: true, force: true });
  }
}

/** Removes what killed installations left. Their pip may still be ending, so no attempt uses the folder of another one. */
async function removePartial(packages: string): Promise<void> {
  const folder = dirname(packages);
  const names = (await readdir(folder)).filter((name) => name.startsWith(`${basename(packages)}.partial`));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

function explainPip(output: string): string {
  const reported = `pip reports: ${lastLine(output)}`;
  if (output.includes('No module named pip')) return 'this Python has no pip; install python3-pip.';
  if (/No space left on device|ENOSPC|Disk quota exceeded/i.test(output)) return `the disk is full. ${reported}`;
  if (/CERTIFICATE_VERIFY_FAILED|SSLError/i.test(output)) {
    return `the certificate of the package index is not trusted; set PIP_CERT. ${reported}`;
  }
  if (/Failed to establish|Temporary failure|Connection|ProxyError|timed out/i.test(output)) {
    return `the package index cannot be reached; check the network. ${reported}`;
  }
  if (/HTTP error (?:401|403|407)|Forbidden/i.test(output)) return `the package index refuses access. ${reported}`;
  return reported;
}

const FILE_PROBLEMS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'the folder is not writable',
  EPERM: 'the folder is not writable',
  EROFS: 'the folder is not writable',
};

/** A failed access to a file as a sentence; other errors unchanged. */
function explained(error: unknown, { title }: PythonProgram, directory: string): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const problem = FILE_PROBLEMS[code] ?? message;
  return new LocalError(`${title} could not be installed in ${directory}: ${problem}.`, { cause: error });
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

interface RunOptions {
  signal?: AbortSignal | undefined;
  variables?: Record<string, string>;
}

/** @returns the exit code, or 127 if the program does not start, and the combined output */
function run(
  command: string,
  args: string[],
  { signal, variables }: RunOptions = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    // `user = true` in the user's pip settings conflicts with `--target`, and the packages need no virtual environment.
    const env = { ...process.env, PIP_USER: '0', PIP_REQUIRE_VIRTUALENV: '0', ...variables };
    // Standard input stays open as long as this process runs: see run-pip.py.
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.stdin.on('error', () => undefined);
    let force: NodeJS.Timeout | undefined;
    const interrupt = (): void => {
      // pip removes its temporary files.
      child.kill('SIGINT');
      force = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    };
    if (signal?.aborted === true) interrupt();
    signal?.addEventListener('abort', interrupt, { once: true });
    const end = (code: number, text: string): void => {
      clearTimeout(force);
      signal?.removeEventListener('abort', interrupt);
      resolve({ code, output: text });
    };
    child.once('error', (error) => end(127, error.message));
    child.once('close', (code) => end(code ?? 1, output));
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
