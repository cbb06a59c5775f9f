import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { MissingPart } from '../missing-part.js';

const CANDIDATES = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python'];
const SCRIPT = 'import sys, importlib.util as util; print(*sys.version_info[:2], util.find_spec("pip") is not None)';
const TIMEOUT_MS = 30_000;

export interface Python {
  command: string;
  version: readonly [major: number, minor: number];
  hasPip: boolean;
}

export type PythonVersion = readonly [major: number, minor: number];

/** The first Python on PATH with at least version `minimum` and pip. */
export function findPython(minimum: PythonVersion): Python | undefined {
  for (const command of CANDIDATES) {
    const { status, stdout } = spawnSync(command, ['-c', SCRIPT], { encoding: 'utf8', timeout: TIMEOUT_MS });
    const python = status === 0 ? parsePython(command, stdout) : undefined;
    if (python !== undefined && isSufficient(python, minimum)) return python;
  }
  return undefined;
}

/**
 * Like `findPython`, without blocking this process.
 * @returns the Python, or a description of insufficient ones; empty if none is installed
 */
export async function searchPython(minimum: PythonVersion): Promise<{ python?: Python; found: string }> {
  const seen: string[] = [];
  for (const command of CANDIDATES) {
    const stdout = await promisify(execFile)(command, ['-c', SCRIPT], { timeout: TIMEOUT_MS }).then(
      (result) => result.stdout,
      () => '',
    );
    const python = parsePython(command, stdout);
    if (python === undefined) continue;
    if (isSufficient(python, minimum)) return { python, found: '' };
    seen.push(`${command} is ${python.version.join('.')}${python.hasPip ? '' : ' without pip'}`);
  }
  return { found: seen.join(', ') };
}

function parsePython(command: string, output: string): Python | undefined {
  const match = /^(\d+) (\d+) (True|False)\s*$/.exec(output);
  if (match === null) return undefined;
  return { command, version: [Number(match[1]), Number(match[2])], hasPip: match[3] === 'True' };
}

function isSufficient({ version, hasPip }: Python, [major, minor]: PythonVersion): boolean {
  return version[0] === major && version[1] >= minor && hasPip;
}

export function missingPython(minimum: PythonVersion): MissingPart | undefined {
  if (findPython(minimum) !== undefined) return undefined;
  const version = minimum.join('.');
  return {
    reason: `This machine has no Python ${version} or newer with pip.`,
    install: `Install python3 (${version} or newer) and python3-pip.`,
  };
}
